//! Rows of outgoing messages.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::conversations::ConversationLocation;
use crate::work::PeopleJob;
use nod_contract::card::Card;
use nod_contract::chat::{ChannelRef, DeliveryTarget, OutgoingFile, PostedMessage, Shown};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, PersonId, RunId, TenantId};
use nod_store::jobs::Claim;
use nod_store::jobs::sql::{ClaimRow, Completion, from_json, to_json};

/// An outgoing message.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub id: DeliveryId,
    pub conversation: ConversationId,
    pub platform: String,
    pub target: Option<DeliveryTarget>,
    pub opens_thread: bool,
    pub card: Card,
    /// Sent with the message.
    pub file: Option<OutgoingFile>,
    pub version: i32,
    pub posted_version: Option<i32>,
    pub posted_message: Option<PostedMessage>,
    pub run: Option<RunId>,
    pub only_for: Option<PersonId>,
    /// It was streamed, so it might be posted under no key.
    pub was_streamed: bool,
    pub created_at: Timestamp,
}

pub struct NewDelivery<'a> {
    pub id: DeliveryId,
    pub conversation: ConversationId,
    pub run: Option<RunId>,
    pub platform: &'a str,
    pub target: Option<&'a DeliveryTarget>,
    pub opens_thread: bool,
    pub card: &'a Card,
    pub only_for: Option<PersonId>,
}

/// Stores a message and the job that posts it, in this lane; the lane is locked first, as everywhere.
pub(super) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    lane: Uuid,
    new: &NewDelivery<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into deliveries (tenant_id, id, conversation_id, run_id, platform, target, opens_thread, card,
             version, only_for, created_at)
         select $1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $10 from enqueue($1, $11, $12, $10, $10)",
        tenant.0,
        new.id.0,
        new.conversation.0,
        new.run.map(|r| r.0),
        new.platform,
        new.target.map(to_json).transpose()? as _,
        new.opens_thread,
        to_json(new.card)? as _,
        new.only_for.map(|p| p.0),
        now,
        lane,
        to_json(&PeopleJob::DeliverMessage { delivery: new.id })? as _
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A row of a message, with the location of its conversation.
struct DeliveryRow {
    id: Uuid,
    conversation_id: Uuid,
    run_id: Option<Uuid>,
    platform: String,
    target: Option<serde_json::Value>,
    opens_thread: bool,
    card: serde_json::Value,
    file: Option<serde_json::Value>,
    version: i32,
    posted_version: Option<i32>,
    posted_message: Option<serde_json::Value>,
    only_for: Option<Uuid>,
    stream_status: Option<String>,
    created_at: Timestamp,
    location: Json<ConversationLocation>,
    has_post_slot: bool,
    next_post_at: Option<Timestamp>,
}

impl DeliveryRow {
    fn into_parts(self) -> sqlx::Result<(Delivery, ConversationLocation)> {
        let delivery = Delivery {
            id: DeliveryId(self.id),
            conversation: ConversationId(self.conversation_id),
            platform: self.platform,
            target: self.target.map(from_json).transpose()?,
            opens_thread: self.opens_thread,
            card: from_json(self.card)?,
            file: self.file.map(from_json).transpose()?,
            version: self.version,
            posted_version: self.posted_version,
            posted_message: self.posted_message.map(from_json).transpose()?,
            run: self.run_id.map(RunId),
            only_for: self.only_for.map(PersonId),
            was_streamed: self.stream_status.is_some(),
            created_at: self.created_at,
        };
        Ok((delivery, self.location.0))
    }
}

