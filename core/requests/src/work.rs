//! The jobs of approvals, effects and questions.

use serde::{Deserialize, Serialize};

use nod_contract::ids::{ApprovalId, EffectId, QuestionId};
use nod_store::jobs::Job;

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum RequestJob {
    /// Carry an effect on; in a lane of its own.
    Perform { effect: EffectId },
    /// Look once more for an effect of which nobody knows whether it happened; in its lane.
    LookAgain { effect: EffectId },
    /// Nobody answered an approval.
    ExpireApproval { approval: ApprovalId },
    /// Remind somebody of an approval that waits; in the approval's lane, before its expiry.
    RemindApproval { approval: ApprovalId },
    /// Nobody answered a question.
    ExpireQuestion { question: QuestionId },
    /// Show how a vote stands, and end it where everybody agrees; in the question's lane, before its expiry.
    Tally { question: QuestionId },
}

impl Job for RequestJob {
    const KINDS: &'static [&'static str] =
        &["perform", "look_again", "expire_approval", "remind_approval", "expire_question", "tally"];
}
