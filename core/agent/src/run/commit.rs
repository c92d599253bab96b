//! Commits a transition: the state, the new messages and records, and the node outputs, in one transaction that begins
//! and ends here.

use std::sync::{Mutex, PoisonError};

use chrono::TimeDelta;
use sqlx::PgConnection;

use super::long::{self, TruncatedAnswer};
use super::outbox::{Outbox, Unsent, placeholder_card};
use super::progress::list_activity;
use super::{finish_stream, share};
use crate::context::Agent;
use crate::forget;
use crate::graph::NodeOutput;
use crate::rows::{self as sql, NewMessage, Run, Transition, Written};
use crate::state::{AgentState, Node, Recalled, TakenAction};
use nod_accounts::connection::{self, NewConnectRequest, RequiredAccount, card};
use nod_contract::card::{Block, Card};
use nod_contract::chat::{DeliveryTarget, OutgoingFile};
use nod_contract::clock::Timestamp;
use nod_contract::digest::digest;
use nod_contract::ids::{DeliveryId, OfferId, RunId, named_lane_id};
use nod_contract::model::Turn;
use nod_contract::privacy::Audience;
use nod_memory::work::MemoryJob;
use nod_people::conversations::ConversationLocation;
use nod_people::delivery;
use nod_people::people;
use nod_requests::work::RequestJob;
use nod_requests::{draft, effect, question};
use nod_store::ability::AnsweredRun;
use nod_store::hooks::StepMoved;
use nod_store::jobs::{Claim, WorkError, commit_and_begin, sql as jobs};
use nod_store::runs::RunJob;
use nod_store::steps::StepRecord;
use nod_store::workflow::{self, Acted, StepOutcome, StepResult, WorkRequest, WorkflowEvent};

/// Everything that a run produced since its last commit.
pub(super) struct Commit<'a> {
    pub(super) run: Run,
    pub(super) outputs: Vec<NodeOutput>,
    /// Messages with a target other than the conversation.
    pub(super) targeted_messages: Vec<(Card, DeliveryTarget)>,
    /// Messages that are sent by the end of the job, which is the commit's last statement.
    unsent: Mutex<Unsent>,
    pub(super) records: Vec<StepRecord>,
    /// Whether attempts at the job were lost, and none has got on since.
    has_lost_attempts: bool,
    /// Whether a progress line is posted.
    pub(super) has_progress_line: bool,
    /// Whether the run waited for an event, so a progress line might be posted.
    was_waiting: bool,
    pub(super) core: &'a Agent,
    pub(super) claim: &'a Claim,
    pub(super) venue: &'a ConversationLocation,
    /// The number of turns that are rows already.
    persisted_turns: usize,
    /// Whether the job still carries an event that this run has applied.
    has_event: bool,
    /// What it was when its answer began.
    before_answer: Option<BeforeAnswer>,
}

/// What a run was when its answer began, which is all that is kept if its message was changed meanwhile.
struct BeforeAnswer {
    state: AgentState,
    outputs: usize,
    records: usize,
}

impl<'a> Commit<'a> {
    pub(super) fn begin(
        core: &'a Agent,
        claim: &'a Claim,
        venue: &'a ConversationLocation,
        run: Run,
        has_event: bool,
    ) -> Self {
        // Turns that the event added, or another try of a step, are not rows yet.
        let kept = run.persisted_turns;
        Self {
            run,
            outputs: Vec::new(),
            targeted_messages: Vec::new(),
            unsent: Mutex::default(),
            records: Vec::new(),
            has_lost_attempts: claim.attempt > 1,
            // An earlier attempt might have posted it.
            has_progress_line: claim.attempt > 1,
            was_waiting: has_event,
            core,
            claim,
            venue,
            persisted_turns: kept,
            has_event,
            before_answer: None,
        }
    }

    /// From here on the run answers. If its message was edited or deleted by the time of the commit, the answer is
    /// dropped: the job with that event takes over.
    pub(super) fn begin_answer(&mut self) {
        self.before_answer = Some(BeforeAnswer {
            state: self.run.state.clone(),
            outputs: self.outputs.len(),
            records: self.records.len(),
        });
    }

    fn drop_answer(&mut self) {
        if let Some(before) = self.before_answer.take() {
            self.run.state = before.state;
            self.run.node = Node::Reply;
            self.outputs.truncate(before.outputs);
            // Work has to begin with the words as they are now, or not at all.
            self.outputs.retain(|output| !matches!(output, NodeOutput::Work { .. }));
            self.records.truncate(before.records);
        }
    }

