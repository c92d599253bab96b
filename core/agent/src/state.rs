//! The state of a run. It survives every transition and is written with each, so it is small: what was recalled and what
//! was said are rows, which are only ever added.

mod node;
mod recalled;

pub use node::Node;
pub use recalled::Recalled;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use nod_contract::card::Button;
use nod_contract::card::quick_action::{self, ListedItem, QuickAction};
use nod_contract::ids::{ApprovalId, DeliveryId, EffectId, PersonId, QuestionId};
use nod_contract::model::{ToolCall, Turn};
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::provider::Provider;
use nod_contract::tool::{FollowUp, Principal, ToolOutput};
use nod_requests::draft::{self, Drafts};
use nod_store::hooks::WaitsFor;
use nod_store::steps::StoredTurns;
use nod_store::workflow::StepResult;

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

/// The state of a run. What is empty is not written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentState {
    /// The person on whose behalf it runs; read from their row.
    #[serde(skip)]
    pub principal: Principal,
    /// What it recalled when it began; a row of its own.
    #[serde(skip)]
    pub recalled: Arc<Recalled>,
    /// The messages, model turns and tool results of this run, oldest first; rows of their own.
    #[serde(skip)]
    pub turns: Vec<Turn>,
    /// The number of the first of these among the run's rows. It is not 0 if the run began anew, with another text.
    #[serde(skip)]
    pub first_turn: i32,
    /// Turns that are no rows yet. They are written by [`StoredState`] and become the last of `turns`.
    #[serde(skip_serializing)]
    pub(crate) unsaved_turns: Vec<Turn>,
    /// Whether it was asked where others read too.
    #[serde(alias = "shared")]
    #[serde(skip_serializing_if = "is_default")]
    pub is_shared: bool,
    /// What the person wants; a column of its own.
    #[serde(skip)]
    pub intent: Option<Intent>,
    /// `rule:…`, `router` or `fallback`; a column of its own.
    #[serde(skip)]
    pub routed_via: Option<String>,
    /// The tool that the router suggests.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) target_tool: Option<String>,
    /// What the person typed in answer to questions of the task, in this step and in those before it.
    #[serde(skip_serializing_if = "is_default")]
    pub typed_answers: Vec<String>,
    /// Whether a change outside Nod was wanted: an act tool was called, or the router suggests one.
    #[serde(skip_serializing_if = "is_default")]
    pub acts: bool,
    /// Tool calls of the model's last turn that have no result yet.
    #[serde(rename = "pending")]
    #[serde(skip_serializing_if = "is_default")]
    pub pending_calls: Vec<PendingCall>,
    /// How often the reasoner was called.
    #[serde(alias = "thoughts")]
    #[serde(skip_serializing_if = "is_default")]
    pub model_turns: u32,
    /// Who may read the answer of this run.
    pub audience: Audience,
    /// Whether untrusted content is in view, and from which sources.
    pub provenance: Provenance,
    /// Whether untrusted content came into view since the person spoke, and not only with what was said before.
    #[serde(skip_serializing_if = "is_default")]
    pub has_read_untrusted: bool,
    /// The number of changes made outside Nod in this run.
    #[serde(skip_serializing_if = "is_default")]
    pub changes_made: u32,
    /// The number of effects of this run whose outcome is unknown.
    #[serde(alias = "unknown")]
    #[serde(skip_serializing_if = "is_default")]
    pub unknown_outcomes: u32,
    /// Notes shown under the answer, whatever the model writes; one sentence each.
    #[serde(alias = "unread")]
    #[serde(skip_serializing_if = "is_default")]
    pub notes: Vec<String>,
    /// The answer, once there is one.
    #[serde(skip_serializing_if = "is_default")]
    pub reply: Option<String>,
    /// Whether a model wrote it, so that its readers can rate it.
    #[serde(skip_serializing_if = "is_default")]
    pub is_written_by_model: bool,
    /// The message that started the run, if it is in a thread that Nod did not follow before; empty if a command
    /// started it.
    #[serde(alias = "joins")]
    #[serde(skip_serializing_if = "is_default")]
    pub joined_thread_at: Option<String>,
    /// Whether a command started it. The thread then has no message of the person, so the platform notifies them of the
    /// answer only if it mentions them.
    #[serde(alias = "by_command")]
    #[serde(skip_serializing_if = "is_default")]
    pub started_by_command: bool,
    /// Whether others' messages are in view. The record is then only for the requester and is deleted after a while.
    #[serde(alias = "overheard")]
    #[serde(skip_serializing_if = "is_default")]
    pub has_channel_history: bool,
    /// The open drafts of this person here.
    #[serde(skip_serializing_if = "is_default")]
    pub drafts: Drafts,
    /// The mail thread that was read last here, by the provider's id.
    #[serde(rename = "thread")]
    #[serde(skip_serializing_if = "is_default")]
    pub mail_thread: Option<String>,
    /// Results since the last model turn.
    #[serde(skip_serializing_if = "is_default")]
    pub results: Results,
    /// What abilities keep for their checks of the answer, by the check's name.
    #[serde(skip_serializing_if = "is_default")]
    pub check_parts: BTreeMap<String, Vec<Value>>,
    /// How often a check sent the answer back to the model.
    #[serde(skip_serializing_if = "is_default")]
    pub check_retries: u32,
    /// The buttons of the answer.
    #[serde(skip_serializing_if = "is_default")]
    pub buttons: Vec<Button>,
    /// What the last tool listed, if no other was called since.
    #[serde(skip_serializing_if = "is_default")]
    pub items: Vec<ListedItem>,
    /// What it is for, if it is a step of a workflow.
    #[serde(skip_serializing_if = "is_default")]
    pub goal: Option<StepGoal>,
    /// The quick action whose button began the run.
    #[serde(skip_serializing_if = "is_default")]
    pub taken_action: Option<TakenAction>,
}

