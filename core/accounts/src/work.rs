//! The jobs of connected accounts.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, OfferId, PersonId};
use nod_contract::provider::Provider;
use nod_store::jobs::Job;

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum AccountJob {
    /// Nobody connected.
    ExpireOffer { offer: OfferId },
    /// Give a grant back to its provider; in a lane of its own.
    GiveBack { revocation: Uuid },
    /// A grant is about to end by itself; in a lane of its own, a day before.
    WarnOfEnd { person: PersonId, provider: Provider, conversation: ConversationId, ends_at: Timestamp },
}

impl Job for AccountJob {
    const KINDS: &'static [&'static str] = &["expire_offer", "give_back", "warn_of_end"];
}