    /// Commits, and the job continues.
    pub(super) async fn transition(&mut self, status: &str) -> Result<(), WorkError> {
        self.core.store_prompt_texts(&self.records).await?;
        if self.is_state_only(status) {
            let mut conn = self.core.pool.acquire().await?;
            self.write_state(&mut conn, status, None).await?;
            drop(conn);
            self.reset_after_commit();
            return Ok(());
        }
        let mut tx = self.core.begin().await?;
        self.write(&mut tx, status, None).await?;
        self.outbox().store_unsent(&mut tx, self.core.now()).await?;
        if self.has_lost_attempts {
            jobs::reset_attempts(&mut tx, self.claim).await?;
        }
        if self.has_event {
            let work = RunJob::AdvanceRun { run: self.run.id, event: None };
            jobs::update_payload(&mut tx, self.claim, &work).await?;
        }
        // What the abilities show of a step's move is a job too.
        if self.outputs.is_empty() && self.step_move(status).is_none() {
            tx.commit().await?;
        } else {
            commit_and_begin(tx, &self.core.jobs).await?;
        }
        self.reset_after_commit();
        Ok(())
    }

    /// Whether nothing has to be posted or done, so that one statement is the whole commit.
    fn is_state_only(&self, status: &str) -> bool {
        self.outputs.is_empty()
            && self.targeted_messages.is_empty()
            && !self.has_event
            && self.run.streaming_message.is_none()
            && !self.has_lost_attempts
            && self.step_move(status).is_none()
    }

    /// Commits and completes the job.
    pub(super) async fn commit_and_finish(
        mut self,
        status: &str,
        error: Option<&str>,
    ) -> Result<(), WorkError> {
        self.core.store_prompt_texts(&self.records).await?;
        let mut tx = self.core.begin().await?;
        if self.write(&mut tx, status, error).await? == Written::MessageChanged {
            tx.rollback().await?;
            self.drop_answer();
            return Box::pin(self.commit_and_finish("waiting", None)).await;
        }
        if self.run.state.has_channel_history && ["done", "failed"].contains(&status) {
            let now = self.core.now();
            forget::schedule_purge(self.core, &mut tx, self.claim.tenant, self.run.id, now).await?;
        }
        let has_line = self.has_progress_line || self.was_waiting;
        if self.run.parent.is_none() && has_line {
            self.outbox().store_unsent(&mut tx, self.core.now()).await?;
            nod_people::progress::remove_progress_line(self.core, &mut tx, self.claim, self.run.id).await?;
        }
        let unsent = std::mem::take(self.unsent.get_mut().unwrap_or_else(PoisonError::into_inner));
        // All that it enqueues is the posts of these messages.
        let only_speaks = self.run.parent.is_none()
            && !unsent.has_stored
            && self.run.streaming_message.is_none()
            && !has_line
            && !self.run.state.has_channel_history
            && self.outputs.iter().all(|output| matches!(output, NodeOutput::Message { .. }));
        let (claim, person) = (self.claim, self.run.person);
        delivery::finish_job(self.core, &mut tx, claim, unsent.messages, person, !only_speaks).await?;
        Ok(tx.commit().await?)
    }

    fn reset_after_commit(&mut self) {
        self.run.version += 1;
        self.has_lost_attempts = false;
        self.run.is_recalled_persisted |= *self.run.state.recalled != Recalled::default();
        if self.outputs.iter().any(|emit| matches!(emit, NodeOutput::Message { .. })) {
            self.run.streaming_message = None;
        }
        self.persisted_turns = self.run.state.turns.len();
        self.has_event = false;
        self.outputs.clear();
        self.targeted_messages.clear();
        self.records.clear();
    }

    async fn write(
        &mut self,
        conn: &mut PgConnection,
        status: &str,
        error: Option<&str>,
    ) -> Result<Written, WorkError> {
        let now = self.core.now();
        if self.outputs.iter().any(|emit| matches!(emit, NodeOutput::MemoryUpdate)) {
            // Locked before every row and every other lane, in the same order as the job itself.
            let lane = named_lane_id(&["memory", &self.run.conversation.to_string()]);
            let work = MemoryJob::UpdateMemory { run: self.run.id };
            jobs::enqueue(conn, self.claim.tenant, lane, &work, now, now).await?;
        }
        self.notify_workflow(conn, status, now).await?;
        if self.write_state(conn, status, error).await? == Written::MessageChanged {
            return Ok(Written::MessageChanged);
        }
        let spoken = finish_stream::finish_streaming_message(self, conn).await?;
        for (_, emit) in self.outputs.iter().enumerate().filter(|(at, _)| Some(*at) != spoken) {
            if !matches!(emit, NodeOutput::Message { .. } | NodeOutput::MemoryUpdate) {
                self.outbox().store_unsent(conn, now).await?;
            }
            self.write_output(conn, emit, now).await?;
        }
        // After the messages: their lanes are locked before the rows to which these refer.
        for emit in &self.outputs {
            if let NodeOutput::CheckRows { check, rows } = emit {
                self.outbox().store_unsent(conn, now).await?;
                self.write_check_rows(conn, check, rows, now).await?;
            }
        }
        self.request_approvals(conn, now).await?;
        for (card, target) in &self.targeted_messages {
            self.outbox().enqueue(self.core.id(), card, Some(target), Audience::Channel, now);
        }
        self.call_hooks(conn, now).await?;
        Ok(Written::Moved)
    }