/// A state as its row has it, with the turns that are no rows yet.
#[derive(Serialize)]
pub(crate) struct StoredState<'a> {
    #[serde(flatten)]
    pub(crate) state: &'a AgentState,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) unsaved_turns: &'a [Turn],
}

/// What is kept of the state of a run that has ended: later runs and its own purge read it.
#[derive(Serialize)]
pub(crate) struct EndedState<'a> {
    provenance: &'a Provenance,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<&'a str>,
    #[serde(skip_serializing_if = "is_default")]
    has_channel_history: bool,
}

/// What a step of a workflow is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepGoal {
    /// The name of the workflow, which has the rules and the tool by which the step ends.
    pub workflow: String,
    /// What its person calls it.
    #[serde(default)]
    pub label: String,
    /// What came out of it, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<StepResult>,
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

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn unknown_principal() -> Principal {
    Principal { person: PersonId(Uuid::nil()), name: String::new(), email: None, zone: "UTC".to_owned() }
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
    /// The answer to a question, with which the call is made.
    Question(QuestionId),
    /// The answer to a question, which is the call's result.
    Answer(QuestionId),
    /// A connected account.
    Connection(Provider),
}

impl Default for AgentState {
    fn default() -> Self {
        Self {
            principal: unknown_principal(),
            recalled: Arc::default(),
            turns: Vec::new(),
            first_turn: 0,
            unsaved_turns: Vec::new(),
            is_shared: false,
            intent: None,
            routed_via: None,
            target_tool: None,
            typed_answers: Vec::new(),
            acts: false,
            pending_calls: Vec::new(),
            model_turns: 0,
            audience: Audience::Channel,
            provenance: Provenance::Trusted,
            has_read_untrusted: false,
            changes_made: 0,
            unknown_outcomes: 0,
            notes: Vec::new(),
            reply: None,
            is_written_by_model: false,
            joined_thread_at: None,
            started_by_command: false,
            has_channel_history: false,
            drafts: Drafts::default(),
            mail_thread: None,
            results: Results::default(),
            check_parts: BTreeMap::new(),
            check_retries: 0,
            buttons: Vec::new(),
            items: Vec::new(),
            goal: None,
            taken_action: None,
        }
    }
}

impl AgentState {
    /// Creates the state at the start of a run.
    #[must_use]
    pub fn new(principal: Principal, shared: bool, said: &str) -> Self {
        Self {
            principal,
            is_shared: shared,
            turns: vec![Turn::Human { text: said.to_owned() }],
            ..Self::default()
        }
    }

