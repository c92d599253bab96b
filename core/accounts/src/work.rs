//! The jobs of connected accounts.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, OfferId, PersonId};
use nod_contract::provider::Provider;
use nod_store::jobs::Job;

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum AccountJob {
    /// Expire an offer through which no account was connected.
    ExpireConnectRequest { offer: OfferId },
    /// Revoke a grant at its provider; in a lane of its own.
    RevokeGrant { revocation: Uuid },
    /// Warn one day before a grant expires; in a lane of its own.
    WarnGrantExpiry {
        person: PersonId,
        provider: Provider,
        conversation: ConversationId,
        #[serde(alias = "ends_at")]
        grant_expires_at: Timestamp,
    },
}

impl Job for AccountJob {
    const KINDS: &'static [&'static str] = &["expire_connect_request", "revoke_grant", "warn_grant_expiry"];
}
