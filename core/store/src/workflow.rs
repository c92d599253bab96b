//! Workflows: work that is done in several steps, for hours if need be. A workflow's run has a row as every run; everything
//! else that it keeps is in rows of the ability that plugs it in. Each of its steps is a run below it, a turn with the tools
//! of the place, that ends by telling it the outcome. The runner of the agent is the only one that commits.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgConnection;

use crate::jobs::sql::to_json;
use crate::jobs::{Job, WorkError};
use crate::runs::{self, RunEvent};
use crate::steps::{StepRecord, StoredTurns};
use nod_contract::card::Card;
use nod_contract::clock::{Clock, Timestamp};
use nod_contract::ids::{ConversationId, DeliveryId, Ids, PersonId, RunId, TenantId, TraceId, named_lane_id};
use nod_contract::model::{Completion, CompletionRequest, Model, ModelError, TokenSender, Turn};
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::scope::{RunOrIngestion, Scope};
use nod_contract::tool::{Principal, Tool};

/// The longest wish of a person, in characters: every step is told the whole of it.
pub const MAX_WISH_CHARS: usize = 4_000;
/// The workflow of a step's own run.
pub const STEP: &str = "step";

/// A kind of work, plugged in by an ability. It decides, and holds no store: what it wants is written by the runner.
#[async_trait]
pub trait Workflow: Send + Sync {
    /// Its name in rows, scopes and records.
    fn name(&self) -> &'static str;

    /// Its nodes, each with those that can follow. The runner refuses any other.
    fn edges(&self) -> &'static [(&'static str, &'static [&'static str])];

    /// What all its steps are told, and the tool by which one ends.
    fn goal(&self) -> Goal;

    /// The tool by which a turn of a conversation begins such work. It leaves
    /// [`FollowUp::Work`](nod_contract::tool::FollowUp::Work).
    fn begins_by(&self) -> Tool;

    /// Begins a run, in the commit of the turn that called that tool.
    ///
    /// # Errors
    /// If the database does not answer; nothing is committed then.
    async fn begin(
        &self,
        conn: &mut PgConnection,
        request: &WorkRequest<'_>,
        now: Timestamp,
    ) -> sqlx::Result<()>;

    /// Returns what its person calls a run.
    ///
    /// # Errors
    /// If the database does not answer.
    async fn title(&self, conn: &mut PgConnection, run: &WorkflowRun) -> sqlx::Result<String>;

    /// Loads what its next node needs.
    ///
    /// # Errors
    /// If the database does not answer; the run's job is tried again.
    async fn load(&self, conn: &mut PgConnection, run: &WorkflowRun) -> sqlx::Result<Value>;

    /// Runs its current node, whose only other source is the model. It can be repeated until it is committed, and the same
    /// event can come twice.
    ///
    /// # Errors
    /// If what was loaded cannot be read; the run's job is tried again.
    async fn step(
        &self,
        run: &WorkflowRun,
        loaded: Value,
        event: Option<&WorkflowEvent>,
        cx: &WorkflowContext<'_>,
    ) -> Result<Transition, WorkError>;

    /// Ends a run that cannot go on.
    ///
    /// # Errors
    /// If what was loaded cannot be read.
    fn give_up(&self, run: &WorkflowRun, loaded: Value, why: GaveUp) -> Result<Transition, WorkError>;

    /// Writes the rows of a transition, in its commit: after all else, so it may lock only rows of its own, and then lanes
    /// of its own jobs and messages.
    ///
    /// # Errors
    /// If the database does not answer; nothing is committed then.
    async fn write(
        &self,
        conn: &mut PgConnection,
        run: &WorkflowRun,
        rows: &Value,
        now: Timestamp,
    ) -> sqlx::Result<()>;

    /// Writes what a step had asked for and what was done after the step had ended. Called as [`write`](Self::write), in a
    /// commit of its own; the run goes on as if nothing had happened, or has ended.
    ///
    /// # Errors
    /// If the database does not answer; nothing is committed then.
    async fn write_acted(
        &self,
        conn: &mut PgConnection,
        run: &WorkflowRun,
        step: RunId,
        acted: Acted,
        now: Timestamp,
    ) -> sqlx::Result<()>;
}

/// What a person wants done.
pub struct WorkRequest<'a> {
    pub tenant: TenantId,
    /// The turn in which they said it. It begins one such work at most, also if it is done over after an edit.
    pub turn: RunId,
    /// Where they said it.
    pub conversation: ConversationId,
    pub person: PersonId,
    pub words: &'a str,
}

