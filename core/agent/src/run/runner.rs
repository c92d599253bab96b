//! The advance job: loads a run, applies an event, runs node after node, and commits at every transition.

use chrono::TimeDelta;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::absorb::absorb;
use super::commit::{self, Commit};
use super::directory::Rows;
use super::{changed, progress};
use crate::context::Agent;
use crate::graph::{self, Directory, Emit, Memory, Next, NodeContext, NodeError, Step};
use crate::rows::{self as sql, Loaded, Run};
use crate::state::Node;
use crate::voice;
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::chat::{DeliveryTarget, Membership};
use nod_contract::ids::RunId;
use nod_contract::model::{ModelError, TokenSender, Turn};
use nod_memory::history;
use nod_memory::memory::{self, view::View};
use nod_people::delivery::Venue;
use nod_people::delivery::open::{self, Open};
use nod_people::people::{self, Person, names};
use nod_people::reading::Whose;
use nod_people::{file, pane};
use nod_requests::approval::{self, sql::Within};
use nod_requests::draft;
use nod_store::jobs::{self, Claim, WorkError};
use nod_store::runs::RunEvent;
use nod_store::steps::StepRecord;

/// After this many failed attempts, the run fails and the person is notified.
const MOST_TRIES: i32 = 8;
/// The most earlier messages that are brought into view.
const MOST_RECALLED: i64 = 20;
/// The most attempts to read the earlier messages of a thread from the platform.
const MOST_LOOKS: i32 = 3;
/// The most mentions in one message that are resolved to names.
const MOST_MENTIONS: usize = 20;

/// The longest wait for an earlier request of the person, and the time between two checks.
const LONGEST_WAIT: TimeDelta = TimeDelta::seconds(10);
const A_MOMENT: TimeDelta = TimeDelta::milliseconds(300);

/// Advances a run until it waits or is finished.
pub async fn advance(
    core: &Agent,
    claim: &Claim,
    id: RunId,
    news: Option<&RunEvent>,
) -> Result<(), WorkError> {
    let mut conn = core.pool.acquire().await?;
    let loaded = sql::load(&mut conn, claim.tenant, id).await?.ok_or("no such run")?;
    let Loaded { mut run, venue, person } = loaded;
    if claim.attempt > 1 {
        // An earlier attempt might have opened a message.
        run.open = open::open_of(&mut conn, claim.tenant, id).await?;
    }
    drop(conn);
    if matches!(run.status.as_str(), "done" | "stopped") {
        voice::hush(core, claim, &venue, id).await?;
        return commit::drop_job(core, claim).await;
    }
    if let Some(news) = news {
        absorb(&mut run.state, news);
    }
    if run.status == "failed" && news != Some(&RunEvent::Retry) {
        // It is kept for a retry, which continues from here.
        return Commit::begin(core, claim, &venue, run, false).end("failed", None).await;
    }
    if claim.attempt > MOST_TRIES {
        return give_up(core, claim, run, &venue, "it failed again and again for a reason of mine").await;
    }
    let Some(mut run) = changed::take(core, claim, run, &venue, news).await? else { return Ok(()) };
    let person =
        people::directory::known(core, claim.tenant, person, &venue.platform, &venue.workspace).await?;
    if !core.welcome.admits(person.standing) {
        return turn_away(core, claim, run, &venue, &person).await;
    }
    if run.node == Node::Recall {
        run.state.principal = person.principal();
    }
    match Box::pin(go(core, claim, run, &venue, news.is_some())).await {
        // It was stopped during a step, so nothing of that step was committed.
        Err(_) if is_stopped(core, claim, id).await? => {
            voice::hush(core, claim, &venue, id).await?;
            commit::drop_job(core, claim).await
        }
        ended => ended,
    }
}

async fn is_stopped(core: &Agent, claim: &Claim, run: RunId) -> sqlx::Result<bool> {
    let mut conn = core.pool.acquire().await?;
    nod_people::progress::is_stopped(&mut conn, claim.tenant, run).await
}

