//! What a tool is: the documented contract between the graph and everything Nod can look up or do.
//!
//! A [`ReadTool`] only reads. An [`ActTool`] changes something, in four steps: `preview` returns exactly what would
//! happen, `prepare` sets up what is needed under the effect's key and can be repeated, `perform` happens once and
//! requires a [`Permit`], and `find_effect` answers "did it happen?" after a crash.

pub mod account;
pub mod draft;
pub mod effect;
mod registry;
mod summary;

pub use registry::{InvalidSchema, RegisteredTool, Tools};
pub use summary::{Summary, join_emails, quote_title};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::card::quick_action::ListedItem;
use crate::card::{Field, FieldError};
use crate::clock::Timestamp;
use crate::ids::PersonId;
use crate::outside::AskedBy;
use crate::privacy::{Audience, Provenance};
use crate::provider::Provider;
use crate::scope::Scope;
use crate::tool::account::SealedAccounts;
use crate::tool::draft::{CloseReason, Draft};
use crate::tool::effect::{EffectKey, Permit};

/// The context of a tool call. Every call needs one, and no query crosses its tenant.
#[derive(Debug, Clone, Serialize)]
pub struct ToolContext {
    /// The scope that the call belongs to.
    pub scope: Scope,
    /// The person on whose behalf it runs, and whose accounts it uses.
    pub principal: Principal,
    /// The time of the call.
    pub now: Timestamp,
    /// After this, the answer is no longer useful.
    pub deadline: Timestamp,
    /// The accounts of `principal`, if the job of the call has just read them; otherwise the call reads what it needs.
    #[serde(skip)]
    pub accounts: Option<SealedAccounts>,
}

impl ToolContext {
    /// Returns the time left until the deadline, at least one second.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        (self.deadline - self.now).to_std().unwrap_or_default().max(Duration::from_secs(1))
    }
}

/// The person on whose behalf something is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// The person's id.
    pub person: PersonId,
    /// As the platform shows them.
    pub name: String,
    /// Their email address in the chat platform, if it reports one.
    #[serde(alias = "address")]
    pub email: Option<String>,
    /// IANA zone name; `UTC` if none is known.
    pub zone: String,
}

/// Whom a tool's effect can reach. The gate decides by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// It only reads.
    Reads,
    /// It writes or discards a draft in the person's own account. The draft is sent to no one without an approval.
    Drafts,
    /// It changes only the person's own account, no other user sees it, and it can be undone.
    OwnAccount,
    /// Another person receives something.
    Others,
}

/// What the model, the gate and the audit know about a tool.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Its name, `[a-z_]{1,64}`.
    pub name: &'static str,
    /// The description for the model.
    pub description: &'static str,
    /// JSON Schema of the arguments. A string with `"format": "recipient"` takes an address or the name of a person;
    /// the gate resolves names to addresses before the tool sees them. One with `"format": "draft"` takes the id of
    /// an open draft, or can be left out; the tool receives the [`Draft`] as it was last seen. One with
    /// `"format": "when"` takes a time in a person's words; the tool receives a `nod_when::when::ExactTime`.
    /// `"format": "when-or-hour"` does the same, but an hour without a day reaches the tool as `{"hour": "4pm"}`,
    /// because the tool knows the day.
    pub parameters: Value,
    /// Whom it can reach.
    pub reach: Reach,
    /// The provider whose account it uses.
    pub provider: Option<Provider>,
    /// What people read while it works, without the dots: "Searching mail". Others than its person may read it too, so it
    /// says the kind of activity, and never whose or which content. Empty if there is nothing to say.
    pub status_text: &'static str,
}

/// What a tool returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// JSON for the model and the step record.
    pub content: Value,
    /// Where it came from.
    pub provenance: Provenance,
    /// Who may read it.
    pub audience: Audience,
    /// The answer exactly as shown, in Markdown, never rewritten by a model; `None` if a model writes the answer.
    #[serde(default, deserialize_with = "deserialize_string_or_none")]
    pub verbatim: Option<String>,
    /// What it leaves for the next messages of the conversation.
    #[serde(default)]
    #[serde(rename = "leaves")]
    pub follow_up: FollowUp,
    /// A line shown under the answer, whatever the model writes.
    #[serde(default)]
    pub note: Option<String>,
    /// What it found, to be shown under the answer as lines with buttons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ListedItem>,
}

/// Rows of earlier versions hold a boolean here.
fn deserialize_string_or_none<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Value::deserialize(from)?.as_str().map(str::to_owned))
}

