//! The state of a run. It survives every transition; the messages in it are append-only.

mod node;

pub use node::Node;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use nod_contract::card::Button;
use nod_contract::card::quick_action::{self, ListedItem, QuickAction};
use nod_contract::ids::{ApprovalId, DeliveryId, EffectId, QuestionId};
use nod_contract::model::{ToolCall, Turn};
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::provider::Provider;
use nod_contract::tool::{FollowUp, Principal, ToolOutput};
use nod_requests::draft::{self, Drafts};

/// The kind of thing that the person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Questions about what exists: documents, tasks, approvals.
    Metadata,
    /// Something to look up or do with a tool.
    Tool,
    /// A question that documents answer.
    Retrieval,
    /// Small talk.
    Conversational,
}

impl Intent {
    /// Returns the name in rows, prompts and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Tool => "tool",
            Self::Retrieval => "retrieval",
            Self::Conversational => "conversational",
        }
    }
}

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    /// The person on whose behalf it runs.
    pub principal: Principal,
    /// Whether it was asked where others read too.
    #[serde(alias = "shared")]
    pub is_shared: bool,
    /// Earlier messages that this person is allowed to read, oldest first; bounded.
    pub history: Vec<Turn>,
    /// A summary of what came before the history.
    #[serde(default)]
    #[serde(alias = "earlier")]
    pub earlier_summary: Option<EarlierSummary>,
    /// The number of messages before this run that are in no summary yet.
    #[serde(default)]
    #[serde(alias = "unfolded")]
    pub unsummarised: usize,
    /// The messages, model turns and tool results of this run, oldest first.
    pub turns: Vec<Turn>,
    /// The goal and the facts.
    #[serde(alias = "working")]
    pub working_memory: WorkingMemory,
    /// One line for each approval that already waits for this person here.
    #[serde(alias = "waiting")]
    pub pending_approvals: Vec<String>,
    /// What the person wants.
    pub intent: Option<Intent>,
    /// `rule:…`, `router` or `fallback`.
    pub routed_via: Option<String>,
    /// The tool that the router suggests.
    pub(crate) target_tool: Option<String>,
    /// Whether a change outside Nod was wanted: an act tool was called, or the router suggests one.
    #[serde(default)]
    pub acts: bool,
    /// Tool calls of the model's last turn that have no result yet.
    #[serde(rename = "pending")]
    pub pending_calls: Vec<PendingCall>,
    /// How often the reasoner was called.
    #[serde(alias = "thoughts")]
    pub model_turns: u32,
    /// Who may read the answer of this run.
    pub audience: Audience,
    /// Whether untrusted content is in view, and from which sources.
    pub provenance: Provenance,
    /// Whether untrusted content came into view since the person spoke, and not only with what was said before.
    #[serde(default)]
    pub has_read_untrusted: bool,
    /// Receipts of the changes made outside Nod in this run.
    pub receipts: Vec<Value>,
    /// The number of effects of this run whose outcome is unknown.
    #[serde(default)]
    #[serde(alias = "unknown")]
    pub unknown_outcomes: u32,
    /// Notes shown under the answer, whatever the model writes; one sentence each.
    #[serde(default, alias = "unread")]
    pub notes: Vec<String>,
    /// The answer, once there is one.
    pub reply: Option<String>,
    /// Whether a model wrote it, so that its readers can rate it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_written_by_model: bool,
    /// The message that started the run, if it is in a thread that Nod did not follow before; empty if a command
    /// started it.
    #[serde(default)]
    #[serde(alias = "joins")]
    pub joined_thread_at: Option<String>,
    /// Whether a command started it. The thread then has no message of the person, so the platform notifies them of the
    /// answer only if it mentions them.
    #[serde(default)]
    #[serde(alias = "by_command")]
    pub started_by_command: bool,
    /// The earlier messages of that thread, fenced. No other row stores them.
    #[serde(default)]
    #[serde(rename = "context")]
    pub thread_context: Option<String>,
    /// Whether others' messages are in view. The record is then only for the requester and is deleted after a while.
    #[serde(default)]
    #[serde(alias = "overheard")]
    pub has_channel_history: bool,
    /// The open drafts of this person here.
    #[serde(default)]
    pub drafts: Drafts,
    /// The mail thread that was read last here, by the provider's id.
    #[serde(default)]
    #[serde(rename = "thread")]
    pub mail_thread: Option<String>,
    /// Results since the last model turn.
    #[serde(default)]
    pub results: Results,
    /// What abilities keep for their checks of the answer, by the check's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub check_parts: BTreeMap<String, Vec<Value>>,
    /// How often a check sent the answer back to the model.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub check_retries: u32,
    /// The buttons of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Button>,
    /// What the last tool listed, if no other was called since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ListedItem>,
    /// The quick action whose button began the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_action: Option<TakenAction>,
}

/// A quick action that a person took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenAction {
    /// The message in which it stands.
    pub message: DeliveryId,
    /// With the arguments that the person typed.
    pub action: QuickAction,
    /// Whether its call succeeded, so that its line becomes another.
    pub is_done: bool,
}