/// Resolves once the run is stopped; the caller then drops the step.
async fn stopped(core: &Agent, claim: &Claim, run: RunId) -> WorkError {
    loop {
        core.stops.notified().await;
        match is_stopped(core, claim, run).await {
            Ok(true) => return "stopped".into(),
            Ok(false) => {}
            // The commit checks it again.
            Err(error) => tracing::debug!(%run, %error, "whether it was stopped is not known"),
        }
    }
}

/// Runs node after node until the run waits or is finished.
async fn go(core: &Agent, claim: &Claim, run: Run, venue: &Venue, news: bool) -> Result<(), WorkError> {
    let mut work = Commit::begin(core, claim, venue, run, news);
    let directory = Rows::of(core, claim.tenant, venue);
    let mut asked = false;
    let mut status = progress::Status::default();
    let long = tokio::time::Instant::now() + progress::LONG;
    loop {
        let node = work.run.node;
        // The message was edited or deleted meanwhile, so this answer is outdated; the job with that event takes over.
        if node == Node::Reply && changed_meanwhile(core, claim, &work.run).await? {
            return work.end("waiting", None).await;
        }
        let (words, ear) = TokenSender::channel();
        let Some(cx) = context(core, claim, venue, &work.run, &directory, words).await? else {
            return later(core, claim).await;
        };
        let started = core.now();
        status.say(core, venue, &work.run);
        let mut open = work.run.open.take();
        let stepped = {
            let mut step = std::pin::pin!(aloud(core, claim, venue, &work.run, &mut open, &cx, ear));
            loop {
                tokio::select! {
                    biased;
                    stepped = &mut step => break stepped,
                    error = stopped(core, claim, work.run.id) => return Err(error),
                    () = tokio::time::sleep_until(long), if !work.progress => {
                        if let Err(error) = progress::show(core, claim, venue, &work.run).await {
                            tracing::debug!(run = %work.run.id, %error, "that it takes long was not said");
                        }
                        work.progress = true;
                    }
                }
            }
        };
        work.run.open = open;
        work.records.extend(cx.records.take());
        let ended = core.now();
        let mut record = StepRecord::new("node", node.as_str(), core.id(), started, ended);
        let step = match stepped {
            Ok(step) => step,
            Err(NodeError::Directory(error)) => return Err(error),
            Err(NodeError::Model(error)) => {
                record.error = Some(error.to_string());
                work.records.push(record);
                return model_failed(work, &error).await;
            }
        };
        work.records.push(record);
        work.run.state = step.state;
        work.emits.extend(step.emits);
        match step.next {
            Next::Go(next) => {
                if !node.successors().contains(&next) {
                    return Err(format!("{node:?} does not lead to {next:?}").into());
                }
                work.run.node = next;
                asked |= matters(node);
                // External results and pending outputs are committed before the next external call. A pure node needs
                // no commit of its own.
                if matters(next) && (asked || !work.emits.is_empty()) {
                    work.transition("running").await?;
                    asked = false;
                }
            }
            Next::Wait(node) => {
                work.run.node = node;
                return work.end("waiting", None).await;
            }
            Next::Done => return work.end("done", None).await,
        }
    }
}

async fn changed_meanwhile(core: &Agent, claim: &Claim, run: &Run) -> sqlx::Result<bool> {
    jobs::sql::has_pending_message_change(&mut *core.pool.acquire().await?, claim, run.id).await
}

/// Runs a step and streams the text that the model writes in it.
async fn aloud(
    core: &Agent,
    claim: &Claim,
    venue: &Venue,
    run: &Run,
    open: &mut Option<Open>,
    cx: &NodeContext<'_>,
    ear: watch::Receiver<String>,
) -> Result<Step, NodeError> {
    let (node, state) = (run.node, run.state.clone());
    if !voice::may_speak(node, run, venue) {
        return graph::step(node, state, cx).await;
    }
    let over = CancellationToken::new();
    let thinking = async {
        let stepped = graph::step(node, state, cx).await;
        over.cancel();
        stepped
    };
    tokio::join!(thinking, voice::speak(core, claim, venue, run, open, ear, &over)).0
}