/// Loads a message with the location of its conversation.
pub async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
) -> sqlx::Result<Option<(Delivery, ConversationLocation)>> {
    let row = sqlx::query_as!(
        DeliveryRow,
        r#"select d.id, d.conversation_id, d.run_id, d.platform, d.target, d.opens_thread, d.card, d.file, d.version,
             d.posted_version, d.posted_message, d.only_for, d.stream_status, d.created_at,
             to_jsonb(v) as "location!: Json<ConversationLocation>", false as "has_post_slot!",
             null::timestamptz as next_post_at
         from deliveries d
         join conversation_locations v on v.tenant_id = d.tenant_id and v.conversation = d.conversation_id
         where d.tenant_id = $1 and d.id = $2"#,
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    row.map(DeliveryRow::into_parts).transpose()
}

/// Whether a message can be posted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostSlot {
    /// Its lane's next post is reserved, or it needs none: it is posted already, ephemeral, or there is nothing to post.
    Now,
    /// When the rate limit allows the next post.
    At(Timestamp),
}

/// Loads a message for its job. If it is still to be posted, it also reserves the lane's next post under the rate limit,
/// which is so many seconds between two posts on each platform.
pub(super) async fn acquire_for_post(
    conn: &mut PgConnection,
    claim: &Claim,
    id: DeliveryId,
    intervals: BTreeMap<String, f64>,
    now: Timestamp,
) -> sqlx::Result<Option<(Delivery, ConversationLocation, PostSlot)>> {
    let (platforms, seconds): (Vec<String>, Vec<f64>) = intervals.into_iter().unzip();
    let row = sqlx::query_as!(
        DeliveryRow,
        r#"with slot as (
             insert into rate_limits (tenant_id, lane_id, next_post_at)
             select d.tenant_id, $3, $4::timestamptz + make_interval(secs => p.seconds)
             from deliveries d
             join unnest($5::text[], $6::float8[]) as p (platform, seconds) on p.platform = d.platform
             where d.tenant_id = $1 and d.id = $2 and d.posted_message is null
               and d.posted_version is distinct from d.version
               and coalesce(d.target->>'to', '') not in ('ephemeral', 'whisper') and d.card <> $7
             on conflict (tenant_id, lane_id) do update set next_post_at = excluded.next_post_at
                 where rate_limits.next_post_at <= $4
             returning next_post_at)
         select d.id, d.conversation_id, d.run_id, d.platform, d.target, d.opens_thread, d.card, d.file, d.version,
             d.posted_version, d.posted_message, d.only_for, d.stream_status, d.created_at,
             to_jsonb(v) as "location!: Json<ConversationLocation>",
             exists (select 1 from slot) as "has_post_slot!", (
                 select r.next_post_at from rate_limits r where r.tenant_id = $1 and r.lane_id = $3) as next_post_at
         from deliveries d
         join conversation_locations v on v.tenant_id = d.tenant_id and v.conversation = d.conversation_id
         where d.tenant_id = $1 and d.id = $2"#,
        claim.tenant.0,
        id.0,
        claim.lane,
        now,
        &platforms,
        &seconds,
        to_json(&Card::default())? as _
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    // The time of the post before: this statement does not see the row that it has just written.
    let (has_slot, next) = (row.has_post_slot, row.next_post_at.unwrap_or(now));
    let (delivery, venue) = row.into_parts()?;
    let needs_slot = delivery.posted_message.is_none()
        && delivery.posted_version != Some(delivery.version)
        && !delivery.card.is_empty()
        && !matches!(delivery.target, Some(DeliveryTarget::Ephemeral { .. }));
    let slot = if needs_slot && !has_slot { PostSlot::At(next) } else { PostSlot::Now };
    Ok(Some((delivery, venue, slot)))
}

