//! Where one call reads what others wrote in a person's account. Nothing of it is parsed here.

use std::sync::Arc;

use nod_contract::tool::{MAX_BODY_CHARS, ToolError};
use nod_contract::wire::Kind;
use nod_people::file;
use nod_people::reading::{Desk, Limits, Read, Reader, Unread, Whose};
use tokio::time::Instant;

/// Of one text, in bytes: well above what is passed on or shown.
const LIMITS: Limits = Limits { pages: 0, bytes_out: 8 * MAX_BODY_CHARS };
/// The wait where others are read.
const BUSY_SECONDS: u64 = 5;

/// Opens desks for one call of one person; none where somebody only signs in.
#[derive(Default)]
pub(in crate::google) struct Reading(Option<(Arc<dyn Reader>, Whose, Instant)>);

impl Reading {
    /// Nothing is waited for beyond `until`.
    pub(in crate::google) fn new(reader: Arc<dyn Reader>, whose: Whose, until: Instant) -> Self {
        Self(Some((reader, whose, until)))
    }

    /// For texts that are read one after another. It is one of few once something is read at it, so it is not kept
    /// while Google is waited for.
    pub(in crate::google) fn desk(&self) -> Texts {
        Texts(self.0.as_ref().map(|(reader, whose, until)| reader.desk(*whose, *until)))
    }

    /// The words of a file, or why there are none, as the end of a sentence.
    pub(in crate::google) async fn file(&self, bytes: Vec<u8>) -> Result<String, String> {
        match self.desk().0 {
            Some(mut desk) => file::words(desk.as_mut(), bytes).await,
            None => Err(Unread::Away.sentence(Kind::Pdf)),
        }
    }
}

/// Texts at one desk.
pub(in crate::google) struct Texts(Option<Box<dyn Desk>>);

impl Texts {
    /// What HTML says. Where there is nothing, no reader is asked.
    pub(in crate::google) async fn html(&mut self, kind: Kind, html: &str) -> Result<String, Unread> {
        if html.trim().is_empty() {
            return Ok(String::new());
        }
        Ok(self.read(kind, html.as_bytes()).await?.text())
    }

    /// A document that is no file.
    pub(in crate::google) async fn read(&mut self, kind: Kind, bytes: &[u8]) -> Result<Read, Unread> {
        match &mut self.0 {
            Some(desk) => desk.read(kind, bytes, LIMITS).await,
            None => Err(Unread::Away),
        }
    }
}

/// What comes of a text that a deed needs: where others are read it is tried again, else it is refused for this reason.
pub(in crate::google) fn refused(unread: Unread, reason: &str) -> ToolError {
    match unread {
        Unread::Busy | Unread::Away => ToolError::RateLimited { retry_after_secs: BUSY_SECONDS },
        _ => ToolError::Forbidden { reason: reason.to_owned() },
    }
}
