//! Untrusted documents are read by a process that can do nothing else; this starts it and talks to it. No document is
//! parsed here.

mod pool;
mod process;
mod sql;
mod unreadable;

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

pub use pool::Readers;
pub use process::Program;

use nod_contract::ids::{PersonId, TenantId};
use nod_contract::wire::{Block, Done, Failure, Kind};
/// How long one document can take in a turn.
pub const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads documents.
pub trait Reader: Send + Sync {
    /// Returns a desk for one call of one person; nothing waits beyond `until`. It costs nothing until it reads.
    fn open_session(&self, whose: Whose, until: Instant) -> Box<dyn Desk>;
}

/// The person for whom something is read: a process that serves one person serves no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whose {
    /// Their organisation.
    pub tenant: TenantId,
    /// The person.
    pub person: PersonId,
}

/// Reads the documents of one call, one after another.
#[async_trait]
pub trait Desk: Send {
    /// Reads one document.
    ///
    /// # Errors
    /// If no text could be read.
    async fn read(&mut self, kind: Kind, bytes: &[u8], limits: Limits) -> Result<Read, Unread>;
}

/// How much of a document is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most pages to read.
    pub pages: usize,
    /// The most bytes of text to return.
    pub bytes_out: usize,
}

/// The content of a document, which is untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// Its blocks, in order.
    pub blocks: Vec<Block>,
    /// How the read ended.
    pub done: Done,
}

impl Read {
    /// Returns its text in a row.
    #[must_use]
    pub fn text(self) -> String {
        let mut words = String::new();
        for block in self.blocks {
            match block {
                Block::Heading { text, .. } | Block::Text { text, .. } => words.push_str(&text),
                Block::Row { cells, .. } => {
                    words.push_str(&cells.join(" | "));
                    words.push('\n');
                }
                Block::Field { .. } => {}
            }
        }
        words
    }
}

/// Why no text of a document could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It took too much memory and its reader died, now or before.
    Memory,
    /// It took too long, now or before.
    Time,
    /// Other documents are being read; its turn did not come.
    Busy,
    /// No reader can be started.
    Away,
    /// The reader reports why.
    Failed(Failure),
}

impl Unread {
    /// Returns the reason as the end of a sentence.
    #[must_use]
    pub fn sentence(&self, kind: Kind) -> String {
        let (thing, things) = match kind {
            kind if kind.is_file() => ("file", "files"),
            Kind::Description => ("text", "texts"),
            _ => ("mail", "mail"),
        };
        match (self, kind) {
            (Self::Memory, _) => format!("reading it took more memory than I give to a {thing}"),
            (Self::Time, _) => "reading it took too long".to_owned(),
            (Self::Busy, kind) if kind.is_file() => {
                format!("I was busy reading other {things}; give it to me again in a moment")
            }
            (Self::Busy, _) => format!("I was busy reading other {things}; ask me again in a moment"),
            (Self::Away, _) => format!("what I read a {thing} with does not start; my operator can see why"),
            (Self::Failed(Failure::Locked), _) => "it's password-protected".to_owned(),
            (Self::Failed(Failure::Scan), _) => {
                "there's no text in it I can read. It may be a scan".to_owned()
            }
            (Self::Failed(Failure::Truncated), _) => "its end is missing; it was not sent whole".to_owned(),
            (Self::Failed(Failure::Empty), _) => "there's no text in it".to_owned(),
            (Self::Failed(Failure::Large), _) => "its text is too large".to_owned(),
            (Self::Failed(Failure::Unknown), _) => ARCHIVE_NOT_SUPPORTED.to_owned(),
            (Self::Failed(Failure::Broken), Kind::Pdf) => "it isn't a PDF I can open".to_owned(),
            (Self::Failed(Failure::Broken), Kind::Docx) => "it isn't a Word document I can open".to_owned(),
            (Self::Failed(Failure::Broken), _) => "it is no text that I can read".to_owned(),
        }
    }
}

/// Why other archives are not read.
pub(crate) const ARCHIVE_NOT_SUPPORTED: &str =
    "it's an archive. I can read PDF, DOCX and plain text such as Markdown or CSV";
