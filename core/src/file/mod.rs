//! Files that people drop with a message: read once, kept with the run that they came with, outside text.

mod pdf;
pub(crate) mod sql;
mod text;

use futures::future::join_all;
use sqlx::PgConnection;

use crate::chat::{Attached, FetchError};
use crate::clock::Timestamp;
use crate::ids::{ConversationId, RunId, TenantId};
use crate::nod::Core;

/// Largest file that is read, in bytes.
const MOST_BYTES: usize = 2 * 1024 * 1024;
/// Characters of one file that are kept.
const MOST_KEPT: usize = 100_000;

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
    let words = if bytes.starts_with(b"%PDF") { pdf::words(bytes).await? } else { text::of(&bytes)? };
    match words.char_indices().nth(MOST_KEPT) {
        Some((end, _)) => Ok(format!("{}… (the rest was left out)", &words[..end])),
        None => Ok(words),
    }
}

const NOT_GIVEN: &str = "the chat did not give it to me";

fn too_large() -> String {
    format!("it is larger than {} MB", MOST_BYTES / 1024 / 1024)
}