    /// Tells the workflow what came out of its step: its lane is locked after the step's, and before every row.
    async fn notify_workflow(
        &self,
        conn: &mut PgConnection,
        status: &str,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let (Some(workflow), Some(goal)) = (self.run.parent, &self.run.state.goal) else { return Ok(()) };
        // It heard of the failure before; what comes late is only kept.
        if self.run.status == "failed" {
            return Ok(());
        }
        let Some(result) = goal.result.clone().filter(|_| ["done", "failed"].contains(&status)) else {
            return Ok(());
        };
        jobs::assert_lease(conn, self.claim).await?;
        let state = &self.run.state;
        let acted = match result {
            StepResult::Failed(_) => Acted::default(),
            _ => sql::load_actions(conn, self.claim.tenant, self.run.id).await?.acted(state.acts),
        };
        let outcome = StepOutcome {
            result,
            audience: state.record_audience(),
            provenance: state.provenance.clone(),
            acted,
        };
        let event = WorkflowEvent::StepEnded { step: self.run.id, outcome };
        workflow::notify(conn, self.claim.tenant, workflow, event, now).await
    }

    /// Returns what people see of a step's commit: that it waits or goes on after that, or what it does now.
    fn step_move(&self, status: &str) -> Option<StepMoved> {
        let run = self.run.parent?;
        let waits_for = match status {
            "waiting" => self.run.state.waits_for(),
            _ => None,
        };
        let activity: Vec<&'static str> = list_activity(self.core, &self.run).collect();
        // What it waits for ends with an event.
        let is_seen = waits_for.is_some() || self.has_event || !activity.is_empty();
        let (tenant, step) = (self.claim.tenant, self.run.id);
        is_seen.then_some(StepMoved { tenant, run, step, waits_for, activity })
    }

    /// Tells the abilities that a step moved.
    async fn call_hooks(&self, conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
        let Some(moved) = self.step_move(&self.run.status) else { return Ok(()) };
        self.outbox().store_unsent(conn, now).await?;
        for hook in &self.core.accounts.hooks {
            hook.step_moved(conn, &moved, now).await?;
        }
        Ok(())
    }

    /// Writes state, messages and records in one statement.
    async fn write_state(
        &mut self,
        conn: &mut PgConnection,
        status: &str,
        error: Option<&str>,
    ) -> sqlx::Result<Written> {
        status.clone_into(&mut self.run.status);
        self.run.persisted_turns = self.run.state.turns.len();
        let (audience, record) = (self.run.state.audience, self.run.state.record_audience());
        let first = self.run.state.first_turn;
        let message = |(at, turn)| NewMessage {
            id: self.core.id(),
            turn_number: first + i32::try_from(at).unwrap_or(i32::MAX - first),
            person: None,
            message_ref: None,
            turn,
            audience: if matches!(turn, Turn::Tool { .. }) { record } else { audience },
            provenance: &self.run.state.provenance,
        };
        let messages: Vec<NewMessage<'_>> =
            self.run.state.turns.iter().enumerate().skip(self.persisted_turns).map(message).collect();
        let transition = Transition {
            run: &self.run,
            error,
            messages: &messages,
            steps: &self.records,
            is_answer: self.before_answer.is_some(),
        };
        sql::write(conn, self.claim, &transition, self.core.now()).await
    }

