//! The advance job: loads a run, applies an event, runs node after node, and commits at every transition.

use chrono::TimeDelta;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::apply_event::apply;
use super::commit::{self, Commit};
use super::directory::Rows;
use super::{message_change, progress};
use crate::context::Agent;
use crate::graph::{
    self, Directory, LoadedCheck, Next, NodeContext, NodeError, NodeOutput, RecalledContext, Step,
};
use crate::rows::{self as sql, LoadedRun, RecalledRows, Run};
use crate::state::{AgentState, Node};
use crate::streaming;
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::chat::{DeliveryTarget, Membership};
use nod_contract::ids::RunId;
use nod_contract::model::{ModelError, TokenSender};
use nod_contract::scope::CHAT;
use nod_memory::history;
use nod_memory::memory::prompt_context::MemoryContext;
use nod_people::conversations::ConversationLocation;
use nod_people::delivery::open::{self, StreamingMessage};
use nod_people::people::{self, Person, names};
use nod_people::reading::Whose;
use nod_people::{assistant_thread, attachment};
use nod_requests::approval::{self, sql::PendingFilter};
use nod_requests::draft;
use nod_store::jobs::{self, Claim, WorkError};
use nod_store::runs::RunEvent;
use nod_store::steps::StepRecord;
use nod_store::workflow::STEP;

/// After this many failed attempts, the run fails and the person is notified.
pub(super) const MAX_ATTEMPTS: i32 = 8;
/// The most attempts to read the earlier messages of a thread from the platform.
const MAX_HISTORY_ATTEMPTS: i32 = 3;
/// The most mentions in one message that are resolved to names.
const MAX_MENTIONS: usize = 20;

/// The longest wait for an earlier request of the person, and the time between two checks.
const MAX_EARLIER_REQUEST_WAIT: TimeDelta = TimeDelta::seconds(10);
const A_MOMENT: TimeDelta = TimeDelta::milliseconds(300);

/// Advances a run until it waits or is finished.
pub async fn advance(
    core: &Agent,
    claim: &Claim,
    id: RunId,
    event: Option<&RunEvent>,
) -> Result<(), WorkError> {
    let LoadedRun { mut run, venue, person, recalled } = match claim.take_loaded() {
        Some(loaded) => loaded,
        None => {
            let mut conn = core.pool.acquire().await?;
            let mut loaded = sql::load(&mut conn, claim.tenant, id).await?.ok_or("no such run")?;
            if claim.attempt > 1 {
                // An earlier attempt might have opened a message.
                loaded.run.streaming_message = open::open_of(&mut conn, claim.tenant, id).await?;
            }
            loaded
        }
    };
    if matches!(run.status.as_str(), "done" | "stopped") {
        streaming::cancel_stream(core, claim, &venue, id).await?;
        return match (run.parent, event) {
            (Some(workflow), Some(RunEvent::EffectFinished { result: Ok(_), .. }))
                if run.status == "done" =>
            {
                commit::tell_done_since(core, claim, id, workflow).await
            }
            _ => commit::complete_job(core, claim).await,
        };
    }
    if let Some(event) = event {
        apply(&mut run.state, event);
    }
    if run.status == "failed" && event != Some(&RunEvent::RetryRequested) {
        // It is kept for a retry, which continues from here.
        return Commit::begin(core, claim, &venue, run, false).commit_and_finish("failed", None).await;
    }
    let is_restarted = run.status == "queued" && run.state.step_failure().is_some();
    if is_restarted && run.state.retry_step() && run.node == Node::Reply {
        run.node = Node::Think;
    }
    if claim.attempt > MAX_ATTEMPTS {
        return Box::pin(fail_run(core, claim, run, &venue, "something kept going wrong on my side")).await;
    }
    let Some(mut run) = message_change::apply_message_change(core, claim, run, &venue, event).await? else {
        return Ok(());
    };
    let person =
        people::directory::ensure_profile(core, claim.tenant, person, &venue.platform, &venue.workspace)
            .await?;
    if !core.welcome.admits(person.membership) {
        return reject_non_member(core, claim, run, &venue, &person).await;
    }
    if run.node == Node::Recall {
        run.state.principal = person.principal();
    }
    match Box::pin(run_nodes(core, claim, run, &venue, recalled, event.is_some())).await {
        // It was stopped during a step, so nothing of that step was committed.
        Err(_) if is_stopped(core, claim, id).await? => {
            streaming::cancel_stream(core, claim, &venue, id).await?;
            commit::complete_job(core, claim).await
        }
        ended => ended,
    }
}

async fn is_stopped(core: &Agent, claim: &Claim, run: RunId) -> sqlx::Result<bool> {
    let mut conn = core.pool.acquire().await?;
    nod_people::progress::is_stopped(&mut conn, claim.tenant, run).await
}

