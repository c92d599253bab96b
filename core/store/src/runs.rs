//! The mailbox of a run: whoever has news for one writes a job, and knows nothing else of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::jobs::Job;
use nod_contract::ids::{ApprovalId, QuestionId, RunId};
use nod_contract::provider::Provider;
use nod_contract::tool::ToolResult;

/// Moves a run on; in the lane of its conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum RunJob {
    /// News is consumed by the commit that absorbs it, which turns the job into one without.
    Advance { run: RunId, news: Option<RunEvent> },
}

impl Job for RunJob {
    const KINDS: &'static [&'static str] = &["advance"];
}

/// What a waiting run hears.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum RunEvent {
    /// An approval ended without an effect; `about` says in a line which.
    #[serde(alias = "verdict")]
    ApprovalClosed {
        approval: ApprovalId,
        verdict: Verdict,
        #[serde(default)]
        about: Option<String>,
    },
    /// The person changed what waits for their nod; `changes` are the payload's new values, by name.
    #[serde(alias = "revised")]
    ApprovalEdited { approval: ApprovalId, changes: Value },
    /// An effect ended; `ticket` is its approval's id, or its own where it needed none.
    #[serde(alias = "outcome")]
    EffectFinished {
        #[serde(alias = "ticket")]
        awaited_id: Uuid,
        result: ToolResult,
    },
    /// A question was answered, or nobody did.
    #[serde(alias = "answer")]
    QuestionClosed { question: QuestionId, answer: Option<String> },
    /// An account was connected, or will not be.
    #[serde(alias = "connection")]
    ConnectFinished {
        provider: Provider,
        #[serde(alias = "ended")]
        outcome: ConnectOutcome,
    },
    /// The person asks for another try of a failed run.
    Retry,
    /// The message that began the run has other words now.
    #[serde(rename = "edited")]
    MessageEdited { text: String },
    /// The message that began the run was deleted.
    #[serde(rename = "withdrawn")]
    MessageDeleted,
}

/// How the way to an account ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectOutcome {
    /// It is connected.
    Connected,
    /// Nobody followed the link in time.
    #[serde(alias = "late")]
    Expired,
    /// The person said no at the provider.
    Declined,
    /// Not everything was granted that the tools need.
    #[serde(alias = "too_little")]
    InsufficientScopes,
    /// An admin did not allow the account.
    #[serde(alias = "not_allowed")]
    DeniedByAdmin,
    /// The provider did not play along.
    Failed,
}

/// How an approval ended without an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The person said no.
    Denied,
    /// The person said no, and why, in their own words.
    #[serde(alias = "denied_because")]
    DeniedWithReason(String),
    /// The second person whom the rules want said no, and perhaps why.
    #[serde(alias = "second_denied")]
    DeniedByCoApprover {
        /// In their own words.
        #[serde(alias = "why")]
        reason: Option<String>,
    },
    /// Nobody answered in time.
    Expired,
    /// A newer request of the same kind took its place.
    Superseded,
    /// The person said yes, and took it back in time.
    Undone,
    /// The person said yes, and by then the rules forbade it, for this reason.
    #[serde(alias = "never")]
    ForbiddenByPolicy(String),
}
