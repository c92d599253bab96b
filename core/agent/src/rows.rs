//! Rows of runs, messages and steps.

pub mod run_summary;
mod workflow;

pub(super) use workflow::{
    LoadedWorkflowRun, insert_message, list_open_steps, list_open_workflow_runs, load_actions,
    load_workflow_run, write_workflow_run,
};

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::rows::run_summary::RequestSummary;
use crate::state::{AgentState, Intent, Node, Recalled, StoredState};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, MessageId, PersonId, RunId, TenantId, TraceId};
use nod_contract::model::Turn;
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::scope::CHAT;
use nod_memory::memory::prompt_context::AttributedTurn;
use nod_memory::memory::{MAX_FACTS, MemoryRows};
use nod_people::conversations::ConversationLocation;
use nod_people::delivery::open::StreamingMessage;
use nod_people::people::{Person, sql::PersonRow};
use nod_store::jobs::sql::{from_json, to_json};
use nod_store::jobs::{Claim, LeasedJob, Reservation};
use nod_store::runs::RunJob;
use nod_store::steps::{StepRecord, audience_person_id, to_stored};
use nod_store::workflow::STEP;

/// A run as loaded.
pub struct Run {
    pub id: RunId,
    /// The run of the workflow whose step it is.
    pub parent: Option<RunId>,
    pub conversation: ConversationId,
    pub person: PersonId,
    pub trace: TraceId,
    /// When the message that it answers was sent.
    pub began: Timestamp,
    pub status: String,
    pub node: Node,
    pub state: AgentState,
    pub version: i32,
    /// The number of turns of the state that are rows in `messages`.
    pub persisted_turns: usize,
    /// Whether what it recalled is a row.
    pub is_recalled_persisted: bool,
    /// The message that is being streamed, if there is one.
    pub streaming_message: Option<StreamingMessage>,
}

impl LoadedRun {
    /// Whether it has not ended.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self.run.status.as_str(), "queued" | "running" | "waiting")
    }
}

pub struct NewRun<'a> {
    pub id: RunId,
    /// The run of the workflow whose step it is.
    pub parent: Option<RunId>,
    /// Its first node.
    pub node: Node,
    pub conversation: ConversationId,
    /// Its jobs stand in it. It never changes.
    pub lane: Uuid,
    pub person: PersonId,
    pub trace: TraceId,
    pub state: &'a AgentState,
}

/// Inserts a run: the job that advances it, its row, and the message that it answers, which is its first turn. Its lane is
/// locked first, as everywhere. `said` is the platform's time. With a reservation the lane is leased if it was free, and the
/// caller begins the job after the commit. What is said in a step belongs to no conversation.
pub async fn begin(
    conn: &mut PgConnection,
    reservation: Option<Reservation>,
    tenant: TenantId,
    run: &NewRun<'_>,
    message: &NewMessage<'_>,
    said: Timestamp,
    now: Timestamp,
) -> sqlx::Result<Option<LeasedJob>> {
    let message = message.row();
    let work = RunJob::AdvanceRun { run: run.id, event: None };
    let enqueued = sqlx::query!(
        r#"with enqueued as (select job, lease_id from enqueue_leased($1, $21, $9, $8, $18)),
         run as (
             insert into runs (tenant_id, id, parent_id, conversation_id, lane_id, person_id, trace_id, workflow, status, node, state,
                 intent, routed_via, version, first_turn, created_at, updated_at)
             select $1, $2, $22, $3, $21, $4, $5, $23, 'queued', $6, $7, $19, $20, 0, 0, $8, $8
             from enqueued
             returning tenant_id, case when parent_id is null then conversation_id end as conversation_id, id)
         insert into messages (tenant_id, id, conversation_id, run_id, turn_number, role, person_id, message_ref, turn, only_for,
             untrusted_sources, at, said_at)
         select run.tenant_id, $10, run.conversation_id, run.id, 0, $11, $12, $13, $14, $15, $16, $8, $17 from run
         returning (select job from enqueued) as "job!", (select lease_id from enqueued) as lease_id"#,
        tenant.0,
        run.id.0,
        run.conversation.0,
        run.person.0,
        run.trace.0,
        run.node.as_str(),
        to_json(&StoredState { state: run.state, unsaved_turns: &run.state.turns[1..] })? as _,
        now,
        to_json(&work)? as _,
        message.id,
        message.role,
        message.person_id,
        message.message_ref,
        to_json(message.turn)? as _,
        message.only_for,
        &message.untrusted_sources,
        said,
        reservation.as_ref().map(Reservation::seconds),
        run.state.intent.map(Intent::as_str),
        run.state.routed_via,
        run.lane,
        run.parent.map(|parent| parent.0),
        if run.parent.is_some() { STEP } else { CHAT }
    )
    .fetch_one(conn)
    .await?;
    let leased = reservation
        .zip(enqueued.lease_id)
        .map(|(reservation, lease)| reservation.fill(tenant, run.lane, lease, enqueued.job, &work));
    leased.transpose()
}