/// What a call leaves for the next messages of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "leaves", content = "what", rename_all = "snake_case")]
pub enum FollowUp {
    /// Nothing.
    #[default]
    Nothing,
    /// A draft that stays open, in its current form.
    Draft(Box<Draft>),
    /// A draft that was open (by the provider's id) was closed.
    #[serde(alias = "closed")]
    DraftClosed {
        draft: String,
        #[serde(alias = "how")]
        reason: CloseReason,
    },
    /// A mail thread that is in view, by the provider's id.
    #[serde(alias = "thread")]
    MailThread(String),
    /// The outcome of the workflow's step that made the call: the step ends.
    Outcome(Value),
    /// A file for the person, which is sent to whoever may read what was in view.
    File {
        /// Its name without an extension, and the extension.
        stem: String,
        extension: String,
        text: String,
    },
    /// Work of this workflow begins: what the person said in the turn is its wish.
    Work { workflow: String },
    /// A part of what an ability keeps for its check of the answer: ids, handles and the query, no text of others.
    CheckPart { check: String, part: Value },
}

impl ToolOutput {
    /// Creates output that Nod made or the person said, readable by the whole channel.
    #[must_use]
    pub fn trusted(content: Value) -> Self {
        Self {
            content,
            provenance: Provenance::Trusted,
            audience: Audience::Channel,
            verbatim: None,
            follow_up: FollowUp::Nothing,
            note: None,
            items: Vec::new(),
        }
    }

    /// Limits the audience to one person.
    #[must_use]
    pub fn private_to(self, person: PersonId) -> Self {
        Self { audience: Audience::Person(person), ..self }
    }

    /// Sets the provenance.
    #[must_use]
    pub fn with_provenance(self, provenance: Provenance) -> Self {
        Self { provenance, ..self }
    }

    /// Sets the answer exactly as shown, in Markdown.
    #[must_use]
    pub fn with_verbatim(self, words: impl Into<String>) -> Self {
        Self { verbatim: Some(words.into()), ..self }
    }

    /// Sets a line shown under the answer, whatever the model writes.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    /// Sets what is shown under the answer as lines with buttons.
    #[must_use]
    pub fn with_items(self, items: Vec<ListedItem>) -> Self {
        Self { items, ..self }
    }

    /// Sets what is left for the next messages of the conversation.
    #[must_use]
    pub fn with_follow_up(self, leaves: FollowUp) -> Self {
        Self { follow_up: leaves, ..self }
    }
}

/// The result of every call.
pub type ToolResult = Result<ToolOutput, ToolError>;

/// Why a tool failed, classified by who can fix it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum ToolError {
    /// The arguments are wrong; the model tries others.
    #[error("{reason}")]
    #[serde(alias = "invalid")]
    InvalidArguments { reason: String },
    /// The thing does not exist; the model looks elsewhere or says so.
    #[error("I couldn't find {what}")]
    NotFound { what: String },
    /// A person cannot be written to: they are unknown here, or show no address. The model asks for one.
    #[error("{reason}")]
    NoAddress { reason: String },
    /// Several things match, and the person picks one. `message` is a sentence for them, for when the name is not
    /// enough.
    #[error("more than one {name} fits")]
    Ambiguous {
        name: String,
        choices: Vec<Choice>,
        #[serde(default)]
        #[serde(alias = "why")]
        message: Option<String>,
    },
    /// The time that the person said or picked is not possible. They read `message`, a sentence, and say another.
    #[error("{message}")]
    NoSuchTime {
        #[serde(alias = "why")]
        message: String,
    },
    /// Several times suit all guests. The person picks one for the time they asked for (`topic`), or has the others
    /// vote (`voters`, by address). Free times come from calendars, so only the person is asked.
    #[error("more than one time fits")]
    #[serde(alias = "slots")]
    AmbiguousTime {
        #[serde(alias = "about")]
        topic: String,
        title: String,
        choices: Vec<Choice>,
        voters: Vec<String>,
        /// The guests whose calendars could not be read.
        #[serde(alias = "unseen")]
        unreadable_calendars: Vec<String>,
    },
    /// The person is asked, and what they pick or write until then is the result of the call. `message` says below the
    /// question how it can be answered.
    #[error("the person has to answer first: {question}")]
    Ask { question: String, choices: Vec<Choice>, message: Option<String>, until: Timestamp },
    /// The person must connect their account or grant more scopes. `revoked` means that the provider withdrew a
    /// grant; `missing` lists the scopes needed, if known.
    #[error("{} isn't connected", provider.display_name())]
    NeedsConnect {
        provider: Provider,
        revoked: bool,
        #[serde(default)]
        missing: Vec<String>,
    },
    /// It is not allowed; the model says so.
    #[error("{reason}")]
    Forbidden { reason: String },
    /// An administrator of the accounts or of Nod must fix it. The person is told so, whatever the model writes.
    #[error("an admin has to fix this first: {reason}")]
    NeedsAdmin { reason: String },
    /// The object changed since the model or the person saw it. They look at its `current` form.
    #[error("{}", conflict_text(current))]
    #[serde(alias = "outdated")]
    Conflict {
        #[serde(alias = "now")]
        current: Box<ToolOutput>,
    },
    /// The provider asks to wait (in seconds); the job retries then.
    #[error("busy right now, try again in {retry_after_secs} s")]
    #[serde(alias = "busy")]
    RateLimited {
        #[serde(alias = "after_seconds")]
        retry_after_secs: u64,
    },
    /// It is not known whether it happened; the effect looks it up.
    #[error("{reason}")]
    #[serde(alias = "unknown")]
    UnknownOutcome { reason: String },
    /// The provider or Nod is broken; the person is notified with the run's id.
    #[error("something went wrong: {reason}")]
    #[serde(alias = "broken")]
    Internal { reason: String },
}

