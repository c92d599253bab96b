//! The job after a reply: reads the messages since the last reading, calls the summariser once, and stores the valid
//! part of its answer. No answer depends on it: if it fails, the messages stay in view as far as there is room.
//!
//! It can run twice or concurrently: it writes only if the summary that it read is still the stored one, and otherwise
//! discards its result.

use serde_json::json;
use sqlx::PgConnection;

use super::answer::{self, New, Owner, Taken};
use super::batch::{Batch, Heard, Wish};
use super::sql::{self, MOST_MESSAGES};
use super::{Fact, Kind, Summary, asks_to_remember, card, forget, prompt};
use crate::context::Memory;
use crate::work::MemoryJob;
use nod_contract::chat::CommandSyntax;
use nod_contract::ids::{InvocationId, PersonId, RunId, TenantId, TraceId};
use nod_contract::model::{Completion, CompletionRequest, ModelError, Tier, TokenSender};
use nod_contract::privacy::Audience;
use nod_contract::scope::{CHAT, RunOrIngestion, Scope};
use nod_people::delivery::{self, NewDelivery, Venue};
use nod_people::people::{self, names};
use nod_store::audit;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::steps::{self, StepRecord};

/// After this many attempts it is left until the next reply.
const MOST_TRIES: i32 = 3;
/// The most mentions that are resolved to names.
const MOST_MENTIONS: usize = 20;

/// The input of one reading.
struct Reading {
    run: RunId,
    person: PersonId,
    trace: TraceId,
    venue: Venue,
    owner: Owner,
    seen: Summary,
    batch: Batch,
    noted: Vec<Fact>,
}

/// Reads the new messages in the conversation of a run.
pub async fn remember(core: &Memory, claim: &Claim, run: RunId) -> Result<(), WorkError> {
    let Some(reading) = begin(core, claim.tenant, run).await? else { return finish(core, claim).await };
    let invocation: InvocationId = core.id();
    let ask = prompt::ask(&reading.batch, &reading.seen, &reading.noted, &invocation.short());
    let scope = Scope {
        tenant: claim.tenant,
        case: reading.venue.conversation,
        workflow: CHAT,
        run: RunOrIngestion::RunId(run),
        trace: reading.trace,
        invocation,
    };
    let started = core.now();
    let answered = core.model.complete(&scope, &ask, &TokenSender::disconnected()).await;
    let mut record = StepRecord::new("model", Tier::Summariser.as_str(), invocation, started, core.now());
    let taken = answered
        .as_ref()
        .ok()
        .and_then(|a| answer::taken(&a.text, &reading.batch, &reading.noted, reading.owner));
    note(&mut record, &ask, &answered, taken.is_some());
    match taken {
        Some(taken) => write(core, claim, &reading, &taken, &record).await,
        None if claim.attempt < MOST_TRIES => {
            Err(record.error.unwrap_or_else(|| "the summariser's answer was no memory".to_owned()).into())
        }
        None => give_up(core, claim, &reading, &record).await,
    }
}

fn note(
    record: &mut StepRecord,
    ask: &CompletionRequest,
    answered: &Result<Completion, ModelError>,
    usable: bool,
) {
    record.input = serde_json::to_value(ask).ok();
    match answered {
        Ok(answer) => {
            record.prompt_tokens = answer.usage.map(|usage| usage.prompt);
            record.completion_tokens = answer.usage.map(|usage| usage.completion);
            record.output = serde_json::to_value(answer).ok();
            record.error = (!usable).then(|| "the answer was no memory".to_owned());
        }
        Err(error) => record.error = Some(error.to_string()),
    }
}