/// A run with its location and its person.
pub struct LoadedRun {
    pub run: Run,
    pub venue: ConversationLocation,
    pub person: Person,
    /// What its first node recalls; `None` once that node is done.
    pub(super) recalled: Option<RecalledRows>,
}

/// The most earlier messages that are brought into view.
const MAX_RECALLED_MESSAGES: i64 = 20;

/// What a run starts with, besides its own message.
#[derive(Debug, Deserialize)]
pub(super) struct RecalledRows {
    /// Whether files were attached to this message or an earlier one.
    pub(super) has_attachments: bool,
    /// Whether an approval waits for the person, here or elsewhere.
    pub(super) has_pending_approval: bool,
    /// Whether a task of the person waits for an answer, here or, in their direct messages, anywhere.
    pub(super) has_open_question: bool,
    /// Whether the person has an open draft, or their last run here had a mail thread in view.
    pub(super) has_work_in_view: bool,
    /// Whether an earlier request of the person is still being done without an approval, such as writing a draft.
    pub(super) has_earlier_request: bool,
    pub(super) memory: MemoryRows,
    turns: Option<Vec<RecalledTurn>>,
}

#[derive(Debug, Deserialize)]
struct RecalledTurn {
    turn: Turn,
    untrusted_sources: Vec<String>,
    only_for: Option<Uuid>,
    speaker: Option<String>,
}

impl RecalledRows {
    /// Returns the latest earlier messages that the person can see and no summary covers, oldest first.
    pub(super) fn take_turns(&mut self) -> Vec<AttributedTurn> {
        let turns = self.turns.take().unwrap_or_default().into_iter().rev().map(|row| AttributedTurn {
            turn: row.turn,
            speaker: row.speaker,
            outside: row.untrusted_sources,
            audience: row.only_for.map_or(Audience::Channel, |p| Audience::Person(PersonId(p))),
        });
        turns.collect()
    }
}

/// Loads a turn or a step with everything that its next node needs, in one query; `None` for the run of a workflow. Of a person's earlier requests only those of two
/// days are looked at, so that it costs no more where there are many.
pub async fn load(conn: &mut PgConnection, tenant: TenantId, id: RunId) -> sqlx::Result<Option<LoadedRun>> {
    load_with(conn, tenant, id, false).await
}

/// Loads what a run recalls that begins anew, though its row says that it was at another node.
pub(super) async fn load_recalled(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RunId,
) -> sqlx::Result<Option<RecalledRows>> {
    Ok(load_with(conn, tenant, id, true).await?.and_then(|loaded| loaded.recalled))
}

