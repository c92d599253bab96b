//! Documents of others are read by a process that can do nothing else; this is how it is started and spoken to. No
//! document is parsed here.

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
/// How long one document may take in a turn.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Where documents are read.
pub trait Reader: Send + Sync {
    /// A desk for one call of one person; nothing is waited for beyond `until`. It costs nothing until something is read
    /// at it.
    fn desk(&self, whose: Whose, until: Instant) -> Box<dyn Desk>;
}

/// For whom something is read: what serves one person serves no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whose {
    /// Their organisation.
    pub tenant: TenantId,
    /// Who.
    pub person: PersonId,
}

/// Reads the documents of one call, one after another.
#[async_trait]
pub trait Desk: Send {
    /// Reads one.
    ///
    /// # Errors
    /// When it has no words for us.
    async fn read(&mut self, kind: Kind, bytes: &[u8], limits: Limits) -> Result<Read, Unread>;
}

/// How much of a document is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Pages that are read.
    pub pages: usize,
    /// Bytes of text that are given back.
    pub bytes_out: usize,
}

/// What a document says. It is outside text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// Its pieces, in their order.
    pub blocks: Vec<Block>,
    /// How it was read to its end.
    pub done: Done,
}

impl Read {
    /// Its words in a row.
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

/// Why a document has no words for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It took too much memory and its reader died of it, now or before.
    Memory,
    /// It took too long, now or before.
    Time,
    /// Others are read; its turn did not come.
    Busy,
    /// No reader starts.
    Away,
    /// Its reader says why.
    Failed(Failure),
}

impl Unread {
    /// As the end of a sentence.
    #[must_use]
    pub fn sentence(&self, kind: Kind) -> String {
        let (thing, things) = match kind {
            Kind::Pdf | Kind::Docx => ("file", "files"),
            Kind::Description => ("text", "texts"),
            Kind::Html | Kind::Signature | Kind::Mail | Kind::Draft => ("mail", "mail"),
        };
        match (self, kind) {
            (Self::Memory, _) => format!("reading it took more memory than I give to a {thing}"),
            (Self::Time, _) => "reading it took too long".to_owned(),
            (Self::Busy, Kind::Pdf | Kind::Docx) => {
                format!("I was busy reading other {things}; give it to me again in a moment")
            }
            (Self::Busy, _) => format!("I was busy reading other {things}; ask me again in a moment"),
            (Self::Away, _) => format!("what I read a {thing} with does not start; my operator can see why"),
            (Self::Failed(Failure::Locked), _) => "it is locked with a password".to_owned(),
            (Self::Failed(Failure::Scan), _) => {
                "there is no text in it that I can read; it may be a scan".to_owned()
            }
            (Self::Failed(Failure::Empty), _) => "there is no text in it".to_owned(),
            (Self::Failed(Failure::Large), _) => "its text is too large".to_owned(),
            (Self::Failed(Failure::Unknown), _) => PACKED.to_owned(),
            (Self::Failed(Failure::Broken), Kind::Pdf) => "it is no PDF that I can read".to_owned(),
            (Self::Failed(Failure::Broken), Kind::Docx) => {
                "it is no Word document that I can read".to_owned()
            }
            (Self::Failed(Failure::Broken), _) => "it is no text that I can read".to_owned(),
        }
    }
}

/// Why other archives are not read.
pub(crate) const PACKED: &str =
    "it is packed, and I read PDF, DOCX and plain text only, such as Markdown or CSV";
