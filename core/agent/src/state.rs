//! What a run knows. It survives every transition; the messages in it are append-only.

mod node;

pub use node::Node;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use nod_contract::ids::{ApprovalId, EffectId, QuestionId};
use nod_contract::model::{ToolCall, Turn};
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::provider::Provider;
use nod_contract::tool::{FollowUp, Principal, ToolOutput};
use nod_requests::draft::{self, Drafts};

/// What the person wants, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// What is there: documents, tasks, approvals.
    Metadata,
    /// Something to look up or do with a tool.
    Tool,
    /// Something that documents answer.
    Retrieval,
    /// Talk.
    Conversational,
}

impl Intent {
    /// The name in rows, prompts and records.
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
    /// On whose behalf.
    pub principal: Principal,
    /// Asked where others read too.
    pub shared: bool,
    /// What was said before, as far as this person may know it, oldest first; bounded.
    pub history: Vec<Turn>,
    /// What was said before that, in short.
    #[serde(default)]
    pub earlier: Option<Earlier>,
    /// Messages before this run that are in no summary yet.
    #[serde(default)]
    pub unfolded: usize,
    /// What was said, thought and looked up in this run, oldest first.
    pub turns: Vec<Turn>,
    /// Goal and facts.
    pub working: WorkingMemory,
    /// Lines about what already waits for this person's nod here.
    pub waiting: Vec<String>,
    /// What the person wants.
    pub intent: Option<Intent>,
    /// `rule:…`, `router` or `fallback`.
    pub routed_via: Option<String>,
    /// The tool that the router thinks of.
    pub(crate) target_tool: Option<String>,
    /// Something was to be done in the world: a tool that acts was called, or is what the router thinks of.
    #[serde(default)]
    pub acts: bool,
    /// Tool calls of the model's last turn that have no result yet.
    pub pending: Vec<PendingCall>,
    /// How often the reasoner has thought.
    pub thoughts: u32,
    /// Who may read what this run says.
    pub audience: Audience,
    /// Whether outside text is in view, and whose.
    pub provenance: Provenance,
    /// What was done in the world in this run, as receipts.
    pub receipts: Vec<Value>,
    /// How many acts of this run may or may not have happened.
    #[serde(default)]
    pub unknown: u32,
    /// What stands under the answer, whatever the model makes of it; a sentence each.
    #[serde(default, alias = "unread")]
    pub notes: Vec<String>,
    /// The answer, once there is one.
    pub reply: Option<String>,
    /// The message that began the run, where it stands in a thread that Nod did not follow before; empty where a command
    /// did.
    #[serde(default)]
    pub joins: Option<String>,
    /// Begun by a command: nothing of the person's stands in the thread, so the platform would not tell them of what
    /// is said there unless it names them.
    #[serde(default)]
    pub by_command: bool,
    /// What was said in that thread before, fenced. It stands in no other row.
    #[serde(default)]
    pub context: Option<String>,
    /// Others' talk is in view: the record is for the asker alone, and not for ever.
    #[serde(default)]
    pub overheard: bool,
    /// Drafts that are open for this person here.
    #[serde(default)]
    pub drafts: Drafts,
    /// The thread of mail that was read last here, by the provider's id.
    #[serde(default)]
    pub thread: Option<String>,
    /// Results since the model last thought.
    #[serde(default)]
    pub results: Results,
}

/// Results since the model last thought: where all of them are answers as they stand, it is not asked again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// Answers as they stand.
    pub verbatim: Vec<Verbatim>,
    /// How many others the model must make something of.
    pub others: u32,
}

/// An answer as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verbatim {
    /// Markdown.
    pub words: String,
    /// A card shows it already.
    pub shown: bool,
}

impl Results {
    /// Whether they are the whole answer.
    #[must_use]
    pub(crate) fn are_the_answer(&self) -> bool {
        self.others == 0 && !self.verbatim.is_empty()
    }
}

/// A summary of what was said before the history begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// In short.
    pub text: String,
    /// Named sources of outside text in it.
    pub outside: Vec<String>,
}

/// What is kept in mind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingMemory {
    /// What the person is after.
    pub(crate) current_goal: Option<String>,
    /// What the platform tells: who is meant by a mention, where the person is.
    pub(crate) extracted_info: BTreeMap<String, String>,
    /// What people said that is kept in mind, by name.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
}

/// A tool call on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// As the model wrote it.
    pub call: ToolCall,
    /// Names that the person picked, by what was written.
    pub picked: BTreeMap<String, String>,
    /// What it waits for.
    pub(crate) parked: Option<Parked>,
    /// What the person changed of it before they decided: the payload's new values, by name.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub changed: serde_json::Map<String, Value>,
}

/// What a tool call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "parked", content = "id", rename_all = "snake_case")]
pub(crate) enum Parked {
    /// A nod, and then its effect.
    Approval(ApprovalId),
    /// An effect that needs no nod.
    Effect(EffectId),
    /// An answer.
    Question(QuestionId),
    /// An account.
    Connection(Provider),
}

