//! The graph: nodes that take a state and return a step. A node has no store and no chat handle, so it cannot cause
//! anything: each node output is an [`NodeOutput`], which the runner stores.

mod act;
mod asked_by;
mod check;
pub(crate) mod claim_check;
mod converse;
mod drafts;
mod gate;
mod prompt;
mod rate_limited;
mod recall;
mod recipients;
mod record;
mod remember;
mod reply;
mod route;
mod routing_hints;
mod think;
mod times;
mod utterances;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

pub use act::content;
pub(crate) use gate::asks_outside;
pub(crate) use prompt::step_rules;
pub use recall::RecalledContext;
pub use record::Records;
pub use reply::{streamable_text, text_before_tool_calls};
pub use think::progress_summary;

use crate::state::{AgentState, Node, TakenAction};
use nod_contract::card::Card;
use nod_contract::chat::CommandSyntax;
use nod_contract::clock::{Clock, Timestamp};
use nod_contract::contacts::ContactSource;
use nod_contract::ids::{
    ApprovalId, ConversationId, EffectId, Ids, PersonId, QuestionId, RunId, TenantId, TraceId,
};
use nod_contract::model::{Model, ModelError, TokenSender};
use nod_contract::privacy::Audience;
use nod_contract::prompt::PromptText;
use nod_contract::provider::Provider;
use nod_contract::scope::{RunOrIngestion, Scope};
use nod_contract::tool::account::SealedAccounts;
use nod_contract::tool::draft::CloseReason;
use nod_contract::tool::{Choice, Preview, Principal, ToolContext, ToolError, Tools};
use nod_requests::draft::OpenDraft;
use nod_requests::policy::{Policy, Terms};
use nod_requests::question::VoteProposal;
use nod_store::ability::AnswerCheck;
use nod_store::jobs::WorkError;
use serde_json::Value;

/// The tool that begins a task, if an ability has it. Only the router calls it, which reads the last turns of the conversation
/// and no result of a tool; the wish is what the person said, so no model writes its arguments.
const CREATE_TASK: &str = "create_task";

/// What a node returns.
pub struct Step {
    pub state: AgentState,
    pub(crate) outputs: Vec<NodeOutput>,
    pub next: Next,
}

/// Where the graph continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Now, with this node.
    Go(Node),
    /// With this node, once an event arrives for a parked call.
    Wait(Node),
    /// Nowhere: the run is finished.
    Done,
}

impl Step {
    pub fn go(state: AgentState, node: Node) -> Self {
        Self { state, outputs: Vec::new(), next: Next::Go(node) }
    }
}

/// Something that a node wants to happen. The runner stores it in the commit of the step.
#[derive(Debug, Clone)]
pub(crate) enum NodeOutput {
    /// A message to its audience.
    Message { card: Card, audience: Audience },
    /// A file to its audience.
    File { stem: String, extension: String, text: String, audience: Audience },
    /// Work of this workflow, on what the person said.
    Work { workflow: String },
    /// A request for an approval.
    ApprovalRequest {
        approval: ApprovalId,
        call_id: String,
        tool: &'static str,
        preview: Box<Preview>,
        terms: Terms,
    },
    /// An effect that needs no approval.
    Effect { effect: EffectId, call_id: String, tool: &'static str, preview: Box<Preview> },
    /// A question which of several choices is meant.
    Question {
        question: QuestionId,
        call_id: String,
        name: String,
        choices: Vec<Choice>,
        message: Option<String>,
        vote: Option<VoteProposal>,
        /// Until when it can be answered, if the answer is the result of the call and can be given in words.
        words_until: Option<Timestamp>,
    },
    /// A draft was created or changed, and is shown.
    DraftUpdate(Box<OpenDraft>),
    /// A draft (by the provider's id) is no longer open.
    DraftClosed { draft: String, reason: CloseReason },
    /// An account is needed, or more scopes for one.
    ConnectRequest { provider: Provider, revoked: bool, missing: Vec<String> },
    /// Rows that a check writes together with the answer.
    CheckRows { check: &'static str, rows: Value },
    /// The call of a quick action succeeded, so its line becomes another.
    ActionTaken(TakenAction),
    /// The conversation is worth a memory update, after the answer.
    MemoryUpdate,
}

/// What a node can use during one step.
pub struct NodeContext<'a> {
    pub tenant: TenantId,
    pub conversation: ConversationId,
    pub run: RunId,
    pub trace: TraceId,
    /// When the message was sent that the run answers; "tomorrow" is relative to it.
    pub message_time: Timestamp,
    pub step_budget: u32,
    pub max_message_chars: usize,
    /// What was loaded for this step, if the node needs it.
    pub memory: Option<RecalledContext>,
    pub directory: &'a dyn Directory,
    pub contacts: &'a [Arc<dyn ContactSource>],
    pub command_syntax: CommandSyntax<'a>,
    /// Returns the answer to "help", for the way in which commands are typed here.
    pub help: &'a (dyn Fn(CommandSyntax<'_>) -> String + Send + Sync),
    /// How much of a request a card can show here.
    pub display_limit: usize,
    pub tools: &'a Tools,
    /// The workflow's name: that of a step or of a conversation.
    pub workflow: &'static str,
    /// What the steps of this workflow are told, if it is one.
    pub rules: Option<&'a Arc<PromptText>>,
    /// The tool by which a step ends.
    pub ends_by: Option<&'static str>,
    /// The checks of this answer, each with what was loaded for it.
    pub checks: Vec<LoadedCheck>,
    pub model: &'a dyn Model,
    pub clock: &'a Arc<dyn Clock>,
    pub ids: &'a Arc<dyn Ids>,
    pub records: Records,
    /// Receives the text for the person while the model writes it.
    pub token_tx: TokenSender,
}