/// The most parts that are kept for one check.
const MAX_CHECK_PARTS: usize = 16;

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Results since the last model turn. If all of them are verbatim answers, the model is not called again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// Verbatim answers.
    pub verbatim: Vec<Verbatim>,
    /// The number of other results, which the model must process.
    #[serde(alias = "others")]
    pub other_count: u32,
}

/// An answer that is shown verbatim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verbatim {
    /// Markdown.
    pub words: String,
    /// Whether a card shows it already.
    #[serde(alias = "shown")]
    pub is_on_card: bool,
}

impl Results {
    /// Whether the verbatim answers are the whole answer.
    #[must_use]
    pub(crate) fn is_complete_answer(&self) -> bool {
        self.other_count == 0 && !self.verbatim.is_empty()
    }
}

/// A summary of the conversation before the history begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierSummary {
    /// The summary.
    pub text: String,
    /// The sources of untrusted content in it.
    #[serde(alias = "outside")]
    pub untrusted_sources: Vec<String>,
}

/// The working memory of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingMemory {
    /// The person's goal.
    pub(crate) current_goal: Option<String>,
    /// What the platform reports: the people behind mentions, the channel that the person is viewing.
    pub(crate) extracted_info: BTreeMap<String, String>,
    /// Facts that people stated, by name.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
}

/// A tool call without a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// The call as the model wrote it.
    pub call: ToolCall,
    /// The person's choices, by the text that was ambiguous.
    #[serde(alias = "picked")]
    pub picked_values: BTreeMap<String, String>,
    /// What the call waits for, if it waits.
    #[serde(rename = "parked")]
    pub(crate) waiting_for: Option<WaitReason>,
    /// What the person changed before deciding: the new values of the payload, by name.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[serde(alias = "changed")]
    pub user_edits: serde_json::Map<String, Value>,
    /// How its request ended, while an effect still keeps what the person changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) closed_as: Option<Value>,
}

/// What a tool call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "parked", content = "id", rename_all = "snake_case")]
pub(crate) enum WaitReason {
    /// An approval, and then its effect.
    Approval(ApprovalId),
    /// An effect that needs no approval.
    Effect(EffectId),
    /// The answer to a question.
    Question(QuestionId),
    /// A connected account.
    Connection(Provider),
}

impl AgentState {
    /// Creates the state at the start of a run.
    #[must_use]
    pub fn new(principal: Principal, shared: bool, said: &str) -> Self {
        Self {
            principal,
            is_shared: shared,
            history: Vec::new(),
            earlier_summary: None,
            unsummarised: 0,
            turns: vec![Turn::Human { text: said.to_owned() }],
            working_memory: WorkingMemory::default(),
            pending_approvals: Vec::new(),
            intent: None,
            routed_via: None,
            target_tool: None,
            acts: false,
            pending_calls: Vec::new(),
            model_turns: 0,
            audience: Audience::Channel,
            provenance: Provenance::Trusted,
            has_read_untrusted: false,
            receipts: Vec::new(),
            unknown_outcomes: 0,
            notes: Vec::new(),
            reply: None,
            is_written_by_model: false,
            joined_thread_at: None,
            started_by_command: false,
            thread_context: None,
            has_channel_history: false,
            drafts: Drafts::default(),
            mail_thread: None,
            results: Results::default(),
            check_parts: BTreeMap::new(),
            check_retries: 0,
            buttons: Vec::new(),
            items: Vec::new(),
            taken_action: None,
        }
    }

    /// Whether a press, and no model, chose the calls so far.
    #[must_use]
    pub(crate) fn follows_press(&self) -> bool {
        self.taken_action.is_some() && self.model_turns == 0
    }

    /// Sets an answer that a rule gave before any model call.
    pub fn set_answer_without_model(&mut self, words: &str) {
        self.intent = Some(Intent::Conversational);
        self.routed_via = Some("rule:yes".to_owned());
        self.turns.push(Turn::Ai { text: words.to_owned(), calls: Vec::new() });
        self.reply = Some(words.to_owned());
    }