/// Whether a node makes external calls.
fn matters(node: Node) -> bool {
    match node {
        Node::Route | Node::Converse | Node::Think | Node::Gate | Node::Act => true,
        Node::Recall | Node::Reply | Node::Remember => false,
    }
}

async fn context<'a>(
    core: &'a Agent,
    claim: &Claim,
    venue: &'a Venue,
    run: &Run,
    directory: &'a dyn Directory,
    words: TokenSender,
) -> Result<Option<NodeContext<'a>>, WorkError> {
    let memory = match run.node {
        Node::Recall => match remembered(core, claim, venue, run).await? {
            None => return Ok(None),
            memory => memory,
        },
        _ => None,
    };
    Ok(Some(NodeContext {
        tenant: claim.tenant,
        conversation: run.conversation,
        run: run.id,
        trace: run.trace,
        said_at: run.began,
        step_budget: core.step_budget,
        longest_message: core.longest_message,
        memory,
        directory,
        contacts: &core.contacts,
        typing: core.adapters.command_syntax(&venue.platform),
        help: core.help.as_ref(),
        // On a platform that cannot show a request, none is made.
        room: core.adapters.get(&venue.platform).map_or(0, |adapter| adapter.display_limit()),
        tools: &core.tools,
        model: core.memory.model.as_ref(),
        clock: &core.clock,
        ids: &core.ids,
        records: graph::Records::default(),
        words,
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
async fn remembered(
    core: &Agent,
    claim: &Claim,
    venue: &Venue,
    run: &Run,
) -> Result<Option<Memory>, WorkError> {
    // Most conversations have only messages and need no further query.
    let mut conn = core.pool.acquire().await?;
    let beside = sql::beside(&mut conn, claim.tenant, run).await?;
    drop(conn);
    if beside.under_way && core.now() - run.began < LONGEST_WAIT {
        return Ok(None);
    }
    // No connection is held during a network call.
    let earlier = match &run.state.joins {
        // If the platform does not answer, the context is lost, but not the answer.
        Some(message) if claim.attempt <= MOST_LOOKS => {
            history::before(core, claim.tenant, venue, message, &run.state.principal.zone).await?
        }
        _ => None,
    };
    if beside.files {
        let whose = Whose { tenant: claim.tenant, person: run.person };
        file::read(core, whose, &venue.platform, run.id).await?;
    }
    let mut conn = core.pool.acquire().await?;
    let alone = venue.is_alone();
    let owner = if alone { run.person.0 } else { venue.channel.0 };
    let (summary, facts) =
        memory::recalled(&mut conn, claim.tenant, venue.conversation, owner, run.person).await?;
    let after = summary.covered;
    let said =
        sql::recent(&mut conn, claim.tenant, venue.conversation, run.id, after, run.person, MOST_RECALLED)
            .await?;
    let view = View::of(Some(&summary), &facts, &said, alone);
    let within = match run.state.shared {
        true => Within::OpenlyIn(venue.conversation),
        false => Within::Conversation(venue.conversation),
    };
    let waiting = match beside.waiting {
        true => approval::sql::pending(&mut conn, claim.tenant, run.person, within).await?,
        false => Vec::new(),
    };
    let files = match beside.files {
        true => file::sql::of(&mut conn, claim.tenant, venue.conversation, run.id).await?,
        false => Vec::new(),
    };
    let viewing = match venue.place.is_dm && venue.place.thread.is_some() {
        true => pane::sql::viewing(&mut conn, claim.tenant, venue.conversation).await?,
        false => None,
    };
    let mut mentioned = Vec::new();
    for user in names::mentions(run.state.said()).into_iter().take(MOST_MENTIONS) {
        let person =
            people::sql::by_user(&mut conn, claim.tenant, &venue.platform, &venue.workspace, user).await?;
        mentioned.extend(person.map(|p| (format!("<@{user}>"), p.display_name().to_owned())));
    }
    let waiting = waiting.iter().map(approval::prompt_line).collect();
    let here = draft::sql::Here {
        conversation: venue.conversation,
        person: run.person,
        run: run.id,
        shared: run.state.shared,
    };
    let (drafts, thread) = match beside.left {
        true => draft::sql::left_here(&mut conn, claim.tenant, &here).await?,
        false => (Vec::new(), None),
    };
    Ok(Some(Memory { view, waiting, viewing, files, mentioned, earlier, drafts, thread }))
}

async fn turn_away(
    core: &Agent,
    claim: &Claim,
    run: Run,
    venue: &Venue,
    person: &Person,
) -> Result<(), WorkError> {
    let mut work = Commit::begin(core, claim, venue, run, true);
    work.run.state.routed_via = Some("rule:stranger".to_owned());
    let mut conn = core.pool.acquire().await?;
    let user =
        people::sql::user_of(&mut conn, claim.tenant, person.id, &venue.platform, &venue.workspace).await?;
    drop(conn);
    if let Some(user) = user.filter(|_| matches!(person.standing, Membership::Guest | Membership::External)) {
        let target = DeliveryTarget::Ephemeral {
            workspace: venue.workspace.clone(),
            place: venue.place.clone(),
            user,
        };
        work.aimed.push((Card::from_markdown(people::NOT_FOR_STRANGERS), target));
    }
    work.end("done", None).await
}

/// Handles a failed model: says what happened and what was and was not done, and offers a retry.
async fn model_failed(mut work: Commit<'_>, error: &ModelError) -> Result<(), WorkError> {
    let happened = happened("The model", error);
    let done = graph::done_so_far(&work.run.state);
    let card = Card::from_markdown(format!("{happened} {done}"))
        .with_block(Block::Note(format!("run {}", work.run.id.short())))
        .with_button("Try again", Style::Plain, OnClick::Action(Action::new("retry", work.run.id)));
    let audience = work.run.state.audience;
    work.emits.push(Emit::Say { card, audience });
    work.end("failed", Some(&error.to_string())).await
}

/// Describes a model's failure for the person.
fn happened(who: &str, error: &ModelError) -> String {
    match error {
        ModelError::Timeout { attempts: tries, waited, .. } => {
            let tries = if *tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
            let seconds = waited.as_secs_f64().round().max(1.0);
            format!("{who} did not answer ({tries}, {seconds} s).")
        }
        ModelError::Rejected { status, .. } => {
            format!("{who}'s endpoint refused the request (status {status}); whoever runs Nod must look.")
        }
        ModelError::ToolsUnsupported { model } => format!(
            "{who} ({model}) cannot call tools, and I need one that can; whoever runs Nod must choose another."
        ),
        ModelError::Both { first, second } => {
            format!("{} {}", happened(who, first), happened("Its stand-in", second))
        }
        ModelError::Withheld => {
            format!("{who}'s provider held its answer back (content filter). Please ask in other words.")
        }
        ModelError::Empty { attempts: tries } => format!("{who} gave an empty answer, {tries} times."),
    }
}

async fn give_up(core: &Agent, claim: &Claim, run: Run, venue: &Venue, why: &str) -> Result<(), WorkError> {
    let mut work = Commit::begin(core, claim, venue, run, true);
    let done = graph::done_so_far(&work.run.state);
    let card = Card::from_markdown(format!("I could not finish this: {why}. {done}"))
        .with_block(Block::Note(format!("run {}", work.run.id.short())))
        .with_button("Try again", Style::Plain, OnClick::Action(Action::new("retry", work.run.id)));
    let audience = work.run.state.audience;
    work.emits.push(Emit::Say { card, audience });
    work.end("failed", Some(why)).await
}

/// Returns the turns of a run that are not rows yet.
pub(super) fn new_turns(run: &Run, kept: usize) -> &[Turn] {
    run.state.turns.get(kept..).unwrap_or_default()
}
