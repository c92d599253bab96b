//! The kinds of work, and the news that wakes a waiting run.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ids::{ApprovalId, DeliveryId, EffectId, OfferId, QuestionId, RunId};
use crate::tool::{Provider, ToolResult};

/// One piece of work. A closed enum: the compiler is the checklist of handlers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum Work {
    /// Move a run on; in the lane of its conversation. News is consumed by the commit that absorbs it, which
    /// turns the job into one without.
    Advance { run: RunId, news: Option<News> },
    /// Post or replace an outgoing message; in the lane of its channel or person.
    Deliver { delivery: DeliveryId },
    /// Carry an effect on; in a lane of its own.
    Perform { effect: EffectId },
    /// Nobody answered an approval.
    ExpireApproval { approval: ApprovalId },
    /// Nobody answered a question.
    ExpireQuestion { question: QuestionId },
    /// Nobody connected.
    ExpireOffer { offer: OfferId },
    /// Read the people of a workspace.
    ReadDirectory { platform: String, workspace: String },
}

/// What a waiting run hears.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum News {
    /// An approval ended without an effect.
    Verdict { approval: ApprovalId, verdict: Verdict },
    /// An effect ended; `ticket` is its approval's id, or its own where it needed none.
    Outcome { ticket: Uuid, result: ToolResult },
    /// A question was answered, or nobody did.
    Answer { question: QuestionId, answer: Option<String> },
    /// An account was connected, or will not be.
    Connection { provider: Provider, ended: Connecting },
    /// The person asks for another try of a failed run.
    Retry,
}

/// How the way to an account ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connecting {
    /// It is connected.
    Connected,
    /// Nobody followed the link in time.
    Late,
    /// The person said no at the provider.
    Declined,
    /// Not everything was granted that the tools need.
    TooLittle,
    /// An admin did not allow the account.
    NotAllowed,
    /// The provider did not play along.
    Failed,
}

/// How an approval ended without an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The person said no.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// A newer request of the same kind took its place.
    Superseded,
}
