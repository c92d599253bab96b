//! Rows of runs, messages and steps.

pub mod run_summary;

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::rows::run_summary::RequestSummary;
use crate::state::{self, AgentState, Node};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, MessageId, PersonId, RunId, TenantId, TraceId};
use nod_contract::model::Turn;
use nod_contract::privacy::{Audience, Provenance};
use nod_memory::memory::prompt_context::AttributedTurn;
use nod_memory::memory::{MAX_FACTS, MemoryRows};
use nod_people::delivery::ConversationLocation;
use nod_people::delivery::open::StreamingMessage;
use nod_people::people::{Person, sql::PersonRow};
use nod_store::jobs::Claim;
use nod_store::jobs::sql::{from_json, to_json};
use nod_store::runs::RunJob;
use nod_store::steps::{StepRecord, audience_person_id};

/// A run as loaded.
pub struct Run {
    pub id: RunId,
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
    pub conversation: ConversationId,
    pub person: PersonId,
    pub trace: TraceId,
    pub state: &'a AgentState,
}

/// Inserts a run: the job that advances it, its row, and the message that it answers. The conversation's lane is locked
/// first, as everywhere, because its holder is writing to this conversation. `said` is the platform's time.
pub async fn begin(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: &NewRun<'_>,
    message: &NewMessage<'_>,
    said: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    let message = message.row();
    sqlx::query!(
        "with run as (
             insert into runs (tenant_id, id, conversation_id, person_id, trace_id, workflow, status, node, state,
                 version, persisted_turns, created_at, updated_at)
             select $1, $2, $3, $4, $5, 'chat', 'queued', $6, $7, 0, 1, $8, $8
             from enqueue($1, $3, $9, $8, $8)
             returning tenant_id, conversation_id, id)
         insert into messages (tenant_id, id, conversation_id, run_id, role, person_id, message_ref, turn, only_for,
             untrusted_sources, at, said_at)
         select run.tenant_id, $10, run.conversation_id, run.id, $11, $12, $13, $14, $15, $16, $8, $17 from run",
        tenant.0,
        run.id.0,
        run.conversation.0,
        run.person.0,
        run.trace.0,
        Node::Recall.as_str(),
        to_json(run.state)? as _,
        now,
        to_json(&RunJob::AdvanceRun { run: run.id, event: None })? as _,
        message.id,
        message.role,
        message.person_id,
        message.message_ref,
        to_json(message.turn)? as _,
        message.only_for,
        &message.untrusted_sources,
        said
    )
    .execute(conn)
    .await?;
    Ok(())
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

/// Loads a run with everything that its next node needs, in one query.
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
        r#"select r.conversation_id, r.person_id, r.trace_id, r.status, r.node, r.state, r.version, r.persisted_turns,
             r.created_at, to_jsonb(v) as "location!: Json<ConversationLocation>",
             to_jsonb(p) || jsonb_build_object('membership', coalesce(i.membership, 'unknown'),
                 'zone', coalesce(h.zone, p.zone)) as "person!: Json<PersonRow>",
             case when $5 or r.node = 'recall' then jsonb_build_object(
                 'has_attachments', exists (
                     select 1 from attachments a
                     where a.tenant_id = r.tenant_id and a.conversation_id = r.conversation_id),
                 'has_pending_approval', exists (
                     select 1 from approvals a
                     where a.tenant_id = r.tenant_id and a.decider_id = r.person_id and a.status = 'pending'),
                 'has_work_in_view', exists (
                     select 1 from drafts d
                     where d.tenant_id = r.tenant_id and d.person_id = r.person_id and d.status = 'open')
                 or coalesce((
                     select o.state->>'thread' is not null from runs o
                     where o.tenant_id = r.tenant_id and o.conversation_id = r.conversation_id
                       and o.person_id = r.person_id and o.id <> r.id
                     order by o.created_at desc limit 1), false),
                 'has_earlier_request', exists (
                     select 1 from runs o
                     where o.tenant_id = r.tenant_id and o.conversation_id = r.conversation_id
                       and o.person_id = r.person_id and o.id <> r.id and o.status = 'waiting'
                       and o.created_at <= r.created_at
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
         where r.tenant_id = $1 and r.id = $2"#,
        tenant.0,
        id.0,
        MAX_FACTS,
        MAX_RECALLED_MESSAGES,
        begins_anew
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let run = Run {
        id,
        conversation: ConversationId(row.conversation_id),
        person: PersonId(row.person_id),
        trace: TraceId(row.trace_id),
        began: row.created_at,
        status: row.status,
        node: from_json(serde_json::Value::String(row.node))?,
        state: from_json(row.state)?,
        version: row.version,
        persisted_turns: usize::try_from(row.persisted_turns).unwrap_or_default(),
        streaming_message: None,
    };
    let recalled = row.recalled.map(|rows| rows.0);
    Ok(Some(LoadedRun { run, venue: row.location.0, person: row.person.0.into(), recalled }))
}

/// What a transition writes in addition to what its nodes emitted.
pub struct Transition<'a> {
    pub run: &'a Run,
    pub error: Option<&'a str>,
    pub messages: &'a [NewMessage<'a>],
    pub steps: &'a [StepRecord],
}

