//! What a tool is: the documented contract between the graph and everything Nod can look up or do.
//!
//! A [`ReadTool`] only looks. An [`ActTool`] changes something, in four movements: `preview` says exactly
//! what would happen, `prepare` makes the ground ready under the effect's key and may be repeated,
//! `perform` happens once and demands a [`Permit`], and `find` answers "did it happen?" after a crash.

pub mod draft;
pub mod effect;
mod summary;

pub use summary::{Summary, join_emails, quoted};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::card::{Field, FieldError};
use crate::clock::Timestamp;
use crate::ids::PersonId;
use crate::privacy::{Audience, Provenance};
use crate::provider::Provider;
use crate::scope::Scope;
use crate::tool::draft::{CloseReason, Draft};
use crate::tool::effect::{EffectKey, Permit};

/// What a tool is called with; it cannot be called without, and no query crosses its tenant.
#[derive(Debug, Clone, Serialize)]
pub struct ToolContext {
    /// On whose books it stands.
    pub scope: Scope,
    /// On whose behalf, and with whose accounts.
    pub principal: Principal,
    /// The time of the call.
    pub now: Timestamp,
    /// When the answer is no longer of use.
    pub deadline: Timestamp,
}

impl ToolContext {
    /// What is left until the deadline, at least a second.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        (self.deadline - self.now).to_std().unwrap_or_default().max(Duration::from_secs(1))
    }
}

/// The person on whose behalf something is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// Who.
    pub person: PersonId,
    /// As the platform shows them.
    pub name: String,
    /// Their address in the chat platform, where it tells one.
    #[serde(alias = "address")]
    pub email: Option<String>,
    /// IANA zone name; `UTC` where none is known.
    pub zone: String,
}

/// Whom a tool's effect can reach; the gate decides by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// It only looks.
    Reads,
    /// It writes or throws away a draft in the person's own account, which goes to nobody without a nod.
    Drafts,
    /// It changes the person's own account, nobody else sees it, and it can be undone.
    OwnAccount,
    /// Somebody else gets something.
    Others,
}

/// What the model, the gate and the audit know of a tool.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Its name, `[a-z_]{1,64}`.
    pub name: &'static str,
    /// What the model reads.
    pub description: &'static str,
    /// JSON Schema of the arguments. A string with `"format": "recipient"` takes an address or the name of
    /// a person; the gate turns names into addresses before the tool sees them. One with
    /// `"format": "draft"` takes the id of an open draft, or may be left out; the tool sees the
    /// [`Draft`] as it was seen last. One with `"format": "when"` takes a time in a person's words; the tool sees an
    /// [`ExactTime`](nod_when::when::Exact). One with `"format": "when-or-hour"` does so too, but for an hour without a day, which
    /// the tool sees as `{"hour": "4pm"}`: it knows of which day that is.
    pub parameters: Value,
    /// Whom it can reach.
    pub reach: Reach,
    /// Whose account it uses.
    pub provider: Option<Provider>,
    /// What a person reads while it works, without the dots: "Searching your mail".
    pub status_text: &'static str,
}

/// What a tool gives back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// JSON for the model and the record.
    pub content: Value,
    /// Where it came from.
    pub provenance: Provenance,
    /// Who may read it.
    pub audience: Audience,
    /// The answer as it stands, in Markdown, which no model rewrites; `None` where a model tells it.
    #[serde(default, deserialize_with = "deserialize_verbatim")]
    pub verbatim: Option<String>,
    /// What it leaves for the next sentences of the conversation.
    #[serde(default)]
    #[serde(rename = "leaves")]
    pub follow_up: FollowUp,
    /// What stands under the answer, whatever a model makes of it.
    #[serde(default)]
    pub note: Option<String>,
}

/// Rows of earlier versions say yes or no here.
fn deserialize_verbatim<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Value::deserialize(from)?.as_str().map(str::to_owned))
}

/// What a call leaves for the next sentences of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "leaves", content = "what", rename_all = "snake_case")]
pub enum FollowUp {
    /// Nothing.
    #[default]
    Nothing,
    /// A draft that stays open, as it is now.
    Draft(Box<Draft>),
    /// A draft that was open (by the provider's id) came to its end.
    #[serde(alias = "closed")]
    DraftClosed {
        draft: String,
        #[serde(alias = "how")]
        reason: CloseReason,
    },
    /// A thread of mail in view, by the provider's id.
    #[serde(alias = "thread")]
    MailThread(String),
}

