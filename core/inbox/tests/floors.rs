//! What cargo does not check by itself: modules of a crate form no cycle (according to `crate::` paths), siblings do
//! not depend on each other, a permit is minted in one place, a node holds no store, no vendor is named, and a table is
//! written only by its crate.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The floors, the lowest first; a crate depends only on floors below it. Abilities share one floor and do not depend
/// on each other. A new ability need not be named here.
const BELOW: [&str; 4] = ["contract", "when", "store", "people"];
const ABOVE: [&str; 2] = ["agent", "inbox"];

/// Vendors whose names the core must not contain.
const VENDORS: [&str; 4] = ["google", "gmail", "slack", "discord"];
/// The files that may name one: the list of providers, and that of public mail hosts.
const NAMES_VENDORS: [&str; 2] = ["contract/src/address.rs", "contract/src/provider.rs"];

/// Identifiers that reveal a store.
const STORES: [&str; 7] = ["sqlx", "sql", "PgPool", "PgConnection", "Pool", "pool", "conn"];
/// Files that may write to other crates' tables, and to which. An identity link moves a person's rows in every table; a
/// step is stored by one statement together with what it did; an ability begins the run of its workflow.
const WRITES_ELSEWHERE: [(&str, Option<&str>); 3] = [
    ("inbox/src/identity_link/", None),
    ("agent/src/rows.rs", Some("step_records")),
    ("store/src/workflow.rs", Some("runs")),
];

fn core() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the crates of the core, the lowest first, without the parsers' separate process.
fn crates() -> Vec<String> {
    let all = std::fs::read_dir(core()).unwrap().map(|entry| entry.unwrap());
    let all = all.filter(|entry| entry.path().join("Cargo.toml").exists());
    let mut all: Vec<String> = all.map(|entry| entry.file_name().into_string().unwrap()).collect();
    all.retain(|part| part != "reading");
    all.sort_by_key(|part| (floor(part), part.clone()));
    all
}

fn floor(part: &str) -> usize {
    let below = BELOW.iter().position(|other| *other == part);
    let above = ABOVE.iter().position(|other| *other == part).map(|at| BELOW.len() + 1 + at);
    below.or(above).unwrap_or(BELOW.len())
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns a file's code without comments, because a path in a comment is no dependency.
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Returns the code with its string literals, without comments and the test modules at the end.
fn strip_comments_and_tests(text: &str) -> String {
    let mut spoken = String::new();
    let (mut quoted, mut rest) = (false, text);
    while let Some(c) = rest.chars().next() {
        if !quoted && rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
            continue;
        }
        // Sequences with a quote or backslash that neither begin nor end a string.
        let whole = ["\\\\", "\\\"", "'\"'"].into_iter().find(|whole| rest.starts_with(whole));
        quoted ^= c == '"' && whole.is_none();
        let (taken, left) = rest.split_at(whole.map_or(c.len_utf8(), str::len));
        spoken.push_str(taken);
        rest = left;
    }
    let mut parts = spoken.split("\n#[cfg(test)]\n");
    let code = parts.next().unwrap().to_owned();
    let behind = |tests: &str| match tests.lines().next() {
        Some(head) if head.ends_with('{') => tests.split_once("\n}\n").map(|(_, behind)| behind.to_owned()),
        _ => Some(tests.to_owned()),
    };
    code + &parts.filter_map(behind).collect::<String>()
}

/// Returns the code of a crate's files, each with its path; test files are left out by their names.
fn program(part: &str) -> Vec<(String, String)> {
    let all = sources(&core().join(part).join("src")).into_iter();
    let told = all.map(|file| {
        let place = file.strip_prefix(core()).unwrap().to_str().unwrap().to_owned();
        (place, strip_comments_and_tests(&std::fs::read_to_string(&file).unwrap()))
    });
    told.filter(|(place, _)| !place.ends_with("tests.rs") && !place.contains("/tests/")).collect()
}

/// Returns the owner of each table, as the READMEs state.
fn owners() -> BTreeMap<String, String> {
    let mut owners = BTreeMap::new();
    for part in crates() {
        let readme = std::fs::read_to_string(core().join(&part).join("README.md")).unwrap();
        let Some(listed) = readme.lines().find_map(|line| line.strip_prefix("Tables: ")) else { continue };
        let listed = listed.split('.').next().unwrap();
        for table in listed.split('`').skip(1).step_by(2) {
            let other = owners.insert(table.to_owned(), part.clone());
            assert!(other.is_none(), "{table} is said to be core/{part}'s and core/{}'s", other.unwrap());
        }
    }
    owners
}