/// A check of an answer, with the rows that it needs: a node has no store.
pub struct LoadedCheck {
    pub check: Arc<dyn AnswerCheck>,
    pub loaded: Value,
}

/// The people and the policy: everything that a node can read from the store. It has one implementation, but is a trait
/// so that its holder reaches nothing else.
#[async_trait]
pub trait Directory: Send + Sync {
    /// Resolves a recipient that a model wrote to an address. If the list of people is old, a name might by now mean
    /// another person, so the list is refreshed first.
    async fn resolve_recipient(
        &self,
        written: &str,
        me: &Principal,
    ) -> Result<Result<String, ToolError>, NodeError>;

    /// Returns what decides about a call that changes something, in one read: the effective policy, and the accounts that
    /// this person has connected, for the call's preview.
    async fn load_policy_and_accounts(&self, person: PersonId)
    -> Result<(Policy, SealedAccounts), NodeError>;

    /// Returns why no co-approver can be asked, if these terms require one and there is none.
    async fn find_co_approval_obstacle(
        &self,
        terms: &Terms,
        me: &Principal,
        account: &str,
    ) -> Result<Option<String>, NodeError>;

    /// Returns the names of the people of this tenant who have one of these addresses, by the address in lower case.
    async fn find_names_by_email(&self, addresses: &[String]) -> Result<BTreeMap<String, String>, NodeError>;
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The model failed: the person is notified and can retry.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The directory failed: the job is retried.
    #[error(transparent)]
    Directory(WorkError),
}

impl NodeContext<'_> {
    /// Creates the scope of another call.
    pub fn scope(&self) -> Scope {
        Scope {
            tenant: self.tenant,
            case: self.conversation,
            workflow: self.workflow,
            run: RunOrIngestion::RunId(self.run),
            trace: self.trace,
            invocation: self.ids.next().into(),
        }
    }

    /// Creates the context of one tool call, which reads the accounts that it needs.
    pub(crate) fn tool_context(&self, state: &AgentState) -> ToolContext {
        let now = self.clock.now();
        ToolContext {
            scope: self.scope(),
            principal: state.principal.clone(),
            now,
            deadline: now + chrono::TimeDelta::seconds(30),
            accounts: None,
        }
    }
}

/// Runs one step.
pub async fn step(node: Node, state: AgentState, cx: &NodeContext<'_>) -> Result<Step, NodeError> {
    match node {
        Node::Recall => Ok(recall::step(state, cx)),
        Node::Route => route::step(state, cx).await,
        Node::Converse => converse::step(state, cx).await,
        Node::Think => think::step(state, cx).await,
        Node::Gate => gate::step(state, cx).await,
        Node::Act => Ok(act::step(state, cx).await),
        Node::Check => Ok(check::step(state, cx)),
        Node::Reply => Ok(reply::step(state, cx.run)),
        Node::Remember => Ok(remember::step(state)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws the graph as a Mermaid diagram; a test compares it with the one in `docs/architecture.md`.
    fn diagram() -> String {
        let mut lines = vec!["flowchart LR".to_owned()];
        for node in Node::ALL {
            for next in node.successors() {
                lines.push(format!("    {} --> {}", node.as_str(), next.as_str()));
            }
        }
        lines.join("\n")
    }

    #[test]
    fn docs_diagram_matches_the_graph() {
        let docs = include_str!("../../../../docs/architecture.md");
        let shown =
            docs.split("<!-- graph begins -->").nth(1).and_then(|d| d.split("<!-- graph ends -->").next());
        assert_eq!(shown.unwrap_or_default().trim(), format!("```mermaid\n{}\n```", diagram()));
    }

    #[test]
    fn as_str_matches_serde_names() {
        for node in Node::ALL {
            assert_eq!(serde_json::to_value(node).unwrap(), node.as_str());
        }
    }
}