impl ToolOutput {
    /// Made by Nod or said by the person, and no secret.
    #[must_use]
    pub fn trusted(content: Value) -> Self {
        Self {
            content,
            provenance: Provenance::Trusted,
            audience: Audience::Channel,
            verbatim: None,
            follow_up: FollowUp::Nothing,
            note: None,
        }
    }

    /// For one person alone.
    #[must_use]
    pub fn private_to(self, person: PersonId) -> Self {
        Self { audience: Audience::Person(person), ..self }
    }

    /// From there.
    #[must_use]
    pub fn with_provenance(self, provenance: Provenance) -> Self {
        Self { provenance, ..self }
    }

    /// With the answer as it stands, in Markdown.
    #[must_use]
    pub fn with_verbatim(self, words: impl Into<String>) -> Self {
        Self { verbatim: Some(words.into()), ..self }
    }

    /// With what stands under the answer, whatever a model makes of it.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    /// Leaving something for the next sentences.
    #[must_use]
    pub fn with_follow_up(self, leaves: FollowUp) -> Self {
        Self { follow_up: leaves, ..self }
    }
}

/// What every call ends in.
pub type ToolResult = Result<ToolOutput, ToolError>;

/// Why a tool did not do it, sorted by who can mend it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum ToolError {
    /// The arguments are wrong, and the model will try others.
    #[error("invalid arguments: {reason}")]
    #[serde(alias = "invalid")]
    InvalidArguments { reason: String },
    /// There is no such thing, and the model will look elsewhere or say so.
    #[error("not found: {what}")]
    NotFound { what: String },
    /// Several things fit, and the person will pick; `why` is a sentence for them where the name alone does not tell.
    #[error("{name} is ambiguous")]
    Ambiguous {
        name: String,
        choices: Vec<Choice>,
        #[serde(default)]
        #[serde(alias = "why")]
        message: Option<String>,
    },
    /// The time that the person said, or picked, cannot be meant: they read why, a sentence, and say another.
    #[error("{message}")]
    NoSuchTime {
        #[serde(alias = "why")]
        message: String,
    },
    /// Several times suit everybody: the person will pick one for what they said (`about`), or have the others vote
    /// (by address). Calendars say so, so they are asked alone.
    #[error("several times fit")]
    #[serde(alias = "slots")]
    AmbiguousTime {
        #[serde(alias = "about")]
        topic: String,
        title: String,
        choices: Vec<Choice>,
        voters: Vec<String>,
        /// Whose calendars could not be seen.
        #[serde(alias = "unseen")]
        unreadable_calendars: Vec<String>,
    },
    /// The person will connect their account, or allow more of it. `revoked` where they had and the provider took it
    /// back; `missing` are the scopes that it takes, where that is known.
    #[error("{} is not connected", provider.display_name())]
    NeedsConnect {
        provider: Provider,
        revoked: bool,
        #[serde(default)]
        missing: Vec<String>,
    },
    /// It is not allowed, and the model will say so.
    #[error("not allowed: {reason}")]
    Forbidden { reason: String },
    /// Whoever administers the accounts, or runs Nod, will mend it; the person is told so, whatever the model makes of it.
    #[error("not possible until an admin mends it: {reason}")]
    NeedsAdmin { reason: String },
    /// What it was to work on is not any more as the model or the person saw it, and they will look at how it
    /// is now.
    #[error("{}", outdated(current))]
    #[serde(alias = "outdated")]
    Conflict {
        #[serde(alias = "now")]
        current: Box<ToolOutput>,
    },
    /// The provider asks to wait (seconds), and the job will try again then.
    #[error("busy, try again in {retry_after_secs} s")]
    #[serde(alias = "busy")]
    RateLimited {
        #[serde(alias = "after_seconds")]
        retry_after_secs: u64,
    },
    /// Nobody knows yet whether it happened, and the effect will look.
    #[error("unknown outcome: {reason}")]
    #[serde(alias = "unknown")]
    UnknownOutcome { reason: String },
    /// The provider or we are broken, and a person will be told with the run's id.
    #[error("broken: {reason}")]
    #[serde(alias = "broken")]
    Internal { reason: String },
}

fn outdated(now: &ToolOutput) -> &str {
    now.content["why"].as_str().unwrap_or("it was changed meanwhile")
}