/// Returns the tables that exist after all migrations.
fn tables() -> BTreeSet<String> {
    let mut tables = BTreeSet::new();
    for statement in statements() {
        match statement.split_whitespace().collect::<Vec<_>>()[..] {
            ["create", "table", name, ..] | ["create", "unlogged", "table", name, ..] => {
                assert!(tables.insert(name.to_owned()), "{name}")
            }
            ["drop", "table", name] => assert!(tables.remove(name), "{name}"),
            ["alter", "table", name, "rename", "to", new] => {
                assert!(tables.remove(name) && tables.insert(new.to_owned()), "{name}");
            }
            _ => {}
        }
    }
    tables
}

/// Returns the statements of all migrations, in order.
fn statements() -> Vec<String> {
    let folder = core().parent().unwrap().join("migrations");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let all = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect::<String>();
    // A comment may contain a semicolon.
    let lines: Vec<&str> = all.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    lines.join("\n").split(';').map(str::to_owned).collect()
}

/// Returns the tables that statements in this code write to, including those nested in others. Locks (`for update`) and
/// `on conflict do update` do not count.
fn written_tables(code: &str) -> BTreeSet<String> {
    let code = code.to_lowercase();
    let words: Vec<&str> =
        code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    let found = words.windows(4).filter_map(|words| match *words {
        [_, "insert", "into", table] | [_, "delete", "from", table] => Some(table),
        ["for" | "do", "update", ..] | [_, "update", "set", _] => None,
        [_, "update", table, "set"] => Some(table),
        // The table with an alias.
        [_, "update", table, _] if tables().contains(table) => Some(table),
        _ => None,
    });
    found.map(str::to_owned).collect()
}

/// Returns the modules named after each `crate::`, also in braces.
fn used_modules(code: &str) -> BTreeSet<String> {
    let word = |text: &str| {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(inner) = rest.strip_prefix('{') else {
            found.insert(word(rest));
            continue;
        };
        let (mut depth, mut first) = (0, true);
        for (at, c) in inner.char_indices() {
            if first && depth == 0 {
                found.insert(word(&inner[at..]));
                first = false;
            }
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => first = true,
                _ => {}
            }
        }
    }
    found
}

/// Returns the dependencies among the top modules of a crate.
fn module_dependencies(src: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources(src) {
        let top = file.strip_prefix(src).unwrap().components().next().unwrap();
        let top = top.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if top == "tests" || file.ends_with("tests.rs") {
            continue;
        }
        known
            .entry(top)
            .or_default()
            .extend(used_modules(&strip_comments_and_tests(&std::fs::read_to_string(&file).unwrap())));
    }
    known
}

/// Returns a module's dependencies, direct and indirect.
fn reachable_modules(known: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = next.pop() {
        let all = known.get(&module).into_iter().flatten();
        next.extend(all.filter(|other| reached.insert((*other).clone())).cloned());
    }
    reached
}

#[test]
fn no_two_modules_of_a_crate_are_in_a_circle() {
    let (mut modules, mut largest) = (0, BTreeSet::new());
    for part in crates() {
        let known = module_dependencies(&core().join(&part).join("src"));
        modules += known.len();
        for module in known.keys().filter(|module| *module != "lib") {
            let mut circle: BTreeSet<String> = reachable_modules(&known, module);
            circle.retain(|other| reachable_modules(&known, other).contains(module));
            circle.insert(module.clone());
            if circle.len() > largest.len() {
                largest = circle;
            }
        }
    }
    println!("largest circle of {modules} modules: {}", largest.len());
    assert!(largest.len() == 1, "{largest:?}");
    assert!(modules > 50, "only {modules} were read");
}

#[test]
fn a_crate_uses_only_those_below_it() {
    let mut upward = Vec::new();
    for part in crates() {
        let manifest = std::fs::read_to_string(core().join(&part).join("Cargo.toml")).unwrap();
        for other in crates().iter().filter(|other| floor(other) >= floor(&part)) {
            if manifest.contains(&format!("\nnod-{other}.workspace")) {
                upward.push(format!("core/{part} uses nod-{other}"));
            }
        }
    }
    println!("upward references: {}", upward.len());
    assert!(upward.is_empty(), "{upward:?}");
    assert!(crates().len() >= 9, "only {:?} were read", crates());
}

#[test]
fn whoever_becomes_somebody_else_keeps_what_is_theirs() {
    // Connections are moved by their own crate, votes refer to their voter, and audit rows never change.
    const OTHERWISE: [&str; 3] = ["connections", "votes", "audit"];
    let join = strip_comments_and_tests(
        &std::fs::read_to_string(core().join("inbox/src/identity_link/sql.rs")).unwrap(),
    );
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
    };
    let moved = written_tables(&join);
    let mut personal = BTreeSet::new();
    for statement in statements() {
        let said = words(&statement);
        if ["person_id", "only_for", "people"].iter().any(|word| said.contains(*word)) {
            let table = statement.split_whitespace().skip_while(|word| *word != "table").nth(1);
            personal.extend(table.map(str::to_owned).filter(|table| tables().contains(table)));
        }
    }
    personal.retain(|table| !OTHERWISE.contains(&table.as_str()) && !moved.contains(table));
    assert!(personal.is_empty(), "core/inbox/src/identity_link/sql.rs does not move rows of {personal:?}");
}