    async fn write_output(
        &self,
        conn: &mut PgConnection,
        emit: &NodeOutput,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        match emit {
            // Written first.
            NodeOutput::MemoryUpdate => Ok(()),
            NodeOutput::Message { card, audience } => self.enqueue_reply(conn, card, *audience, now).await,
            NodeOutput::File { stem, extension, text, audience } => {
                let id: DeliveryId = self.core.id();
                let file =
                    OutgoingFile { name: format!("{stem}-{}.{extension}", id.short()), text: text.clone() };
                let goal = self.run.state.goal.as_ref();
                let from = goal.map_or_else(String::new, |goal| format!(" from {}", goal.label));
                let words = placeholder_card(format!("Here is the file{from}."));
                self.outbox().post_file(conn, id, (&words, &file), *audience, now).await
            }
            NodeOutput::Work { workflow } => {
                let registered = self.core.workflows.get(workflow).ok_or("no such workflow")?;
                let run = &self.run;
                let request = WorkRequest {
                    tenant: self.claim.tenant,
                    turn: run.id,
                    conversation: run.conversation,
                    person: run.person,
                    words: run.state.user_message(),
                };
                Ok(registered.workflow.begin(conn, &request, now).await?)
            }
            // Written after the messages.
            NodeOutput::CheckRows { .. } => Ok(()),
            // Written together, last.
            NodeOutput::ApprovalRequest { .. } => Ok(()),
            NodeOutput::ActionTaken(taken) => self.settle_action(conn, taken, now).await,
            NodeOutput::Effect { effect, call_id, tool, preview } => {
                let digest = digest(&preview.payload)?;
                let new = effect::sql::NewEffect {
                    id: *effect,
                    conversation: self.run.conversation,
                    run: self.run.id,
                    call_id,
                    approval: None,
                    person: self.run.person,
                    tool,
                    payload: &preview.payload,
                    digest: &digest,
                    recipients: &preview.recipients,
                    draft: preview.draft.as_deref(),
                    undo_window: TimeDelta::zero(),
                };
                Ok(effect::insert(conn, self.claim.tenant, &new, now).await?)
            }
            NodeOutput::DraftUpdate(open) => self.draft(conn, open, now).await,
            NodeOutput::DraftClosed { draft, reason: how } => {
                Ok(draft::close(conn, self.claim.tenant, self.run.person, draft, *how, now).await?)
            }
            NodeOutput::Question { .. } => self.insert_question(conn, emit, now).await,
            NodeOutput::ConnectRequest { provider, revoked, missing } => {
                let (delivery, offer): (DeliveryId, OfferId) = (self.core.id(), self.core.id());
                let held =
                    connection::load_connected_account(conn, self.claim.tenant, self.run.person, *provider)
                        .await?;
                let scopes = self.core.accounts.scopes(*provider);
                let need = RequiredAccount {
                    provider: *provider,
                    revoked: *revoked,
                    missing: missing.clone(),
                    connected: held,
                    scopes,
                };
                let card = card::account_needed_card(&need, offer, now);
                let line = format!(
                    "{}, I need access to your account first. Check our direct messages.",
                    self.principal_name()
                );
                self.outbox()
                    .enqueue_private_with_placeholder(conn, delivery, &card, placeholder_card(line), now)
                    .await?;
                self.outbox().store_unsent(conn, now).await?;
                let new = NewConnectRequest {
                    id: offer,
                    person: self.run.person,
                    provider: *provider,
                    scopes: need.scopes_to_request(),
                    conversation: self.run.conversation,
                    run: Some(self.run.id),
                    delivery: Some(delivery),
                };
                Ok(connection::make(&self.core.accounts, conn, self.claim.tenant, &new, now).await?)
            }
        }
    }

    /// Changes the line of a quick action to what it becomes; not if it was changed meanwhile.
    async fn settle_action(
        &self,
        conn: &mut PgConnection,
        taken: &TakenAction,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let tenant = self.claim.tenant;
        let Some(mut card) = delivery::sql::lock_card(conn, tenant, taken.message).await? else {
            return Ok(());
        };
        if card.settle_action(taken.action.number, taken.message) {
            delivery::update_card(conn, tenant, taken.message, &card, now).await?;
        }
        Ok(())
    }

    async fn write_check_rows(
        &self,
        conn: &mut PgConnection,
        name: &str,
        rows: &serde_json::Value,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let run = AnsweredRun { tenant: self.claim.tenant, run: self.run.id, now };
        match self.core.checks.iter().find(|check| check.name() == name) {
            Some(check) => check.write(conn, &run, rows).await,
            None => Ok(()),
        }
    }

    async fn enqueue_reply(
        &self,
        conn: &mut PgConnection,
        card: &Card,
        audience: Audience,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let TruncatedAnswer { card, whole } = long::truncate_answer(card);
        let first = self.core.id();
        let card = match audience {
            Audience::Person(_) if self.run.state.is_shared => {
                share::with_question(card, self.run.state.user_message(), first)
            }
            _ => card.with_mention(self.mentioned_user(conn, audience).await?.as_deref()),
        };
        self.outbox().post_answer(conn, first, (&card, whole.as_ref()), audience, now).await
    }