impl ToolError {
    /// Whether it may tell what lies in the account, without saying to whom. (What is outdated says it itself.)
    pub fn has_account_data(&self) -> bool {
        !matches!(
            self,
            Self::NeedsConnect { .. }
                | Self::NeedsAdmin { .. }
                | Self::RateLimited { .. }
                | Self::Conflict { .. }
        )
    }

    /// Shorthand for [`Fault::InvalidArguments`].
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::InvalidArguments { reason: reason.into() }
    }

    /// The provider does not take what it gave once: the person will connect again.
    #[must_use]
    pub fn reconnect(provider: Provider) -> Self {
        Self::NeedsConnect { provider, revoked: true, missing: Vec::new() }
    }

    /// Shorthand for [`Fault::Broken`].
    pub fn internal(reason: impl Into<String>) -> Self {
        Self::Internal { reason: reason.into() }
    }
}

/// One of several things that fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What the person reads on the button.
    pub label: String,
    /// What it stands for (an address).
    pub value: String,
}

/// Longest body that a person is asked about, in characters: about ten pages, which can still be shown whole.
pub const MAX_BODY_CHARS: usize = 30_000;

/// The field of [`Preview::fields`] that says what was taken for granted of a time.
pub const ASSUMPTIONS_FIELD: &str = "Understood";

/// Exactly what would happen, as the person approves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    /// The exact payload that `perform` will get; the approval's digest is over it.
    pub payload: Value,
    /// "Send this email?"
    pub question: String,
    /// Every field of the payload that is not the body, in reading order; an empty value shows as "—".
    pub fields: Vec<(String, String)>,
    /// The body, whole; without what stands below it.
    pub body: Option<String>,
    /// What leaves below the body and stands on no card: [Show all] shows it to whoever decides.
    #[serde(default)]
    #[serde(alias = "below")]
    pub trailing_text: Option<String>,
    /// On whose account it happens (an address).
    pub account: String,
    /// That account is the organisation's, and not the person's own.
    #[serde(default)]
    #[serde(alias = "organisations")]
    pub is_organisation_account: bool,
    /// Addresses of everybody who would get something.
    pub recipients: Vec<String>,
    /// It in one line. Rows of earlier versions have none.
    #[serde(default)]
    #[serde(alias = "gist")]
    pub summary: Option<Summary>,
    /// What it is about where its recipients alone do not tell: a newer request takes the place of one that waits
    /// only where both are about the same.
    #[serde(default)]
    #[serde(alias = "about")]
    pub topic: Option<String>,
    /// The event that it is about, where that has hours.
    #[serde(default)]
    #[serde(rename = "gathering")]
    pub event_details: Option<EventDetails>,
    /// What the person may change before they nod; empty where nothing can be.
    #[serde(default)]
    pub form: Vec<Field>,
    /// The words around the decision.
    #[serde(rename = "words")]
    pub labels: ActionLabels,
    /// Who may read it, beside what its run has in view already.
    #[serde(default = "default_audience")]
    pub audience: Audience,
    /// Whether outside text is in it.
    #[serde(default = "default_provenance")]
    pub provenance: Provenance,
    /// What only the tool can know to be careful about, a line each; computed, never written by a model.
    #[serde(default)]
    pub risks: Vec<String>,
    /// The same from the person's own mailbox or calendar: for cards that they alone see.
    #[serde(default)]
    pub private_risks: Vec<String>,
    /// Of the recipients those whom nobody here has named, and the directory neither, while outside text is in view.
    /// The gate's to say.
    #[serde(default)]
    #[serde(alias = "unnamed")]
    pub unknown_recipients: Vec<String>,
    /// The open draft that it works on, by the provider's id.
    #[serde(default)]
    pub draft: Option<String>,
    /// How much of it a card shows where it is asked for: see `ChatAdapter::room`.
    #[serde(default = "default_display_limit")]
    #[serde(alias = "room")]
    pub display_limit: usize,
}

/// Who comes together, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventDetails {
    /// From when.
    pub from: Timestamp,
    /// Until when.
    pub to: Timestamp,
    /// By address, without whoever's calendar it is.
    pub guests: Vec<String>,
}

/// Before platforms were asked, all had what Slack has.
fn default_display_limit() -> usize {
    9_000
}

fn default_audience() -> Audience {
    Audience::Channel
}

fn default_provenance() -> Provenance {
    Provenance::Trusted
}

