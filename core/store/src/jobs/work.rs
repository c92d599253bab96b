//! The kinds of work, and the news that wakes a waiting run.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{
    ApprovalId, ConversationId, DeliveryId, EffectId, OfferId, PersonId, QuestionId, RunId,
};
use nod_contract::provider::Provider;
use nod_contract::tool::ToolResult;

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
    /// Nobody connected.
    ExpireOffer { offer: OfferId },
    /// Give a grant back to its provider; in a lane of its own.
    GiveBack { revocation: Uuid },
    /// A grant is about to end by itself; in a lane of its own, a day before.
    WarnOfEnd { person: PersonId, provider: Provider, conversation: ConversationId, ends_at: Timestamp },
    /// Name a pane, or offer prompts in it; in a lane of its own.
    DressPane { conversation: ConversationId, title: Option<String> },
    /// Show a person's own page; in a lane of its own.
    ShowHome { person: PersonId, platform: String, workspace: String },
    /// Read what was said in the conversation of a run, for its summary and for facts; in a lane of its own, so that
    /// no answer waits for it.
    Remember { run: RunId },
    /// Read the people of a workspace.
    ReadDirectory { platform: String, workspace: String },
    /// Look up what was said in a workspace since then, while nothing of it arrived. `left` are the channels
    /// that are still to be read, once they are known; the last of them is read `from` where it was left.
    CatchUp {
        platform: String,
        workspace: String,
        since: Timestamp,
        left: Option<Vec<String>>,
        from: Option<String>,
    },
    /// Take what a run read of others' talk out of its record.
    Forget { run: RunId },
}

/// What a waiting run hears.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum News {
    /// An approval ended without an effect; `about` says in a line which.
    Verdict {
        approval: ApprovalId,
        verdict: Verdict,
        #[serde(default)]
        about: Option<String>,
    },
    /// The person changed what waits for their nod; `changes` are the payload's new values, by name.
    Revised { approval: ApprovalId, changes: Value },
    /// An effect ended; `ticket` is its approval's id, or its own where it needed none.
    Outcome { ticket: Uuid, result: ToolResult },
    /// A question was answered, or nobody did.
    Answer { question: QuestionId, answer: Option<String> },
    /// An account was connected, or will not be.
    Connection { provider: Provider, ended: Connecting },
    /// The person asks for another try of a failed run.
    Retry,
    /// The message that began the run has other words now.
    Edited { text: String },
    /// The message that began the run was deleted.
    Withdrawn,
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
    /// The person said no, and why, in their own words.
    DeniedBecause(String),
    /// The second person whom the rules want said no, and perhaps why.
    SecondDenied {
        /// In their own words.
        why: Option<String>,
    },
    /// Nobody answered in time.
    Expired,
    /// A newer request of the same kind took its place.
    Superseded,
    /// The person said yes, and took it back in time.
    Undone,
    /// The person said yes, and by then the rules forbade it, for this reason.
    Never(String),
}
