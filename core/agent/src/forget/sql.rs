//! Statements that delete what a run read of other people's messages.

use sqlx::PgConnection;

use nod_contract::ids::{RunId, TenantId};
use nod_store::steps;

/// Deletes what a run read of other people's messages: prompts, results, and what the state holds of them.
/// Returns false if the run has not ended.
pub async fn purge_run(conn: &mut PgConnection, tenant: TenantId, run: RunId) -> sqlx::Result<bool> {
    let over = sqlx::query!(
        "update runs set version = version + 1, node = 'recall', persisted_turns = 1,
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