/// Why a run is not tried again.
pub(super) const INTERRUPTED: &str = "I was interrupted three times at the same point";

/// Returns whether the process died here so often that a person has to say whether it is tried again.
pub(super) async fn is_interrupted_often(core: &Agent, claim: &Claim, run: RunId) -> sqlx::Result<bool> {
    if claim.attempt <= 1 {
        return Ok(false);
    }
    let mut conn = core.pool.acquire().await?;
    Ok(sql::increment_interruptions(&mut conn, claim, run).await? >= sql::MAX_INTERRUPTIONS)
}

/// Resolves once the run is stopped; the caller then drops the step.
pub(super) async fn wait_until_stopped(core: &Agent, claim: &Claim, run: RunId) -> WorkError {
    loop {
        core.stops.notified().await;
        match is_stopped(core, claim, run).await {
            Ok(true) => return "stopped".into(),
            Ok(false) => {}
            // The commit checks it again.
            Err(error) => tracing::debug!(%run, %error, "could not check whether the run was stopped"),
        }
    }
}

/// Runs node after node until the run waits or is finished.
async fn run_nodes(
    core: &Agent,
    claim: &Claim,
    run: Run,
    venue: &ConversationLocation,
    mut recalled: Option<RecalledRows>,
    has_event: bool,
) -> Result<(), WorkError> {
    let mut work = Commit::begin(core, claim, venue, run, has_event);
    let directory = Rows::new(core, claim.tenant, venue);
    let (mut asked, mut is_begun) = (false, false);
    let mut status = progress::StatusLine::default();
    let long = tokio::time::Instant::now() + progress::SLOW_RUN_AFTER;
    loop {
        let node = work.run.node;
        if node == Node::Reply {
            work.begin_answer();
        }
        let (words, ear) = TokenSender::channel();
        if node == Node::Recall && recalled.is_none() {
            // An edited message begins anew.
            let mut conn = core.pool.acquire().await?;
            recalled = sql::load_recalled(&mut conn, claim.tenant, work.run.id).await?;
        }
        let Some(cx) = context(core, claim, venue, &work.run, recalled.take(), &directory, words).await?
        else {
            return later(core, claim).await;
        };
        if !std::mem::replace(&mut is_begun, true) && is_interrupted_often(core, claim, work.run.id).await? {
            return Box::pin(finish_failed(work, INTERRUPTED)).await;
        }
        let is_external = is_external_call(core, node, &work.run.state);
        let started = core.now();
        if work.run.parent.is_none() {
            status.set(core, venue, &work.run);
        }
        let mut open = work.run.streaming_message.take();
        let stepped = {
            let mut step = std::pin::pin!(step_streaming(core, claim, venue, &work.run, &mut open, &cx, ear));
            loop {
                tokio::select! {
                    biased;
                    stepped = &mut step => break stepped,
                    error = wait_until_stopped(core, claim, work.run.id) => return Err(error),
                    () = tokio::time::sleep_until(long), if !work.has_progress_line && work.run.parent.is_none() => {
                        if let Err(error) = progress::show(core, claim, venue, &work.run).await {
                            tracing::debug!(run = %work.run.id, %error, "could not show the progress line");
                        }
                        work.has_progress_line = true;
                    }
                }
            }
        };
        work.run.streaming_message = open;
        work.records.extend(cx.records.take());
        let ended = core.now();
        let mut record = StepRecord::of_node(node.as_str(), started, ended);
        let step = match stepped {
            Ok(step) => step,
            Err(NodeError::Directory(error)) => return Err(error),
            Err(NodeError::Model(error)) => {
                record.error = Some(error.to_string());
                work.records.push(record);
                return Box::pin(finish_with_model_error(work, &error)).await;
            }
        };
        work.records.push(record);
        work.run.state = step.state;
        work.outputs.extend(step.outputs);
        match step.next {
            Next::Go(next) => {
                if !node.successors().contains(&next) {
                    return Err(format!("{node:?} does not lead to {next:?}").into());
                }
                work.run.node = next;
                asked |= is_external;
                // External results and pending outputs are committed before the next external call. A pure node needs
                // no commit of its own.
                // What was streamed before the tools is stored before the gate can wait for something.
                let was_streamed = next == Node::Gate && work.run.streaming_message.is_some();
                let is_external = was_streamed || is_external_call(core, next, &work.run.state);
                if is_external && (asked || !work.outputs.is_empty()) {
                    work.transition("running").await?;
                    asked = false;
                }
            }
            Next::Wait(node) => {
                work.run.node = node;
                return work.commit_and_finish("waiting", None).await;
            }
            Next::Done => {
                let error = work.run.state.step_failure().map(str::to_owned);
                let status = if error.is_some() { "failed" } else { "done" };
                return work.commit_and_finish(status, error.as_deref()).await;
            }
        }
    }
}

