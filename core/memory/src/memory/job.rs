//! The job after a reply: reads the messages since the last reading, calls the summariser once, and stores the valid
//! part of its answer. No answer depends on it: if it fails, the messages stay in view as far as there is room.
//!
//! It can run twice or concurrently: it writes only if the summary that it read is still the stored one, and otherwise
//! discards its result.

use serde_json::json;
use sqlx::PgConnection;

use super::batch::{Batch, BatchMessage, MemoryRequest};
use super::card::ReportLine;
use super::extraction::{self, MemoryOwner, MemoryUpdate, NewFact};
use super::sql::{self, MAX_MESSAGES};
use super::{ConversationSummary, Fact, FactKind, card, forget, is_correction, is_remember_request, prompt};
use crate::context::Memory;
use crate::work::MemoryJob;
use nod_contract::chat::CommandSyntax;
use nod_contract::ids::{FactId, InvocationId, PersonId, RunId, TenantId, TraceId};
use nod_contract::model::{Completion, CompletionRequest, ModelError, Tier, TokenSender};
use nod_contract::privacy::Audience;
use nod_contract::scope::{CHAT, RunOrIngestion, Scope};
use nod_people::conversations::{self, ConversationLocation};
use nod_people::delivery::{self, NewDelivery};
use nod_people::people;
use nod_store::audit;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::steps::{self, StepRecord, StoredTurns};

/// After this many attempts it is left until the next reply.
const MAX_ATTEMPTS: i32 = 3;

/// The input of one reading.
struct MemoryPass {
    run: RunId,
    person: PersonId,
    trace: TraceId,
    venue: ConversationLocation,
    owner: MemoryOwner,
    base_summary: ConversationSummary,
    batch: Batch,
    known_facts: Vec<Fact>,
}

/// Reads the new messages in the conversation of a run.
pub async fn update_memory(core: &Memory, claim: &Claim, run: RunId) -> Result<(), WorkError> {
    let Some(reading) = load_pass(core, claim.tenant, run).await? else {
        return complete_job(core, claim).await;
    };
    let invocation: InvocationId = core.id();
    let ask = prompt::summariser_request(
        &reading.batch,
        &reading.base_summary,
        &reading.known_facts,
        &invocation.short(),
    );
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
    let taken = answered.as_ref().ok().and_then(|a| {
        extraction::validate_output(&a.text, &reading.batch, &reading.known_facts, reading.owner)
    });
    record_completion(&mut record, &ask, &answered, taken.is_some());
    core.store_prompt_texts(std::slice::from_ref(&record)).await?;
    match taken {
        Some(taken) => write(core, claim, &reading, &taken, &record).await,
        None if claim.attempt < MAX_ATTEMPTS => {
            Err(record.error.unwrap_or_else(|| "the summariser's answer was no memory".to_owned()).into())
        }
        None => abandon(core, claim, &reading, &record).await,
    }
}

fn record_completion(
    record: &mut StepRecord,
    ask: &CompletionRequest,
    answered: &Result<Completion, ModelError>,
    usable: bool,
) {
    record.set_prompt(ask, &StoredTurns::default());
    match answered {
        Ok(answer) => {
            record.set_answer(answer);
            record.error = (!usable).then(|| "the answer was no memory".to_owned());
        }
        Err(error) => record.error = Some(error.to_string()),
    }
}

/// Loads what there is to read; `None` if there is nothing to do.
async fn load_pass(core: &Memory, tenant: TenantId, run: RunId) -> Result<Option<MemoryPass>, WorkError> {
    let mut conn = core.pool.acquire().await?;
    let (conversation, person, trace) = sql::load_run(&mut conn, tenant, run).await?.ok_or("no such run")?;
    let venue = conversations::load_location(&mut conn, tenant, conversation).await?;
    let alone = venue.is_private_location().then_some(person);
    let seen = sql::load_summary(&mut conn, tenant, conversation).await?;
    let heard = sql::list_messages_after(&mut conn, tenant, conversation, seen.covered_seq, alone).await?;
    let Some(mut batch) = Batch::from_messages(heard, &seen) else { return Ok(None) };
    replace_mentions(&mut conn, tenant, &venue, &mut batch.messages).await?;
    let owner = match alone {
        Some(person) => MemoryOwner::Person(person),
        None => MemoryOwner::Channel(venue.channel.0),
    };
    let mut speakers: Vec<_> = batch.messages.iter().filter_map(|heard| heard.person).map(|p| p.0).collect();
    speakers.sort_unstable();
    speakers.dedup();
    let noted = sql::list_facts(&mut conn, tenant, owner.id(), &speakers).await?;
    Ok(Some(MemoryPass { run, person, trace, venue, owner, base_summary: seen, batch, known_facts: noted }))
}

