//! Files that people attach to a message: read once, stored with the run that they came with, untrusted content. Also
//! extracts the text of any file.

pub mod sql;
mod store;
mod text;

use futures::future::join_all;
use sqlx::PgConnection;
use tokio::time::Instant;

pub use store::{AttachmentStore, StoredAttachment};
pub use text::{TextFormat, decode_windows_1252};

use crate::context::Chat;
use crate::reading::{self, Desk, Limits, Read, Whose};
use nod_contract::chat::{Attachment, DownloadError};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, RunId, TenantId};
use nod_contract::wire::{Block, Cut, Done, Kind};

/// Largest file that is read, in bytes.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Characters of one file that are kept.
const MAX_CHARS: usize = 100_000;

/// How much of a document is read. A character can take four bytes.
const LIMITS: Limits = Limits { pages: 200, bytes_out: 4 * MAX_CHARS };

/// A file as stored in its row.
#[derive(Debug, Clone)]
pub struct AttachmentText {
    pub name: String,
    /// It came with this run's message; otherwise with an earlier one of the conversation.
    pub is_from_this_run: bool,
    /// Its text, or why there is none.
    pub text: Result<String, String>,
}

/// Stores the files of a message, in the transaction that begins its run.
pub async fn insert_all(
    core: &Chat,
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    run: RunId,
    files: &[Attachment],
    now: Timestamp,
) -> sqlx::Result<()> {
    for file in files {
        sql::insert(conn, tenant, core.ids.next(), conversation, run, file, now).await?;
    }
    Ok(())
}

/// Reads those of a run's files that are not read yet. A file that cannot be read gets a reason and stops nothing.
pub async fn read(core: &Chat, whose: Whose, platform: &str, run: RunId) -> sqlx::Result<()> {
    let tenant = whose.tenant;
    let mut conn = core.pool.acquire().await?;
    let waiting = sql::list_unread(&mut conn, tenant, run).await?;
    drop(conn);
    if waiting.is_empty() {
        return Ok(());
    }
    let fetched = join_all(waiting.iter().map(|(_, file)| fetch(core, platform, file, MAX_BYTES))).await;
    let mut desk = core.reading.open_session(whose, Instant::now() + reading::READ_TIMEOUT);
    for ((id, _), fetched) in waiting.iter().zip(fetched) {
        let read = match fetched {
            Ok(bytes) => extract_text(desk.as_mut(), bytes).await,
            Err(error) => Err(error.reason),
        };
        let mut conn = core.pool.acquire().await?;
        sql::set_text(&mut conn, tenant, *id, &read).await?;
    }
    Ok(())
}

/// Why a file could not be fetched.
#[derive(Debug)]
pub struct FetchError {
    /// The end of a sentence.
    pub reason: String,
    /// The platform might give it later.
    pub is_transient: bool,
}

impl FetchError {
    fn permanent(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_transient: false }
    }
}

/// Downloads a file from the platform on which it was dropped.
///
/// # Errors
/// If the platform does not give it, or it has more than `max_bytes`.
pub async fn fetch(
    core: &Chat,
    platform: &str,
    file: &Attachment,
    max_bytes: usize,
) -> Result<Vec<u8>, FetchError> {
    let Some(adapter) = core.adapters.get(platform) else { return Err(FetchError::permanent(NOT_AVAILABLE)) };
    let Some(address) = &file.url else {
        return Err(FetchError::permanent("it isn't stored in this chat"));
    };
    // The stated size can be wrong, so the bytes are counted too.
    if usize::try_from(file.size).is_ok_and(|size| size > max_bytes) {
        return Err(FetchError::permanent(too_large(max_bytes)));
    }
    let bytes = match adapter.download_attachment(address, max_bytes).await {
        Ok(bytes) => bytes,
        Err(DownloadError::TooLarge) => return Err(FetchError::permanent(too_large(max_bytes))),
        Err(error) => {
            tracing::warn!(%error, "could not fetch attachment");
            let is_transient = matches!(error, DownloadError::NoResponse(_));
            return Err(FetchError { reason: NOT_AVAILABLE.to_owned(), is_transient });
        }
    };
    if text::is_html_page(&bytes, &file.media_type) {
        return Err(FetchError::permanent("I got a web page instead of the file"));
    }
    Ok(bytes)
}

/// Returns the text of a PDF, DOCX, HTML or text file, whatever its name claims; or the reason, as the end of a sentence.
///
/// # Errors
/// If it cannot be read.
pub async fn extract_text(desk: &mut dyn Desk, bytes: Vec<u8>) -> Result<String, String> {
    let read = read_blocks(desk, bytes, TextFormat::Plain, LIMITS).await?;
    let cut = read.done.cut;
    let mut words = read.text();
    if matches!(cut, Some(Cut::Pages | Cut::Time)) {
        words.push_str("(some pages couldn't be read)");
    }
    Ok(truncate_with_notice(words, cut == Some(Cut::Size)))
}

/// Returns the content of a file, whatever its name claims; or the reason, as the end of a sentence. Bytes that are text
/// are read as `format`.
///
/// # Errors
/// If it cannot be read.
pub async fn read_blocks(
    desk: &mut dyn Desk,
    bytes: Vec<u8>,
    format: TextFormat,
    limits: Limits,
) -> Result<Read, String> {
    let (kind, bytes) = match &bytes {
        found if found.starts_with(b"%PDF") => (Kind::Pdf, bytes),
        found if text::is_archive(found) => (Kind::Docx, bytes),
        found => {
            let text = text::extract_text(found)?;
            let kind = match format {
                _ if text::is_html(&text) => Kind::HtmlFile,
                TextFormat::Html => Kind::HtmlFile,
                TextFormat::Markdown => Kind::Markdown,
                TextFormat::Table => Kind::Table,
                // Plain text cannot make decoding slow, so it needs no reader process.
                TextFormat::Plain => return Ok(plain_text(text, limits)),
            };
            (kind, text.into_bytes())
        }
    };
    desk.read(kind, &bytes, limits).await.map_err(|unread| unread.sentence(kind))
}

fn plain_text(mut text: String, limits: Limits) -> Read {
    let end = text.floor_char_boundary(limits.bytes_out);
    let done = Done { cut: (end < text.len()).then_some(Cut::Size), ..Done::default() };
    text.truncate(end);
    Read { blocks: vec![Block::Text { text, page: None }], done }
}

/// Shortens the text to what is kept.
fn truncate_with_notice(words: String, cut: bool) -> String {
    match words.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}… (the rest is left out)", &words[..end]),
        None if cut => format!("{words}… (the rest is left out)"),
        None => words,
    }
}

const NOT_AVAILABLE: &str = "I couldn't download it";

fn too_large(max_bytes: usize) -> String {
    format!("it's larger than {} MB", max_bytes / 1024 / 1024)
}