async fn load_with(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RunId,
    begins_anew: bool,
) -> sqlx::Result<Option<LoadedRun>> {
    let row = sqlx::query!(
        r#"select r.parent_id, r.conversation_id, r.person_id, r.trace_id, r.status, r.node, r.state, r.intent, r.routed_via,
             r.version, r.first_turn, r.created_at, (
                 select coalesce(jsonb_agg(m.turn order by m.turn_number), '[]') from messages m
                 where m.tenant_id = r.tenant_id and m.run_id = r.id and m.turn_number >= r.first_turn
             ) as "turns!: Json<Vec<Turn>>", (
                 select c.body from recalled_contexts c
                 where c.tenant_id = r.tenant_id and c.run_id = r.id and c.first_turn = r.first_turn
             ) as "recalled_body: Json<Recalled>", to_jsonb(v) as "location!: Json<ConversationLocation>",
             to_jsonb(p) || jsonb_build_object('membership', coalesce(i.membership, 'unknown'),
                 'zone', coalesce(h.zone, p.zone)) as "person!: Json<PersonRow>",
             case when $5 or r.node = 'recall' then jsonb_build_object(
                 'has_attachments', exists (
                     select 1 from attachments a
                     where a.tenant_id = r.tenant_id and a.conversation_id = r.conversation_id),
                 'has_pending_approval', exists (
                     select 1 from approvals a
                     where a.tenant_id = r.tenant_id and a.decider_id = r.person_id and a.status = 'pending'),
                 'has_open_question', r.parent_id is null and exists (
                     select 1 from questions q
                     where q.tenant_id = r.tenant_id and q.person_id = r.person_id and q.status = 'pending' and q.takes_words
                       and (v.is_dm or q.conversation_id = r.conversation_id)),
                 'has_work_in_view', exists (
                     select 1 from drafts d
                     where d.tenant_id = r.tenant_id and d.person_id = r.person_id and d.status = 'open')
                 or coalesce((
                     select o.state->>'thread' is not null from runs o
                     where o.tenant_id = r.tenant_id and o.conversation_id = r.conversation_id
                       and o.person_id = r.person_id and o.id <> r.id and o.workflow = 'chat'
                     order by o.created_at desc limit 1), false),
                 'has_earlier_request', exists (
                     select 1 from runs o
                     where o.tenant_id = r.tenant_id and o.conversation_id = r.conversation_id
                       and o.person_id = r.person_id and o.id <> r.id and o.workflow = 'chat' and o.status = 'waiting'
                       and o.created_at between r.created_at - interval '2 days' and r.created_at
                       and o.state @> '{"pending": [{"parked": {"parked": "effect"}}]}'),
                 'memory', jsonb_build_object(
                     'summary', (
                         select to_jsonb(s) from summaries s
                         where s.tenant_id = r.tenant_id and s.conversation_id = r.conversation_id),
                     'facts', (
                         select jsonb_agg(to_jsonb(f) order by f.recorded_at desc, f.id desc) from (
                             select f.* from facts f
                             where f.tenant_id = r.tenant_id
                               and f.owner = case
                                   when v.is_dm or v.private_with is not null then r.person_id else v.channel end
                               and (f.person_id is null or f.person_id = r.person_id)
                             order by f.recorded_at desc, f.id desc limit $3) f)),
                 'turns', (
                     select jsonb_agg(jsonb_build_object('turn', m.turn, 'untrusted_sources', m.untrusted_sources,
                         'only_for', m.only_for, 'speaker', m.speaker) order by m.seq desc) from (
                         select m.seq, m.turn, m.untrusted_sources, m.only_for,
                             coalesce(nullif(sp.full_name, ''), sp.name) as speaker
                         from messages m
                         left join people sp on sp.tenant_id = m.tenant_id and sp.id = m.person_id
                         where m.tenant_id = r.tenant_id and m.conversation_id = r.conversation_id
                           and m.run_id <> r.id and m.role in ('human', 'ai')
                           and (m.only_for is null or m.only_for = r.person_id)
                           and (m.role = 'human' or m.turn->>'text' <> '')
                           and m.seq > coalesce((
                               select s.covered_seq from summaries s
                               where s.tenant_id = r.tenant_id and s.conversation_id = r.conversation_id), 0)
                         order by m.seq desc limit $4) m))
             end as "recalled: Json<RecalledRows>"
         from runs r
         join conversation_locations v on v.tenant_id = r.tenant_id and v.conversation = r.conversation_id
         join people p on p.tenant_id = r.tenant_id and p.id = r.person_id
         left join identities i on i.tenant_id = p.tenant_id and i.person_id = p.id and i.platform = v.platform
             and i.workspace = v.workspace
         left join working_hours h on h.tenant_id = p.tenant_id and h.person_id = p.id
         where r.tenant_id = $1 and r.id = $2 and r.workflow in ('chat', 'step')"#,
        tenant.0,
        id.0,
        MAX_FACTS,
        MAX_RECALLED_MESSAGES,
        begins_anew
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let person: Person = row.person.0.into();
    let mut state: AgentState = from_json(row.state)?;
    state.principal = person.principal();
    state.intent = row.intent.map(|intent| from_json(serde_json::Value::String(intent))).transpose()?;
    state.routed_via = row.routed_via;
    state.first_turn = row.first_turn;
    state.turns = row.turns.0;
    let persisted_turns = state.turns.len();
    state.turns.append(&mut state.unsaved_turns);
    let is_recalled_persisted = row.recalled_body.is_some();
    state.recalled = Arc::new(row.recalled_body.map(|body| body.0).unwrap_or_default());
    let run = Run {
        id,
        parent: row.parent_id.map(RunId),
        conversation: ConversationId(row.conversation_id),
        person: PersonId(row.person_id),
        trace: TraceId(row.trace_id),
        began: row.created_at,
        status: row.status,
        node: from_json(serde_json::Value::String(row.node))?,
        state,
        version: row.version,
        persisted_turns,
        is_recalled_persisted,
        streaming_message: None,
    };
    let recalled = row.recalled.map(|rows| rows.0);
    Ok(Some(LoadedRun { run, venue: row.location.0, person, recalled }))
}

/// What a transition writes in addition to what its nodes emitted.
pub struct Transition<'a> {
    pub run: &'a Run,
    pub error: Option<&'a str>,
    pub messages: &'a [NewMessage<'a>],
    pub steps: &'a [StepRecord],
    /// It answers the message, so it must not be written if the message was edited or deleted meanwhile.
    pub is_answer: bool,
}