    /// Returns the user whom an answer to this audience must mention to notify them. A private message notifies its
    /// reader anyway.
    pub(super) async fn mentioned_user(
        &self,
        conn: &mut PgConnection,
        audience: Audience,
    ) -> sqlx::Result<Option<String>> {
        let ConversationLocation { platform, workspace, .. } = self.venue;
        match audience {
            Audience::Channel if self.run.state.mentions_person() => {
                people::sql::find_user_id(conn, self.claim.tenant, self.run.person, platform, workspace).await
            }
            Audience::Channel | Audience::Person(_) => Ok(None),
        }
    }

    pub(super) fn outbox(&self) -> Outbox<'_> {
        Outbox {
            core: self.core,
            tenant: self.claim.tenant,
            venue: self.venue,
            run: self.run.id,
            conversation: self.run.conversation,
            person: self.run.person,
            name: self.principal_name(),
            is_shared: self.run.state.is_shared,
            unsent: &self.unsent,
        }
    }

    async fn insert_question(
        &self,
        conn: &mut PgConnection,
        emit: &NodeOutput,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let NodeOutput::Question { question: id, call_id, name, choices, message: why, vote, words_until } =
            emit
        else {
            return Err("this asks nothing".into());
        };
        let id = *id;
        let tenant = self.claim.tenant;
        let new = question::sql::Question {
            id,
            conversation: self.run.conversation,
            run: self.run.id,
            call_id: call_id.clone(),
            person: self.run.person,
            topic: name.clone(),
            choices: choices.clone(),
            vote_proposal: vote.clone(),
            is_vote_open: false,
            status: "pending".to_owned(),
            answer: None,
            takes_words: words_until.is_some(),
            expires_at: words_until.unwrap_or(now + question::LIFETIME),
            delivery: self.core.id(),
        };
        let voters = question::vote::load_eligible_voters(conn, tenant, &new, self.venue).await?;
        let mut card = question::card(&new, &voters);
        let asker = self.run.state.goal.as_ref().map(|goal| format!("Asked by {}.", goal.label));
        let note: Vec<String> = asker.into_iter().chain(why.clone()).collect();
        card.body.extend((!note.is_empty()).then(|| Block::Note(note.join(" "))));
        self.enqueue_request_card(conn, new.delivery, &card, now).await?;
        question::sql::insert(conn, tenant, &new, now).await?;
        question::vote::insert_voters(conn, tenant, id, &voters).await?;
        question::remind::plan(conn, tenant, &new, now).await?;
        let work = RequestJob::ExpireQuestion { question: id };
        Ok(jobs::enqueue(conn, tenant, id.0, &work, new.expires_at, now).await?)
    }

    /// Posts a card that shows only the channel's content in the thread, and sends one that shows anything from the
    /// person's mailbox only to them. The rows of what it asks refer to its row.
    pub(super) async fn enqueue_request_card(
        &self,
        conn: &mut PgConnection,
        id: DeliveryId,
        card: &Card,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let audience = self.run.state.audience;
        if audience == Audience::Channel && self.run.parent.is_none() {
            let card = card.clone().with_mention(self.mentioned_user(conn, audience).await?.as_deref());
            self.outbox().enqueue(id, &card, None, audience, now);
        } else {
            self.outbox().post_request(conn, id, card, audience, now).await?;
        }
        Ok(self.outbox().store_unsent(conn, now).await?)
    }

    /// Whether only the person sees what is asked.
    pub(super) fn is_seen_only_by_owner(&self) -> bool {
        matches!(self.run.state.audience, Audience::Person(_)) || self.venue.is_private_location()
    }

    pub(super) fn principal_name(&self) -> &str {
        &self.run.state.principal.name
    }
}

/// Tells the workflow of a step that has ended that something it had asked for was done since.
pub(super) async fn tell_done_since(
    core: &Agent,
    claim: &Claim,
    step: RunId,
    workflow: RunId,
) -> Result<(), WorkError> {
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    // Whether it called an action that was refused is no longer known.
    let acted = sql::load_actions(&mut tx, claim.tenant, step).await?.acted(false);
    let event = WorkflowEvent::StepActed { step, acted };
    workflow::notify(&mut tx, claim.tenant, workflow, event, core.now()).await?;
    jobs::complete(&mut tx, claim).await?;
    Ok(commit_and_begin(tx, &core.jobs).await?)
}

/// Completes a job that has nothing left to do.
pub(super) async fn complete_job(core: &Agent, claim: &Claim) -> Result<(), WorkError> {
    let mut conn = core.pool.acquire().await?;
    Ok(jobs::complete(&mut conn, claim).await?)
}