/// Replaces mentions by names, because platform ids are useless in a summary.
async fn replace_mentions(
    conn: &mut PgConnection,
    tenant: TenantId,
    venue: &ConversationLocation,
    heard: &mut [BatchMessage],
) -> sqlx::Result<()> {
    let texts = heard.iter_mut().map(|heard| &mut heard.text);
    people::replace_mentions(conn, tenant, (&venue.platform, &venue.workspace), texts.collect()).await
}

/// Stores the result of the reading, and notifies people of what they requested or what changed.
async fn write(
    core: &Memory,
    claim: &Claim,
    reading: &MemoryPass,
    taken: &MemoryUpdate,
    record: &StepRecord,
) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let next = next(reading, taken);
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    assert_person_exists(&mut tx, tenant, reading).await?;
    let typing = core.adapters.command_syntax(&reading.venue.platform);
    let ids: Vec<FactId> = taken.facts.iter().map(|_| core.id()).collect();
    send_report(core, &mut tx, claim, reading, lines(reading, taken, &ids, typing)).await?;
    if !sql::update_summary(&mut tx, tenant, reading.venue.conversation, &reading.base_summary, &next, now)
        .await?
    {
        // A user removed facts meanwhile, or another reading was first, so this result is outdated.
        tx.rollback().await?;
        return complete_job(core, claim).await;
    }
    if !taken.forget.is_empty() {
        let facts: Vec<_> = deleted_facts(reading, taken).map(|fact| fact.id.0).collect();
        forget::delete_facts(&mut tx, tenant, &facts, requester(reading), now).await?;
    }
    if taken.goal_ended {
        sql::delete_goal(&mut tx, tenant, reading.owner.id()).await?;
    }
    for (new, fact) in taken.facts.iter().zip(ids) {
        sql::upsert_fact(&mut tx, tenant, fact, reading.owner.id(), new, now).await?;
        let by = reading
            .batch
            .messages
            .iter()
            .find(|heard| heard.id == new.message)
            .and_then(|heard| heard.person);
        let detail = json!({ "kind": new.kind.as_str(), "message": new.message });
        audit::insert_entry(&mut tx, tenant, by, "memory.fact_saved", fact.0, None, &detail, now).await?;
    }
    steps::record(&mut tx, tenant, reading.run, std::slice::from_ref(record), audience(reading)).await?;
    if reading.batch.messages.len() >= MAX_MESSAGES {
        // There might be more messages than one reading takes.
        let work = MemoryJob::UpdateMemory { run: reading.run };
        jobs::enqueue(&mut tx, tenant, claim.lane, &work, now, now).await?;
    }
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Fails if the person was merged into another meanwhile, so that nothing is stored in their name; a retry reads again.
async fn assert_person_exists(
    conn: &mut PgConnection,
    tenant: TenantId,
    reading: &MemoryPass,
) -> Result<(), WorkError> {
    if people::sql::lock_existing(conn, tenant, reading.person).await? {
        return Ok(());
    }
    Err("the person was merged into another".into())
}

/// Returns the summary after this reading.
fn next(reading: &MemoryPass, taken: &MemoryUpdate) -> ConversationSummary {
    let MemoryPass { batch, base_summary: seen, .. } = reading;
    if !taken.forget.is_empty() {
        return ConversationSummary {
            covered_seq: batch.last_seq(),
            read_seq: batch.last_seq(),
            ..ConversationSummary::default()
        };
    }
    let Some(text) = &taken.summary else {
        return ConversationSummary { read_seq: batch.last_seq(), ..seen.clone() };
    };
    let folded = batch.messages_to_summarise();
    let mut outside = seen.untrusted_sources.clone();
    for source in folded.iter().flat_map(|heard| &heard.untrusted_sources) {
        if !outside.contains(source) {
            outside.push(source.clone());
        }
    }
    ConversationSummary {
        text: text.clone(),
        covered_seq: folded.last().map_or(seen.covered_seq, |heard| heard.seq),
        read_seq: batch.last_seq(),
        only_for: seen.only_for.or(folded.iter().find_map(|heard| heard.only_for)),
        untrusted_sources: outside,
    }
}

