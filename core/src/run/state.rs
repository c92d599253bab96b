//! What a run knows. It survives every transition; the messages in it are append-only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::ids::{ApprovalId, EffectId, QuestionId};
use crate::model::{ToolCall, Turn};
use crate::privacy::{Audience, Provenance};
use crate::tool::{Principal, Provider};

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
    pub target_tool: Option<String>,
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
    /// The answer, once there is one.
    pub reply: Option<String>,
}

/// What is kept in mind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingMemory {
    /// What the person is after.
    pub current_goal: Option<String>,
    /// Facts by name.
    pub extracted_info: BTreeMap<String, String>,
}

/// A tool call on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// As the model wrote it.
    pub call: ToolCall,
    /// Names that the person picked, by what was written.
    pub picked: BTreeMap<String, String>,
    /// What it waits for.
    pub parked: Option<Parked>,
}

/// What a tool call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "parked", content = "id", rename_all = "snake_case")]
pub enum Parked {
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
            turns: vec![Turn::Human { text: said.to_owned() }],
            working: WorkingMemory::default(),
            waiting: Vec::new(),
            intent: None,
            routed_via: None,
            target_tool: None,
            pending: Vec::new(),
            thoughts: 0,
            audience: Audience::Channel,
            provenance: Provenance::Ours,
            receipts: Vec::new(),
            unknown: 0,
            reply: None,
        }
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

    /// Answers a pending call: its result becomes a turn, the call is done.
    pub fn answer(&mut self, call_id: &str, content: impl std::fmt::Display) {
        let Some(at) = self.pending.iter().position(|p| p.call.id == call_id) else { return };
        let call = self.pending.remove(at).call;
        self.turns.push(Turn::Tool { call_id: call.id, name: call.name, content: content.to_string() });
    }

    /// The id of the pending call that waits for `ticket`.
    #[must_use]
    pub fn waiting_for(&self, ticket: Uuid) -> Option<String> {
        let waits = |p: &&PendingCall| match p.parked {
            Some(Parked::Approval(id)) => id.0 == ticket,
            Some(Parked::Effect(id)) => id.0 == ticket,
            Some(Parked::Question(id)) => id.0 == ticket,
            Some(Parked::Connection(_)) | None => false,
        };
        self.pending.iter().find(waits).map(|p| p.call.id.clone())
    }
}
