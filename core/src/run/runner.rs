//! The advance job: loads a run, takes news in, runs node after node, and commits at every transition.

use super::absorb::absorb;
use super::commit::{self, Commit};
use super::sql::{self, Run};
use crate::approval::{self, sql::Within};
use crate::card::{Block, Card, Press, Style, Verb};
use crate::chat::{Standing, Target};
use crate::delivery::{self, Venue};
use crate::graph::{self, Directory, Emit, Memory, Next, Node, NodeContext, NodeError, StepRecord};
use crate::ids::RunId;
use crate::jobs::{Claim, News, WorkError};
use crate::model::{ModelError, Turn};
use crate::nod::Core;
use crate::people::{self, Person, names};

/// After so many failures that time did not mend, the run gives up and says so.
const MOST_TRIES: i32 = 8;
/// Earlier messages that are brought into view.
const MOST_RECALLED: i64 = 20;
/// Mentions of people in one message whose names are looked up.
const MOST_MENTIONS: usize = 20;

/// Moves a run on as far as it goes.
pub(crate) async fn advance(
    core: &Core,
    claim: &Claim,
    id: RunId,
    news: Option<&News>,
) -> Result<(), WorkError> {
    let mut conn = core.pool.acquire().await?;
    let mut run = sql::load(&mut conn, claim.tenant, id).await?.ok_or("no such run")?;
    let venue = delivery::sql::venue(&mut conn, claim.tenant, run.conversation).await?;
    let person = people::sql::load(&mut conn, claim.tenant, run.person).await?.ok_or("no such person")?;
    drop(conn);
    if run.status == "done" {
        return commit::drop_job(core, claim).await;
    }
    if let Some(news) = news {
        absorb(&mut run.state, news);
    }
    if run.status == "failed" && news != Some(&News::Retry) {
        // Kept for another try, which goes on from here.
        return Commit::begin(core, claim, &venue, run, false).end("failed", None).await;
    }
    if claim.attempt > MOST_TRIES {
        return give_up(core, claim, run, &venue, "it failed again and again for a reason of mine").await;
    }
    let person =
        people::directory::known(core, claim.tenant, person, &venue.platform, &venue.workspace).await?;
    if !core.settings.welcomes(person.standing) {
        return turn_away(core, claim, run, &venue, &person).await;
    }
    if run.node == Node::Recall {
        run.state.principal = person.principal();
    }
    go(core, claim, run, &venue, news.is_some()).await
}