/// Loads what there is to read; `None` if there is nothing to do.
async fn begin(core: &Memory, tenant: TenantId, run: RunId) -> Result<Option<Reading>, WorkError> {
    let mut conn = core.pool.acquire().await?;
    let (conversation, person, trace) = sql::run(&mut conn, tenant, run).await?.ok_or("no such run")?;
    let venue = delivery::sql::venue(&mut conn, tenant, conversation).await?;
    let alone = venue.is_alone().then_some(person);
    let seen = sql::summary(&mut conn, tenant, conversation).await?;
    let heard = sql::heard(&mut conn, tenant, conversation, seen.covered, alone).await?;
    let Some(mut batch) = Batch::of(heard, &seen) else { return Ok(None) };
    name_mentions(&mut conn, tenant, &venue, &mut batch.heard).await?;
    let owner = match alone {
        Some(person) => Owner::Person(person),
        None => Owner::Channel(venue.channel.0),
    };
    let mut speakers: Vec<_> = batch.heard.iter().filter_map(|heard| heard.person).map(|p| p.0).collect();
    speakers.sort_unstable();
    speakers.dedup();
    let noted = sql::noted(&mut conn, tenant, owner.id(), &speakers).await?;
    Ok(Some(Reading { run, person, trace, venue, owner, seen, batch, noted }))
}

/// Replaces mentions by names, because platform ids are useless in a summary.
async fn name_mentions(
    conn: &mut PgConnection,
    tenant: TenantId,
    venue: &Venue,
    heard: &mut [Heard],
) -> sqlx::Result<()> {
    let mut users: Vec<String> =
        heard.iter().flat_map(|heard| names::mentions(&heard.text)).map(str::to_owned).collect();
    users.sort_unstable();
    users.dedup();
    for user in users.iter().take(MOST_MENTIONS) {
        let person = people::sql::by_user(conn, tenant, &venue.platform, &venue.workspace, user).await?;
        let name = person.as_ref().map_or("somebody", |person| person.display_name());
        for heard in heard.iter_mut() {
            heard.text = heard.text.replace(&format!("<@{user}>"), name);
        }
    }
    Ok(())
}

/// Stores the result of the reading, and notifies people of what they requested or what changed.
async fn write(
    core: &Memory,
    claim: &Claim,
    reading: &Reading,
    taken: &Taken,
    record: &StepRecord,
) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let next = next(reading, taken);
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    still_theirs(&mut tx, tenant, reading).await?;
    let typing = core.adapters.command_syntax(&reading.venue.platform);
    say(core, &mut tx, claim, reading, lines(reading, taken, typing)).await?;
    if !sql::advance(&mut tx, tenant, reading.venue.conversation, &reading.seen, &next, now).await? {
        // A user removed facts meanwhile, or another reading was first, so this result is outdated.
        tx.rollback().await?;
        return finish(core, claim).await;
    }
    if !taken.forget.is_empty() {
        let facts: Vec<_> = forgotten(reading, taken).map(|fact| fact.id.0).collect();
        forget::facts(&mut tx, tenant, &facts, asker(reading), now).await?;
    }
    if taken.goal_over {
        sql::end_goal(&mut tx, tenant, reading.owner.id()).await?;
    }
    for new in &taken.facts {
        let fact = sql::put(&mut tx, tenant, core.id(), reading.owner.id(), new, now).await?;
        let by =
            reading.batch.heard.iter().find(|heard| heard.id == new.message).and_then(|heard| heard.person);
        let detail = json!({ "kind": new.kind.as_str(), "message": new.message });
        audit::insert_entry(&mut tx, tenant, by, "memory.noted", fact.0, None, &detail, now).await?;
    }
    steps::record(&mut tx, tenant, reading.run, std::slice::from_ref(record), audience(reading)).await?;
    if reading.batch.heard.len() >= MOST_MESSAGES {
        // There might be more messages than one reading takes.
        let work = MemoryJob::Remember { run: reading.run };
        jobs::enqueue(&mut tx, tenant, claim.lane, &work, now, now).await?;
    }
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Fails if the person was merged into another meanwhile, so that nothing is stored in their name; a retry reads again.
async fn still_theirs(conn: &mut PgConnection, tenant: TenantId, reading: &Reading) -> Result<(), WorkError> {
    if people::sql::is_somebody(conn, tenant, reading.person).await? {
        return Ok(());
    }
    Err("they are somebody else now".into())
}