/// Runs a step and streams the text that the model writes in it.
async fn step_streaming(
    core: &Agent,
    claim: &Claim,
    venue: &ConversationLocation,
    run: &Run,
    open: &mut Option<StreamingMessage>,
    cx: &NodeContext<'_>,
    ear: watch::Receiver<String>,
) -> Result<Step, NodeError> {
    let (node, state) = (run.node, run.state.clone());
    if !streaming::is_streamable(node, run, venue) {
        return graph::step(node, state, cx).await;
    }
    let over = CancellationToken::new();
    let thinking = async {
        let stepped = graph::step(node, state, cx).await;
        over.cancel();
        stepped
    };
    tokio::join!(thinking, streaming::stream_answer(core, claim, venue, run, open, ear, &over)).0
}

/// Whether a node makes external calls.
fn is_external_call(core: &Agent, node: Node, state: &AgentState) -> bool {
    match node {
        Node::Route | Node::Converse | Node::Think | Node::Act => true,
        Node::Gate => graph::asks_outside(state, &core.tools),
        Node::Recall | Node::Check | Node::Reply | Node::Remember => false,
    }
}

async fn context<'a>(
    core: &'a Agent,
    claim: &Claim,
    venue: &'a ConversationLocation,
    run: &Run,
    recalled: Option<RecalledRows>,
    directory: &'a dyn Directory,
    words: TokenSender,
) -> Result<Option<NodeContext<'a>>, WorkError> {
    let memory = match recalled {
        Some(rows) => match load_recalled_context(core, claim, venue, run, rows).await? {
            None => return Ok(None),
            memory => memory,
        },
        None => None,
    };
    let step = match &run.state.goal {
        Some(goal) => Some(core.workflows.get(&goal.workflow).ok_or("no such workflow")?),
        None => None,
    };
    let mut checks = Vec::new();
    if run.node == Node::Check {
        let mut conn = core.pool.acquire().await?;
        for check in &core.checks {
            if let Some(parts) = run.state.check_parts.get(check.name()) {
                let loaded = check.load(&mut conn, claim.tenant, parts).await?;
                checks.push(LoadedCheck { check: check.clone(), loaded });
            }
        }
    }
    Ok(Some(NodeContext {
        tenant: claim.tenant,
        conversation: run.conversation,
        run: run.id,
        trace: run.trace,
        message_time: run.began,
        step_budget: core.step_budget,
        max_message_chars: core.longest_message,
        memory,
        directory,
        contacts: &core.contacts,
        command_syntax: core.adapters.command_syntax(&venue.platform),
        help: core.help.as_ref(),
        // On a platform that cannot show a request, none is made.
        display_limit: core.adapters.get(&venue.platform).map_or(0, |adapter| adapter.display_limit()),
        tools: step.map_or(&core.tools, |step| &step.tools),
        workflow: if run.parent.is_some() { STEP } else { CHAT },
        rules: step.map(|step| &step.rules),
        ends_by: step.map(|step| step.ends_by),
        checks,
        model: core.memory.model.as_ref(),
        clock: &core.clock,
        ids: &core.ids,
        records: graph::Records::default(),
        token_tx: words,
    }))
}

