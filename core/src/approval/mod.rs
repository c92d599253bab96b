//! Approvals: the exact payload, its digest, who may decide and until when; the card that shows it; and the
//! press that decides it once.

mod card;
mod decide;
mod digest;
mod risks;
pub(crate) mod sql;

pub(crate) use card::{card, waiting_line};
pub(crate) use decide::{expire, press, refresh, supersede};
pub use digest::digest;
pub(crate) use risks::risks;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{ApprovalId, ConversationId, DeliveryId, PersonId, RunId};
use crate::tool::{Preview, ToolResult};

/// Where an approval stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waits for a nod.
    Pending,
    /// Somebody said yes.
    Approved,
    /// Somebody said no.
    Denied,
    /// Nobody answered.
    Expired,
    /// A newer one took its place.
    Superseded,
}

impl Status {
    /// The name in rows.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
        }
    }
}

/// An approval with everything that its card shows.
#[derive(Debug, Clone)]
pub(crate) struct Approval {
    pub(crate) id: ApprovalId,
    pub(crate) conversation: ConversationId,
    pub(crate) run: RunId,
    pub(crate) call_id: String,
    pub(crate) tool: String,
    pub(crate) revision: i32,
    pub(crate) preview: Preview,
    pub(crate) digest: String,
    pub(crate) risks: Vec<String>,
    pub(crate) decider: PersonId,
    pub(crate) decider_name: String,
    pub(crate) zone: String,
    pub(crate) status: Status,
    pub(crate) decided_at: Option<Timestamp>,
    pub(crate) expires_at: Timestamp,
    pub(crate) delivery: DeliveryId,
    pub(crate) effect: Option<EffectEnd>,
}

/// How far the effect of an approved request is.
#[derive(Debug, Clone)]
pub(crate) struct EffectEnd {
    pub(crate) at: Timestamp,
    /// `None` while it is under way.
    pub(crate) outcome: Option<ToolResult>,
}
