//! The runner of workflows: loads what a node needs, runs it, and commits what it decides before the next one.

use std::sync::Mutex;

use sqlx::PgConnection;

use super::commit::complete_job;
use super::long::{self, TruncatedAnswer};
use super::outbox::{Outbox, Unsent};
use super::runner::{INTERRUPTED, MAX_ATTEMPTS, is_interrupted_often, wait_until_stopped};
use super::share;
use super::stop::withdraw_requests;
use crate::context::{Agent, RegisteredWorkflow};
use crate::graph::claim_check;
use crate::rows::{self as sql, NewMessage, NewRun};
use crate::state::{AgentState, Node, StepGoal};
use nod_contract::card::{Block, Card};
use nod_contract::clock::Timestamp;
use nod_contract::ids::RunId;
use nod_contract::model::Turn;
use nod_contract::privacy::Audience;
use nod_people::conversations::{self, ConversationLocation};
use nod_people::people::Person;
use nod_people::{open_pages, people};
use nod_store::jobs::{Claim, WorkError, commit_and_begin, sql as jobs};
use nod_store::steps::{self, StepRecord};
use nod_store::workflow::{
    Acted, GaveUp, NewStep, Next, Transition, Want, WorkflowContext, WorkflowEvent, WorkflowJob, WorkflowRun,
};

const WENT_WRONG: &str = "something kept going wrong on my side";

/// Advances a run of a workflow until it waits or is finished.
pub async fn advance(
    core: &Agent,
    claim: &Claim,
    id: RunId,
    event: Option<&WorkflowEvent>,
) -> Result<(), WorkError> {
    let (mut event, mut is_begun) = (event, false);
    loop {
        let mut conn = core.pool.acquire().await?;
        let Some(row) = sql::load_workflow_run(&mut conn, claim.tenant, id).await? else {
            return Ok(jobs::complete(&mut conn, claim).await?);
        };
        let acted = match event {
            Some(WorkflowEvent::StepActed { step, acted }) => Some((*step, *acted)),
            _ => None,
        };
        if !row.is_active && acted.is_none() {
            return Ok(jobs::complete(&mut conn, claim).await?);
        }
        let registered = core.workflows.get(&row.workflow).ok_or("no such workflow")?;
        if let Some(acted) = acted {
            drop(conn);
            return write_acted(core, claim, (registered, &row.run), acted).await;
        }
        let loaded = registered.workflow.load(&mut conn, &row.run).await?;
        drop(conn);
        let started = core.now();
        let model = core.memory.model.as_ref();
        let cx = WorkflowContext::new(&row.run, registered.workflow.name(), model, &core.clock, &core.ids);
        let transition = if claim.attempt > MAX_ATTEMPTS {
            registered.workflow.give_up(&row.run, loaded, GaveUp::Broken(WENT_WRONG))?
        } else if !std::mem::replace(&mut is_begun, true) && is_interrupted_often(core, claim, id).await? {
            registered.workflow.give_up(&row.run, loaded, GaveUp::Broken(INTERRUPTED))?
        } else if !is_member(core, claim, row.person, (&row.platform, &row.workspace)).await? {
            registered.workflow.give_up(&row.run, loaded, GaveUp::Refused(people::MEMBERS_ONLY))?
        } else {
            tokio::select! {
                biased;
                decided = registered.workflow.step(&row.run, loaded, event, &cx) => decided?,
                _ = wait_until_stopped(core, claim, id) => return complete_job(core, claim).await,
            }
        };
        let mut records = cx.take_records();
        records.push(StepRecord::of_node(&row.run.node, started, core.now()));
        let commit = WorkflowCommit {
            core,
            claim,
            registered,
            run: &row.run,
            is_shared: row.is_shared,
            version: row.version,
        };
        if commit.write(&transition, &records, event.is_some()).await? {
            return Ok(());
        }
        event = None;
    }
}

