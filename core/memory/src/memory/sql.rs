//! Rows of summaries and facts.

use serde::Deserialize;
use sqlx::PgConnection;
use uuid::Uuid;

use super::batch::BatchMessage;
use super::extraction::NewFact;
use super::{ConversationSummary, Fact, FactKind, FactWithSource};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ChannelId, ConversationId, FactId, MessageId, PersonId, RunId, TenantId, TraceId};

/// The most facts that are loaded for one prompt, newest first.
pub const MAX_FACTS: i64 = 60;
/// The most messages that are read at once.
pub(super) const MAX_MESSAGES: usize = 24;
/// The most facts and summaries that are shown or exported at once.
const MAX_LISTED: i64 = 500;

/// The memory for a prompt, as it is selected together with a run: the summary of the conversation, and the facts of an
/// owner that the reader can see, newest first.
#[derive(Debug, Deserialize)]
pub struct MemoryRows {
    summary: Option<SummaryRow>,
    facts: Option<Vec<FactRow>>,
}

#[derive(Debug, Deserialize)]
struct SummaryRow {
    text: String,
    covered_seq: i64,
    read_seq: i64,
    only_for: Option<Uuid>,
    untrusted_sources: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct FactRow {
    id: Uuid,
    owner: Uuid,
    person_id: Option<Uuid>,
    kind: String,
    name: String,
    value: String,
    message_id: Uuid,
    untrusted_sources: Vec<String>,
}

impl From<MemoryRows> for (ConversationSummary, Vec<Fact>) {
    fn from(rows: MemoryRows) -> Self {
        let summary = rows.summary.map(|row| ConversationSummary {
            text: row.text,
            covered_seq: row.covered_seq,
            read_seq: row.read_seq,
            only_for: row.only_for.map(PersonId),
            untrusted_sources: row.untrusted_sources,
        });
        let facts = rows.facts.unwrap_or_default().into_iter().map(|row| Fact {
            id: FactId(row.id),
            owner: row.owner,
            person: row.person_id.map(PersonId),
            kind: FactKind::from_name(&row.kind),
            name: row.name,
            value: row.value,
            message: MessageId(row.message_id),
            untrusted_sources: row.untrusted_sources,
        });
        (summary.unwrap_or_default(), facts.collect())
    }
}

/// Loads the conversation, person and trace of a run.
pub(super) async fn load_run(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
) -> sqlx::Result<Option<(ConversationId, PersonId, TraceId)>> {
    let row = sqlx::query!(
        "select conversation_id, person_id, trace_id from runs where tenant_id = $1 and id = $2",
        tenant.0,
        run.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|r| (ConversationId(r.conversation_id), PersonId(r.person_id), TraceId(r.trace_id))))
}

pub(super) async fn load_summary(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
) -> sqlx::Result<ConversationSummary> {
    let row = sqlx::query!(
        "select text, covered_seq, read_seq, only_for, untrusted_sources from summaries
         where tenant_id = $1 and conversation_id = $2",
        tenant.0,
        conversation.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map_or_else(ConversationSummary::default, |row| ConversationSummary {
        text: row.text,
        covered_seq: row.covered_seq,
        read_seq: row.read_seq,
        only_for: row.only_for.map(PersonId),
        untrusted_sources: row.untrusted_sources,
    }))
}

/// Loads messages of people and of Nod after those that the summary covers, oldest first: those that everyone there can
/// read and, if `alone` is set, those for that person too.
pub(super) async fn list_messages_after(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    covered: i64,
    alone: Option<PersonId>,
) -> sqlx::Result<Vec<BatchMessage>> {
    let rows = sqlx::query!(
        r#"select m.id, m.seq, m.person_id, m.turn->>'text' as "text!", m.only_for, m.untrusted_sources,
             p.full_name as "full_name?", p.name as "name?"
         from messages m left join people p on p.tenant_id = m.tenant_id and p.id = m.person_id
         where m.tenant_id = $1 and m.conversation_id = $2 and m.seq > $3 and m.role in ('human', 'ai')
           and m.turn->>'text' <> '' and (m.only_for is null or m.only_for = $4)
         order by m.seq limit $5"#,
        tenant.0,
        conversation.0,
        covered,
        alone.map(|p| p.0),
        i64::try_from(MAX_MESSAGES).unwrap_or(i64::MAX)
    )
    .fetch_all(conn)
    .await?;
    let heard = rows.into_iter().map(|row| BatchMessage {
        id: MessageId(row.id),
        seq: row.seq,
        person: row.person_id.map(PersonId),
        speaker: match row.person_id {
            Some(_) => row.full_name.filter(|n| !n.is_empty()).or(row.name).unwrap_or_default(),
            None => "Nod".to_owned(),
        },
        text: row.text,
        only_for: row.only_for.map(PersonId),
        untrusted_sources: row.untrusted_sources,
    });
    Ok(heard.collect())
}