/// What became of a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It is written.
    Moved,
    /// The message that it answers was edited or deleted, and a job behind this one says so; nothing was written.
    MessageChanged,
}

/// The first statement of a run's commit. Like [`assert_lease`](nod_store::jobs::sql::assert_lease), it asserts the
/// lease; it also writes state, messages and records. The state is guarded by its version. A caller that lost the lease
/// or has an outdated state writes nothing and gets `RowNotFound`, so this can also be the only statement.
pub async fn write(
    conn: &mut PgConnection,
    claim: &Claim,
    transition: &Transition<'_>,
    now: Timestamp,
) -> sqlx::Result<Written> {
    match write_once(conn, claim, transition, now, true).await? {
        Some(written) => Ok(written),
        // A job was enqueued while this waited for the lane, and was not seen. The lane is locked now.
        None => write_once(conn, claim, transition, now, false).await?.ok_or(sqlx::Error::RowNotFound),
    }
}

/// Returns `None`, and has written nothing, if it has to look again at what is queued behind.
async fn write_once(
    conn: &mut PgConnection,
    claim: &Claim,
    transition: &Transition<'_>,
    now: Timestamp,
    may_look_again: bool,
) -> sqlx::Result<Option<Written>> {
    let run = transition.run;
    let ended = matches!(run.status.as_str(), "done" | "failed");
    let state = match run.status.as_str() {
        // Nothing resumes it.
        "done" => to_json(&run.state.ended_state())?,
        _ => {
            let unsaved_turns = run.state.turns.get(run.persisted_turns..).unwrap_or_default();
            to_json(&StoredState { state: &run.state, unsaved_turns })?
        }
    };
    let recalled = (!run.is_recalled_persisted && *run.state.recalled != Recalled::default())
        .then(|| to_json(&*run.state.recalled))
        .transpose()?;
    // Messages and records are passed as one JSON array each; the records are also stored as one.
    let messages: Vec<MessageRow<'_>> = transition.messages.iter().map(NewMessage::row).collect();
    let row = sqlx::query!(
        r#"with held as (
             select tenant_id, queued from lanes where tenant_id = $1 and id = $14 and lease_id = $15 for update),
         behind as (
             select $21 and held.queued <> count(j.id) as unseen, coalesce(bool_or(j.payload->>'run' = $2::uuid::text
                 and j.payload->'event'->>'event' in ('message_edited', 'message_deleted')), false) as changed
             from held left join queued_jobs j on j.tenant_id = held.tenant_id and j.lane_id = $14
             where $20 and held.queued > 0 group by held.queued),
         moved as (
             update runs r set status = $4, node = $5, state = $6, version = version + 1, intent = $7,
                 routed_via = $8, error = case when $4 = 'failed' then coalesce($9, error) end, updated_at = $10,
                 finished_at = case when $11 then $10::timestamptz end, first_turn = $12
             from held where r.tenant_id = held.tenant_id and r.id = $2 and r.version = $3
               and not exists (select 1 from behind where unseen or changed)
             returning r.tenant_id),
         said as (
             insert into messages (tenant_id, id, conversation_id, run_id, turn_number, role, person_id, message_ref, turn,
                 only_for, untrusted_sources, at)
             select moved.tenant_id, m.id, $16::uuid, $2, m.turn_number, m.role, m.person_id, m.message_ref, m.turn, m.only_for,
                 m.untrusted_sources, $10
             from moved, jsonb_to_recordset($17) as m(id uuid, turn_number integer, role text, person_id uuid,
                 message_ref text, turn jsonb, only_for uuid, untrusted_sources text[])),
         recalled as (
             insert into recalled_contexts (tenant_id, run_id, first_turn, only_for, body)
             select moved.tenant_id, $2, $12, $13, $19 from moved where $19::jsonb is not null),
         noted as (
             insert into step_records (tenant_id, run_id, only_for, steps)
             select moved.tenant_id, $2, $13, $18 from moved where $18::jsonb <> '[]')
         select (select count(*) from moved) as "moved!", coalesce((select unseen from behind), false) as "unseen!",
             coalesce((select changed from behind), false) as "changed!""#,
        claim.tenant.0,
        run.id.0,
        run.version,
        run.status,
        run.node.as_str(),
        state as _,
        run.state.intent.map(Intent::as_str),
        run.state.routed_via,
        transition.error,
        now,
        ended,
        run.state.first_turn,
        audience_person_id(run.state.record_audience()),
        claim.lane,
        claim.lease,
        run.parent.is_none().then_some(run.conversation.0),
        to_json(&messages)? as _,
        to_json(&to_stored(transition.steps, &run.state.stored_turns()))? as _,
        recalled as _,
        transition.is_answer,
        may_look_again
    )
    .fetch_one(conn)
    .await?;
    match (row.moved, row.changed, row.unseen) {
        (1, ..) => Ok(Some(Written::Moved)),
        (_, true, _) => Ok(Some(Written::MessageChanged)),
        (_, false, true) => Ok(None),
        (_, false, false) => Err(sqlx::Error::RowNotFound),
    }
}