/// Writes what was done after a step had ended, without a node of the run.
async fn write_acted(
    core: &Agent,
    claim: &Claim,
    (registered, run): (&RegisteredWorkflow, &WorkflowRun),
    (step, acted): (RunId, Acted),
) -> Result<(), WorkError> {
    let now = core.now();
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    registered.workflow.write_acted(&mut tx, run, step, acted, now).await?;
    open_pages::enqueue_refresh(&mut tx, run.tenant, run.principal.person, now).await?;
    jobs::complete(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}

async fn is_member(
    core: &Agent,
    claim: &Claim,
    person: Person,
    (platform, workspace): (&str, &str),
) -> Result<bool, WorkError> {
    let person = people::directory::ensure_profile(core, claim.tenant, person, platform, workspace).await?;
    Ok(core.welcome.admits(person.membership))
}

/// What a node decided, to be committed.
struct WorkflowCommit<'a> {
    core: &'a Agent,
    claim: &'a Claim,
    registered: &'a RegisteredWorkflow,
    run: &'a WorkflowRun,
    is_shared: bool,
    version: i32,
}

impl WorkflowCommit<'_> {
    /// Commits a transition; returns whether the job ends with it.
    async fn write(
        &self,
        transition: &Transition,
        records: &[StepRecord],
        has_event: bool,
    ) -> Result<bool, WorkError> {
        let Self { core, claim, run, .. } = self;
        let now = core.now();
        let (status, node, error) = match &transition.next {
            Next::Go(node) => ("running", self.successor(node)?, None),
            Next::Wait(node) => ("waiting", self.successor(node)?, None),
            Next::Done => ("done", run.node.as_str(), None),
            Next::Failed(reason) => ("failed", run.node.as_str(), Some(reason.as_str())),
        };
        core.store_prompt_texts(records).await?;
        let mut tx = core.begin().await?;
        sql::write_workflow_run(&mut tx, claim, (run.id, self.version), (status, node, error), now).await?;
        steps::record(&mut tx, run.tenant, run.id, records, transition.audience).await?;
        for want in &transition.wants {
            self.write_want(&mut tx, want, transition.next == Next::Done, now).await?;
        }
        self.registered.workflow.write(&mut tx, run, &transition.rows, now).await?;
        if matches!(transition.next, Next::Go(_)) {
            if claim.attempt > 1 {
                jobs::reset_attempts(&mut tx, claim).await?;
            }
            if has_event {
                let work = WorkflowJob::AdvanceWorkflow { run: run.id, event: None };
                jobs::update_payload(&mut tx, claim, &work).await?;
            }
            commit_and_begin(tx, &core.jobs).await?;
            return Ok(false);
        }
        open_pages::enqueue_refresh(&mut tx, run.tenant, run.principal.person, now).await?;
        jobs::complete(&mut tx, claim).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Refuses a node that does not follow the current one.
    fn successor(&self, node: &'static str) -> Result<&'static str, WorkError> {
        let at = self.run.node.as_str();
        let known = self.registered.workflow.edges().iter().find(|(from, _)| *from == at);
        match known.is_some_and(|(_, to)| to.contains(&node)) {
            true => Ok(node),
            false => Err(format!("{at} does not lead to {node}").into()),
        }
    }

    async fn write_want(
        &self,
        conn: &mut PgConnection,
        want: &Want,
        is_result: bool,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let Self { core, run, .. } = self;
        match want {
            Want::Step(step) => self.begin_step(conn, step, now).await,
            Want::Withdraw { step } => {
                Ok(withdraw_requests(conn, run.tenant, *step, Some(run.principal.person), now).await?)
            }
            Want::Ask { id, card, audience } => {
                let venue = conversations::load_location(conn, run.tenant, run.conversation).await?;
                let unsent = Mutex::default();
                let outbox = self.outbox(&venue, &unsent);
                outbox.post_request(conn, *id, card, *audience, now).await?;
                Ok(outbox.store_unsent(conn, now).await?)
            }
            Want::Tell { id, card, audience, provenance } => {
                let venue = conversations::load_location(conn, run.tenant, run.conversation).await?;
                let said = card_text(card);
                let message = NewMessage {
                    id: core.id(),
                    // A run has one message with this number, so it says what came of it once.
                    turn_number: 0,
                    person: None,
                    message_ref: None,
                    turn: &Turn::Ai { text: said, calls: Vec::new() },
                    audience: *audience,
                    provenance,
                };
                sql::insert_message(conn, run.tenant, (run.id, run.conversation), &message, now).await?;
                let TruncatedAnswer { mut card, whole } = long::truncate_answer(card);
                if is_result && claims_too_much(conn, run, &card).await? {
                    card =
                        card.with_block(Block::Note("To be clear, nothing was sent or changed.".to_owned()));
                }
                if self.is_shared && *audience != Audience::Channel {
                    card = share::with_button(card, *id);
                }
                let unsent = Mutex::default();
                let outbox = self.outbox(&venue, &unsent);
                outbox.post_answer(conn, *id, (&card, whole.as_ref()), *audience, now).await?;
                Ok(outbox.store_unsent(conn, now).await?)
            }
        }
    }

    fn outbox<'b>(&'b self, venue: &'b ConversationLocation, unsent: &'b Mutex<Unsent>) -> Outbox<'b> {
        Outbox {
            core: self.core,
            tenant: self.run.tenant,
            venue,
            run: self.run.id,
            conversation: self.run.conversation,
            person: self.run.principal.person,
            name: &self.run.principal.name,
            is_shared: self.is_shared,
            unsent,
        }
    }

    /// Inserts the run of a step, which begins with the model: what it needs to know, it is told.
    async fn begin_step(
        &self,
        conn: &mut PgConnection,
        step: &NewStep,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let Self { core, run, registered, .. } = self;
        let mut state = AgentState::new(run.principal.clone(), self.is_shared, &step.words);
        state.turns.extend(step.told.iter().cloned());
        state.typed_answers.clone_from(&step.typed_answers);
        state.audience = step.audience;
        state.provenance = step.provenance.clone();
        state.has_read_untrusted = step.provenance.is_untrusted();
        state.goal = Some(StepGoal {
            workflow: registered.workflow.name().to_owned(),
            label: step.label.clone(),
            result: None,
        });
        let new = NewRun {
            id: step.id,
            parent: Some(run.id),
            node: Node::Think,
            conversation: run.conversation,
            lane: step.id.0,
            person: run.principal.person,
            trace: run.trace,
            state: &state,
        };
        let message = NewMessage {
            id: core.id(),
            turn_number: 0,
            person: Some(run.principal.person),
            message_ref: None,
            turn: &Turn::Human { text: step.words.clone() },
            audience: step.audience,
            provenance: &step.provenance,
        };
        // It needs no place for itself: the commit that ends this job claims it.
        sql::begin(conn, None, run.tenant, &new, &message, now, now).await?;
        Ok(())
    }
}

/// Returns a card as its person talks about it later.
fn card_text(card: &Card) -> String {
    let words = card.body.iter().filter_map(|block| match block {
        Block::Markdown(text) => Some(text.as_str()),
        _ => None,
    });
    card.title.as_deref().into_iter().chain(words).collect::<Vec<_>>().join("\n\n")
}

/// Whether the words of a result say that something was done of which there is no receipt. What was denied, expired or failed
/// its title says in any case.
async fn claims_too_much(conn: &mut PgConnection, run: &WorkflowRun, card: &Card) -> sqlx::Result<bool> {
    let says_so = card.body.iter().any(|block| match block {
        Block::Markdown(text) => claim_check::has_action_claim(text),
        _ => false,
    });
    Ok(says_so && !sql::load_actions(conn, run.tenant, run.id).await?.have_receipt)
}