/// Runs node after node until the run waits or is over.
async fn go(core: &Core, claim: &Claim, run: Run, venue: &Venue, news: bool) -> Result<(), WorkError> {
    let mut work = Commit::begin(core, claim, venue, run, news);
    let mut asked = false;
    loop {
        let node = work.run.node;
        let cx = context(core, claim, venue, &work.run).await?;
        let started = core.now();
        let stepped = graph::step(node, work.run.state.clone(), &cx).await;
        work.records.extend(cx.records.take());
        let ended = core.now();
        let mut record = StepRecord::new("node", node.as_str(), core.id(), started, ended);
        let step = match stepped {
            Ok(step) => step,
            Err(NodeError::Database(error)) => return Err(error.into()),
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
                // What somebody outside answered, and what is to be said, is kept before the next is asked. A
                // pure node costs no commit of its own.
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

/// Whether a node asks somebody outside.
fn matters(node: Node) -> bool {
    match node {
        Node::Route | Node::Converse | Node::Think | Node::Gate | Node::Act => true,
        Node::Recall | Node::Reply | Node::Remember => false,
    }
}

async fn context<'a>(
    core: &'a Core,
    claim: &Claim,
    venue: &'a Venue,
    run: &Run,
) -> Result<NodeContext<'a>, WorkError> {
    let memory = match run.node {
        Node::Recall => Some(remembered(core, claim, venue, run).await?),
        _ => None,
    };
    Ok(NodeContext {
        tenant: claim.tenant,
        conversation: run.conversation,
        run: run.id,
        trace: run.trace,
        member: true,
        step_budget: core.settings.step_budget,
        longest_message: core.settings.longest_message,
        memory,
        directory: Directory {
            pool: &core.pool,
            tenant: claim.tenant,
            platform: &venue.platform,
            workspace: &venue.workspace,
        },
        tools: &core.tools,
        model: core.model.as_ref(),
        clock: &core.clock,
        ids: &core.ids,
        records: graph::Records::default(),
    })
}

async fn remembered(core: &Core, claim: &Claim, venue: &Venue, run: &Run) -> sqlx::Result<Memory> {
    let mut conn = core.pool.acquire().await?;
    let said =
        sql::recent(&mut conn, claim.tenant, venue.conversation, run.id, run.person, MOST_RECALLED).await?;
    let within = match run.state.shared {
        true => Within::OpenlyIn(venue.conversation),
        false => Within::Conversation(venue.conversation),
    };
    let waiting = approval::sql::pending(&mut conn, claim.tenant, run.person, within).await?;
    let mut mentioned = Vec::new();
    for user in names::mentions(run.state.said()).into_iter().take(MOST_MENTIONS) {
        let person =
            people::sql::by_user(&mut conn, claim.tenant, &venue.platform, &venue.workspace, user).await?;
        mentioned.extend(person.map(|p| (format!("<@{user}>"), p.display_name().to_owned())));
    }
    Ok(Memory { said, waiting: waiting.iter().map(approval::waiting_line).collect(), mentioned })
}

async fn turn_away(
    core: &Core,
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
    if let Some(user) = user.filter(|_| matches!(person.standing, Standing::Guest | Standing::External)) {
        let target = Target::Whisper { workspace: venue.workspace.clone(), place: venue.place.clone(), user };
        work.aimed.push((Card::say(people::NOT_FOR_STRANGERS), target));
    }
    work.end("done", None).await
}

/// The model is down: says what happened, what was and was not done, and offers another try.
async fn model_failed(mut work: Commit<'_>, error: &ModelError) -> Result<(), WorkError> {
    let happened = match error {
        ModelError::Silent { tries, waited, .. } => {
            let tries = if *tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
            let seconds = waited.as_secs_f64().round().max(1.0);
            format!("The model did not answer ({tries}, {seconds} s).")
        }
        ModelError::Refused { status, .. } => {
            format!("The model's endpoint refused the request (status {status}); whoever runs Nod must look.")
        }
        ModelError::Empty { tries } => format!("The model gave an empty answer, {tries} times."),
    };
    let done = graph::done_so_far(&work.run.state);
    let card = Card::say(format!("{happened} {done}"))
        .with(Block::Note(format!("run {}", work.run.id.short())))
        .button("Try again", Style::Plain, Press::Verb(Verb::new("retry", work.run.id)));
    let audience = work.run.state.audience;
    work.emits.push(Emit::Say { card, audience });
    work.end("failed", Some(&error.to_string())).await
}

async fn give_up(core: &Core, claim: &Claim, run: Run, venue: &Venue, why: &str) -> Result<(), WorkError> {
    let mut work = Commit::begin(core, claim, venue, run, true);
    let done = graph::done_so_far(&work.run.state);
    let card = Card::say(format!("I could not finish this: {why}. {done}"))
        .with(Block::Note(format!("run {}", work.run.id.short())))
        .button("Try again", Style::Plain, Press::Verb(Verb::new("retry", work.run.id)));
    let audience = work.run.state.audience;
    work.emits.push(Emit::Say { card, audience });
    work.end("failed", Some(why)).await
}

/// The last words of a run's own turn, for the record.
pub(super) fn new_turns(run: &Run, kept: usize) -> &[Turn] {
    run.state.turns.get(kept..).unwrap_or_default()
}