/// A run that was interrupted so often at one point is not tried again by itself.
pub(super) const MAX_INTERRUPTIONS: i16 = 3;

/// Counts that a job which was claimed before is worked on again. Returns how often the process died since the run's last
/// commit; 0 if the job failed instead, which is counted elsewhere.
pub(super) async fn increment_interruptions(
    conn: &mut PgConnection,
    claim: &Claim,
    run: RunId,
) -> sqlx::Result<i16> {
    let interruptions = sqlx::query_scalar!(
        r#"update runs r set interrupted_version = case when l.last_error is null then r.version else r.interrupted_version end,
             interruptions = case when l.last_error is not null then r.interruptions
                 when r.interrupted_version = r.version then r.interruptions + 1 else 1 end
         from lanes l
         where l.tenant_id = $1 and l.id = $3 and l.lease_id = $4 and r.tenant_id = $1 and r.id = $2
         returning case when l.last_error is null then r.interruptions else 0 end as "interruptions!""#,
        claim.tenant.0,
        run.0,
        claim.lane,
        claim.lease
    );
    Ok(i16::try_from(interruptions.fetch_optional(conn).await?.unwrap_or_default()).unwrap_or(i16::MAX))
}

/// Ends a run that is open; returns false if it is not. Its version is incremented, so the replica that works on it
/// cannot commit. Of its state remains what remains of one that is done.
pub(super) async fn stop(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update runs set status = 'stopped', version = version + 1, updated_at = $3, finished_at = $3,
             state = jsonb_strip_nulls(jsonb_build_object('provenance', state->'provenance', 'thread', state->'thread',
                 'has_channel_history', state->'has_channel_history'))
         where tenant_id = $1 and id = $2 and status in ('queued', 'running', 'waiting')",
        tenant.0,
        run.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns the open runs of a person in a conversation.
pub(super) async fn open_of(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    person: PersonId,
) -> sqlx::Result<Vec<RunId>> {
    let runs = sqlx::query_scalar!(
        "select id from runs where tenant_id = $1 and conversation_id = $2 and person_id = $3 and workflow = 'chat'
             and status in ('queued', 'running', 'waiting') order by created_at",
        tenant.0,
        conversation.0,
        person.0
    )
    .fetch_all(conn)
    .await?;
    Ok(runs.into_iter().map(RunId).collect())
}

/// A message to store: its author, and who may read it.
pub struct NewMessage<'a> {
    pub id: MessageId,
    /// Its number among the run's turns.
    pub turn_number: i32,
    pub person: Option<PersonId>,
    pub message_ref: Option<&'a str>,
    pub turn: &'a Turn,
    pub audience: Audience,
    pub provenance: &'a Provenance,
}

