//! Approvals: the exact payload, its digest, who may decide and until when; the card that shows it; and the
//! press that decides it once.

mod again;
mod anew;
mod batch;
mod card;
mod decide;
mod edit;
mod form;
pub mod guests;
mod headline;
mod remind;
mod risks;
pub mod second;
pub mod sql;
mod take_back;
mod told;
mod typed;
mod undo;
mod whole;
mod withdraw;

pub(crate) use again::went_out;
pub use again::{again, look};
pub use anew::forbidden;
pub use batch::{Many, fits, press as press_many, tick};
pub use card::{card, card_for, prompt_line, request, waiting_line};
pub use decide::{Decision, expire, press, refresh, refuse, supersede, supersede_draft, withdraw};
pub use edit::{Editor, save};
pub use form::{open, show};
pub use remind::{plan as plan_reminder, remind};
pub use risks::risks;
pub use second::{Approver, sql::Owner, wanted};
pub use take_back::take_back;
pub use typed::{Word, shown, yes};
pub use undo::undo;
pub use whole::{TooLong, askable};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::policy;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, ConversationId, DeliveryId, EffectId, PersonId, RunId};
use nod_contract::provider::Provider;
use nod_contract::tool::{Preview, Reach, ToolResult};

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
pub struct Approval {
    pub id: ApprovalId,
    pub conversation: ConversationId,
    pub run: RunId,
    pub call_id: String,
    pub tool: String,
    pub revision: i32,
    pub preview: Preview,
    pub digest: String,
    pub risks: Vec<String>,
    /// Where the outside text came from that was in view when it was asked for, in the order in which it was read.
    pub sources: Vec<String>,
    pub decider: PersonId,
    pub decider_name: String,
    pub zone: String,
    pub status: Status,
    pub decided_at: Option<Timestamp>,
    /// Whoever decided it, or took it back.
    pub decided_by: Option<String>,
    /// Of whom else one has to agree, as the rules call them.
    pub second: Option<String>,
    /// Those, where there are to be two.
    pub approvers: Vec<Approver>,
    /// The owner's yes, where one of those has to follow.
    pub first_at: Option<Timestamp>,
    /// Why it was denied, in the person's own words.
    pub reason: Option<String>,
    pub expires_at: Timestamp,
    pub delivery: DeliveryId,
    /// How long a nod can be taken back.
    pub undo: TimeDelta,
    /// Text from outside was in view when it was made.
    pub outside: bool,
    /// The message that reminded of it.
    pub reminder: Option<DeliveryId>,
    /// Chosen for [Approve selected], where several stand on one card.
    pub ticked: bool,
    /// The request whose outcome nobody knows, and which this asks for once more.
    pub again_of: Option<ApprovalId>,
    /// The one that it asks for again turned out to have been done.
    pub first_done: bool,
    /// It was asked for once more.
    pub asked_again: bool,
    pub effect: Option<EffectEnd>,
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
    pub fn waits(&self, revision: i32, now: Timestamp) -> bool {
        self.status == Status::Pending && self.expires_at > now && self.revision == revision
    }
}

/// How far the effect of an approved request is.
#[derive(Debug, Clone)]
pub struct EffectEnd {
    pub id: EffectId,
    pub at: Timestamp,
    /// From when on it may start.
    pub(crate) starts_at: Timestamp,
    /// It may start, and cannot be taken back any more.
    pub released: bool,
    /// `None` while it is under way.
    pub outcome: Option<ToolResult>,
    /// The provider asked to wait until then.
    pub waits: Option<(Provider, Timestamp)>,
}