impl AgentState {
    /// At the beginning of a run.
    #[must_use]
    pub fn begin(principal: Principal, shared: bool, said: &str) -> Self {
        Self {
            principal,
            shared,
            history: Vec::new(),
            earlier: None,
            unfolded: 0,
            turns: vec![Turn::Human { text: said.to_owned() }],
            working: WorkingMemory::default(),
            waiting: Vec::new(),
            intent: None,
            routed_via: None,
            target_tool: None,
            acts: false,
            pending: Vec::new(),
            thoughts: 0,
            audience: Audience::Channel,
            provenance: Provenance::Trusted,
            receipts: Vec::new(),
            unknown: 0,
            notes: Vec::new(),
            reply: None,
            joins: None,
            by_command: false,
            context: None,
            overheard: false,
            drafts: Drafts::default(),
            thread: None,
            results: Results::default(),
        }
    }

    /// A rule has answered before any model was asked.
    pub fn answered_by_rule(&mut self, words: &str) {
        self.intent = Some(Intent::Conversational);
        self.routed_via = Some("rule:yes".to_owned());
        self.turns.push(Turn::Ai { text: words.to_owned(), calls: Vec::new() });
        self.reply = Some(words.to_owned());
    }

    /// What the person said that began the run.
    #[must_use]
    pub fn said(&self) -> &str {
        self.turns
            .iter()
            .find_map(|turn| match turn {
                Turn::Human { text } => Some(text.as_str()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// Whether what is said where others read too names the person, so that they are told of it.
    #[must_use]
    pub fn calls(&self) -> bool {
        self.by_command && self.shared
    }

    /// Who may open the record of what the run did.
    #[must_use]
    pub(crate) fn record_audience(&self) -> Audience {
        if self.overheard { Audience::Person(self.principal.person) } else { self.audience }
    }

    /// Notes what stands under the answer, once.
    pub fn note(&mut self, line: &str) {
        if !self.notes.iter().any(|noted| noted == line) {
            self.notes.push(line.to_owned());
        }
    }

    /// Answers a pending call: its result becomes a turn, the call is done.
    pub fn answer(&mut self, call_id: &str, content: impl std::fmt::Display) {
        let content = content.to_string();
        if self.close(call_id, &content) {
            // No model began it, so none tells how it ended; but a reason is for the model to work with.
            match draft::card::told(&content).filter(|_| self.by_rule() && self.thoughts == 0) {
                Some(words) => self.results.verbatim.push(Verbatim { shown: words.is_empty(), words }),
                None => self.results.others += 1,
            }
        }
    }

    /// Answers a pending call with what a tool gave back, as the model would read it. Who may read the run,
    /// whether outside text is in view and what stays open follow from it.
    pub fn take(&mut self, call_id: &str, output: &ToolOutput, content: &str) {
        self.audience = self.audience.narrow(output.audience);
        self.provenance = self.provenance.clone().merge(output.provenance.clone());
        match &output.follow_up {
            FollowUp::Nothing => {}
            FollowUp::Draft(draft) => {
                let was_open = self.drafts.named(&draft.id).map(|open| (open.provenance.clone(), open.made));
                let written = draft::Change::Written(draft.id.clone());
                let new = (Provenance::Trusted, self.drafts.changes.contains(&written));
                let known = was_open.is_some();
                let (provenance, made) = was_open.unwrap_or(new);
                // One of the person's own that comes into view here for the first time is shown with its buttons.
                if !known && !made {
                    self.drafts.changes.push(written);
                }
                let provenance = provenance.merge(self.provenance.clone());
                self.drafts.put(draft.as_ref().clone(), self.audience, provenance, made);
            }
            FollowUp::DraftClosed { draft, reason: how } => self.drafts.close(draft, *how),
            FollowUp::MailThread(thread) => self.thread = Some(thread.clone()),
        }
        if let Some(line) = &output.note {
            self.note(line);
        }
        match &output.verbatim {
            Some(words) => {
                if self.close(call_id, content) {
                    let shown = matches!(output.follow_up, FollowUp::Draft(_));
                    self.results.verbatim.push(Verbatim { words: words.clone(), shown });
                }
            }
            None => self.answer(call_id, content),
        }
    }

    fn close(&mut self, call_id: &str, content: &str) -> bool {
        let Some(at) = self.pending.iter().position(|p| p.call.id == call_id) else { return false };
        let call = self.pending.remove(at).call;
        self.turns.push(Turn::Tool { call_id: call.id, name: call.name, content: content.to_owned() });
        true
    }

    /// Whether a rule, and no model, chose what to do.
    #[must_use]
    pub(crate) fn by_rule(&self) -> bool {
        self.routed_via.as_deref().is_some_and(|via| via.starts_with("rule:"))
    }

    /// The id of the pending call that waits for `ticket`.
    #[must_use]
    pub(crate) fn waiting_for(&self, ticket: Uuid) -> Option<String> {
        let waits = |p: &&PendingCall| match p.parked {
            Some(Parked::Approval(id)) => id.0 == ticket,
            Some(Parked::Effect(id)) => id.0 == ticket,
            Some(Parked::Question(id)) => id.0 == ticket,
            Some(Parked::Connection(_)) | None => false,
        };
        self.pending.iter().find(waits).map(|p| p.call.id.clone())
    }
}