/// A message as stored in its row.
#[derive(Serialize)]
struct MessageRow<'a> {
    id: Uuid,
    turn_number: i32,
    role: &'static str,
    person_id: Option<Uuid>,
    message_ref: Option<&'a str>,
    turn: &'a Turn,
    only_for: Option<Uuid>,
    untrusted_sources: Vec<String>,
}

impl NewMessage<'_> {
    fn row(&self) -> MessageRow<'_> {
        MessageRow {
            id: self.id.0,
            turn_number: self.turn_number,
            role: match self.turn {
                Turn::System { .. } => "system",
                Turn::Human { .. } => "human",
                Turn::Ai { .. } => "ai",
                Turn::Tool { .. } => "tool",
            },
            person_id: self.person.map(|p| p.0),
            message_ref: self.message_ref,
            turn: self.turn,
            only_for: audience_person_id(self.audience),
            untrusted_sources: self.provenance.sources(),
        }
    }
}

/// The turn that a message began.
pub struct BegunTurn {
    pub run: RunId,
    pub person: PersonId,
    /// The message as it is stored.
    pub words: String,
    /// Whether it has not ended.
    pub is_open: bool,
}

/// Returns the turn that a message began.
pub async fn find_by_message(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    channel: &str,
    message: &str,
) -> sqlx::Result<Option<BegunTurn>> {
    let row = sqlx::query!(
        r#"select r.id, r.person_id, coalesce(m.turn->>'text', '') as "words!",
             r.status in ('queued', 'running', 'waiting') as "is_open!" from messages m
         join runs r on r.tenant_id = m.tenant_id and r.id = m.run_id
         join conversations c on c.tenant_id = m.tenant_id and c.id = m.conversation_id
         join channels ch on ch.tenant_id = m.tenant_id and ch.id = c.channel_id
         where m.tenant_id = $1 and m.message_ref = $2 and m.role = 'human'
           and ch.platform = $3 and ch.workspace = $4 and ch.channel_ref = $5
         order by 4 desc, m.seq desc limit 1"#,
        tenant.0,
        message,
        platform,
        workspace,
        channel
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|r| BegunTurn {
        run: RunId(r.id),
        person: PersonId(r.person_id),
        words: r.words,
        is_open: r.is_open,
    }))
}