    /// Returns what is kept of it once the run is done.
    pub(crate) fn ended_state(&self) -> EndedState<'_> {
        EndedState {
            provenance: &self.provenance,
            thread: self.mail_thread.as_deref(),
            has_channel_history: self.has_channel_history,
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

    /// Returns its turns that are rows, by which the record of a prompt names them.
    pub(crate) fn stored_turns(&self) -> StoredTurns<'_> {
        StoredTurns {
            first_turn: self.first_turn,
            recalled: self.recalled.turns(),
            remembered: &self.recalled.remembered,
            own: &self.turns,
        }
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

    /// Lists what people here wrote themselves, as far as it is in view.
    pub(crate) fn list_said(&self) -> impl Iterator<Item = &str> {
        let turns = self.recalled.history().iter().chain(&self.turns).filter_map(|turn| match turn {
            Turn::Human { text } => Some(text.as_str()),
            Turn::Ai { .. } | Turn::System { .. } | Turn::Tool { .. } => None,
        });
        turns.chain(self.typed_answers.iter().map(String::as_str))
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
            // The commit sends a file and begins work.
            FollowUp::Nothing | FollowUp::File { .. } | FollowUp::Work { .. } => {}
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
            FollowUp::Outcome(outcome) => {
                if let Some(goal) = &mut self.goal {
                    goal.result = Some(StepResult::Finished(outcome.clone()));
                }
            }
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
        self.show_on_card(call_id, output, content);
        true
    }

    /// Ends an approved call after which the model has nothing left to do or say: its card shows the receipt. `false` if
    /// the model reads the result: also if the card is private and others wait for a line in the thread.
    pub(crate) fn leave_to_receipt(&mut self, call_id: &str, output: &ToolOutput, content: &str) -> bool {
        let is_last = self.pending_calls.iter().any(|pending| {
            pending.call.id == call_id
                && matches!(pending.waiting_for, Some(WaitReason::Approval(_)))
                && pending.call.is_last()
        });
        let is_seen_here = !self.is_shared || self.audience.narrow(output.audience) == Audience::Channel;
        // A step has something to report.
        let is_answered = is_last && is_seen_here && output.verbatim.is_none() && self.goal.is_none();
        if is_answered {
            self.show_on_card(call_id, output, content);
        }
        is_answered
    }

    fn show_on_card(&mut self, call_id: &str, output: &ToolOutput, content: &str) {
        self.take_in(output);
        if self.close(call_id, content) {
            self.results.verbatim.push(Verbatim { words: "Done.".to_owned(), is_on_card: true });
        }
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

    /// Whether its results are the whole answer, so that no model is called again. A step reports in its own words.
    #[must_use]
    pub(crate) fn is_answered_by_results(&self) -> bool {
        self.goal.is_none() && self.results.is_complete_answer()
    }

    /// Returns what only a person can give, if it waits for that.
    #[must_use]
    pub(crate) fn waits_for(&self) -> Option<WaitsFor> {
        self.pending_calls.iter().find_map(|pending| match pending.waiting_for? {
            WaitReason::Approval(_) => Some(WaitsFor::Approval),
            WaitReason::Question(_) | WaitReason::Answer(_) => Some(WaitsFor::Answer),
            WaitReason::Connection(_) => Some(WaitsFor::Account),
            WaitReason::Effect(_) => None,
        })
    }

    /// Ends a step without an outcome, for this reason, a sentence. Nothing, if it is none.
    pub(crate) fn fail_step(&mut self, reason: &str) {
        if let Some(goal) = &mut self.goal {
            goal.result = Some(StepResult::Failed(reason.to_owned()));
        }
    }

    /// Returns why it failed, if it is a step that has.
    pub(crate) fn step_failure(&self) -> Option<&str> {
        match self.goal.as_ref()?.result.as_ref()? {
            StepResult::Failed(reason) => Some(reason),
            StepResult::Finished(_) | StepResult::Said(_) => None,
        }
    }

    /// Makes a step that failed go on from where it failed; returns false if it is none.
    pub(crate) fn retry_step(&mut self) -> bool {
        let Some(goal) = &mut self.goal else { return false };
        goal.result = None;
        self.reply = None;
        self.model_turns = 0;
        if self.pending_calls.is_empty() {
            let text = "The person wants this step tried once more. What was done before stands: do not do it again.";
            self.turns.push(Turn::System { text: text.to_owned() });
        }
        true
    }

    /// Whether it is a step that has ended.
    #[must_use]
    pub(crate) fn is_step_over(&self) -> bool {
        self.goal.as_ref().is_some_and(|goal| goal.result.is_some())
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
            Some(WaitReason::Question(id) | WaitReason::Answer(id)) => id.0 == ticket,
            Some(WaitReason::Connection(_)) | None => false,
        };
        self.pending_calls.iter().find(waits).map(|p| p.call.id.clone())
    }
}