/// Returns the id of the run of a workflow that a turn of a conversation has begun, if it has.
#[must_use]
pub fn run_of_turn(turn: RunId) -> RunId {
    RunId(named_lane_id(&["the task of a turn", &turn.to_string()]))
}

/// Returns the id of the run that does the same work once more, if somebody wants it after it has ended.
#[must_use]
pub fn run_after(ended: RunId) -> RunId {
    RunId(named_lane_id(&["the task after", &ended.to_string()]))
}

/// What the steps of a workflow are for.
pub struct Goal {
    /// Rules that every step's prompt contains.
    pub rules: &'static str,
    /// Further tools that only its steps have.
    pub tools: Vec<Tool>,
    /// A tool that leaves [`FollowUp::Outcome`](nod_contract::tool::FollowUp::Outcome), by which a step ends.
    pub ends_by: Tool,
}

/// A run of a workflow, as it is loaded.
#[derive(Debug, Clone)]
pub struct WorkflowRun {
    pub tenant: TenantId,
    pub id: RunId,
    pub conversation: ConversationId,
    pub trace: TraceId,
    /// The node that runs next.
    pub node: String,
    /// The person for whom it works.
    pub principal: Principal,
}

/// What a node of a workflow decides.
pub struct Transition {
    /// Written by [`Workflow::write`] in the same commit.
    pub rows: Value,
    pub wants: Vec<Want>,
    pub next: Next,
    /// Who may open the record of it.
    pub audience: Audience,
}

/// Where a workflow continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Now, with this node.
    Go(&'static str),
    /// With this node, once an event arrives.
    Wait(&'static str),
    /// Nowhere: it is done.
    Done,
    /// Nowhere, for this reason.
    Failed(String),
}

/// Why a run cannot go on, with a sentence that says it.
#[derive(Debug, Clone, Copy)]
pub enum GaveUp {
    /// It failed again and again.
    Broken(&'static str),
    /// Its person is not served any more.
    Refused(&'static str),
}

/// Something that a workflow wants to happen.
pub enum Want {
    /// A step begins.
    Step(NewStep),
    /// What a step that goes on no more has asked for is withdrawn.
    Withdraw { step: RunId },
    /// Its person is asked how to go on.
    Ask { id: DeliveryId, card: Card, audience: Audience },
    /// What came of it is said, and its person can talk about it afterwards.
    Tell { id: DeliveryId, card: Card, audience: Audience, provenance: Provenance },
}

/// A step to begin.
pub struct NewStep {
    pub id: RunId,
    /// What its person calls it: "your task Compare the offers, step 2".
    pub label: String,
    /// The person's own words, and nothing else: they count as said by them.
    pub words: String,
    /// What they typed in answer to questions of the steps before, which counts as said by them too.
    pub typed_answers: Vec<String>,
    /// What else it is told.
    pub told: Vec<Turn>,
    /// Who may read what it is told.
    pub audience: Audience,
    /// Whether what it is told contains untrusted text.
    pub provenance: Provenance,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepOutcome {
    pub result: StepResult,
    /// Who may read the result.
    pub audience: Audience,
    /// What was in view when it was written.
    pub provenance: Provenance,
    /// How much was done of what it asked for outside Nod.
    #[serde(default)]
    pub acted: Acted,
}

/// How much was done of the actions outside Nod that a step asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acted {
    /// None was asked for.
    #[default]
    NoneAsked,
    /// All of them.
    Fully,
    /// Perhaps not all of them: nobody knows whether one was done, or one was, and another was denied, has expired or failed.
    Partly,
    /// None of them.
    NotAtAll,
}

/// What came out of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", content = "with", rename_all = "snake_case")]
pub enum StepResult {
    /// It called its last tool, with these arguments.
    Finished(Value),
    /// It called none any more, and wrote this.
    Said(String),
    /// It could not be done, for this reason, a sentence.
    Failed(String),
}

/// Advances a run of a workflow, in the run's lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum WorkflowJob {
    /// The commit that follows from the event also removes it from the job.
    AdvanceWorkflow { run: RunId, event: Option<WorkflowEvent> },
}

impl Job for WorkflowJob {
    const KINDS: &'static [&'static str] = &["advance_workflow"];
}

/// An event for a run of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WorkflowEvent {
    /// One of its steps ended.
    StepEnded { step: RunId, outcome: StepOutcome },
    /// Something that a step had asked for was done after the step had ended: how much is done now. It is told also to a
    /// run that has ended.
    StepActed { step: RunId, acted: Acted },
    /// A person changed its ability's rows: it goes on from what they say now.
    RowsChanged,
}

