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

use sqlx::PgPool;
use std::sync::Arc;

pub(crate) use act::content;
pub(crate) use recall::Memory;
pub(crate) use record::Records;
pub(crate) use reply::{before_tools, so_far};
pub(crate) use think::done_so_far;

use crate::approval::{self, Owner};
use crate::card::Card;
use crate::chat::{Adapters, Typing};
use crate::clock::Clock;
use crate::clock::Timestamp;
use crate::contacts::Contacts;
use crate::draft::OpenDraft;
use crate::ids::{ApprovalId, ConversationId, EffectId, Ids, QuestionId, RunId, TenantId, TraceId};
use crate::model::{Model, ModelError, Words};
use crate::people::refresh::Lists;
use crate::people::{self, names};
use crate::policy::{self, Policy, Terms};
use crate::privacy::Audience;
use crate::provider::Provider;
use crate::question::Vote;
use crate::scope::{CHAT, RunOrIngestion, Scope};
use crate::state::{AgentState, Node};
use crate::tool::draft::Closing;
use crate::tool::{Choice, Fault, Preview, Principal, ToolContext, Tools};

/// What a node returns.
pub(crate) struct Step {
    pub(crate) state: AgentState,
    pub(crate) emits: Vec<Emit>,
    pub(crate) next: Next,
}

/// Where it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// At once, with this node.
    Go(Node),
    /// With this node, once news has come for what is parked.
    Wait(Node),
    /// Nowhere: the run is over.
    Done,
}

impl Step {
    pub(crate) fn go(state: AgentState, node: Node) -> Self {
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
    DraftClosed { draft: String, how: Closing },
    /// An account is needed, or more of one.
    Connect { provider: Provider, revoked: bool, missing: Vec<String> },
    /// The conversation is worth another reading, once the answer is out.
    Remember,
}

/// What a node is lent for one step.
pub(crate) struct NodeContext<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) conversation: ConversationId,
    pub(crate) run: RunId,
    pub(crate) trace: TraceId,
    /// When what it answers was said: "tomorrow" is the day after that.
    pub(crate) said_at: Timestamp,
    pub(crate) step_budget: u32,
    pub(crate) longest_message: usize,
    /// What was loaded for this step, where the node is the one that needs it.
    pub(crate) memory: Option<Memory>,
    pub(crate) directory: Directory<'a>,
    pub(crate) contacts: &'a [Arc<dyn Contacts>],
    pub(crate) typing: Typing<'a>,
    /// What is answered to "help", by how commands are typed here.
    pub(crate) help: fn(Typing<'_>) -> String,
    /// How much of a request a card shows here.
    pub(crate) room: usize,
    pub(crate) tools: &'a Tools,
    pub(crate) model: &'a dyn Model,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) ids: &'a Arc<dyn Ids>,
    pub(crate) records: Records,
    /// Hears what the model writes to the person while it is written.
    pub(crate) words: Words,
}

/// Reads people by name, and the rules about asking them; nothing else.
pub(crate) struct Directory<'a> {
    pub(crate) pool: &'a PgPool,
    pub(crate) adapters: &'a Adapters,
    /// The rules of the installation.
    pub(crate) policy: &'a Policy,
    /// Has the people listed anew.
    pub(crate) lists: Lists<'a>,
    pub(crate) tenant: TenantId,
    pub(crate) platform: &'a str,
    pub(crate) workspace: &'a str,
}

impl Directory<'_> {
    /// Whom a recipient means who was written by a model. Where the people were listed a while ago, a name may mean
    /// somebody else by now: they are listed anew first.
    pub(crate) async fn address(&self, written: &str, me: &Principal) -> sqlx::Result<Result<String, Fault>> {
        let found = self.listed(written, me).await?;
        // Of several, whoever asks picks one.
        if !names::is_name(written) || matches!(found, Err(Fault::Ambiguous { .. })) {
            return Ok(found);
        }
        let fresh = self.lists.refresh().await?;
        let found = self.listed(written, me).await?;
        if fresh { Ok(found) } else { self.perhaps(names::bare(written), found).await }
    }

    async fn listed(&self, written: &str, me: &Principal) -> sqlx::Result<Result<String, Fault>> {
        let mut conn = self.pool.acquire().await?;
        people::address(&mut conn, self.tenant, self.platform, self.workspace, written, me).await
    }

    /// What a list says that is being read anew: whoever is in it is asked about, and who is not may come.
    async fn perhaps(&self, name: &str, found: Result<String, Fault>) -> sqlx::Result<Result<String, Fault>> {
        Ok(match found {
            Ok(address) => {
                let mut conn = self.pool.acquire().await?;
                let choices = people::choices(&mut conn, self.tenant, &address).await?;
                let why =
                    "I am reading the list of people again: there may be another one by now.".to_owned();
                Err(Fault::Ambiguous { name: name.to_owned(), choices, why: Some(why) })
            }
            Err(Fault::NotFound { what }) => Err(Fault::NotFound {
                what: format!("{what}; I am reading the list of people again, ask me once more in a minute"),
            }),
            other => other,
        })
    }

    /// The rules in force.
    pub(crate) async fn policy(&self) -> sqlx::Result<Policy> {
        let mut conn = self.pool.acquire().await?;
        policy::sql::in_force(&mut conn, self.tenant, self.policy).await
    }

    /// Why nobody can be asked on these terms, where they want a second person and there is none.
    pub(crate) async fn second(
        &self,
        terms: &Terms,
        me: &Principal,
        account: &str,
    ) -> sqlx::Result<Option<String>> {
        let (person, platform, workspace) = (me.person, self.platform, self.workspace);
        let owner = Owner { person, account, platform, workspace };
        let mut conn = self.pool.acquire().await?;
        Ok(approval::wanted(&mut conn, self.adapters, self.tenant, terms, &owner).await?.err())
    }

    /// Which of these addresses are somebody's here, in small letters.
    pub(crate) async fn known(&self, addresses: &[String]) -> sqlx::Result<Vec<String>> {
        let mut conn = self.pool.acquire().await?;
        people::sql::with_addresses(&mut conn, self.tenant, addresses).await
    }
}

/// Why a step could not be taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeError {
    /// The model did not answer: the person is told, and may try again.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The database did not answer: the job is tried again.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl NodeContext<'_> {
    /// The scope of one more call.
    pub(crate) fn scope(&self) -> Scope {
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
pub(crate) async fn step(node: Node, state: AgentState, cx: &NodeContext<'_>) -> Result<Step, NodeError> {
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

/// The graph as a Mermaid diagram; `docs/architecture.md` carries it, and a test compares.
#[must_use]
pub fn diagram() -> String {
    let mut lines = vec!["flowchart LR".to_owned()];
    for node in Node::ALL {
        for next in node.successors() {
            lines.push(format!("    {} --> {}", node.as_str(), next.as_str()));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_in_the_docs_is_the_graph() {
        let docs = include_str!("../../../docs/architecture.md");
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
