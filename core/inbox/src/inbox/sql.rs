//! Rows of inbounds.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::{Json, Uuid};

use nod_contract::chat::{ChannelRef, Inbound};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, PersonId, QuestionId, TenantId};
use nod_contract::text::normalize_label;
use nod_people::conversations::FOLLOW_MENTIONS_ONLY;
pub(super) use nod_people::conversations::mark_overheard;

/// What is stored about a message before it is taken in.
pub(super) struct InboundLookup {
    /// It arrived before.
    pub(super) is_duplicate: bool,
    /// The conversation of its thread, if Nod follows it for the author.
    pub(super) followed_conversation: Option<ConversationId>,
    /// The author.
    pub(super) person: Option<PersonId>,
    /// In this channel only follow-ups that mention Nod are taken in.
    pub(super) mention_only: bool,
    /// The author's open question of a task, if the message replies to it or is one of its likely answers, where only one is.
    pub(super) question: Option<QuestionId>,
}

/// What of a message can be the answer to a question of a task.
#[derive(Default)]
pub(super) struct PossibleAnswer<'a> {
    /// The message that it replies to.
    pub(super) replied_to: Option<&'a str>,
    /// What it says, as [`normalize_label`] writes it, if that can be one of the likely answers.
    pub(super) label: Option<String>,
}

/// Reads what is known of a message and, if `stores` says when it arrived, stores it, in one statement. One that arrived before
/// stays as it is.
pub(super) async fn record_or_find(
    conn: &mut PgConnection,
    tenant: TenantId,
    inbound: &Inbound,
    place: &ChannelRef,
    answer: PossibleAnswer<'_>,
    stores: Option<Timestamp>,
) -> sqlx::Result<InboundLookup> {
    let known = sqlx::query!(
        r#"with stored as (
             insert into inbound (tenant_id, platform, key, kind, received_at)
             select $1, $2, $7, 'message', $11 where $11::timestamptz is not null
             on conflict do nothing returning 1)
         select case when $11 is null
                 then exists (select 1 from inbound where tenant_id = $1 and platform = $2 and key = $7)
                 else not exists (select 1 from stored) end as "seen!", (
                 select c.id from conversations c
                 join channels ch on ch.tenant_id = c.tenant_id and ch.id = c.channel_id
                 where ch.tenant_id = $1 and ch.platform = $2 and ch.workspace = $3 and ch.channel_ref = $4
                   and c.thread_ref = $5 and (c.private_with is null or c.private_with = (
                     select person_id from identities
                     where tenant_id = $1 and platform = $2 and workspace = $3 and user_ref = $6))
                   and (ch.dm_user_ref is null or ch.dm_user_ref = $6)) as followed, (
                 select person_id from identities
                 where tenant_id = $1 and platform = $2 and workspace = $3 and user_ref = $6) as person, (
                 select ch.follow_mode from channels ch
                 where ch.tenant_id = $1 and ch.platform = $2 and ch.workspace = $3
                   and ch.channel_ref = $4) as follow_mode, (
                 select q.id from questions q
                 join identities i on i.tenant_id = q.tenant_id and i.person_id = q.person_id
                 join deliveries d on d.tenant_id = q.tenant_id and d.id = q.delivery_id
                 where $8::text is not null and q.tenant_id = $1 and q.status = 'pending' and q.takes_words
                   and i.platform = $2 and i.workspace = $3 and i.user_ref = $6 and d.platform = $2
                   and d.posted_message->>'channel' = $4 and d.posted_message->>'message' = $8 limit 1) as replied_to, (
                 select jsonb_object_agg(q.id, jsonb_path_query_array(q.choices, '$[*].label')) from questions q
                 join identities i on i.tenant_id = q.tenant_id and i.person_id = q.person_id
                 join deliveries d on d.tenant_id = q.tenant_id and d.id = q.delivery_id
                 join conversations c on c.tenant_id = q.tenant_id and c.id = q.conversation_id
                 where $9 and q.tenant_id = $1 and q.status = 'pending' and q.takes_words
                   and i.platform = $2 and i.workspace = $3 and i.user_ref = $6 and d.platform = $2
                   and d.posted_message->>'channel' = $4 and ($10 or c.thread_ref = $5))
                   as "labels: Json<BTreeMap<Uuid, Vec<String>>>""#,
        tenant.0,
        inbound.platform,
        inbound.workspace,
        place.channel,
        place.thread.as_deref().unwrap_or_default(),
        inbound.author.user,
        inbound.dedup_key,
        answer.replied_to,
        answer.label.is_some(),
        place.thread.is_none(),
        stores
    )
    .fetch_one(conn)
    .await?;
    let has_label = |labels: &Vec<String>| {
        labels.iter().any(|label| answer.label.as_ref() == Some(&normalize_label(label)))
    };
    let labels = known.labels.map(|labels| labels.0).unwrap_or_default();
    let mut named = labels.iter().filter(|(_, labels)| has_label(labels)).map(|(question, _)| *question);
    let only_named = named.next().filter(|_| named.next().is_none());
    Ok(InboundLookup {
        is_duplicate: known.seen,
        followed_conversation: known.followed.map(ConversationId),
        person: known.person.map(PersonId),
        mention_only: known.follow_mode.as_deref() == Some(FOLLOW_MENTIONS_ONLY),
        question: known.replied_to.or(only_named).map(QuestionId),
    })
}

/// Stores an arrival; returns false if it arrived before.
pub(super) async fn insert_once(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    key: &str,
    kind: &str,
    raw: Option<&Value>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "insert into inbound (tenant_id, platform, key, kind, raw, received_at) values ($1, $2, $3, $4, $5, $6)
         on conflict do nothing",
        tenant.0,
        platform,
        key,
        kind,
        raw,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}
