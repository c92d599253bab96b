//! Approvals: the exact payload, its digest, who may decide and until when; the card that shows it; and the
//! press that decides it once.

mod again;
mod anew;
mod batch;
mod card;
mod decide;
mod edit;
mod form;
pub(crate) mod guests;
mod headline;
mod remind;
mod risks;
pub(crate) mod second;
pub(crate) mod sql;
mod take_back;
mod told;
mod typed;
mod undo;
mod whole;
mod withdraw;

pub(crate) use again::{again, look, went_out};
pub(crate) use anew::forbidden;
pub(crate) use batch::{Many, fits, press as press_many, tick};
pub use card::request;
pub(crate) use card::{card, card_for, prompt_line, waiting_line};
pub(crate) use decide::{Decision, expire, press, refresh, refuse, supersede, supersede_draft, withdraw};
pub(crate) use edit::{Editor, save};
pub(crate) use form::{open, show};
pub(crate) use remind::{plan as plan_reminder, remind};
pub(crate) use risks::risks;
pub(crate) use second::{Approver, sql::Owner, wanted};
pub(crate) use take_back::take_back;
pub(crate) use typed::{Word, shown, yes};
pub(crate) use undo::undo;
pub use whole::{TooLong, askable};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{ApprovalId, ConversationId, DeliveryId, EffectId, PersonId, RunId};
use crate::policy;
use crate::provider::Provider;
use crate::tool::{Preview, Reach, ToolResult};

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
    /// The message that asked for it was changed or deleted.
    Withdrawn,
    /// Approved, and taken back before anything happened.
    Undone,
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
            Self::Withdrawn => "withdrawn",
            Self::Undone => "undone",
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
    /// Where the outside text came from that was in view when it was asked for, in the order in which it was read.
    pub(crate) sources: Vec<String>,
    pub(crate) decider: PersonId,
    pub(crate) decider_name: String,
    pub(crate) zone: String,
    pub(crate) status: Status,
    pub(crate) decided_at: Option<Timestamp>,
    /// Whoever decided it, or took it back.
    pub(crate) decided_by: Option<String>,
    /// Of whom else one has to agree, as the rules call them.
    pub(crate) second: Option<String>,
    /// Those, where there are to be two.
    pub(crate) approvers: Vec<Approver>,
    /// The owner's yes, where one of those has to follow.
    pub(crate) first_at: Option<Timestamp>,
    /// Why it was denied, in the person's own words.
    pub(crate) reason: Option<String>,
    pub(crate) expires_at: Timestamp,
    pub(crate) delivery: DeliveryId,
    /// How long a nod can be taken back.
    pub(crate) undo: TimeDelta,
    /// Text from outside was in view when it was made.
    pub(crate) outside: bool,
    /// The message that reminded of it.
    pub(crate) reminder: Option<DeliveryId>,
    /// Chosen for [Approve selected], where several stand on one card.
    pub(crate) ticked: bool,
    /// The request whose outcome nobody knows, and which this asks for once more.
    pub(crate) again_of: Option<ApprovalId>,
    /// The one that it asks for again turned out to have been done.
    pub(crate) first_done: bool,
    /// It was asked for once more.
    pub(crate) asked_again: bool,
    pub(crate) effect: Option<EffectEnd>,
}

impl Approval {
    /// What the rules look at, with this preview in its place. What was asked for once is never done unasked.
    fn call<'a>(&'a self, preview: &'a Preview, reach: Reach) -> policy::Call<'a> {
        policy::Call {
            tool: &self.tool,
            reach,
            account: &preview.account,
            recipients: &preview.recipients,
            outside_text: self.outside,
            overwrites: true,
        }
    }

    /// Whether that revision of it still waits.
    pub(crate) fn waits(&self, revision: i32, now: Timestamp) -> bool {
        self.status == Status::Pending && self.expires_at > now && self.revision == revision
    }
}

/// How far the effect of an approved request is.
#[derive(Debug, Clone)]
pub(crate) struct EffectEnd {
    pub(crate) id: EffectId,
    pub(crate) at: Timestamp,
    /// From when on it may start.
    pub(crate) starts_at: Timestamp,
    /// It may start, and cannot be taken back any more.
    pub(crate) released: bool,
    /// `None` while it is under way.
    pub(crate) outcome: Option<ToolResult>,
    /// The provider asked to wait until then.
    pub(crate) waits: Option<(Provider, Timestamp)>,
}
