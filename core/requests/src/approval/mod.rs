//! Approvals: the exact payload, its digest, who decides and until when; the card that shows it; and the click that
//! decides it once.

mod account_ended;
mod batch;
mod card;
pub mod co_approval;
mod decide;
mod display_limits;
mod edit;
mod form;
pub mod guests;
mod headline;
mod keep_edit;
mod rejection;
mod remind;
mod retry_unknown;
mod revalidate;
mod risks;
pub mod sql;
mod stopped;
mod typed_yes;
mod undo;
mod waiting_line;
mod withdraw;

pub use batch::{BatchDecision, fits_on_one_card, handle_batch_click, pick_one, set_selected};
pub(crate) use card::line;
pub use card::{card, card_for, pending_line, prompt_line, request};
pub use co_approval::{CoApprover, find_co_approvers, sql::AccountOwner};
pub use decide::{
    Decision, deny_with_reason, expire, handle_decision_click, refresh, supersede, supersede_draft,
};
pub use display_limits::{TooLong, check_displayable};
pub use edit::{Editor, save};
pub use form::{open, show};
pub(crate) use keep_edit::keep_unsent_edit;
pub use remind::{plan as plan_reminder, remind};
pub(crate) use retry_unknown::supersede_retry_request;
pub use retry_unknown::{find_draft_to_send, request_recheck, request_retry};
pub use revalidate::forbidden_text;
pub use risks::risks;
pub use typed_yes::{Word, is_yes, refresh_approved_card, yes};
pub use undo::handle_undo_click;
pub use waiting_line::waiting_line;
pub use withdraw::withdraw;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::policy;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, ConversationId, DeliveryId, EffectId, PersonId, RunId};
use nod_contract::provider::Provider;
use nod_contract::tool::{Preview, Reach, ToolResult};

/// The status of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waits for a decision.
    Pending,
    /// Approved.
    Approved,
    /// Denied.
    Denied,
    /// Not decided in time.
    Expired,
    /// Replaced by a newer request, or no longer wanted.
    Superseded,
    /// It was stopped, the message that asked for it was changed or deleted, or the rules have come to forbid it.
    Withdrawn,
    /// Approved, and undone before anything happened.
    Undone,
}

impl Status {
    /// Returns the name in rows.
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
    /// The sources of the outside text that was in view when it was requested, in the order in which they were read.
    pub sources: Vec<String>,
    pub decider: PersonId,
    pub decider_name: String,
    pub zone: String,
    pub status: Status,
    pub decided_at: Option<Timestamp>,
    /// The name of the person who decided it or undid it.
    pub decided_by: Option<String>,
    /// The name of the policy's list of which one more person must approve.
    pub co_approver_list: Option<String>,
    /// The people on that list who can be asked, if two must approve.
    pub co_approvers: Vec<CoApprover>,
    /// When the owner approved, if a co-approver must follow.
    pub owner_approved_at: Option<Timestamp>,
    /// Why it was denied, in the person's own words, or the reason of the rule that forbids it.
    pub reason: Option<String>,
    pub expires_at: Timestamp,
    pub delivery: DeliveryId,
    /// How long an approval can be undone.
    pub undo_window: TimeDelta,
    /// Whether text from outside was in view when it was requested.
    pub untrusted_in_view: bool,
    /// The message that reminded its owner.
    pub reminder: Option<DeliveryId>,
    /// Ticked, if several requests share a card.
    pub selected: bool,
    /// The request that this one repeats, because its outcome is unknown or it expired.
    pub retry_of: Option<ApprovalId>,
    /// The request that it repeats turned out to have been performed.
    pub original_done: bool,
    /// Whether a newer request repeats it.
    pub was_retried: bool,
    pub effect: Option<EffectState>,
}

impl Approval {
    /// Returns the call for the policy with this preview. `overwrites` is set: what was requested once needs approval.
    fn call<'a>(&'a self, preview: &'a Preview, reach: Reach) -> policy::PolicyInput<'a> {
        policy::PolicyInput {
            tool: &self.tool,
            reach,
            account: &preview.account,
            recipients: &preview.recipients,
            has_untrusted_content: self.untrusted_in_view,
            overwrites_user_draft: true,
        }
    }

    /// Returns whether that revision is still pending.
    pub fn is_pending(&self, revision: i32, now: Timestamp) -> bool {
        self.status == Status::Pending && self.expires_at > now && self.revision == revision
    }
}

/// The progress of an approved request's effect.
#[derive(Debug, Clone)]
pub struct EffectState {
    pub id: EffectId,
    pub at: Timestamp,
    /// The earliest time at which it can start.
    pub(crate) starts_at: Timestamp,
    /// It can start and can no longer be undone.
    pub released: bool,
    /// `None` while it is in progress.
    pub outcome: Option<ToolResult>,
    /// The provider asked to wait until then.
    pub rate_limited_until: Option<(Provider, Timestamp)>,
}