/// Loads the facts of `owner` about itself and about these people, oldest first.
pub(super) async fn list_facts(
    conn: &mut PgConnection,
    tenant: TenantId,
    owner: Uuid,
    people: &[Uuid],
) -> sqlx::Result<Vec<Fact>> {
    let rows = sqlx::query!(
        "select id, person_id, kind, name, value, message_id, untrusted_sources from facts
         where tenant_id = $1 and owner = $2 and (person_id is null or person_id = any($3))
         order by recorded_at desc, id desc limit $4",
        tenant.0,
        owner,
        people,
        MAX_FACTS
    )
    .fetch_all(conn)
    .await?;
    let facts = rows.into_iter().rev().map(|row| Fact {
        id: FactId(row.id),
        owner,
        person: row.person_id.map(PersonId),
        kind: FactKind::from_name(&row.kind),
        name: row.name,
        value: row.value,
        message: MessageId(row.message_id),
        untrusted_sources: row.untrusted_sources,
    });
    Ok(facts.collect())
}

/// Replaces the summary that was `seen` by the next one; returns false if another one is stored by now.
pub(super) async fn update_summary(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    seen: &ConversationSummary,
    next: &ConversationSummary,
    now: Timestamp,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "insert into summaries (tenant_id, conversation_id, text, covered_seq, read_seq, untrusted_sources, updated_at)
         values ($1, $2, '', 0, 0, '{}', $3) on conflict do nothing",
        tenant.0,
        conversation.0,
        now
    )
    .execute(&mut *conn)
    .await?;
    let written = sqlx::query!(
        "update summaries set text = $5, covered_seq = $6, read_seq = $7, only_for = $8, untrusted_sources = $9, updated_at = $10
         where tenant_id = $1 and conversation_id = $2 and covered_seq = $3 and read_seq = $4",
        tenant.0,
        conversation.0,
        seen.covered_seq,
        seen.read_seq,
        next.text.replace('\0', "\u{FFFD}"),
        next.covered_seq,
        next.read_seq,
        next.only_for.map(|p| p.0),
        &next.untrusted_sources,
        now
    )
    .execute(conn)
    .await?;
    Ok(written.rows_affected() == 1)
}

/// Stores a fact and replaces one of the same name, whose id goes with it: a button that forgets it was not pressed for
/// what took its place.
pub(super) async fn upsert_fact(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: FactId,
    owner: Uuid,
    new: &NewFact,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into facts (tenant_id, id, owner, person_id, kind, name, value, message_id, untrusted_sources, recorded_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         on conflict (tenant_id, owner, coalesce(person_id, owner), kind, lower(name)) do update
         set id = excluded.id, value = excluded.value, message_id = excluded.message_id,
             untrusted_sources = excluded.untrusted_sources, recorded_at = excluded.recorded_at",
        tenant.0,
        id.0,
        owner,
        new.person.map(|p| p.0),
        new.kind.as_str(),
        new.name,
        new.value,
        new.message.0,
        &new.untrusted_sources,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the goal.
pub(super) async fn delete_goal(conn: &mut PgConnection, tenant: TenantId, owner: Uuid) -> sqlx::Result<()> {
    sqlx::query!("delete from facts where tenant_id = $1 and owner = $2 and kind = 'goal'", tenant.0, owner)
        .execute(conn)
        .await?;
    Ok(())
}

/// Returns where facts were stated: their conversations, and the channels of these.
pub(super) async fn list_source_conversations(
    conn: &mut PgConnection,
    tenant: TenantId,
    facts: &[Uuid],
) -> sqlx::Result<Vec<(Uuid, Uuid, i64)>> {
    let rows = sqlx::query!(
        "select c.id as conversation_id, c.channel_id, m.seq from facts f
         join messages m on m.tenant_id = f.tenant_id and m.id = f.message_id
         join conversations c on c.tenant_id = f.tenant_id and c.id = m.conversation_id
         where f.tenant_id = $1 and f.id = any($2)",
        tenant.0,
        facts
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|r| (r.conversation_id, r.channel_id, r.seq)).collect())
}

/// Returns the conversations of a channel.
pub(super) async fn list_conversations(
    conn: &mut PgConnection,
    tenant: TenantId,
    channel: ChannelId,
) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar!(
        "select id from conversations where tenant_id = $1 and channel_id = $2",
        tenant.0,
        channel.0
    )
    .fetch_all(conn)
    .await
}

