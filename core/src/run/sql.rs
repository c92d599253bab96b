//! Rows of runs, messages and steps.

use sqlx::PgConnection;

use super::state::AgentState;
use crate::clock::Timestamp;
use crate::graph::{Node, StepRecord};
use crate::ids::{ConversationId, MessageId, PersonId, RunId, TenantId, TraceId};
use crate::jobs::sql::{json, parsed};
use crate::model::Turn;
use crate::privacy::{Audience, Provenance};

/// A run as loaded.
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) conversation: ConversationId,
    pub(crate) person: PersonId,
    pub(crate) trace: TraceId,
    pub(crate) status: String,
    pub(crate) node: Node,
    pub(crate) state: AgentState,
    pub(crate) version: i32,
    /// Turns of the state that are rows in `messages`.
    pub(crate) kept: usize,
}

pub(crate) struct NewRun<'a> {
    pub(crate) id: RunId,
    pub(crate) conversation: ConversationId,
    pub(crate) person: PersonId,
    pub(crate) trace: TraceId,
    pub(crate) state: &'a AgentState,
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: &NewRun<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into runs (tenant_id, id, conversation_id, person_id, trace_id, workflow, status, node, state,
             version, kept, created_at, updated_at)
         values ($1, $2, $3, $4, $5, 'chat', 'queued', $6, $7, 0, 1, $8, $8)",
        tenant.0,
        run.id.0,
        run.conversation.0,
        run.person.0,
        run.trace.0,
        Node::Recall.as_str(),
        json(run.state)?,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn load(conn: &mut PgConnection, tenant: TenantId, id: RunId) -> sqlx::Result<Option<Run>> {
    let row = sqlx::query!(
        "select conversation_id, person_id, trace_id, status, node, state, version, kept
         from runs where tenant_id = $1 and id = $2",
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    row.map(|row| {
        Ok(Run {
            id,
            conversation: ConversationId(row.conversation_id),
            person: PersonId(row.person_id),
            trace: TraceId(row.trace_id),
            status: row.status,
            node: parsed(serde_json::Value::String(row.node))?,
            state: parsed(row.state)?,
            version: row.version,
            kept: usize::try_from(row.kept).unwrap_or_default(),
        })
    })
    .transpose()
}

/// Writes the state, guarded by its version; an outdated writer gets `RowNotFound` and rolls back.
pub(crate) async fn save(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: &Run,
    error: Option<&str>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let ended = matches!(run.status.as_str(), "done" | "failed");
    let written = sqlx::query!(
        "update runs set status = $4, node = $5, state = $6, version = version + 1, intent = $7,
             routed_via = $8, error = case when $4 = 'failed' then coalesce($9, error) end, updated_at = $10,
             finished_at = case when $11 then $10::timestamptz end, kept = $12
         where tenant_id = $1 and id = $2 and version = $3",
        tenant.0,
        run.id.0,
        run.version,
        run.status,
        run.node.as_str(),
        json(&run.state)?,
        run.state.intent.map(super::state::Intent::as_str),
        run.state.routed_via,
        error,
        now,
        ended,
        i32::try_from(run.kept).unwrap_or(i32::MAX)
    )
    .execute(conn)
    .await?;
    if written.rows_affected() == 1 { Ok(()) } else { Err(sqlx::Error::RowNotFound) }
}

pub(crate) async fn person_of(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
) -> sqlx::Result<Option<PersonId>> {
    let person =
        sqlx::query_scalar!("select person_id from runs where tenant_id = $1 and id = $2", tenant.0, run.0)
            .fetch_optional(conn)
            .await?;
    Ok(person.map(PersonId))
}

/// A message to keep: who said it, and who may read it.
pub(crate) struct NewMessage<'a> {
    pub(crate) id: MessageId,
    pub(crate) conversation: ConversationId,
    pub(crate) run: RunId,
    pub(crate) person: Option<PersonId>,
    pub(crate) message_ref: Option<&'a str>,
    pub(crate) turn: &'a Turn,
    pub(crate) audience: Audience,
    pub(crate) provenance: &'a Provenance,
}