fn conflict_text(now: &ToolOutput) -> &str {
    now.content["why"].as_str().unwrap_or("it was changed in the meantime")
}

impl ToolError {
    /// Returns whether the error can reveal data of the account without naming its audience (`Conflict` names one).
    pub fn has_account_data(&self) -> bool {
        !matches!(
            self,
            Self::NeedsConnect { .. }
                | Self::NeedsAdmin { .. }
                | Self::RateLimited { .. }
                | Self::Conflict { .. }
        )
    }

    /// Shorthand for [`ToolError::InvalidArguments`].
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::InvalidArguments { reason: reason.into() }
    }

    /// The provider no longer accepts the grant; the person must connect again.
    #[must_use]
    pub fn reconnect(provider: Provider) -> Self {
        Self::NeedsConnect { provider, revoked: true, missing: Vec::new() }
    }

    /// Shorthand for [`ToolError::Internal`].
    pub fn internal(reason: impl Into<String>) -> Self {
        Self::Internal { reason: reason.into() }
    }
}

/// One of several things that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The label of its button.
    pub label: String,
    /// The value that it selects (an address).
    pub value: String,
}

/// The longest body that can be approved, in characters: about ten pages, which can still be shown in full.
pub const MAX_BODY_CHARS: usize = 30_000;

/// The field of [`Preview::fields`] that states what was assumed about a time.
pub const ASSUMPTIONS_FIELD: &str = "Read as";

/// Exactly what would happen, as the person approves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    /// The exact payload that `perform` will receive; the approval's digest covers it.
    pub payload: Value,
    /// "Send this email?"
    pub question: String,
    /// Every field of the payload that is not the body, in reading order; one without a value is not shown.
    pub fields: Vec<(String, String)>,
    /// The full body, without the text below it.
    pub body: Option<String>,
    /// Text that is sent below the body but shown on no card. [Show all] shows it to the decider only.
    #[serde(default)]
    #[serde(alias = "below")]
    pub trailing_text: Option<String>,
    /// The account on which it happens (an address).
    pub account: String,
    /// Whether that account is the organisation's and not the person's own.
    #[serde(default)]
    #[serde(alias = "organisations")]
    pub is_organisation_account: bool,
    /// The addresses of all people who would receive something.
    pub recipients: Vec<String>,
    /// The request in one line. Rows of earlier versions have none.
    #[serde(default)]
    #[serde(alias = "gist")]
    pub summary: Option<Summary>,
    /// What identifies it among the requests of its tool: of a mail, its subject and recipients. A newer request
    /// replaces a waiting one only if both have the same topic, or the same draft; without either it never does.
    #[serde(default)]
    #[serde(alias = "about")]
    pub topic: Option<String>,
    /// The times and guests of the event that it is about, if the event has hours.
    #[serde(default)]
    #[serde(rename = "gathering")]
    pub event_details: Option<EventDetails>,
    /// What the person can change before they approve; empty if nothing can be changed.
    #[serde(default)]
    pub form: Vec<Field>,
    /// The labels of the buttons, progress and receipt.
    #[serde(rename = "words")]
    pub labels: ActionLabels,
    /// Who may read it. The audience of what its run has in view limits this further.
    #[serde(default = "default_audience")]
    pub audience: Audience,
    /// Whether it contains untrusted content.
    #[serde(default = "default_provenance")]
    pub provenance: Provenance,
    /// Risks that only the tool can know, one per line; computed, never written by a model.
    #[serde(default)]
    pub risks: Vec<String>,
    /// Risks from the person's own mailbox or calendar, only for cards that no other user sees.
    #[serde(default)]
    pub private_risks: Vec<String>,
    /// The recipients outside the organisation to whom the account has never written, as far as the mailbox was asked.
    /// As private as `private_risks`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never_written_to: Vec<String>,
    /// Who is on the thread that it answers, by name and address: whoever points at the thread points at them. Only the
    /// gate reads it; no row keeps it.
    #[serde(skip)]
    pub thread_participants: Vec<(String, String)>,
    /// Whether untrusted content cannot have chosen who gets it: people here named all recipients, and nothing from
    /// outside was read since. The gate sets it while untrusted content is in view.
    #[serde(default)]
    pub are_recipients_named: bool,
    /// The recipients whom no user here has named and who are not in the directory, while untrusted content is in
    /// view. The gate sets it.
    #[serde(default)]
    #[serde(alias = "unnamed")]
    pub unknown_recipients: Vec<String>,
    /// The outside text that asked for it, if it names recipients and people here named none of them. The gate sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<AskedBy>,
    /// The step of a task that asks for it, as its person calls it. No co-approver sees it. The gate sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The open draft that it works on, by the provider's id.
    #[serde(default)]
    pub draft: Option<String>,
    /// The digest of what its person edited, if they edited it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_from: Option<String>,
    /// How much of it the request's card can show: see `ChatAdapter::display_limit`.
    #[serde(default = "default_display_limit")]
    #[serde(alias = "room")]
    pub display_limit: usize,
}

