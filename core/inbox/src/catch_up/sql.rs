//! Rows of ingest watermarks, and of the channels and threads to read.

use serde_json::{Value, json};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::order::ToRead;
use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;

/// A channel that Nod knows.
pub(super) struct KnownChannel {
    pub(super) channel: String,
    pub(super) is_dm: bool,
    /// Somebody addressed Nod in it.
    pub(super) has_conversations: bool,
    /// When the conversation of its last thread began. Threads are named in their order, so no other row is read.
    pub(super) last_thread_at: Option<Timestamp>,
}

/// Returns what Nod knows of the listed channels, and of all DM channels, because not every platform lists these.
pub(super) async fn list_known_channels(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    listed: &[String],
) -> sqlx::Result<Vec<KnownChannel>> {
    sqlx::query_as!(
        KnownChannel,
        r#"with known as (
             select found.id, found.channel_ref, found.is_dm from unnest($4::text[]) as listed (channel_ref)
             -- The limit keeps the planner at the key: it would read every channel for a short list.
             cross join lateral (
                 select c.id, c.channel_ref, c.is_dm from channels c
                 where c.tenant_id = $1 and c.platform = $2 and c.workspace = $3 and c.channel_ref = listed.channel_ref
                 limit 1) found
             union
             select id, channel_ref, is_dm from channels
             where tenant_id = $1 and platform = $2 and workspace = $3 and is_dm)
         select known.channel_ref as "channel!", known.is_dm as "is_dm!", exists (
                 select 1 from conversations c where c.tenant_id = $1 and c.channel_id = known.id) as "has_conversations!", (
                 select c.created_at from conversations c
                 where c.tenant_id = $1 and c.channel_id = known.id and c.thread_ref is not null
                 order by c.thread_ref desc limit 1) as last_thread_at
         from known"#,
        tenant.0,
        platform,
        workspace,
        listed
    )
    .fetch_all(conn)
    .await
}

/// A row of a channel that is still to be read.
pub(super) struct ChannelLeft {
    pub(super) place: i32,
    pub(super) channel_ref: String,
    pub(super) since: Timestamp,
    pub(super) threads: Json<Vec<String>>,
    pub(super) cursor: Option<String>,
}

/// Lists the next channels to read.
pub(super) async fn list_left(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    most: i64,
) -> sqlx::Result<Vec<ChannelLeft>> {
    sqlx::query_as!(
        ChannelLeft,
        r#"select place, channel_ref, since, threads as "threads: Json<Vec<String>>", cursor from catch_up_channels
         where tenant_id = $1 and platform = $2 and workspace = $3 order by place limit $4"#,
        tenant.0,
        platform,
        workspace,
        most
    )
    .fetch_all(conn)
    .await
}

/// Returns the time from which on a channel is still to be read.
pub(super) async fn load_earliest_left(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
) -> sqlx::Result<Option<Timestamp>> {
    sqlx::query_scalar!(
        "select min(since) from catch_up_channels where tenant_id = $1 and platform = $2 and workspace = $3",
        tenant.0,
        platform,
        workspace
    )
    .fetch_one(conn)
    .await
}

/// Stores the channels that are to be read, in their order, in the place of those that were left.
pub(super) async fn replace_left(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    since: Timestamp,
    channels: &[ToRead],
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from catch_up_channels where tenant_id = $1 and platform = $2 and workspace = $3",
        tenant.0,
        platform,
        workspace
    )
    .execute(&mut *conn)
    .await?;
    let (refs, threads): (Vec<String>, Vec<Value>) =
        channels.iter().map(|channel| (channel.channel.clone(), json!(channel.threads))).unzip();
    sqlx::query!(
        "insert into catch_up_channels (tenant_id, platform, workspace, place, channel_ref, since, threads)
         select $1, $2, $3, l.place - 1, l.channel_ref, $4, l.threads
         from unnest($5::text[], $6::jsonb[]) with ordinality as l (channel_ref, threads, place)",
        tenant.0,
        platform,
        workspace,
        since,
        &refs,
        &threads
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Stores where the next batch of a channel begins.
pub(super) async fn update_cursor(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    place: i32,
    cursor: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update catch_up_channels set cursor = $5
         where tenant_id = $1 and platform = $2 and workspace = $3 and place = $4",
        tenant.0,
        platform,
        workspace,
        place,
        cursor
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the row of a channel that was read.
pub(super) async fn delete_left(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    place: i32,
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from catch_up_channels
         where tenant_id = $1 and platform = $2 and workspace = $3 and place = $4",
        tenant.0,
        platform,
        workspace,
        place
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns the time up to which all messages of the workspace are known to have arrived.
pub(crate) async fn load_watermark(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
) -> sqlx::Result<Option<Timestamp>> {
    sqlx::query_scalar!(
        "select received_until from ingest_watermarks where tenant_id = $1 and platform = $2 and workspace = $3",
        tenant.0,
        platform,
        workspace
    )
    .fetch_optional(conn)
    .await
}

/// Advances the watermark to `now`. It never goes back, because another replica may have written a later time.
pub(crate) async fn advance_watermark(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into ingest_watermarks (tenant_id, platform, workspace, received_until) values ($1, $2, $3, $4)
         on conflict (tenant_id, platform, workspace)
         do update set received_until = greatest(ingest_watermarks.received_until, excluded.received_until)",
        tenant.0,
        platform,
        workspace,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Lists the threads of a channel in which a user addressed Nod since then, newest first.
pub(crate) async fn list_followed_threads(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    channel: &str,
    since: Timestamp,
    most: i64,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"select c.thread_ref as "thread!" from conversations c
         join channels ch on ch.tenant_id = c.tenant_id and ch.id = c.channel_id
         join runs r on r.tenant_id = c.tenant_id and r.conversation_id = c.id
         where c.tenant_id = $1 and ch.platform = $2 and ch.workspace = $3 and ch.channel_ref = $4
           and c.thread_ref <> '' and r.created_at >= $5
         group by c.thread_ref order by max(r.created_at) desc limit $6"#,
        tenant.0,
        platform,
        workspace,
        channel,
        since,
        most
    )
    .fetch_all(conn)
    .await
}