    /// Returns the message that started the run.
    #[must_use]
    pub fn user_message(&self) -> &str {
        self.turns
            .iter()
            .find_map(|turn| match turn {
                Turn::Human { text } => Some(text.as_str()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// Whether an answer in a shared place mentions the person, so that the platform notifies them.
    #[must_use]
    pub fn mentions_person(&self) -> bool {
        self.started_by_command && self.is_shared
    }

    /// Returns who may open the record of the run.
    #[must_use]
    pub(crate) fn record_audience(&self) -> Audience {
        if self.has_channel_history { Audience::Person(self.principal.person) } else { self.audience }
    }

    /// Adds a note under the answer, unless it is there already.
    pub fn add_note(&mut self, line: &str) {
        if !self.notes.iter().any(|noted| noted == line) {
            self.notes.push(line.to_owned());
        }
    }

    /// Answers a pending call: its result becomes a turn, and the call is removed.
    pub fn answer(&mut self, call_id: &str, content: impl std::fmt::Display) {
        let content = content.to_string();
        let has_card = self.pending_calls.iter().any(|pending| {
            pending.call.id == call_id && matches!(pending.waiting_for, Some(WaitReason::Approval(_)))
        });
        if self.close(call_id, &content) {
            // No model made the call, so none describes how it ended; but a failure goes to the model.
            let by_rule = self.is_routed_by_rule() && self.model_turns == 0;
            let words = match self.taken_action {
                Some(_) => quick_action::describe_end(&content, has_card),
                None => draft::card::describe_failed_send(&content),
            };
            match words.filter(|_| by_rule) {
                Some(words) => self.results.verbatim.push(Verbatim { is_on_card: words.is_empty(), words }),
                None => self.results.other_count += 1,
            }
        }
    }

    /// Answers a pending call with a tool's output; the model reads `content`. Also updates the audience, the
    /// provenance and what stays open.
    pub fn apply_tool_output(&mut self, call_id: &str, output: &ToolOutput, content: &str) {
        self.take_in(output);
        match &output.verbatim {
            Some(words) => {
                if self.close(call_id, content) {
                    let shown = matches!(output.follow_up, FollowUp::Draft(_));
                    self.results.verbatim.push(Verbatim { words: words.clone(), is_on_card: shown });
                }
            }
            None => self.answer(call_id, content),
        }
    }

    /// Updates the audience, the provenance and what stays open.
    pub(crate) fn take_in(&mut self, output: &ToolOutput) {
        self.audience = self.audience.narrow(output.audience);
        self.has_read_untrusted |= output.provenance.is_untrusted();
        self.provenance = self.provenance.clone().merge(output.provenance.clone());
        match &output.follow_up {
            FollowUp::Nothing => {}
            FollowUp::Draft(draft) => {
                let was_open =
                    self.drafts.find(&draft.id).map(|open| (open.provenance.clone(), open.made_by_nod));
                let written = draft::DraftChange::Updated(draft.id.clone());
                let new = (Provenance::Trusted, self.drafts.changes.contains(&written));
                let known = was_open.is_some();
                let (provenance, made) = was_open.unwrap_or(new);
                // A draft of the person's own that comes into view for the first time is shown with its buttons.
                if !known && !made {
                    self.drafts.changes.push(written);
                }
                let provenance = provenance.merge(self.provenance.clone());
                self.drafts.upsert(draft.as_ref().clone(), self.audience, provenance, made);
            }
            FollowUp::DraftClosed { draft, reason: how } => self.drafts.record_closed(draft, *how),
            FollowUp::MailThread(thread) => self.mail_thread = Some(thread.clone()),
            FollowUp::CheckPart { check, part } => {
                let parts = self.check_parts.entry(check.clone()).or_default();
                if parts.len() < MAX_CHECK_PARTS {
                    parts.push(part.clone());
                }
            }
        }
        if let Some(line) = &output.note {
            self.add_note(line);
        }
        self.items.clone_from(&output.items);
    }

    /// Ends the call of a quick action: its line says so. `false` if an answer has to.
    pub(crate) fn settle_action(&mut self, call_id: &str, output: &ToolOutput, content: &str) -> bool {
        if !self.follows_press() {
            return false;
        }
        let Some(taken) = self.taken_action.as_mut().filter(|taken| taken.action.becomes.is_some()) else {
            return false;
        };
        taken.is_done = true;
        self.take_in(output);
        if self.close(call_id, content) {
            self.results.verbatim.push(Verbatim { words: "Done.".to_owned(), is_on_card: true });
        }
        true
    }

    /// Answers a pending call about whose end nobody has to hear; a model reads it only if it is called anyway.
    pub(crate) fn answer_silently(&mut self, call_id: &str, content: impl std::fmt::Display) {
        if self.close(call_id, &content.to_string()) {
            self.results.verbatim.push(Verbatim { words: String::new(), is_on_card: true });
        }
    }

    fn close(&mut self, call_id: &str, content: &str) -> bool {
        let Some(at) = self.pending_calls.iter().position(|p| p.call.id == call_id) else { return false };
        let call = self.pending_calls.remove(at).call;
        self.turns.push(Turn::Tool { call_id: call.id, name: call.name, content: content.to_owned() });
        true
    }

    /// Whether a rule, not a model, chose what to do.
    #[must_use]
    pub(crate) fn is_routed_by_rule(&self) -> bool {
        self.routed_via.as_deref().is_some_and(|via| via.starts_with("rule:"))
    }

    /// Returns the id of the pending call that waits for `ticket`.
    #[must_use]
    pub(crate) fn find_call_waiting_for(&self, ticket: Uuid) -> Option<String> {
        let waits = |p: &&PendingCall| match p.waiting_for {
            Some(WaitReason::Approval(id)) => id.0 == ticket,
            Some(WaitReason::Effect(id)) => id.0 == ticket,
            Some(WaitReason::Question(id)) => id.0 == ticket,
            Some(WaitReason::Connection(_)) | None => false,
        };
        self.pending_calls.iter().find(waits).map(|p| p.call.id.clone())
    }
}