/// Whether a run has not ended.
pub async fn is_open(conn: &mut PgConnection, tenant: TenantId, run: RunId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (
             select 1 from runs
             where tenant_id = $1 and id = $2 and status in ('queued', 'running', 'waiting')) as "open!""#,
        tenant.0,
        run.0
    )
    .fetch_one(conn)
    .await
}

/// Returns the answers of a run that only one person may read, newest first.
pub(super) async fn list_private_answers(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    reader: PersonId,
) -> sqlx::Result<Vec<(Uuid, String)>> {
    let rows = sqlx::query!(
        r#"select id, turn->>'text' as "text!" from messages
         where tenant_id = $1 and run_id = $2 and role = 'ai' and only_for = $3 and turn->>'text' <> ''
         order by seq desc"#,
        tenant.0,
        run.0,
        reader.0
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.text)).collect())
}

/// Makes an answer that only one person could read readable for the channel. It gets a new sequence number, so that
/// readers that continue from their last position find it.
pub(super) async fn mark_shared(
    conn: &mut PgConnection,
    tenant: TenantId,
    message: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update messages set only_for = null, seq = default where tenant_id = $1 and id = $2",
        tenant.0,
        message
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Replaces the words of the message that started a run, which is now the turn of this number; words that its author removed are not
/// kept.
pub(crate) async fn update_first_message(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    turn: &Turn,
    turn_number: i32,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update messages set turn = $3, turn_number = $4
         where tenant_id = $1 and run_id = $2 and role = 'human' and message_ref is not null",
        tenant.0,
        run.0,
        to_json(turn)? as _,
        turn_number
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A run as its requester sees it in a list.
pub struct RunListItem {
    pub id: RunId,
    pub at: Timestamp,
    pub status: String,
    pub question: String,
    /// What it requested approval for, in that order.
    pub requests: Vec<RequestSummary>,
}

/// Returns the newest runs of a person.
pub async fn list_newest(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    most: i64,
) -> sqlx::Result<Vec<RunListItem>> {
    let rows = sqlx::query!(
        r#"with newest as (
             select r.tenant_id, r.id, r.created_at, r.status, (
                 select coalesce(m.turn->>'text', '') from messages m
                 where m.tenant_id = r.tenant_id and m.run_id = r.id and m.turn_number = r.first_turn) as said
             from runs r where r.tenant_id = $1 and r.person_id = $2 and r.workflow = 'chat'
             order by r.created_at desc, r.id desc limit $3),
         asked as (
             select a.run_id, jsonb_agg(jsonb_build_object('status', a.status, 'effect', e.status,
                     'words', a.preview->'words') order by a.created_at, a.id) as all_of_it
             from newest n
             join approvals a on a.tenant_id = n.tenant_id and a.run_id = n.id
             left join effects e on e.tenant_id = a.tenant_id and e.approval_id = a.id
             group by a.run_id)
         select n.id as "id!", n.created_at as "created_at!", n.status as "status!", n.said as "said!",
             coalesce(asked.all_of_it, '[]') as "asked!: Json<Vec<RequestSummary>>"
         from newest n left join asked on asked.run_id = n.id
         order by n.created_at desc, n.id desc"#,
        tenant.0,
        person.0,
        most
    )
    .fetch_all(conn)
    .await?;
    let listed = rows.into_iter().map(|row| RunListItem {
        id: RunId(row.id),
        at: row.created_at,
        status: row.status,
        question: row.said,
        requests: row.asked.0,
    });
    Ok(listed.collect())
}
