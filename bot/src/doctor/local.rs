//! Checks of this machine: the configuration, the key, the database.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use chrono::TimeDelta;
use nod_accounts::connection::{DelegatedAccountResolver, GrantExpiryStats, load_grant_expiry_stats};
use nod_contract::clock::{Clock, SystemClock};
use nod_inbox::Settings;
use nod_inbox::consistency::{Inconsistency, find_inconsistencies};
use nod_people::reading::Program;
use nod_store::vault::Vault;
use secrecy::SecretString;
use sqlx::PgPool;

use super::Finding;
use super::services::CLOCK_TOLERANCE;
use crate::app::google::lending;
use crate::config::{Config, key_file};
use crate::database::{self as db, Database, DatabaseClock, MIN_MAJOR_VERSION, Offset};
use crate::policy;
use nod_contract::provider::Provider;
use nod_contract::wire::Hello;

pub(super) async fn check_settings(config: Arc<Config>) -> Vec<Finding> {
    let mut all = vec![Finding::ok("configuration", "no unknown keys, no wrong values")];
    all.extend(
        config
            .inactive()
            .iter()
            .map(|key| Finding::skipped(&key.key, format!("set, but not used yet: {}", key.because), None)),
    );
    all
}

pub(super) async fn check_secret_key(config: Arc<Config>) -> Vec<Finding> {
    const SUBJECT: &str = "secret key";
    const FIX: &str = "restore the key that was used before, or create one: openssl rand -base64 32";
    let path = key_file(&config.data.dir);
    let finding = match (&config.secrets.key, std::fs::read_to_string(&path)) {
        (Some(key), _) => match Vault::new(key) {
            Ok(vault) => Finding::ok(SUBJECT, format!("from the configuration (id {})", vault.key_id())),
            Err(error) => Finding::failed(SUBJECT, error.to_string(), FIX),
        },
        (None, Ok(text)) => match Vault::new(&SecretString::from(text)) {
            Err(error) => Finding::failed(SUBJECT, format!("{}: {error}", path.display()), FIX),
            Ok(_) if others_can_read(&path) => {
                let cure = format!("chmod 600 {}", path.display());
                Finding::failed(SUBJECT, format!("other users can read {}", path.display()), cure)
            }
            Ok(vault) => Finding::ok(SUBJECT, format!("{} (id {})", path.display(), vault.key_id())),
        },
        (None, Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            Finding::ok(SUBJECT, format!("will be created at the first start, in {}", path.display()))
        }
        (None, Err(error)) => Finding::failed(SUBJECT, format!("{}: {error}", path.display()), FIX),
    };
    vec![finding]
}

fn others_can_read(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

/// Checks whether the process that parses documents starts, and whether it is sandboxed.
pub(super) async fn documents(config: Arc<Config>) -> Vec<Finding> {
    vec![reader(Program::new(config.reading.program.as_deref()).try_out().await)]
}

pub(super) fn reader(tried: std::io::Result<Hello>) -> Finding {
    const SUBJECT: &str = "documents";
    let hello = match tried {
        Ok(hello) => hello,
        Err(error) => {
            let said = format!("the process that reads them does not start: {error}");
            return Finding::failed(SUBJECT, said, "check that this program may start itself");
        }
    };
    let open = [(hello.memory, "memory"), (hello.files, "files"), (hello.network, "the network")];
    let open: Vec<&str> = open.into_iter().filter_map(|(held, what)| (!held).then_some(what)).collect();
    if open.is_empty() {
        return Finding::ok(
            SUBJECT,
            "read in a process of their own (256 MB, limited computing time, no files, no network)",
        );
    }
    let said =
        format!("read in a process of their own; this system does not keep it from {}", open.join(" and "));
    Finding::skipped(SUBJECT, said, Some("Linux 5.13 or later does".to_owned()))
}

/// Checks the database; also returns the email address of a person as whom Nod can act, if one is known.
pub(super) async fn check_database(config: &Config) -> (Vec<Finding>, Option<String>) {
    const SUBJECT: &str = "database";
    let own = config.database.url.is_some();
    let opened = match Database::open_or_join(config).await {
        Ok(opened) => opened,
        Err(error) => {
            let cure = match own {
                true => "check database.url and whether its server is running",
                false => "see above, or set database.url to your own Postgres",
            };
            return (vec![Finding::failed(SUBJECT, error.to_string(), cure)], None);
        }
    };
    let facts = db::load_info(&opened.pool).await;
    let (empty, somebody) = match &facts {
        Ok(facts) if facts.pending.is_empty() => {
            let loans = DelegatedAccountResolver::new(opened.pool.clone(), lending(&config.google));
            (
                policy::find_empty_lists(opened.pool.clone(), &config.approvals.policy)
                    .await
                    .unwrap_or_default(),
                loans.find_delegated_email(Settings::default().tenant).await.unwrap_or_default(),
            )
        }
        _ => (Vec::new(), None),
    };
    let grants = match &facts {
        Ok(facts) if facts.newest.is_some() && facts.pending.is_empty() => check_grants(&opened.pool).await,
        _ => None,
    };
    let rows = match &facts {
        Ok(facts) if facts.newest.is_some() && facts.pending.is_empty() => check_rows(&opened.pool).await,
        _ => None,
    };
    let clock = db::offset(&opened.pool, &SystemClock).await.map(clock);
    opened.close().await;
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => {
            let cure = "check that its user can read the schema";
            return (vec![Finding::failed(SUBJECT, error.to_string(), cure)], None);
        }
    };
    let kind = if own { "your own" } else { "embedded" };
    let said = format!("{kind}, PostgreSQL {}", facts.major);
    let version = if facts.major >= MIN_MAJOR_VERSION {
        Finding::ok(SUBJECT, said)
    } else {
        Finding::failed(SUBJECT, said, format!("use PostgreSQL {MIN_MAJOR_VERSION} or later"))
    };
    let schema = match (facts.newest, facts.pending.len()) {
        (Some(newest), 0) => Finding::ok("schema", format!("up to date (migration {newest})")),
        (None, _) => Finding::skipped("schema", "empty; the first start sets it up", None),
        (Some(_), n) => {
            let said = format!("{n} migrations behind; the next start or “nod migrate” applies them");
            Finding::skipped("schema", said, None)
        }
    };
    let nobody = empty.iter().map(|list| {
        let said = format!("the rules need someone from {list}, and none of them is a known member");
        let cure = "requests that need one of them are refused: check the addresses and ids under \
            [approvers]. Nod reads a workspace's people when it starts";
        Finding::failed("policy", said, cure)
    });
    (
        [version, schema].into_iter().chain(rows).chain(clock.ok()).chain(nobody).chain(grants).collect(),
        somebody,
    )
}