/// Restarts conversations: none of their messages so far is brought into view again.
pub(super) async fn reset_conversations(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversations: &[Uuid],
    now: Timestamp,
) -> sqlx::Result<()> {
    // In a fixed order, the same for every caller.
    sqlx::query!(
        "insert into summaries (tenant_id, conversation_id, text, covered_seq, read_seq, untrusted_sources, updated_at)
         select m.tenant_id, m.conversation_id, '', max(m.seq), max(m.seq), '{}', $3 from messages m
         where m.tenant_id = $1 and m.conversation_id = any($2)
         group by m.tenant_id, m.conversation_id order by m.conversation_id
         on conflict (tenant_id, conversation_id) do update
         set text = '', covered_seq = excluded.covered_seq, read_seq = excluded.read_seq, only_for = null,
             untrusted_sources = '{}', updated_at = excluded.updated_at",
        tenant.0,
        conversations,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Clears the summaries of these channels that might contain something said at `seq`.
pub(super) async fn clear_summaries(
    conn: &mut PgConnection,
    tenant: TenantId,
    channels: &[Uuid],
    seq: i64,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update summaries s set text = '', only_for = null, untrusted_sources = '{}', updated_at = $4 from conversations c
         where s.tenant_id = $1 and c.tenant_id = $1 and c.id = s.conversation_id and c.channel_id = any($2)
           and s.covered_seq >= $3 and s.text <> ''",
        tenant.0,
        channels,
        seq,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes facts and returns those that existed.
pub(super) async fn delete_facts(
    conn: &mut PgConnection,
    tenant: TenantId,
    facts: &[Uuid],
) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar!(
        "delete from facts where tenant_id = $1 and id = any($2) returning id",
        tenant.0,
        facts
    )
    .fetch_all(conn)
    .await
}

/// Loads a channel's facts about itself, and all facts about a person, in the order in which they were stored.
pub(super) async fn list_facts_with_source(
    conn: &mut PgConnection,
    tenant: TenantId,
    channel: ChannelId,
    person: PersonId,
) -> sqlx::Result<Vec<FactWithSource>> {
    let rows = sqlx::query!(
        r#"select f.id, f.owner, f.person_id, f.kind, f.name, f.value, f.message_id, f.untrusted_sources, m.at, m.message_ref,
             p.name as "called?", p.full_name as "full_name?", ch.platform, ch.channel_ref, ch.is_dm, c.thread_ref
         from facts f
         join messages m on m.tenant_id = f.tenant_id and m.id = f.message_id
         join conversations c on c.tenant_id = f.tenant_id and c.id = m.conversation_id
         join channels ch on ch.tenant_id = f.tenant_id and ch.id = c.channel_id
         left join people p on p.tenant_id = f.tenant_id and p.id = m.person_id
         where f.tenant_id = $1 and ((f.owner = $2 and f.person_id is null) or f.person_id = $3)
         order by f.recorded_at, f.id limit $4"#,
        tenant.0,
        channel.0,
        person.0,
        MAX_LISTED
    )
    .fetch_all(conn)
    .await?;
    let sourced = rows.into_iter().map(|row| FactWithSource {
        fact: Fact {
            id: FactId(row.id),
            owner: row.owner,
            person: row.person_id.map(PersonId),
            kind: FactKind::from_name(&row.kind),
            name: row.name,
            value: row.value,
            message: MessageId(row.message_id),
            untrusted_sources: row.untrusted_sources,
        },
        speaker: row.full_name.filter(|n| !n.is_empty()).or(row.called).unwrap_or_default(),
        at: row.at,
        platform: row.platform,
        channel: row.channel_ref,
        is_dm: row.is_dm,
        thread: row.thread_ref.filter(|thread| !thread.is_empty()),
        message_ref: row.message_ref,
    });
    Ok(sourced.collect())
}

/// Loads the summaries of a channel's conversations that this reader can see, newest first.
pub(super) async fn list_summaries(
    conn: &mut PgConnection,
    tenant: TenantId,
    channel: ChannelId,
    reader: PersonId,
) -> sqlx::Result<Vec<(Timestamp, String)>> {
    let rows = sqlx::query!(
        "select s.updated_at, s.text from summaries s
         join conversations c on c.tenant_id = s.tenant_id and c.id = s.conversation_id
         where s.tenant_id = $1 and c.channel_id = $2 and s.text <> ''
           and (s.only_for is null or s.only_for = $3) and (c.private_with is null or c.private_with = $3)
         order by s.updated_at desc, s.conversation_id limit $4",
        tenant.0,
        channel.0,
        reader.0,
        MAX_LISTED
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.updated_at, row.text)).collect())
}
