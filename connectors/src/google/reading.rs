//! Reads untrusted text of a person's account for one call. Nothing is parsed here.

use std::sync::Arc;

use nod_contract::tool::{MAX_BODY_CHARS, ToolError};
use nod_contract::wire::Kind;
use nod_people::attachment;
use nod_people::reading::{Desk, Limits, Read, Reader, Unread, Whose};
use tokio::time::Instant;

/// The limit for one text, in bytes: well above what is passed on or shown.
const LIMITS: Limits = Limits { pages: 0, bytes_out: 8 * MAX_BODY_CHARS };
/// The wait in seconds if all readers are busy.
const BUSY_SECONDS: u64 = 5;

/// Opens desks for one call of one person; empty during a sign-in.
#[derive(Default)]
pub(in crate::google) struct Reading(Option<(Arc<dyn Reader>, Whose, Instant)>);

impl Reading {
    /// Creates it; nothing is waited for after `until`.
    pub(in crate::google) fn new(reader: Arc<dyn Reader>, whose: Whose, until: Instant) -> Self {
        Self(Some((reader, whose, until)))
    }

    /// Opens a desk to read texts one after another. A desk occupies one of few readers from its first text on, so it
    /// is not kept while waiting for Google.
    pub(in crate::google) fn open_session(&self) -> Texts {
        Texts(self.0.as_ref().map(|(reader, whose, until)| reader.open_session(*whose, *until)))
    }

    /// Returns the text of a file, or why there is none, as the end of a sentence.
    pub(in crate::google) async fn file(&self, bytes: Vec<u8>) -> Result<String, String> {
        match self.open_session().0 {
            Some(mut desk) => attachment::extract_text(desk.as_mut(), bytes).await,
            None => Err(Unread::Away.sentence(Kind::Pdf)),
        }
    }
}

/// Texts read at one desk.
pub(in crate::google) struct Texts(Option<Box<dyn Desk>>);

impl Texts {
    /// Converts HTML to text. Empty HTML needs no reader.
    pub(in crate::google) async fn html(&mut self, kind: Kind, html: &str) -> Result<String, Unread> {
        if html.trim().is_empty() {
            return Ok(String::new());
        }
        Ok(self.read(kind, html.as_bytes()).await?.text())
    }

    /// Reads a document that is not a file.
    pub(in crate::google) async fn read(&mut self, kind: Kind, bytes: &[u8]) -> Result<Read, Unread> {
        match &mut self.0 {
            Some(desk) => desk.read(kind, bytes, LIMITS).await,
            None => Err(Unread::Away),
        }
    }
}

/// Maps a text that an action needs but that was not read: retries if the readers are busy, otherwise rejects the
/// action for this reason.
pub(in crate::google) fn to_tool_error(unread: Unread, reason: &str) -> ToolError {
    match unread {
        Unread::Busy | Unread::Away => ToolError::RateLimited { retry_after_secs: BUSY_SECONDS },
        _ => ToolError::Forbidden { reason: reason.to_owned() },
    }
}
