//! Rows behind what was said: names, how far it was heard, threads that are followed, and what is forgotten.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::clock::Timestamp;
use crate::ids::{RunId, TenantId};

/// The names of users, by the platform's id; who is not known is left out.
pub(crate) async fn names(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    users: &[String],
) -> sqlx::Result<HashMap<String, String>> {
    let rows = sqlx::query!(
        r#"select i.user_ref, coalesce(nullif(p.full_name, ''), p.name) as "name!"
         from identities i join people p on p.tenant_id = i.tenant_id and p.id = i.person_id
         where i.tenant_id = $1 and i.platform = $2 and i.workspace = $3 and i.user_ref = any($4)"#,
        tenant.0,
        platform,
        workspace,
        users
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().filter(|row| !row.name.is_empty()).map(|row| (row.user_ref, row.name)).collect())
}

/// The direct lines in which somebody spoke with Nod: not every platform lists them.
pub(crate) async fn direct_lines(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "select channel_ref from channels where tenant_id = $1 and platform = $2 and workspace = $3 and direct",
        tenant.0,
        platform,
        workspace
    )
    .fetch_all(conn)
    .await
}

/// Up to when everything that was said there is known to have arrived.
pub(crate) async fn heard_until(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
) -> sqlx::Result<Option<Timestamp>> {
    sqlx::query_scalar!(
        "select heard_until from hearings where tenant_id = $1 and platform = $2 and workspace = $3",
        tenant.0,
        platform,
        workspace
    )
    .fetch_optional(conn)
    .await
}

/// It arrives now. Never goes back: another replica may have written later.
pub(crate) async fn hear(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into hearings (tenant_id, platform, workspace, heard_until) values ($1, $2, $3, $4)
         on conflict (tenant_id, platform, workspace)
         do update set heard_until = greatest(hearings.heard_until, excluded.heard_until)",
        tenant.0,
        platform,
        workspace,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The threads of a channel in which Nod was spoken to since then, newest first.
pub(crate) async fn threads(
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

/// What a run read of others' talk leaves its record: prompts, results, and what the state holds of them.
/// False where the run is not over.
pub(crate) async fn forget(conn: &mut PgConnection, tenant: TenantId, run: RunId) -> sqlx::Result<bool> {
    let over = sqlx::query!(
        "update runs set version = version + 1, node = 'recall', kept = 1,
             state = state || jsonb_build_object('context', null, 'history', '[]'::jsonb, 'pending', '[]'::jsonb,
                 'turns', jsonb_build_array(state->'turns'->0))
         where tenant_id = $1 and id = $2 and status in ('done', 'failed', 'stopped')",
        tenant.0,
        run.0
    )
    .execute(&mut *conn)
    .await?;
    if over.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query!(
        "update run_steps set input = null, output = null where tenant_id = $1 and run_id = $2",
        tenant.0,
        run.0
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        r#"update messages set turn = jsonb_set(turn, '{content}', '"(no longer kept)"')
         where tenant_id = $1 and run_id = $2 and role = 'tool'"#,
        tenant.0,
        run.0
    )
    .execute(conn)
    .await?;
    Ok(true)
}