impl Preview {
    /// Of something that has nothing but its payload yet.
    pub fn new(payload: Value, question: impl Into<String>, words: ActionLabels) -> Self {
        Self {
            payload,
            question: question.into(),
            fields: Vec::new(),
            body: None,
            trailing_text: None,
            form: Vec::new(),
            account: String::new(),
            is_organisation_account: false,
            recipients: Vec::new(),
            summary: None,
            topic: None,
            event_details: None,
            labels: words,
            audience: default_audience(),
            provenance: default_provenance(),
            risks: Vec::new(),
            private_risks: Vec::new(),
            unknown_recipients: Vec::new(),
            draft: None,
            display_limit: default_display_limit(),
        }
    }
}

/// What a person made of a field of [`Preview::form`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue {
    /// Letter by letter.
    Text(String),
    /// Everybody who was named, by address.
    Recipients(Vec<String>),
}

/// The words of one kind of act: button, progress and receipt. They also stand together ("Email sent", "Sending
/// this email"), so they are such that this reads well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionLabels {
    /// "Approve & send"
    pub approve: String,
    /// "Sending…", which "this email" and "it again" can follow.
    #[serde(alias = "doing")]
    pub in_progress: String,
    /// "Sent", which can follow "email", "it was" and "nothing was".
    pub done: String,
    /// "Not sent", which can follow "email".
    pub not_done: String,
    /// What stands on a receipt, in the middle of a sentence: "email".
    #[serde(alias = "thing")]
    pub noun: String,
    /// What everybody whom it reaches gets by it: "mail", "invitation".
    #[serde(default = "default_recipient_noun")]
    #[serde(alias = "brings")]
    pub recipient_noun: String,
}

/// Before there was anything else, all that reached anybody was mail.
fn default_recipient_noun() -> String {
    "mail".to_owned()
}

impl ActionLabels {
    /// "Sending"
    pub fn in_progress_verb(&self) -> &str {
        self.in_progress.trim_end_matches('…')
    }
}

/// Whether an effect took place.
#[derive(Debug, Clone, PartialEq)]
pub enum EffectLookup {
    /// It did; here is the receipt.
    Done(ToolOutput),
    /// It surely did not.
    NotDone,
    /// Looking did not settle it; says what was looked at.
    Inconclusive(String),
}

/// A tool that only looks.
#[async_trait]
pub trait ReadTool: Send + Sync {
    /// What it is.
    fn spec(&self) -> &ToolSpec;
    /// Looks. Arguments have been validated against the schema.
    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult;
}

/// A tool that changes something.
#[async_trait]
pub trait ActTool: Send + Sync {
    /// What it is.
    fn spec(&self) -> &ToolSpec;
    /// Says exactly what would happen; changes nothing.
    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError>;
    /// The same act after the person changed it, on the same account: `payload` is the one that they saw, and
    /// every field of its form is filled in, in that person's zone, but for those of people that were left as they
    /// stood. A plain function, since somebody waits with the
    /// form open.
    fn revise(
        &self,
        payload: &Value,
        filled: &BTreeMap<String, FieldValue>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>>;
    /// Makes ready what `perform` needs and names it in a handle, which is committed before `perform`.
    /// Reaches nobody. Repeated after a crash: when `key.attempt` is above 1, it first looks for what an
    /// earlier attempt left under the same key.
    async fn prepare(&self, cx: &ToolContext, payload: &Value, key: EffectKey) -> Result<Value, ToolError>;
    /// Does it, once. The output's content is the receipt: `id`, and `link` where there is one.
    async fn perform(&self, cx: &ToolContext, payload: &Value, handle: &Value, permit: Permit) -> ToolResult;
    /// Did it happen?
    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        handle: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError>;
}

/// A tool of either kind.
#[derive(Clone)]
pub enum Tool {
    /// Only looks.
    Read(Arc<dyn ReadTool>),
    /// Changes something.
    Act(Arc<dyn ActTool>),
}

impl Tool {
    /// What it is.
    #[must_use]
    pub fn spec(&self) -> &ToolSpec {
        match self {
            Self::Read(tool) => tool.spec(),
            Self::Act(tool) => tool.spec(),
        }
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.spec().name)
    }
}

/// The tools of this installation, by name, in a stable order (model prompts keep their prefix).
#[derive(Debug, Clone, Default)]
pub struct Tools(BTreeMap<&'static str, Tool>);

impl Tools {
    /// From a list; of two with one name the later one stays.
    #[must_use]
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Self {
        Self(tools.into_iter().map(|tool| (tool.spec().name, tool)).collect())
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.0.get(name)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.0.values()
    }
}
