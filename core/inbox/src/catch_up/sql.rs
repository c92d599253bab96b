//! Rows of ingest watermarks, and of the channels and threads to read.

use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;

/// Lists the DM channels that Nod knows, because not every platform lists them.
pub(crate) async fn list_dm_channels(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "select channel_ref from channels where tenant_id = $1 and platform = $2 and workspace = $3 and is_dm",
        tenant.0,
        platform,
        workspace
    )
    .fetch_all(conn)
    .await
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