pub(crate) async fn keep(
    conn: &mut PgConnection,
    tenant: TenantId,
    message: &NewMessage<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let role = match message.turn {
        Turn::System { .. } => "system",
        Turn::Human { .. } => "human",
        Turn::Ai { .. } => "ai",
        Turn::Tool { .. } => "tool",
    };
    let only_for = match message.audience {
        Audience::Person(person) => Some(person.0),
        Audience::Channel => None,
    };
    let outside: &[String] = match message.provenance {
        Provenance::Ours => &[],
        Provenance::Outside(sources) => sources,
    };
    sqlx::query!(
        "insert into messages (tenant_id, id, conversation_id, run_id, role, person_id, message_ref, turn,
             only_for, outside, at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        tenant.0,
        message.id.0,
        message.conversation.0,
        message.run.0,
        role,
        message.person.map(|p| p.0),
        message.message_ref,
        json(message.turn)?,
        only_for,
        outside,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What was said, with who said it.
pub(crate) struct Said {
    pub(crate) turn: Turn,
    pub(crate) speaker: Option<String>,
    pub(crate) outside: Vec<String>,
    pub(crate) audience: Audience,
}

/// The last `most` words of people and of Nod in a conversation before this run, as far as `reader` may
/// know them, oldest first. Tool traffic stays in the record.
pub(crate) async fn recent(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    before: RunId,
    reader: PersonId,
    most: i64,
) -> sqlx::Result<Vec<Said>> {
    let rows = sqlx::query!(
        r#"select m.turn, m.outside, m.only_for, p.full_name as "full_name?", p.name as "name?"
         from messages m left join people p on p.tenant_id = m.tenant_id and p.id = m.person_id
         where m.tenant_id = $1 and m.conversation_id = $2 and m.run_id <> $3 and m.role in ('human', 'ai')
           and (m.only_for is null or m.only_for = $4)
           and (m.role = 'human' or m.turn->>'text' <> '')
         order by m.seq desc limit $5"#,
        tenant.0,
        conversation.0,
        before.0,
        reader.0,
        most
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .rev()
        .map(|row| {
            let speaker = row.full_name.filter(|n| !n.is_empty()).or(row.name);
            let audience = row.only_for.map_or(Audience::Channel, |p| Audience::Person(PersonId(p)));
            Ok(Said { turn: parsed(row.turn)?, speaker, outside: row.outside, audience })
        })
        .collect()
}

/// Keeps what a run did.
pub(crate) async fn record(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    steps: &[StepRecord],
    audience: Audience,
) -> sqlx::Result<()> {
    let only_for = match audience {
        Audience::Person(person) => Some(person.0),
        Audience::Channel => None,
    };
    // One statement however many steps: they come as one JSON array.
    sqlx::query!(
        "insert into run_steps (tenant_id, run_id, invocation_id, kind, name, started_at, duration_us,
             prompt_tokens, completion_tokens, input, output, error, only_for)
         select $1, $2, s.invocation, s.kind, s.name, s.started_at, s.duration_us, s.prompt_tokens,
             s.completion_tokens, s.input, s.output, s.error, $4
         from jsonb_to_recordset($3) as s(invocation uuid, kind text, name text, started_at timestamptz,
             duration_us bigint, prompt_tokens integer, completion_tokens integer, input jsonb, output jsonb,
             error text)",
        tenant.0,
        run.0,
        json(&steps)?,
        only_for
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Runs of a person that wait for an account, or are on the way to: a run in the middle of a step may park
/// next. Whoever does not wait takes no notice.
pub(crate) async fn waiting_for_connection(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Vec<(RunId, ConversationId)>> {
    let rows = sqlx::query!(
        "select id, conversation_id from runs
         where tenant_id = $1 and person_id = $2 and status in ('queued', 'running', 'waiting')",
        tenant.0,
        person.0
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|r| (RunId(r.id), ConversationId(r.conversation_id))).collect())
}
