# Sourced by the other scripts: finds or installs what Nod needs to build and run. Prints what it installs.
# shellcheck shell=bash

export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
# Stories mostly wait, above all for leases.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-6}

say() { printf '» %s\n' "$*" >&2; }
die() {
    printf '✗ %s\n' "$*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "this needs root, and there is no sudo: run as root: $*"
    fi
}

# Installs packages on Debian and Ubuntu; on other systems prints what is missing.
# $1: the purpose; $2: what to do on other systems; then the packages.
install_packages() {
    local reason=$1 elsewhere=$2
    shift 2
    command -v apt-get >/dev/null || die "$reason: not found. $elsewhere"
    say "installing $* by apt-get ($reason)"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

need_rust() {
    command -v cargo >/dev/null || die "Rust is missing: install it from https://rustup.rs, then try again"
    local wanted have
    wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
    have=$(rustc --version | cut -d' ' -f2)
    [ "$(printf '%s\n%s\n' "$wanted" "$have" | sort -V | head -n 1)" = "$wanted" ] ||
        die "Rust $wanted or later is needed, and here is $have: rustup update"
    if ! command -v cc >/dev/null; then
        install_packages "a C compiler and linker" "Install one (on a Mac: xcode-select --install)." gcc libc6-dev
    fi
}

# Prints the folder of postgres and initdb, newest first; nothing if there is none.
postgres_folder() {
    local found
    # A link in /usr/local/bin leads to the folder with the other programs.
    for found in "${PG_BIN:-}" "$(dirname "$(readlink -f "$(command -v initdb)" 2>/dev/null)" 2>/dev/null)" \
        $(printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin | sort -rV) \
        /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin \
        /Applications/Postgres.app/Contents/Versions/latest/bin; do
        if [ -x "$found/initdb" ] && [ -x "$found/postgres" ]; then
            printf '%s\n' "$found"
            return
        fi
    done
}

need_postgres() {
    [ -n "$(postgres_folder)" ] && return
    install_packages "PostgreSQL, whose programs Nod runs its database with" \
        "Install it (on a Mac: brew install postgresql@17), or point PG_BIN at its programs." postgresql
    [ -n "$(postgres_folder)" ] || die "PostgreSQL was installed, and its programs are still not found"
}

# Installs what looks at the demo's page, where apt and npm are: a browser that a test can drive, and axe, which finds what
# a screen reader or a keyboard cannot reach. Neither is needed to build or run Nod, so nothing fails without them: the
# tests then say what they did not check.
want_browser() {
    local axe=axe-core@4.14.1
    if ! command -v chromedriver >/dev/null && command -v apt-get >/dev/null; then
        (install_packages "a browser for the demo's tests" "" chromium-driver) || say "there is no chromium-driver here"
    fi
    grep -qsF "\"version\": \"${axe#*@}\"" target/tools/node_modules/axe-core/package.json && return
    command -v npm >/dev/null || return 0
    npm install --prefix target/tools --no-save --ignore-scripts --no-audit --no-fund --silent "$axe" ||
        say "npm could not install $axe"
}

# Starts a Postgres for tests in its own folder, and stops it when this script exits. It is fast, and does not survive a
# power failure. Sets POSTGRES_URL (the database postgres, whose user can create others).
start_test_postgres() {
    local programs pid
    need_postgres
    programs=$(postgres_folder)
    POSTGRES_FOLDER=$(mktemp -d /tmp/nod-postgres.XXXXXX)
    trap stop_test_postgres EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    # PostgreSQL refuses to run as root.
    POSTGRES_AS=()
    if [ "$(id -u)" = 0 ]; then
        local user=nobody
        id postgres >/dev/null 2>&1 && user=postgres
        chown "$user" "$POSTGRES_FOLDER"
        POSTGRES_AS=(setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups)
        command -v setpriv >/dev/null || POSTGRES_AS=(runuser -u "$user" --)
    fi
    (
        cd "$POSTGRES_FOLDER"
        "${POSTGRES_AS[@]}" "$programs/initdb" --pgdata="$POSTGRES_FOLDER/data" --username=nod --auth=trust \
            --encoding=UTF8 --no-locale --no-sync >initdb.log 2>&1 ||
            { cat initdb.log >&2; exit 1; }
    ) || die "initdb failed"
    (
        cd "$POSTGRES_FOLDER"
        exec "${POSTGRES_AS[@]}" "$programs/postgres" -D "$POSTGRES_FOLDER/data" \
            -c listen_addresses= -c unix_socket_directories="$POSTGRES_FOLDER" -c max_connections=300 \
            -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c timezone=UTC >server.log 2>&1
    ) &
    pid=$!
    for _ in $(seq 300); do
        if grep -qs "ready to accept connections" "$POSTGRES_FOLDER/server.log"; then
            POSTGRES_URL="postgres://nod@localhost:5432/postgres?host=$POSTGRES_FOLDER&sslmode=disable"
            return
        fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    cat "$POSTGRES_FOLDER/server.log" >&2
    die "PostgreSQL did not start"
}

stop_test_postgres() {
    local pid
    pid=$(head -n 1 "$POSTGRES_FOLDER/data/postmaster.pid" 2>/dev/null || true)
    if [ -n "$pid" ]; then
        kill -INT "$pid" 2>/dev/null || true
        for _ in $(seq 100); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
    fi
    rm -rf "$POSTGRES_FOLDER"
}
