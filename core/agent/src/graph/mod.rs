//! The graph: nodes that get a state and return a step. A node holds no store and no chat handle, so it
//! cannot cause anything: what it wants to happen is an [`Emit`], which the runner writes down.

mod act;
mod busy;
mod converse;
mod drafts;
mod gate;
mod hints;
pub(crate) mod honesty;
mod prompt;
mod recall;
mod recipients;
mod record;
mod remember;
mod reply;
mod route;
mod think;
mod times;
mod words;

use std::sync::Arc;

use async_trait::async_trait;

pub use act::content;
pub use recall::Memory;
pub use record::Records;
pub use reply::{before_tools, so_far};
pub use think::done_so_far;

use crate::state::{AgentState, Node};
use nod_contract::card::Card;
use nod_contract::chat::CommandSyntax;
use nod_contract::clock::{Clock, Timestamp};
use nod_contract::contacts::ContactSource;
use nod_contract::ids::{ApprovalId, ConversationId, EffectId, Ids, QuestionId, RunId, TenantId, TraceId};
use nod_contract::model::{Model, ModelError, TokenSender};
use nod_contract::privacy::Audience;
use nod_contract::provider::Provider;
use nod_contract::scope::{CHAT, RunOrIngestion, Scope};
use nod_contract::tool::draft::CloseReason;
use nod_contract::tool::{Choice, Preview, Principal, ToolContext, ToolError, Tools};
use nod_requests::draft::OpenDraft;
use nod_requests::policy::{Policy, Terms};
use nod_requests::question::Vote;
use nod_store::jobs::WorkError;

/// What a node returns.
pub struct Step {
    pub state: AgentState,
    pub(crate) emits: Vec<Emit>,
    pub next: Next,
}

/// Where it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// At once, with this node.
    Go(Node),
    /// With this node, once news has come for what is parked.
    Wait(Node),
    /// Nowhere: the run is over.
    Done,
}

impl Step {
    pub fn go(state: AgentState, node: Node) -> Self {
        Self { state, emits: Vec::new(), next: Next::Go(node) }
    }
}

/// What a node wants to happen. The runner writes it down in the commit of the step.
#[derive(Debug, Clone)]
pub(crate) enum Emit {
    /// A message to whom it is for.
    Say { card: Card, audience: Audience },
    /// A request for a nod.
    Ask { approval: ApprovalId, call_id: String, tool: &'static str, preview: Box<Preview>, terms: Terms },
    /// An effect that needs none.
    Act { effect: EffectId, call_id: String, tool: &'static str, preview: Box<Preview> },
    /// Which of several?
    Question {
        question: QuestionId,
        call_id: String,
        name: String,
        choices: Vec<Choice>,
        why: Option<String>,
        vote: Option<Vote>,
    },
    /// A draft was made or changed, and is shown.
    Draft(Box<OpenDraft>),
    /// A draft (by the provider's id) is open no more.
    DraftClosed { draft: String, how: CloseReason },
    /// An account is needed, or more of one.
    Connect { provider: Provider, revoked: bool, missing: Vec<String> },
    /// The conversation is worth another reading, once the answer is out.
    Remember,
}

/// What a node is lent for one step.
pub struct NodeContext<'a> {
    pub tenant: TenantId,
    pub conversation: ConversationId,
    pub run: RunId,
    pub trace: TraceId,
    /// When what it answers was said: "tomorrow" is the day after that.
    pub said_at: Timestamp,
    pub step_budget: u32,
    pub longest_message: usize,
    /// What was loaded for this step, where the node is the one that needs it.
    pub memory: Option<Memory>,
    pub directory: &'a dyn Directory,
    pub contacts: &'a [Arc<dyn ContactSource>],
    pub typing: CommandSyntax<'a>,
    /// What is answered to "help", by how commands are typed here.
    pub help: &'a (dyn Fn(CommandSyntax<'_>) -> String + Send + Sync),
    /// How much of a request a card shows here.
    pub room: usize,
    pub tools: &'a Tools,
    pub model: &'a dyn Model,
    pub clock: &'a Arc<dyn Clock>,
    pub ids: &'a Arc<dyn Ids>,
    pub records: Records,
    /// Hears what the model writes to the person while it is written.
    pub words: TokenSender,
}

/// Who is where, and the rules about asking them: all that a node asks of what is stored. There is one of these, and yet
/// it is a trait: whoever has it reaches nothing else.
#[async_trait]
pub trait Directory: Send + Sync {
    /// Whom a recipient means who was written by a model. Where the people were listed a while ago, a name may mean
    /// somebody else by now: they are listed anew first.
    async fn address(&self, written: &str, me: &Principal) -> Result<Result<String, ToolError>, NodeError>;

    /// The rules in force.
    async fn policy(&self) -> Result<Policy, NodeError>;

    /// Why nobody can be asked on these terms, where they want a second person and there is none.
    async fn second(&self, terms: &Terms, me: &Principal, account: &str)
    -> Result<Option<String>, NodeError>;

    /// Which of these addresses are somebody's here, in small letters.
    async fn known(&self, addresses: &[String]) -> Result<Vec<String>, NodeError>;
}

/// Why a step could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The model did not answer: the person is told, and may try again.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The directory did not answer: the job is tried again.
    #[error(transparent)]
    Directory(WorkError),
}

impl NodeContext<'_> {
    /// The scope of one more call.
    pub fn scope(&self) -> Scope {
        Scope {
            tenant: self.tenant,
            case: self.conversation,
            workflow: CHAT,
            run: RunOrIngestion::RunId(self.run),
            trace: self.trace,
            invocation: self.ids.next().into(),
        }
    }

    /// What one tool call is made with.
    pub(crate) fn tool_context(&self, state: &AgentState) -> ToolContext {
        let now = self.clock.now();
        ToolContext {
            scope: self.scope(),
            principal: state.principal.clone(),
            now,
            deadline: now + chrono::TimeDelta::seconds(30),
        }
    }
}

/// Takes one step.
pub async fn step(node: Node, state: AgentState, cx: &NodeContext<'_>) -> Result<Step, NodeError> {
    match node {
        Node::Recall => Ok(recall::step(state, cx)),
        Node::Route => route::step(state, cx).await,
        Node::Converse => converse::step(state, cx).await,
        Node::Think => think::step(state, cx).await,
        Node::Gate => gate::step(state, cx).await,
        Node::Act => Ok(act::step(state, cx).await),
        Node::Reply => Ok(reply::step(state)),
        Node::Remember => Ok(remember::step(state)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The graph as a Mermaid diagram; `docs/architecture.md` carries it, and a test compares.
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
    fn the_picture_in_the_docs_is_the_graph() {
        let docs = include_str!("../../../../docs/architecture.md");
        let shown =
            docs.split("<!-- graph begins -->").nth(1).and_then(|d| d.split("<!-- graph ends -->").next());
        assert_eq!(shown.unwrap_or_default().trim(), format!("```mermaid\n{}\n```", diagram()));
    }

    #[test]
    fn every_name_in_rows_is_the_serialized_one() {
        for node in Node::ALL {
            assert_eq!(serde_json::to_value(node).unwrap(), node.as_str());
        }
    }
}