/// Returns the summary after this reading.
fn next(reading: &Reading, taken: &Taken) -> Summary {
    let Reading { batch, seen, .. } = reading;
    if !taken.forget.is_empty() {
        return Summary { covered: batch.last(), read: batch.last(), ..Summary::default() };
    }
    let Some(text) = &taken.summary else { return Summary { read: batch.last(), ..seen.clone() } };
    let folded = batch.folded();
    let mut outside = seen.outside.clone();
    for source in folded.iter().flat_map(|heard| &heard.outside) {
        if !outside.contains(source) {
            outside.push(source.clone());
        }
    }
    Summary {
        text: text.clone(),
        covered: folded.last().map_or(seen.covered, |heard| heard.seq),
        read: batch.last(),
        only_for: seen.only_for.or(folded.iter().find_map(|heard| heard.only_for)),
        outside,
    }
}

fn forgotten<'a>(reading: &'a Reading, taken: &'a Taken) -> impl Iterator<Item = &'a Fact> {
    taken.forget.iter().filter_map(|at| reading.noted.get(*at))
}

fn asker(reading: &Reading) -> PersonId {
    match reading.batch.wish() {
        Some(Wish::Forget(by)) => by,
        _ => reading.person,
    }
}

/// Returns the lines to post: the results of requests, and every contradiction.
fn lines(reading: &Reading, taken: &Taken, typing: CommandSyntax<'_>) -> Vec<String> {
    let mut lines: Vec<String> =
        forgotten(reading, taken).map(|fact| card::forgotten(&fact.line())).collect();
    for new in taken.facts.iter().filter(|new| new.kind == Kind::Fact) {
        let asked = reading.batch.heard.iter().any(|h| h.id == new.message && asks_to_remember(&h.text));
        match before(reading, new) {
            Some(old) => lines.push(card::replaced(&old.name, &old.value, &new.value)),
            None if asked => lines.push(card::noted(&new.name, &new.value)),
            None => {}
        }
    }
    if lines.is_empty() {
        lines.extend(reading.batch.wish().map(|wish| card::nothing(wish, typing)));
    }
    lines
}

/// Returns the fact that was stored under that name.
fn before<'a>(reading: &'a Reading, new: &New) -> Option<&'a Fact> {
    reading.noted.iter().find(|old| {
        old.kind == new.kind && old.person == new.person && old.name.to_lowercase() == new.name.to_lowercase()
    })
}

fn audience(reading: &Reading) -> Audience {
    match reading.owner {
        Owner::Person(person) => Audience::Person(person),
        Owner::Channel(_) => Audience::Channel,
    }
}

/// Posts the lines as notes in the conversation.
async fn say(
    core: &Memory,
    conn: &mut PgConnection,
    claim: &Claim,
    reading: &Reading,
    lines: Vec<String>,
) -> Result<(), WorkError> {
    if lines.is_empty() {
        return Ok(());
    }
    let card = card::small(lines);
    let new = NewDelivery {
        id: core.id(),
        conversation: reading.venue.conversation,
        run: Some(reading.run),
        platform: &reading.venue.platform,
        target: None,
        opens_thread: false,
        card: &card,
        only_for: match audience(reading) {
            Audience::Person(person) => Some(person),
            Audience::Channel => None,
        },
    };
    Ok(delivery::send(conn, claim.tenant, &reading.venue, &new, core.now()).await?)
}

/// Gives up after the summariser failed. The reading is left for the next reply; a person who made a request is
/// notified.
async fn give_up(
    core: &Memory,
    claim: &Claim,
    reading: &Reading,
    record: &StepRecord,
) -> Result<(), WorkError> {
    let tenant = claim.tenant;
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    still_theirs(&mut tx, tenant, reading).await?;
    let wish = reading.batch.wish();
    let typing = core.adapters.command_syntax(&reading.venue.platform);
    say(core, &mut tx, claim, reading, wish.map(|wish| card::failed(wish, typing)).into_iter().collect())
        .await?;
    if wish.is_some() {
        // They are notified once; with the next reply, this would be an answer to an old request.
        let read = Summary { read: reading.batch.last(), ..reading.seen.clone() };
        let conversation = reading.venue.conversation;
        sql::advance(&mut tx, tenant, conversation, &reading.seen, &read, core.now()).await?;
    }
    steps::record(&mut tx, tenant, reading.run, std::slice::from_ref(record), audience(reading)).await?;
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

async fn finish(core: &Memory, claim: &Claim) -> Result<(), WorkError> {
    let mut conn = core.pool.acquire().await?;
    Ok(jobs::complete(&mut conn, claim).await?)
}