/// The first statement of a run's commit. Like [`assert_lease`](nod_store::jobs::sql::assert_lease), it asserts the
/// lease; it also writes state, messages and records. The state is guarded by its version. A caller that lost the lease
/// or has an outdated state writes nothing and gets `RowNotFound`, so this can also be the only statement.
pub async fn write(
    conn: &mut PgConnection,
    claim: &Claim,
    transition: &Transition<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let run = transition.run;
    let ended = matches!(run.status.as_str(), "done" | "failed");
    // Messages and records are passed as one JSON array each; the records are also stored as one.
    let messages: Vec<MessageRow<'_>> = transition.messages.iter().map(NewMessage::row).collect();
    let moved = sqlx::query_scalar!(
        "with held as (
             select tenant_id from lanes where tenant_id = $1 and id = $14 and lease_id = $15 for update),
         moved as (
             update runs r set status = $4, node = $5, state = $6, version = version + 1, intent = $7,
                 routed_via = $8, error = case when $4 = 'failed' then coalesce($9, error) end, updated_at = $10,
                 finished_at = case when $11 then $10::timestamptz end, persisted_turns = $12
             from held where r.tenant_id = held.tenant_id and r.id = $2 and r.version = $3
             returning r.tenant_id),
         said as (
             insert into messages (tenant_id, id, conversation_id, run_id, role, person_id, message_ref, turn,
                 only_for, untrusted_sources, at)
             select moved.tenant_id, m.id, $16, $2, m.role, m.person_id, m.message_ref, m.turn, m.only_for,
                 m.untrusted_sources, $10
             from moved, jsonb_to_recordset($17) as m(id uuid, role text, person_id uuid, message_ref text,
                 turn jsonb, only_for uuid, untrusted_sources text[])),
         noted as (
             insert into step_records (tenant_id, run_id, only_for, steps)
             select moved.tenant_id, $2, $13, $18 from moved where $18::jsonb <> '[]')
         select count(*) as \"moved!\" from moved",
        claim.tenant.0,
        run.id.0,
        run.version,
        run.status,
        run.node.as_str(),
        to_json(&run.state)? as _,
        run.state.intent.map(state::Intent::as_str),
        run.state.routed_via,
        transition.error,
        now,
        ended,
        i32::try_from(run.persisted_turns).unwrap_or(i32::MAX),
        audience_person_id(run.state.record_audience()),
        claim.lane,
        claim.lease,
        run.conversation.0,
        to_json(&messages)? as _,
        to_json(&transition.steps)? as _
    )
    .fetch_one(conn)
    .await?;
    if moved == 1 { Ok(()) } else { Err(sqlx::Error::RowNotFound) }
}

/// Ends a run that is open; returns false if it is not. Its version is incremented, so the replica that works on it
/// cannot commit.
pub(super) async fn stop(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update runs set status = 'stopped', version = version + 1, updated_at = $3, finished_at = $3
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
        "select id from runs where tenant_id = $1 and conversation_id = $2 and person_id = $3
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

/// Returns the open run that a message started, and the words that it started with.
pub async fn find_open_by_message(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    channel: &str,
    message: &str,
) -> sqlx::Result<Option<(RunId, ConversationId, String)>> {
    let row = sqlx::query!(
        r#"select r.id, r.conversation_id, coalesce(m.turn->>'text', '') as "words!" from messages m
         join runs r on r.tenant_id = m.tenant_id and r.id = m.run_id
         join conversations c on c.tenant_id = m.tenant_id and c.id = m.conversation_id
         join channels ch on ch.tenant_id = m.tenant_id and ch.id = c.channel_id
         where m.tenant_id = $1 and m.message_ref = $2 and m.role = 'human'
           and ch.platform = $3 and ch.workspace = $4 and ch.channel_ref = $5
           and r.status in ('queued', 'running', 'waiting')"#,
        tenant.0,
        message,
        platform,
        workspace,
        channel
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|r| (RunId(r.id), ConversationId(r.conversation_id), r.words)))
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

/// Replaces the words of the message that started a run; words that its author removed are not kept.
pub(crate) async fn update_first_message(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    turn: &Turn,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update messages set turn = $3
         where tenant_id = $1 and run_id = $2 and role = 'human' and message_ref is not null",
        tenant.0,
        run.0,
        to_json(turn)? as _
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
             select tenant_id, id, created_at, status, coalesce(state->'turns'->0->>'text', '') as said
             from runs where tenant_id = $1 and person_id = $2 order by created_at desc, id desc limit $3),
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
