//! Statements that delete what a run read of other people's messages.

use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{RunId, TenantId};
use nod_store::steps;

/// Deletes what a run read of other people's messages: prompts, results, and what it recalled. If a failed run is tried
/// again, it begins anew with its message. Returns false if the run has not ended.
pub async fn purge_run(conn: &mut PgConnection, tenant: TenantId, run: RunId) -> sqlx::Result<bool> {
    let over = sqlx::query_scalar!(
        r#"with over as (
             update runs r set version = version + 1, node = 'recall',
                 state = state - 'unsaved_turns' || '{"pending": []}', first_turn = coalesce((
                     select max(m.turn_number) + 1 from messages m where m.tenant_id = r.tenant_id and m.run_id = r.id), 0)
             where tenant_id = $1 and id = $2 and status in ('done', 'failed', 'stopped')
             returning r.tenant_id, r.id, r.first_turn),
         unread as (
             delete from recalled_contexts c using over where c.tenant_id = over.tenant_id and c.run_id = over.id),
         renumbered as (
             update messages m set turn_number = over.first_turn
             from over join runs before on before.tenant_id = over.tenant_id and before.id = over.id
             where m.tenant_id = over.tenant_id and m.run_id = over.id and m.turn_number = before.first_turn)
         select count(*) as "over!" from over"#,
        tenant.0,
        run.0
    )
    .fetch_one(&mut *conn)
    .await?;
    if over == 0 {
        return Ok(false);
    }
    steps::forget(conn, tenant, run).await?;
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

/// Deletes what was recalled by runs that ended before then and cannot be tried again: 500 by key. Returns where the next batch
/// begins, if there is one.
pub async fn delete_recalled_contexts(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Timestamp,
    from: Uuid,
) -> sqlx::Result<Option<Uuid>> {
    let next = sqlx::query_scalar!(
        r#"with keys as materialized (
             select k.run_id, row_number() over (order by k.run_id) as place from (
                 select distinct run_id from recalled_contexts where tenant_id = $1 and run_id >= $3
                 order by run_id limit 501) k),
         gone as (
             delete from recalled_contexts c using keys, runs r
             where c.tenant_id = $1 and c.run_id = keys.run_id and keys.place <= 500
               and r.tenant_id = $1 and r.id = keys.run_id and r.status in ('done', 'stopped') and r.updated_at < $2
               and not exists (select 1 from step_records s where s.tenant_id = $1 and s.run_id = r.id))
         select run_id from keys where place = 501"#,
        tenant.0,
        before,
        from
    );
    next.fetch_optional(conn).await
}