/// Sends an event to a run of a workflow. A run that was deleted hears nothing.
pub async fn notify(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    event: WorkflowEvent,
    now: Timestamp,
) -> sqlx::Result<()> {
    runs::enqueue(conn, tenant, run, &WorkflowJob::AdvanceWorkflow { run, event: Some(event) }, now).await
}

/// A run of a workflow to begin.
pub struct NewWorkflowRun {
    pub id: RunId,
    pub workflow: &'static str,
    /// Its first node.
    pub node: &'static str,
    /// Whether it waits for an event before that.
    pub waits: bool,
    pub conversation: ConversationId,
    pub person: PersonId,
    pub trace: TraceId,
}

/// Begins a run of a workflow, in a lane of its own.
pub async fn begin(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: &NewWorkflowRun,
    now: Timestamp,
) -> sqlx::Result<()> {
    let work = WorkflowJob::AdvanceWorkflow { run: run.id, event: None };
    sqlx::query!(
        "insert into runs (tenant_id, id, conversation_id, lane_id, person_id, trace_id, workflow, status, node, state, version,
             first_turn, created_at, updated_at)
         select $1, $2, $3, $2, $4, $5, $6, $10, $7, '{}', 0, 0, $8, $8
         from (select case when $10 = 'queued' then enqueue($1, $2, $9, $8, $8) end) work",
        tenant.0,
        run.id.0,
        run.conversation.0,
        run.person.0,
        run.trace.0,
        run.workflow,
        run.node,
        now,
        to_json(&work)? as _,
        if run.waits { "waiting" } else { "queued" }
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Has a step that failed done once more, from where it failed; returns false if it has not failed. Its lane is locked.
pub async fn restart_step(
    conn: &mut PgConnection,
    tenant: TenantId,
    step: RunId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let queued = sqlx::query!(
        "update runs set status = 'queued', version = version + 1, finished_at = null
         where tenant_id = $1 and id = $2 and status = 'failed'",
        tenant.0,
        step.0
    );
    if queued.execute(&mut *conn).await?.rows_affected() == 0 {
        return Ok(false);
    }
    runs::notify(conn, tenant, step, RunEvent::RetryRequested, now).await?;
    Ok(true)
}

/// What a workflow can use during one step.
pub struct WorkflowContext<'a> {
    pub run: &'a WorkflowRun,
    pub workflow: &'static str,
    pub model: &'a dyn Model,
    pub clock: &'a Arc<dyn Clock>,
    pub ids: &'a Arc<dyn Ids>,
    records: Mutex<Vec<StepRecord>>,
}

impl<'a> WorkflowContext<'a> {
    /// Creates the context of one step.
    pub fn new(
        run: &'a WorkflowRun,
        workflow: &'static str,
        model: &'a dyn Model,
        clock: &'a Arc<dyn Clock>,
        ids: &'a Arc<dyn Ids>,
    ) -> Self {
        Self { run, workflow, model, clock, ids, records: Mutex::default() }
    }

    /// Calls the model and records the call.
    ///
    /// # Errors
    /// If no model answers.
    pub async fn complete(&self, ask: &CompletionRequest) -> Result<Completion, ModelError> {
        let started = self.clock.now();
        let scope = Scope {
            tenant: self.run.tenant,
            case: self.run.conversation,
            workflow: self.workflow,
            run: RunOrIngestion::RunId(self.run.id),
            trace: self.run.trace,
            invocation: self.ids.next().into(),
        };
        let answered = self.model.complete(&scope, ask, &TokenSender::disconnected()).await;
        let mut record =
            StepRecord::new("model", ask.tier.as_str(), scope.invocation, started, self.clock.now());
        record.set_prompt(ask, &StoredTurns::default());
        match &answered {
            Ok(answer) => record.set_answer(answer),
            Err(error) => record.error = Some(error.to_string()),
        }
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        answered
    }

    /// Takes what was recorded.
    pub fn take_records(self) -> Vec<StepRecord> {
        self.records.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
