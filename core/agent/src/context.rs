//! The dependencies of a turn, the work on one message from its arrival to its answer.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::sync::Notify;

use nod_accounts::connection::Accounts;
use nod_contract::chat::CommandSyntax;
use nod_contract::contacts::ContactSource;
use nod_contract::prompt::PromptText;
use nod_contract::tool::{InvalidSchema, Tool, Tools};
use nod_memory::context::Memory;
use nod_requests::context::Requests;
use nod_store::ability::AnswerCheck;
use nod_store::workflow::{Goal, Workflow};

use crate::graph;

/// The workflows that are plugged in, by name.
#[derive(Clone, Default)]
pub struct Workflows(BTreeMap<String, RegisteredWorkflow>);

/// A workflow, with what its steps need.
#[derive(Clone)]
pub struct RegisteredWorkflow {
    pub workflow: Arc<dyn Workflow>,
    /// What a step can call: the tools of the installation, and the one that ends it.
    pub(crate) tools: Tools,
    pub(crate) ends_by: &'static str,
    /// What a step's prompt begins with.
    pub(crate) rules: Arc<PromptText>,
}

impl Workflows {
    /// Registers the workflows, whose steps have these tools.
    ///
    /// # Errors
    /// If the parameters of a tool are no JSON Schema.
    pub fn new(
        workflows: impl Iterator<Item = Arc<dyn Workflow>>,
        tools: &[Tool],
    ) -> Result<Self, InvalidSchema> {
        let registered = |workflow: Arc<dyn Workflow>| {
            let Goal { rules, tools: own, ends_by } = workflow.goal();
            let registered = RegisteredWorkflow {
                ends_by: ends_by.spec().name,
                tools: Tools::new(tools.iter().cloned().chain(own).chain([ends_by]))?,
                rules: graph::step_rules(rules),
                workflow: workflow.clone(),
            };
            Ok((workflow.name().to_owned(), registered))
        };
        Ok(Self(workflows.map(registered).collect::<Result<_, _>>()?))
    }

    /// Returns the tools by which turns begin such work. No step has them.
    pub fn begin_tools(&self) -> impl Iterator<Item = Tool> + '_ {
        self.0.values().map(|registered| registered.workflow.begins_by())
    }

    /// Returns the workflow with that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&RegisteredWorkflow> {
        self.0.get(name)
    }
}

/// What a turn needs.
#[derive(Clone)]
pub struct Agent {
    pub requests: Requests,
    pub accounts: Accounts,
    pub memory: Memory,
    pub contacts: Vec<Arc<dyn ContactSource>>,
    /// The abilities' workflows.
    pub workflows: Workflows,
    /// The abilities' checks of answers.
    pub checks: Vec<Arc<dyn AnswerCheck>>,
    /// Returns the answer to "help", for the way in which commands are typed there.
    pub help: Arc<dyn Fn(CommandSyntax<'_>) -> String + Send + Sync>,
    /// Notified when a turn is stopped; each run in progress then checks whether it was the one.
    pub stops: Arc<Notify>,
    pub step_budget: u32,
    pub longest_message: usize,
    pub stream_after: Duration,
    pub keeps_talk_for: TimeDelta,
}

impl Deref for Agent {
    type Target = Requests;

    fn deref(&self) -> &Requests {
        &self.requests
    }
}
