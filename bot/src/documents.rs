//! `nod ingest`: keeps files as documents. A running Nod reads them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use nod_contract::clock::{Clock, Timestamp};
use nod_contract::ids::{Ids, SystemIds, TenantId};
use nod_contract::vector_store::Reader;
use nod_inbox::Settings;
use nod_knowledge::shelf::{self, Added, NewFile, Progress};
use nod_people::{conversations, people};
use nod_store::store;
use serde_json::json;
use sqlx::PgPool;
use tokio::time::Instant;
use uuid::Uuid;

use crate::cli::print;
use crate::config::Config;
use crate::database::{self, Database, DatabaseClock};

/// What a folder's files must end in to be kept.
const ENDINGS: [&str; 9] = ["pdf", "docx", "html", "htm", "md", "markdown", "csv", "txt", "text"];
/// How often the rows are looked at, and after which time without any step nobody seems to read.
const INTERVAL: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(20);

/// Whose the documents will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Audience {
    Everyone,
    /// A channel: the platform and its id there.
    Channel {
        platform: String,
        channel: String,
    },
    /// The person with this address.
    Person(String),
}

impl std::str::FromStr for Audience {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let whole = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        match written.split(':').collect::<Vec<_>>().as_slice() {
            ["everyone"] => Ok(Self::Everyone),
            ["channel", platform, channel] if whole(platform) && whole(channel) => {
                Ok(Self::Channel { platform: (*platform).to_owned(), channel: (*channel).to_owned() })
            }
            ["person", address] if whole(address) => Ok(Self::Person((*address).to_owned())),
            _ => Err("write everyone, channel:slack:C0123456789 or person:ana@example.com".to_owned()),
        }
    }
}

/// Keeps files, and the files of folders, and waits until they were read.
///
/// # Errors
/// If a file cannot be kept or read, or the database does not answer.
pub(crate) async fn ingest(
    config: &Config,
    paths: &[PathBuf],
    audience: &Audience,
    as_json: bool,
) -> anyhow::Result<()> {
    let mut files = Vec::new();
    for path in paths {
        collect_files(path, &mut files)?;
    }
    if files.is_empty() {
        bail!("there is no file to keep: I read {}", ENDINGS.join(", "));
    }
    let database = Database::open_or_join(config).await?;
    let done = async {
        database::migrate(&database.pool).await?;
        run(&database.pool, &files, audience, as_json).await
    };
    let done = done.await;
    database.close().await;
    done
}

async fn run(pool: &PgPool, files: &[PathBuf], audience: &Audience, as_json: bool) -> anyhow::Result<()> {
    let clock = DatabaseClock::measured(pool).await?;
    let tenant = Settings::default().tenant;
    let reader = find_reader(pool, tenant, audience).await?;
    let ids: &dyn Ids = &SystemIds;
    let mut waiting = Vec::new();
    let mut failed = 0;
    for path in files {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let unreadable = || format!("cannot read {}", path.display());
        if std::fs::metadata(path).with_context(unreadable)?.len() > shelf::MAX_BYTES as u64 {
            failed += 1;
            report(&name, "failed", "it's larger than 20 MB", as_json);
            continue;
        }
        let bytes = std::fs::read(path).with_context(unreadable)?;
        let mut tx = store::begin(pool).await?;
        let file = NewFile { name: &name, reader, bytes: &bytes };
        let added = shelf::add_file(&mut tx, tenant, ids, &file, clock.now()).await.map_err(explain)?;
        tx.commit().await?;
        match added {
            Added::Queued(document) => waiting.push((document, name)),
            Added::Known { title } => {
                report(&name, "known", &format!("{title} says the same already"), as_json);
            }
        }
    }
    failed += wait_until_read(pool, tenant, waiting, as_json).await?;
    match failed {
        0 => Ok(()),
        1 => bail!("1 file was not kept"),
        n => bail!("{n} files were not kept"),
    }
}

/// Says what to do about a database in which no organisation is yet.
fn explain(error: sqlx::Error) -> anyhow::Error {
    match error.as_database_error() {
        Some(cause) if cause.is_foreign_key_violation() => {
            anyhow!("this database is new: start `nod run` once before you keep files")
        }
        _ => error.into(),
    }
}