#[test]
fn a_permit_is_minted_in_one_place() {
    let all = crates().into_iter().flat_map(|part| sources(&core().join(part).join("src")));
    let minted: Vec<PathBuf> = all.filter(|file| code(file).contains("Permit::mint(")).collect();
    assert_eq!(minted, [core().join("requests/src/perform.rs")]);
}

/// Everything else sends an event to a run, and does not say in which lane.
#[test]
fn the_jobs_of_a_run_are_enqueued_in_one_place() {
    let all = crates().into_iter().flat_map(|part| program(&part));
    let naming =
        all.filter(|(place, code)| code.contains("RunJob::AdvanceRun") && !place.starts_with("agent/"));
    let naming: Vec<String> = naming.map(|(place, _)| place).collect();
    assert_eq!(naming, ["store/src/runs.rs"]);
}

#[test]
fn the_core_names_no_vendor() {
    let all = crates().into_iter().flat_map(|part| program(&part));
    let naming = all.filter(|(_, code)| {
        let code = code.to_lowercase();
        VENDORS.iter().any(|vendor| code.contains(vendor))
    });
    let naming: BTreeSet<String> = naming.map(|(place, _)| place).collect();
    assert_eq!(
        naming,
        NAMES_VENDORS.map(str::to_owned).into(),
        "on the left who names one, on the right who may"
    );
}

#[test]
fn comments_and_tests_are_told_from_code() {
    for (text, kept) in [
        ("/// slack\nfn a() {} // slack\n", "\nfn a() {} \n"),
        ("const A: &str = \"https://google\"; // slack", "const A: &str = \"https://google\"; "),
        (
            "let a = ('\"', \"\\\"//\", r#\"\"b\" //\"#); // slack",
            "let a = ('\"', \"\\\"//\", r#\"\"b\" //\"#); ",
        ),
        ("a\n#[cfg(test)]\nmod tests {\n    slack\n}\nb\n", "ab\n"),
        ("a\n#[cfg(test)]\nmod tests;\nb\n", "amod tests;\nb\n"),
    ] {
        assert_eq!(strip_comments_and_tests(text), kept);
    }
}

#[test]
fn a_node_holds_no_store() {
    let files = program("agent").into_iter().filter(|(place, _)| place.starts_with("agent/src/graph/"));
    let mut read = 0;
    for (place, code) in files {
        read += 1;
        let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        let store: Vec<&str> = words.filter(|word| STORES.contains(word)).collect();
        assert!(store.is_empty(), "core/{place} names {}", store.join(", "));
    }
    assert!(read > 10, "only {read} files were read");
}

#[test]
fn each_table_belongs_to_one_crate() {
    let owned: BTreeSet<String> = owners().into_keys().collect();
    assert_eq!(owned, tables(), "on the left what the READMEs list, on the right what the migrations make");
}

#[test]
fn a_table_is_written_by_its_crate_alone() {
    let owners = owners();
    let (mut statements, mut stray) = (0, Vec::new());
    let mut excused = BTreeSet::new();
    for part in crates() {
        for (place, code) in program(&part) {
            for table in written_tables(&code) {
                statements += 1;
                if owners.get(&table) == Some(&part) {
                    continue;
                }
                let may = |(at, of): &&(&str, Option<&str>)| {
                    place.starts_with(at) && owners.contains_key(&table) && of.is_none_or(|of| of == table)
                };
                match WRITES_ELSEWHERE.iter().find(may) {
                    Some((at, _)) => excused.extend([*at]),
                    None => stray.push(format!("core/{place} writes {table}")),
                }
            }
        }
    }
    assert!(stray.is_empty(), "{}", stray.join("\n"));
    assert_eq!(excused, WRITES_ELSEWHERE.map(|(at, _)| at).into(), "an exception that is none");
    assert!(statements > 50, "only {statements} were read");
}

#[test]
fn whoever_writes_is_found() {
    for (text, tables) in [
        ("r#\"insert into people (a) values ($1) on conflict (a) do update set b = 1\"#", &["people"][..]),
        ("\"select 1 from people for update\", people", &[]),
        (
            "\"with gone as (\n    DELETE FROM files f where 1) update people p set a = 1\"",
            &["files", "people"],
        ),
        ("\"update people\n set a = 1\"", &["people"]),
        ("\"select 1 from people p for update of p\"", &[]),
    ] {
        let code = format!("let a = {text}; f(a, b)");
        assert_eq!(written_tables(&code), tables.iter().map(|&table| table.to_owned()).collect(), "{text}");
    }
}