/// Returns a message's card, which nobody else changes until the end of the transaction.
pub async fn lock_card(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
) -> sqlx::Result<Option<Card>> {
    let card = sqlx::query_scalar!(
        "select card from deliveries where tenant_id = $1 and id = $2 for update",
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    card.map(from_json).transpose()
}

/// Returns a delivery's target, its platform, and the location of its conversation, which determine its lane.
pub async fn load_target(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
) -> sqlx::Result<(Option<DeliveryTarget>, String, ConversationLocation)> {
    let row = sqlx::query!(
        r#"select d.target, d.platform, to_jsonb(v) as "location!: Json<ConversationLocation>"
         from deliveries d
         join conversation_locations v on v.tenant_id = d.tenant_id and v.conversation = d.conversation_id
         where d.tenant_id = $1 and d.id = $2"#,
        tenant.0,
        id.0
    )
    .fetch_one(conn)
    .await?;
    Ok((row.target.map(from_json).transpose()?, row.platform, row.location.0))
}

/// Replaces the card of a message and enqueues no job: the caller has one, or nothing that is seen changes.
pub async fn update_card(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
    card: &Card,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update deliveries set card = $3, version = version + 1 where tenant_id = $1 and id = $2",
        tenant.0,
        id.0,
        to_json(card)? as _
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Replaces the card of a message that is posted or still to be posted, and stores the job that shows it, in this lane. The
/// lane is locked before the row, as the deliver job does; the other order could deadlock.
pub(super) async fn update_and_enqueue(
    conn: &mut PgConnection,
    tenant: TenantId,
    lane: Uuid,
    id: DeliveryId,
    card: &Card,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "with enqueued as materialized (select enqueue($1, $4, $5, $6, $6))
         update deliveries set card = $3, version = version + 1 from enqueued where tenant_id = $1 and id = $2",
        tenant.0,
        id.0,
        to_json(card)? as _,
        lane,
        to_json(&PeopleJob::DeliverMessage { delivery: id })? as _,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Attaches a file to a message that is not posted yet.
pub async fn set_file(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
    file: &OutgoingFile,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update deliveries set file = $3 where tenant_id = $1 and id = $2",
        tenant.0,
        id.0,
        to_json(file)? as _
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Records that a message is posted, and ends the job that posted it, in one statement. A file sent with it now belongs to
/// the person, and no copy is kept.
pub(super) async fn record_post(
    conn: &mut PgConnection,
    claim: &Claim,
    id: DeliveryId,
    shown: &Shown,
    version: i32,
) -> sqlx::Result<()> {
    let completion = Completion::of_lane(claim, 0);
    let rows = sqlx::query_as!(
        ClaimRow,
        "with ended as materialized (select * from end_job($1, $3, $4, $5, $6, $7)),
         posted as (
             update deliveries set posted_message = $8, posted_version = $9, version_posted_at = $10, error = null,
                 file = null
             where tenant_id = $1 and id = $2 and exists (select 1 from ended))
         select tenant_id, lane_id, lease_id, id, payload, attempts, next_due_at from ended",
        claim.tenant.0,
        id.0,
        claim.lane,
        claim.lease,
        claim.job,
        completion.now,
        completion.lease_seconds(),
        to_json(&shown.at)? as _,
        version,
        shown.since
    )
    .fetch_all(conn)
    .await?;
    completion.finish(rows, |_| None)
}

/// Records that a message is posted while its job goes on.
pub async fn mark_posted(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
    shown: &Shown,
    version: i32,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update deliveries set posted_message = $3, posted_version = $4, version_posted_at = $5, error = null, file = null
         where tenant_id = $1 and id = $2",
        tenant.0,
        id.0,
        to_json(&shown.at)? as _,
        version,
        shown.since
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Records that the message is no longer posted: deleted up to this version, or without one, still to be posted.
pub(super) async fn mark_removed(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
    version: Option<i32>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update deliveries set posted_message = null, posted_version = $3, version_posted_at = null
         where tenant_id = $1 and id = $2",
        tenant.0,
        id.0,
        version
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn mark_rejected(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
    code: &str,
) -> sqlx::Result<()> {
    sqlx::query!("update deliveries set error = $3 where tenant_id = $1 and id = $2", tenant.0, id.0, code)
        .execute(conn)
        .await?;
    Ok(())
}

/// Returns whether a card says what became of acts, all of which are over.
pub(super) async fn is_receipt(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select coalesce(bool_or(e.id is not null) and bool_and(a.status <> 'pending'
                 and (e.id is null or e.status in ('done', 'failed', 'unknown'))), false) as "is!"
         from approvals a left join effects e on e.tenant_id = a.tenant_id and e.approval_id = a.id
         where a.tenant_id = $1 and a.delivery_id = $2"#,
        tenant.0,
        id.0
    )
    .fetch_one(conn)
    .await
}

pub(crate) async fn update_target(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
    target: &DeliveryTarget,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update deliveries set target = $3 where tenant_id = $1 and id = $2",
        tenant.0,
        id.0,
        to_json(target)? as _
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Reserves a lane's next post under the rate limit; returns `None` if reserved, else when the lane is free.
pub async fn acquire_post_slot(
    conn: &mut PgConnection,
    tenant: TenantId,
    lane: Uuid,
    pause: TimeDelta,
    now: Timestamp,
) -> sqlx::Result<Option<Timestamp>> {
    let taken = sqlx::query_scalar!(
        "insert into rate_limits (tenant_id, lane_id, next_post_at) values ($1, $2, $3)
         on conflict (tenant_id, lane_id) do update set next_post_at = excluded.next_post_at where rate_limits.next_post_at <= $4
         returning next_post_at",
        tenant.0,
        lane,
        now + pause,
        now
    )
    .fetch_optional(&mut *conn)
    .await?;
    if taken.is_some() {
        return Ok(None);
    }
    sqlx::query_scalar!(
        "select next_post_at from rate_limits where tenant_id = $1 and lane_id = $2",
        tenant.0,
        lane
    )
    .fetch_optional(conn)
    .await
}

/// Deletes rate limits that ended before then, unless somebody is about to post there: 500 by key. Returns where the next batch begins, if there is one.
pub async fn delete_ended_rate_limits(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Timestamp,
    from: Uuid,
) -> sqlx::Result<Option<Uuid>> {
    let next = sqlx::query_scalar!(
        r#"with keys as materialized (
             select k.lane_id, row_number() over (order by k.lane_id) as place from (
                 select lane_id from rate_limits where tenant_id = $1 and lane_id >= $3 order by lane_id limit 501) k),
         old as materialized (
             select l.lane_id from rate_limits l join keys on keys.lane_id = l.lane_id
             where l.tenant_id = $1 and keys.place <= 500 and l.next_post_at < $2 for update of l skip locked),
         gone as (delete from rate_limits l using old where l.tenant_id = $1 and l.lane_id = old.lane_id)
         select lane_id from keys where place = 501"#,
        tenant.0,
        before,
        from
    );
    next.fetch_optional(conn).await
}

/// Returns the current card, to be shown to one person on demand.
pub async fn load_card_for_reader(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
    reader: PersonId,
) -> sqlx::Result<Option<Card>> {
    let card = sqlx::query_scalar!(
        "select d.card from deliveries d where d.tenant_id = $1 and d.id = $2 and (d.only_for = $3 or exists (
             select 1 from approvals a where a.tenant_id = $1 and a.delivery_id = $2 and a.decider_id = $3)
             or d.only_for is null and exists (
             select 1 from runs r where r.tenant_id = $1 and r.id = d.run_id and r.person_id = $3))",
        tenant.0,
        id.0,
        reader.0
    )
    .fetch_optional(conn)
    .await?;
    // Shown on demand, possibly on another platform, where the reader has another id.
    Ok(card.map(from_json::<Card>).transpose()?.map(Card::without_mention))
}

/// Returns whether a message is posted somewhere else than there; false if it is not posted yet.
pub async fn is_posted_elsewhere(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
    platform: &str,
    place: &ChannelRef,
) -> sqlx::Result<bool> {
    let row = sqlx::query!(
        r#"select platform, posted_message as "posted: Json<PostedMessage>" from deliveries where tenant_id = $1 and id = $2"#,
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    let stands = row.and_then(|row| Some((row.platform, row.posted?.0)));
    Ok(stands.is_some_and(|(on, posted)| on != platform || !posted.is_in_channel(place)))
}

pub(crate) async fn find_person_id(
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