/// Reports each document that was read, and returns how many failed.
async fn wait_until_read(
    pool: &PgPool,
    tenant: TenantId,
    mut waiting: Vec<(Uuid, String)>,
    as_json: bool,
) -> anyhow::Result<usize> {
    let mut failed = 0;
    let mut last_step = LastStep::new(Instant::now());
    while !waiting.is_empty() {
        let mut conn = pool.acquire().await?;
        let mut left = Vec::new();
        let mut newest = None;
        let documents: Vec<Uuid> = waiting.iter().map(|(document, _)| *document).collect();
        let mut progress = shelf::load_progress(&mut conn, tenant, &documents).await?;
        for (document, name) in waiting {
            match progress.remove(&document) {
                Some(Progress::Reading { changed_at }) => {
                    newest = newest.max(Some(changed_at));
                    left.push((document, name));
                }
                Some(Progress::Indexed { passages }) => {
                    let passages =
                        if passages == 1 { "1 passage".to_owned() } else { format!("{passages} passages") };
                    report(&name, "indexed", &passages, as_json);
                }
                Some(Progress::Failed { reason }) => {
                    failed += 1;
                    report(&name, "failed", &reason, as_json);
                }
                None => report(&name, "gone", "it was removed, or another document says the same", as_json),
            }
        }
        drop(conn);
        waiting = left;
        if last_step.see(waiting.len(), newest, Instant::now()) >= PATIENCE {
            let count = waiting.len();
            let note = format!("{count} still to read: `nod run` reads them, now or when it starts");
            if as_json {
                print(&json!({ "waiting": count }).to_string());
            } else {
                print(&note);
            }
            return Ok(failed);
        }
        tokio::time::sleep(INTERVAL).await;
    }
    Ok(failed)
}

/// When a step was last seen: a document was read, or its text was and its vectors are still to be computed.
struct LastStep {
    seen: (usize, Option<Timestamp>),
    at: Instant,
}

impl LastStep {
    fn new(now: Instant) -> Self {
        Self { seen: (0, None), at: now }
    }

    /// Returns for how long nothing has changed.
    fn see(&mut self, waiting: usize, newest: Option<Timestamp>, now: Instant) -> Duration {
        if self.seen != (waiting, newest) {
            *self = Self { seen: (waiting, newest), at: now };
        }
        now - self.at
    }
}

fn report(name: &str, status: &str, detail: &str, as_json: bool) {
    if as_json {
        print(&json!({ "file": name, "status": status, "detail": detail }).to_string());
    } else {
        print(&format!("{name}: {status} ({detail})"));
    }
}

async fn find_reader(pool: &PgPool, tenant: TenantId, audience: &Audience) -> anyhow::Result<Reader> {
    let mut conn = pool.acquire().await?;
    match audience {
        Audience::Everyone => Ok(Reader::Everyone),
        Audience::Channel { platform, channel } => {
            let found = conversations::list_channels_by_ref(&mut conn, tenant, platform, channel).await?;
            match found.as_slice() {
                [channel] => Ok(Reader::Channel(*channel)),
                [] => bail!(
                    "Nod does not know the channel {channel} of {platform} yet: say something to it there first"
                ),
                _ => bail!("several workspaces have a channel {channel}: keep the files there, in the chat"),
            }
        }
        Audience::Person(address) => {
            let found = people::sql::find_by_emails(&mut conn, tenant, std::slice::from_ref(address)).await?;
            match found.as_slice() {
                [(_, person, _)] => Ok(Reader::Person(*person)),
                [] => bail!("Nod knows no member with the address {address}"),
                _ => bail!("several members have the address {address}"),
            }
        }
    }
}

/// Adds a file, or those of a folder and its folders, by name.
fn collect_files(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        if !path.is_file() {
            bail!("there is no file {}", path.display());
        }
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut inside: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    inside.sort();
    for path in inside {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let is_readable = ENDINGS.iter().any(|ending| name.ends_with(&format!(".{ending}")));
        if !name.starts_with('.') && !path.is_symlink() && (path.is_dir() || is_readable) {
            collect_files(&path, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audience_is_parsed() {
        let channel = Audience::Channel { platform: "slack".to_owned(), channel: "C01".to_owned() };
        for (written, expected) in [
            ("everyone", Some(Audience::Everyone)),
            ("channel:slack:C01", Some(channel)),
            ("person:ana@acme.test", Some(Audience::Person("ana@acme.test".to_owned()))),
            ("channel:general", None),
            ("person:", None),
            ("nobody", None),
        ] {
            assert_eq!(written.parse::<Audience>().ok(), expected, "{written}");
        }
    }

    #[test]
    fn a_step_of_any_document_shows_that_somebody_reads() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let at = |second| Timestamp::from_timestamp(second, 0);
        let mut last = LastStep::new(begun);
        for (waiting, newest, now, quiet) in
            [(9, at(1), 5, 0), (9, at(1), 15, 10), (9, at(2), 20, 0), (8, at(2), 30, 0), (8, at(2), 50, 20)]
        {
            assert_eq!(last.see(waiting, newest, after(now)), Duration::from_secs(quiet), "{now}");
        }
    }

    #[test]
    fn a_folder_gives_the_files_that_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.md", "a.PDF", "image.png", ".hidden.md"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let mut files = Vec::new();
        collect_files(folder.path(), &mut files).unwrap();
        let names: Vec<_> = files.iter().map(|file| file.file_name().unwrap().to_string_lossy()).collect();
        assert_eq!(names, ["a.PDF", "b.md"]);
        assert!(collect_files(&folder.path().join("none.md"), &mut files).is_err());
    }
}