/// The guests and the times of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventDetails {
    /// When it begins.
    pub from: Timestamp,
    /// When it ends.
    pub to: Timestamp,
    /// By address, without the owner of the calendar.
    pub guests: Vec<String>,
}

/// The default for rows stored before platforms had their own limits: Slack's.
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
    /// Creates a preview with only its payload, question and labels.
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
            never_written_to: Vec::new(),
            thread_participants: Vec::new(),
            are_recipients_named: false,
            unknown_recipients: Vec::new(),
            asked_by: None,
            task: None,
            draft: None,
            edited_from: None,
            display_limit: default_display_limit(),
        }
    }
}

/// The value that a person entered for a field of [`Preview::form`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue {
    /// The text exactly as entered.
    Text(String),
    /// All people who were named, by address.
    Recipients(Vec<String>),
}

/// The labels of one kind of action: button, progress and receipt. They must also read well when combined ("Email
/// sent", "Sending this email").
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
    /// What the receipt is about, in the middle of a sentence: "email".
    #[serde(alias = "thing")]
    pub noun: String,
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
    /// It did; this is the receipt.
    Done(ToolOutput),
    /// It certainly did not.
    NotDone,
    /// The lookup could not tell; the text says what was looked at.
    Inconclusive(String),
}

/// A tool that only reads.
#[async_trait]
pub trait ReadTool: Send + Sync {
    /// Describes the tool.
    fn spec(&self) -> &ToolSpec;
    /// Runs the tool. The arguments have been validated against the schema.
    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult;
}

/// A tool that changes something.
#[async_trait]
pub trait ActTool: Send + Sync {
    /// Describes the tool.
    fn spec(&self) -> &ToolSpec;
    /// Returns exactly what would happen; changes nothing.
    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError>;
    /// Returns the same action after the person edited it, on the same account. `payload` is the one that they saw.
    /// `filled` has every field of its form, in that person's zone, except recipient fields that were left unchanged.
    /// It is a plain function because a person waits with the form open.
    fn revise(
        &self,
        payload: &Value,
        filled: &BTreeMap<String, FieldValue>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>>;
    /// Returns the tool and the payload that keep an edited `payload` which is not performed, if there is a place for
    /// it: an open draft.
    fn keep(&self, _payload: &Value) -> Option<(&'static str, Value)> {
        None
    }
    /// Sets up what `perform` needs and names it in a handle, which is committed before `perform`. It reaches no other
    /// person. It is repeated after a crash: if `key.attempt` is above 1, it first looks for what an earlier attempt
    /// left under the same key.
    async fn prepare(&self, cx: &ToolContext, payload: &Value, key: EffectKey) -> Result<Value, ToolError>;
    /// Performs the action, once. The output's content is the receipt: `id`, and `link` if there is one.
    async fn perform(&self, cx: &ToolContext, payload: &Value, handle: &Value, permit: Permit) -> ToolResult;
    /// Looks up whether the action happened.
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
    /// Only reads.
    Read(Arc<dyn ReadTool>),
    /// Changes something.
    Act(Arc<dyn ActTool>),
}

impl Tool {
    /// Describes the tool.
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
