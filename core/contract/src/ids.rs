//! Identities, one type a thing, and the trait that hands them out.
//!
//! A `PersonId` is a human known to Nod; what a platform calls a user is only ever a string beside its
//! workspace. Asking with the wrong authority does not compile.

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
            /// The tail that people read and search for: the head of a time-ordered id says little.
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
    /// An organisation; an installation is one tenant until it is given more.
    TenantId,
    /// A human known to Nod, whatever platform they speak from.
    PersonId,
    /// A channel or direct-message line of a platform.
    ChannelId,
    /// One thread of talk inside a channel; the `case` of a chat run.
    ConversationId,
    /// One message of a conversation.
    MessageId,
    /// One execution of the graph.
    RunId,
    /// One call of a tool or a model.
    InvocationId,
    /// Ties together what one inbound caused.
    TraceId,
    /// One request for a nod.
    ApprovalId,
    /// One act on the world; also its idempotency key.
    EffectId,
    /// One outgoing message; also its delivery key.
    DeliveryId,
    /// One question with choices.
    QuestionId,
    /// One offer to connect an account.
    OfferId,
    /// One thing that is remembered.
    FactId,
    /// One draft that stays open.
    DraftId,
}

/// Hands out ids and random bytes, so that a test can say which come next.
pub trait Ids: Send + Sync + 'static {
    /// A new id, later ones sorting after earlier ones.
    fn next(&self) -> Uuid;
    /// 32 bytes nobody can guess, for link tokens, OAuth state and nonces.
    fn secret(&self) -> [u8; 32];
}

/// Ids of the running product: UUID v7 and the operating system's randomness.
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

/// A lane named by words.
pub fn named_lane_id(words: &[&str]) -> Uuid {
    let digest = Sha256::digest(words.join("\u{1f}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Uuid::from_bytes(bytes)
}
