//! The jobs of approvals, effects and questions.

use serde::{Deserialize, Serialize};

use nod_contract::ids::{ApprovalId, EffectId, QuestionId};
use nod_store::jobs::Job;

/// One job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum RequestJob {
    /// Continues an effect, in the effect's own lane.
    PerformEffect { effect: EffectId },
    /// Looks up again whether an effect with an unknown outcome happened, in the effect's lane.
    RecheckEffect { effect: EffectId },
    /// Expires an approval that was not decided in time.
    ExpireApproval { approval: ApprovalId },
    /// Reminds of a pending approval, in the approval's lane, before its expiry.
    RemindApproval { approval: ApprovalId },
    /// Reminds of a question of work, in the question's lane, before its expiry.
    RemindQuestion { question: QuestionId },
    /// Expires a question that was not answered in time.
    ExpireQuestion { question: QuestionId },
    /// Updates a vote's cards and ends it if all agree; in its card's lane, as the question's own waits for expiry.
    RefreshVote { question: QuestionId },
}

impl Job for RequestJob {
    const KINDS: &'static [&'static str] = &[
        "perform_effect",
        "recheck_effect",
        "expire_approval",
        "remind_approval",
        "remind_question",
        "expire_question",
        "refresh_vote",
    ];
}
