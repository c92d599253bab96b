//! Typed ids, one type for each kind of thing, and the trait that creates them.
//!
//! A `PersonId` is a human known to Nod; a platform's user is only ever a string together with its workspace. Using
//! one kind of id for another does not compile.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Returns the last eight hex digits, to read and search by: those of a time-ordered id begin alike.
            #[must_use]
            pub fn short(&self) -> String {
                let text = self.0.simple().to_string();
                text[text.len() - 8..].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
    )*};
}

id! {
    /// An organisation; an installation is one tenant until more are added.
    TenantId,
    /// A human known to Nod, on any platform.
    PersonId,
    /// A channel or DM channel of a platform.
    ChannelId,
    /// One thread inside a channel; the `case` of a chat run.
    ConversationId,
    /// One message of a conversation.
    MessageId,
    /// One execution of the graph.
    RunId,
    /// One call of a tool or a model.
    InvocationId,
    /// Ties together everything that one inbound caused.
    TraceId,
    /// One request for an approval.
    ApprovalId,
    /// One change outside Nod; also its idempotency key.
    EffectId,
    /// One outgoing message; also its delivery key.
    DeliveryId,
    /// One question with choices.
    QuestionId,
    /// One request to connect an account.
    OfferId,
    /// One remembered fact.
    FactId,
    /// One draft that stays open.
    DraftId,
}

/// Creates ids and random bytes, so that a test can determine them.
pub trait Ids: Send + Sync + 'static {
    /// Returns a new id; later ids sort after earlier ones.
    fn next(&self) -> Uuid;
    /// Returns 32 unpredictable bytes, for link tokens, OAuth state and nonces.
    fn secret(&self) -> [u8; 32];
}

/// The ids of the running product: UUID v7 and the operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl Ids for SystemIds {
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn secret(&self) -> [u8; 32] {
        rand::random()
    }
}

impl ConversationId {
    /// Returns the lane of the runs that people begin in the conversation: they answer one after another.
    #[must_use]
    pub fn lane(self) -> Uuid {
        self.0
    }
}

/// Derives the id of a lane from words.
pub fn named_lane_id(words: &[&str]) -> Uuid {
    let digest = Sha256::digest(words.join("\u{1f}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Uuid::from_bytes(bytes)
}