/// Reschedules the job until the event that it needs has arrived; only a job with an event can go first.
async fn later(core: &Agent, claim: &Claim) -> Result<(), WorkError> {
    let now = core.now();
    let mut tx = core.begin().await?;
    jobs::sql::assert_lease(&mut tx, claim).await?;
    let at = if jobs::sql::move_run_event_first(&mut tx, claim).await? { now } else { now + A_MOMENT };
    jobs::sql::reschedule(&mut tx, claim, at, None, false).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Loads what a run starts with. Returns `None` while an earlier request of the person is being done, so that "send it"
/// finds the result of "make it shorter".
async fn load_recalled_context(
    core: &Agent,
    claim: &Claim,
    venue: &ConversationLocation,
    run: &Run,
    mut rows: RecalledRows,
) -> Result<Option<RecalledContext>, WorkError> {
    if rows.has_earlier_request && core.now() - run.began < MAX_EARLIER_REQUEST_WAIT {
        return Ok(None);
    }
    // No connection is held during a network call.
    let earlier = match &run.state.joined_thread_at {
        // If the platform does not answer, the context is lost, but not the answer.
        Some(message) if claim.attempt <= MAX_HISTORY_ATTEMPTS => {
            history::load_thread_context(core, claim.tenant, venue, message, &run.state.principal.zone)
                .await?
        }
        _ => None,
    };
    if rows.has_attachments {
        let whose = Whose { tenant: claim.tenant, person: run.person };
        attachment::read(core, whose, &venue.platform, run.id).await?;
    }
    let said = rows.take_turns();
    let (summary, facts) = rows.memory.into();
    let view = MemoryContext::build(Some(&summary), &facts, &said, venue.is_private_location());
    // Most conversations have only messages and need no further query.
    let mut conn = core.pool.acquire().await?;
    let within = match run.state.is_shared {
        true => PendingFilter::OpenlyIn(venue.conversation),
        false => PendingFilter::Conversation(venue.conversation),
    };
    let waiting = match rows.has_pending_approval {
        true => approval::sql::list_pending(&mut conn, claim.tenant, run.person, within).await?,
        false => Vec::new(),
    };
    let files = match rows.has_attachments {
        true => {
            attachment::sql::list_by_conversation(&mut conn, claim.tenant, venue.conversation, run.id).await?
        }
        false => Vec::new(),
    };
    let viewing = match venue.channel_ref.is_dm && venue.channel_ref.thread.is_some() {
        true => {
            assistant_thread::sql::find_viewed_channel(&mut conn, claim.tenant, venue.conversation).await?
        }
        false => None,
    };
    let mut mentioned = Vec::new();
    for user in names::mentions(run.state.user_message()).into_iter().take(MAX_MENTIONS) {
        let person =
            people::sql::find_by_user(&mut conn, claim.tenant, &venue.platform, &venue.workspace, user)
                .await?;
        mentioned.extend(person.map(|p| (format!("<@{user}>"), p.display_name().to_owned())));
    }
    let waiting = waiting.iter().map(approval::prompt_line).collect();
    let here = draft::sql::DraftScope {
        conversation: venue.conversation,
        person: run.person,
        run: run.id,
        is_shared: run.state.is_shared,
    };
    let (drafts, thread) = match rows.has_work_in_view {
        true => draft::sql::load_open_drafts(&mut conn, claim.tenant, &here).await?,
        false => (Vec::new(), None),
    };
    Ok(Some(RecalledContext {
        view,
        pending_approvals: waiting,
        has_open_question: rows.has_open_question,
        viewed_channel: viewing,
        attachments: files,
        mentioned_names: mentioned,
        thread_context: earlier,
        drafts,
        mail_thread: thread,
    }))
}

async fn reject_non_member(
    core: &Agent,
    claim: &Claim,
    run: Run,
    venue: &ConversationLocation,
    person: &Person,
) -> Result<(), WorkError> {
    let mut work = Commit::begin(core, claim, venue, run, true);
    work.run.state.fail_step(people::MEMBERS_ONLY);
    work.run.state.routed_via = Some("rule:stranger".to_owned());
    let mut conn = core.pool.acquire().await?;
    let user =
        people::sql::find_user_id(&mut conn, claim.tenant, person.id, &venue.platform, &venue.workspace)
            .await?;
    drop(conn);
    if let Some(user) = user
        .filter(|_| matches!(person.membership, Membership::Guest | Membership::External))
        .filter(|_| work.run.parent.is_none())
    {
        let target = DeliveryTarget::Ephemeral {
            workspace: venue.workspace.clone(),
            place: venue.channel_ref.clone(),
            user,
        };
        work.targeted_messages.push((Card::from_markdown(people::MEMBERS_ONLY), target));
    }
    let status = if work.run.parent.is_some() { "failed" } else { "done" };
    work.commit_and_finish(status, None).await
}

/// Handles a failed model: says what happened and what was and was not done, and offers a retry.
async fn finish_with_model_error(mut work: Commit<'_>, error: &ModelError) -> Result<(), WorkError> {
    let happened = error.to_sentence();
    let done = graph::progress_summary(&work.run.state);
    say_failed(&mut work, &format!("{happened} {done}"));
    work.commit_and_finish("failed", Some(&error.to_string())).await
}

async fn fail_run(
    core: &Agent,
    claim: &Claim,
    run: Run,
    venue: &ConversationLocation,
    why: &str,
) -> Result<(), WorkError> {
    Box::pin(finish_failed(Commit::begin(core, claim, venue, run, true), why)).await
}

async fn finish_failed(mut work: Commit<'_>, why: &str) -> Result<(), WorkError> {
    let done = graph::progress_summary(&work.run.state);
    say_failed(&mut work, &format!("I couldn't finish this: {why}. {done}"));
    work.commit_and_finish("failed", Some(why)).await
}

/// Says why a run failed and offers a retry. Of a step that failed, only its workflow hears.
fn say_failed(work: &mut Commit<'_>, words: &str) {
    if work.run.parent.is_some() {
        return work.run.state.fail_step(words);
    }
    let card = Card::from_markdown(words)
        .with_block(Block::Note(format!("run {}", work.run.id.short())))
        .with_button("Try again", Style::Plain, OnClick::Action(Action::new("retry_run", work.run.id)));
    let audience = work.run.state.audience;
    work.outputs.push(NodeOutput::Message { card, audience });
}
