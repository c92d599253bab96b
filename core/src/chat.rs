//! The contract with a chat platform: what comes in ([`Inbound`]), the answer in the same breath
//! ([`Immediate`]), and what an adapter does for the core ([`ChatAdapter`]). The core never names a platform.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::card::{Card, Verb};
use crate::clock::Timestamp;
use crate::ids::DeliveryId;

/// Something that arrived: a sentence, a command, a press. They all take the same door.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inbound {
    /// Which adapter brought it.
    pub platform: String,
    /// The platform's workspace (Slack team, Discord guild).
    pub workspace: String,
    /// The same for every delivery of the same thing: a message's own identity, not its event's.
    pub key: String,
    /// Who did it, by the platform's id.
    pub author: Author,
    /// When the platform says it happened.
    pub at: Timestamp,
    /// What happened.
    pub what: What,
}

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The platform's id.
    pub user: String,
    /// As far as the event itself tells.
    pub standing: Standing,
}

/// Whether the organisation counts somebody as its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The event does not tell; the profile will.
    Unknown,
    /// A full member.
    Member,
    /// A guest of the workspace.
    Guest,
    /// Of another organisation (Slack Connect).
    External,
    /// A bot, an app or a workflow.
    Bot,
    /// Deactivated.
    Gone,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum What {
    /// A message that Nod can see.
    Said {
        /// Where.
        place: Place,
        /// The platform's id of the message.
        message: String,
        /// The words, without the mention of Nod.
        text: String,
        /// How it concerns Nod.
        addressed: Addressed,
    },
    /// A command (`/nod ask …`): its first word and the rest.
    Command {
        /// Where; commands stand outside threads.
        place: Place,
        /// `help`, `ask`, `connect`, `approvals`; empty for a bare command.
        name: String,
        /// What follows.
        text: String,
    },
    /// A button.
    Pressed {
        /// Where the card stands.
        place: Place,
        /// What the button carries; `None` where it is not one of ours.
        verb: Option<Verb>,
    },
}

/// A channel or a thread in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The platform's channel id.
    pub channel: String,
    /// Between one person and Nod alone.
    pub direct: bool,
    /// The platform's thread id; `None` at the top of a channel.
    pub thread: Option<String>,
}

/// How a message concerns Nod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addressed {
    /// It names Nod.
    Mention,
    /// It stands in a direct line to Nod.
    Direct,
    /// Neither: it counts only in a thread that Nod follows.
    Overheard,
}

/// The answer that the platform wants in the same breath.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Immediate {
    /// Nothing to say now; what there is to say is a row already.
    Nothing,
    /// A short note that only the author sees.
    Whisper(Card),
}

/// Where a message goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum Target {
    /// Everybody in a channel or thread.
    Place { workspace: String, place: Place },
    /// One person, in their direct line.
    Direct { workspace: String, user: String },
    /// One person, in a channel, gone on reload. For short notes only: it cannot be found or replaced.
    Whisper { workspace: String, place: Place, user: String },
}

impl Target {
    /// The platform's workspace.
    #[must_use]
    pub fn workspace(&self) -> &str {
        match self {
            Self::Place { workspace, .. }
            | Self::Direct { workspace, .. }
            | Self::Whisper { workspace, .. } => workspace,
        }
    }
}

/// Where a message stands on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posted {
    /// The platform's channel id (of the direct line, where it went there).
    pub channel: String,
    /// The platform's message id.
    pub message: String,
}

/// Whether a message is already there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
    /// Here.
    Yes(Posted),
    /// Surely not.
    No,
    /// The platform does not let us look.
    CannotTell,
}

/// What the platform tells of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The platform's id.
    pub user: String,
    /// As shown in chat.
    pub name: String,
    /// In full.
    pub full_name: String,
    /// "Sales", where the platform tells it.
    pub title: Option<String>,
    /// Their address, where the platform tells it.
    pub address: Option<String>,
    /// IANA zone name, where the platform tells it.
    pub zone: Option<String>,
    /// Whether they belong.
    pub standing: Standing,
}

/// Why the platform did not do it, sorted by what follows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// It asks to wait; nothing was done.
    #[error("asked to wait {after_seconds} s")]
    Busy { after_seconds: u64 },
    /// No answer: it may or may not have been done, so look before doing it again.
    #[error("no answer: {0}")]
    Lost(String),
    /// The place takes nothing from us (channel gone, no member, direct messages closed): `code` is the
    /// platform's.
    #[error("closed: {code}")]
    Closed { code: String },
    /// It will never take this message, wherever it goes.
    #[error("refused: {code}")]
    Refused { code: String },
}

/// What an adapter does for the core; nothing optional.
#[async_trait]
pub trait ChatAdapter: Send + Sync {
    /// The platform's name in rows.
    fn platform(&self) -> &'static str;
    /// Posts a card under a key by which it can be found again.
    async fn post(&self, target: &Target, card: &Card, key: DeliveryId) -> Result<Posted, ChatError>;
    /// Puts another card in the place of a posted one.
    async fn replace(&self, at: &Posted, card: &Card, key: DeliveryId) -> Result<(), ChatError>;
    /// Looks for a card under its key among what was posted since then.
    async fn find(&self, target: &Target, key: DeliveryId, since: Timestamp) -> Result<Sighting, ChatError>;
    /// Who that is.
    async fn profile(&self, workspace: &str, user: &str) -> Result<Profile, ChatError>;
    /// A page of everybody in the workspace, and the cursor of the next.
    async fn members(
        &self,
        workspace: &str,
        cursor: Option<String>,
    ) -> Result<(Vec<Profile>, Option<String>), ChatError>;
}

/// The adapters of this installation, by platform.
#[derive(Clone, Default)]
pub struct Adapters(HashMap<&'static str, Arc<dyn ChatAdapter>>);

impl Adapters {
    /// From a list.
    #[must_use]
    pub fn new(adapters: impl IntoIterator<Item = Arc<dyn ChatAdapter>>) -> Self {
        Self(adapters.into_iter().map(|adapter| (adapter.platform(), adapter)).collect())
    }

    /// The adapter of a platform.
    #[must_use]
    pub fn get(&self, platform: &str) -> Option<&Arc<dyn ChatAdapter>> {
        self.0.get(platform)
    }
}
