//! What a document is, and who may read it.

use chrono::TimeDelta;
use nod_contract::chat::Attachment;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ChannelId, DeliveryId, PersonId};
use nod_contract::vector_store::Reader;
use nod_people::conversations::ConversationLocation;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::language::Language;

/// How long reading a document can take, with all attempts.
pub(crate) const STUCK_AFTER: TimeDelta = TimeDelta::minutes(10);

/// Whose documents a search may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Readers {
    pub(crate) everyone: bool,
    pub(crate) channels: Vec<Uuid>,
    pub(crate) person: Option<Uuid>,
}

impl Readers {
    /// Returns those who read what this one does.
    pub(crate) fn of_reader(reader: Reader) -> Self {
        match reader {
            Reader::Everyone => Self { everyone: true, ..Self::default() },
            Reader::Channel(channel) => Self { channels: vec![channel.0], ..Self::default() },
            Reader::Person(person) => Self { person: Some(person.0), ..Self::default() },
        }
    }

    pub(crate) fn list(&self) -> Vec<Reader> {
        let channels = self.channels.iter().map(|channel| Reader::Channel(ChannelId(*channel)));
        let person = self.person.map(|person| Reader::Person(PersonId(person)));
        let everyone = self.everyone.then_some(Reader::Everyone);
        channels.chain(person).chain(everyone).collect()
    }

    pub(crate) fn include(&self, reader: Reader) -> bool {
        match reader {
            Reader::Everyone => self.everyone,
            Reader::Channel(channel) => self.channels.contains(&channel.0),
            Reader::Person(person) => self.person == Some(person.0),
        }
    }
}

/// Returns whose a document is that is kept in a conversation.
pub(crate) fn reader_of_location(location: &ConversationLocation, person: PersonId) -> Reader {
    if location.is_private_location() { Reader::Person(person) } else { Reader::Channel(location.channel) }
}

/// How far a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// A version is being read. An earlier one can still be found.
    Indexing,
    Indexed,
    /// The newest version could not be read. An earlier one can still be found.
    Failed,
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Indexing => "indexing",
            Self::Indexed => "indexed",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn from_name(name: &str) -> Self {
        [Self::Indexing, Self::Indexed].into_iter().find(|s| s.as_str() == name).unwrap_or(Self::Failed)
    }
}

/// A document, as its row has it.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) id: Uuid,
    pub(crate) title: String,
    pub(crate) reader: Reader,
    /// `None` if the operator keeps it.
    pub(crate) added_by: Option<PersonId>,
    pub(crate) platform: String,
    pub(crate) url: String,
    pub(crate) media_type: String,
    /// The message that shows how far it is; `None` if it was not dropped in a chat.
    pub(crate) delivery: Option<DeliveryId>,
    /// The version whose text can be found, or 0.
    pub(crate) generation: i32,
    /// The version that is read, or was read last.
    pub(crate) wanted_generation: i32,
    pub(crate) digest: Option<Vec<u8>>,
    /// The bytes of the version that is read, once they were fetched.
    pub(crate) wanted_digest: Option<Vec<u8>>,
    pub(crate) chunk_count: i32,
    pub(crate) status: Status,
    pub(crate) reason: Option<String>,
    /// When its status changed.
    pub(crate) updated_at: Timestamp,
    /// When the version that can be found was read.
    pub(crate) published_at: Option<Timestamp>,
}

impl Document {
    /// Returns whether it has been read for so long that something must be wrong.
    pub(crate) fn is_stuck(&self, now: Timestamp) -> bool {
        self.status == Status::Indexing && now - self.updated_at > STUCK_AFTER
    }
}

/// A file to keep.
pub(crate) struct NewDocument<'a> {
    pub(crate) reader: Reader,
    pub(crate) added_by: Option<PersonId>,
    pub(crate) platform: &'a str,
    pub(crate) file: &'a Attachment,
    pub(crate) url: &'a str,
    pub(crate) delivery: Option<DeliveryId>,
    pub(crate) now: Timestamp,
}

/// A version that was read and cannot be found yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ReadVersion {
    pub(crate) generation: i32,
    /// SHA-256 of its bytes.
    #[serde(with = "hex")]
    pub(crate) digest: Vec<u8>,
    pub(crate) pages: Option<i32>,
    /// It is longer than what is read of a document.
    pub(crate) is_partial: bool,
    #[serde(default)]
    pub(crate) language: Language,
}

/// A chunk with its weighted terms.
pub(crate) struct NewChunk {
    pub(crate) id: Uuid,
    pub(crate) page: Option<i32>,
    pub(crate) heading: String,
    pub(crate) text: String,
    pub(crate) terms: Vec<(i32, i16)>,
}

/// A citation of an answer that is sent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CitationRow {
    pub(crate) id: Uuid,
    pub(crate) document: Uuid,
    pub(crate) chunk: Uuid,
    pub(crate) generation: i32,
    pub(crate) channel: Option<Uuid>,
    pub(crate) person: Option<Uuid>,
    pub(crate) title: String,
    pub(crate) place: String,
    pub(crate) quote: String,
}
