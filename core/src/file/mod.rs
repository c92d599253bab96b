//! Files that people drop with a message: read once, kept with the run that they came with, outside text. And the
//! words in a file, wherever it lies.

mod docx;
mod pdf;
mod shelf;
pub(crate) mod sql;
mod text;

use std::time::Duration;

use futures::future::join_all;
use sqlx::PgConnection;
use tokio::sync::Semaphore;

pub use shelf::{Lying, Shelf};
pub use text::western;

use crate::chat::{Attached, FetchError};
use crate::clock::Timestamp;
use crate::ids::{ConversationId, RunId, TenantId};
use crate::nod::Core;

/// Largest file that is read, in bytes.
const MOST_BYTES: usize = 2 * 1024 * 1024;
/// Characters of one file that are kept.
const MOST_KEPT: usize = 100_000;

/// How long reading may take; one that takes longer is left to itself.
const PATIENCE: Duration = Duration::from_secs(10);
/// Files that are read at once.
static ROOM: Semaphore = Semaphore::const_new(2);

/// A file as its row tells.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) name: String,
    /// It came with this run's message; else with an earlier one of the conversation.
    pub(crate) now: bool,
    /// Its words, or why there are none.
    pub(crate) read: Result<String, String>,
}

/// Notes the files of a message, in the transaction that begins its run.
pub(crate) async fn keep(
    core: &Core,
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    run: RunId,
    files: &[Attached],
    now: Timestamp,
) -> sqlx::Result<()> {
    for file in files {
        sql::insert(conn, tenant, core.ids.next(), conversation, run, file, now).await?;
    }
    Ok(())
}

/// Reads what of a run's files is not read yet. A file that cannot be read says why and stops nothing.
pub(crate) async fn read(core: &Core, tenant: TenantId, platform: &str, run: RunId) -> sqlx::Result<()> {
    let mut conn = core.pool.acquire().await?;
    let waiting = sql::waiting(&mut conn, tenant, run).await?;
    drop(conn);
    if waiting.is_empty() {
        return Ok(());
    }
    let reading = waiting.iter().map(|(_, file)| one(core, platform, file));
    let read = join_all(reading).await;
    let mut conn = core.pool.acquire().await?;
    for ((id, _), read) in waiting.iter().zip(read) {
        sql::read(&mut conn, tenant, *id, &read).await?;
    }
    Ok(())
}

async fn one(core: &Core, platform: &str, file: &Attached) -> Result<String, String> {
    let Some(adapter) = core.adapters.get(platform) else { return Err(NOT_GIVEN.to_owned()) };
    let Some(address) = &file.address else { return Err("it does not lie in this chat".to_owned()) };
    // What is told of the size may be wrong, so the bytes are counted too.
    if usize::try_from(file.size).is_ok_and(|size| size > MOST_BYTES) {
        return Err(too_large());
    }
    let bytes = match adapter.fetch(address, MOST_BYTES).await {
        Ok(bytes) => bytes,
        Err(FetchError::TooLarge) => return Err(too_large()),
        Err(error) => {
            tracing::warn!(%error, "a file was not fetched");
            return Err(NOT_GIVEN.to_owned());
        }
    };
    if text::is_page(&bytes, &file.kind) {
        return Err("the chat gave me a web page in its place".to_owned());
    }
    words(bytes).await
}

/// The words of a file, whatever its name claims: PDF, DOCX or text. Or why there are none, as the end of a sentence.
///
/// # Errors
/// When it cannot be read.
pub async fn words(bytes: Vec<u8>) -> Result<String, String> {
    let words = if bytes.starts_with(b"%PDF") {
        patiently(bytes, pdf::words).await?
    } else if text::is_packed(&bytes) {
        patiently(bytes, docx::words).await?
    } else {
        text::of(&bytes)?
    };
    match words.char_indices().nth(MOST_KEPT) {
        Some((end, _)) => Ok(format!("{}… (the rest was left out)", &words[..end])),
        None => Ok(words),
    }
}

/// Reads what may keep a reader busy for ever, in a thread of its own, of which there are few.
async fn patiently(
    bytes: Vec<u8>,
    read: impl FnOnce(&[u8]) -> Result<String, String> + Send + 'static,
) -> Result<String, String> {
    // Held by the thread, however long it takes. Never closed.
    let place = ROOM.acquire().await;
    let reading = tokio::task::spawn_blocking(move || {
        let _place = place;
        read(&bytes)
    });
    match tokio::time::timeout(PATIENCE, reading).await {
        Ok(Ok(words)) => words,
        // It panicked: the library met something that it had not thought of.
        Ok(Err(_)) => Err("it is no file that I can read".to_owned()),
        Err(_) => Err(format!("reading it took longer than {} s", PATIENCE.as_secs())),
    }
}

const NOT_GIVEN: &str = "the chat did not give it to me";

fn too_large() -> String {
    format!("it is larger than {} MB", MOST_BYTES / 1024 / 1024)
}