/// Rows that refer to others which are not there: somebody changed them by hand, or Nod has a bug.
async fn check_rows(pool: &PgPool) -> Option<Finding> {
    let mut conn = pool.acquire().await.ok()?;
    find_inconsistencies(&mut conn, Settings::default().tenant).await.ok().map(|found| rows(&found))
}

pub(super) fn rows(found: &[Inconsistency]) -> Finding {
    const SUBJECT: &str = "rows";
    if found.is_empty() {
        return Finding::ok(SUBJECT, "consistent");
    }
    let all: Vec<String> = found.iter().map(ToString::to_string).collect();
    Finding::failed(
        SUBJECT,
        all.join(", "),
        "restore what was deleted by hand; if nobody did, please report it with this line",
    )
}

/// Nod uses the database's clock, whatever this machine's says; if they differ a lot, one of the two is wrong.
pub(super) fn clock(Offset { by, within }: Offset) -> Finding {
    const SUBJECT: &str = "clock";
    if by.abs() <= within {
        return Finding::ok(SUBJECT, "agrees with the database's");
    }
    let way = if by > TimeDelta::zero() { "behind" } else { "ahead of" };
    let said = format!("{} ms {way} the database's; Nod goes by the database's", by.abs().num_milliseconds());
    if by.abs().num_seconds() <= CLOCK_TOLERANCE {
        return Finding::ok(SUBJECT, said);
    }
    Finding::failed(
        SUBJECT,
        said,
        "let both machines set their clocks by themselves: timedatectl set-ntp true",
    )
}

/// Checks whether Google ends grants after a week.
async fn check_grants(pool: &PgPool) -> Option<Finding> {
    let (tenant, now) = (Settings::default().tenant, DatabaseClock::measured(pool).await.ok()?.now());
    let seen = load_grant_expiry_stats(pool, tenant, Provider::Google, now).await.ok()?;
    (seen.accounts + seen.expired > 0).then(|| weekly_expiry_finding(&seen))
}

pub(super) fn weekly_expiry_finding(seen: &GrantExpiryStats) -> Finding {
    const SUBJECT: &str = "Google access";
    const FIX: &str = "the OAuth consent screen is in “Testing”, so access ends after seven days: publish it \
        in the Google Cloud console (or make it internal), then have people reconnect";
    let first =
        seen.first_expiry.map(|first| format!(", the first on {}", first.format("%a %-d %b %Y, %H:%M UTC")));
    let said = match (seen.seven_day_grants, seen.expired) {
        (0, 0) => {
            return Finding::ok(
                SUBJECT,
                format!("{} connected, none ends by itself within a week", seen.accounts),
            );
        }
        (0, ended) => format!("{ended} ended after seven days"),
        (soon, 0) => format!("{soon} of {} end within a week{}", seen.accounts, first.unwrap_or_default()),
        (soon, ended) => format!(
            "{soon} of {} end within a week{}; {ended} ended after seven days",
            seen.accounts,
            first.unwrap_or_default()
        ),
    };
    Finding::failed(SUBJECT, said, FIX)
}