fn deleted_facts<'a>(reading: &'a MemoryPass, taken: &'a MemoryUpdate) -> impl Iterator<Item = &'a Fact> {
    taken.forget.iter().filter_map(|at| reading.known_facts.get(*at))
}

fn requester(reading: &MemoryPass) -> PersonId {
    match reading.batch.memory_request() {
        Some(MemoryRequest::Forget(by)) => by,
        _ => reading.person,
    }
}

/// Returns the lines to post: the results of requests, what a correction taught, and every contradiction. Facts from
/// ordinary talk are kept silently. `ids` are those of the new facts.
fn lines(
    reading: &MemoryPass,
    taken: &MemoryUpdate,
    ids: &[FactId],
    typing: CommandSyntax<'_>,
) -> Vec<ReportLine> {
    let deleted = deleted_facts(reading, taken);
    let mut lines: Vec<ReportLine> =
        deleted.map(|fact| ReportLine::new(card::fact_deleted_line(&fact.line()))).collect();
    let says_so = |text: &str| is_remember_request(text) || is_correction(text);
    for (new, id) in taken.facts.iter().zip(ids).filter(|(new, _)| new.kind == FactKind::Fact) {
        let told = reading.batch.messages.iter().any(|heard| heard.id == new.message && says_so(&heard.text));
        let text = match previous_fact(reading, new) {
            Some(old) => card::fact_replaced_line(&old.name, &old.value, &new.value),
            None if told => card::fact_saved_line(&new.name, &new.value),
            None => continue,
        };
        lines.push(ReportLine { text, kept: Some(*id) });
    }
    if lines.is_empty() {
        let unchanged = reading.batch.memory_request().and_then(|wish| card::no_change_text(wish, typing));
        lines.extend(unchanged.map(ReportLine::new));
    }
    lines
}

/// Returns the fact that was stored under that name.
fn previous_fact<'a>(reading: &'a MemoryPass, new: &NewFact) -> Option<&'a Fact> {
    reading.known_facts.iter().find(|old| {
        old.kind == new.kind && old.person == new.person && old.name.to_lowercase() == new.name.to_lowercase()
    })
}

fn audience(reading: &MemoryPass) -> Audience {
    match reading.owner {
        MemoryOwner::Person(person) => Audience::Person(person),
        MemoryOwner::Channel(_) => Audience::Channel,
    }
}

/// Posts the lines in the conversation.
async fn send_report(
    core: &Memory,
    conn: &mut PgConnection,
    claim: &Claim,
    reading: &MemoryPass,
    lines: Vec<ReportLine>,
) -> Result<(), WorkError> {
    if lines.is_empty() {
        return Ok(());
    }
    let card = card::report_card(lines);
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
    Ok(delivery::enqueue(conn, claim.tenant, &reading.venue, &new, core.now()).await?)
}

/// Gives up after the summariser failed. The reading is left for the next reply; a person who made a request is
/// notified.
async fn abandon(
    core: &Memory,
    claim: &Claim,
    reading: &MemoryPass,
    record: &StepRecord,
) -> Result<(), WorkError> {
    let tenant = claim.tenant;
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    assert_person_exists(&mut tx, tenant, reading).await?;
    let wish = reading.batch.memory_request();
    let typing = core.adapters.command_syntax(&reading.venue.platform);
    let failed = wish.and_then(|wish| card::request_failed_text(wish, typing)).map(ReportLine::new);
    send_report(core, &mut tx, claim, reading, failed.into_iter().collect()).await?;
    if wish.is_some() {
        // They are notified once; with the next reply, this would be an answer to an old request.
        let read = ConversationSummary { read_seq: reading.batch.last_seq(), ..reading.base_summary.clone() };
        let conversation = reading.venue.conversation;
        sql::update_summary(&mut tx, tenant, conversation, &reading.base_summary, &read, core.now()).await?;
    }
    steps::record(&mut tx, tenant, reading.run, std::slice::from_ref(record), audience(reading)).await?;
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

async fn complete_job(core: &Memory, claim: &Claim) -> Result<(), WorkError> {
    let mut conn = core.pool.acquire().await?;
    Ok(jobs::complete(&mut conn, claim).await?)
}
