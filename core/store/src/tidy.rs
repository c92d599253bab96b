//! Deletes rows that are older than they are kept, in batches by key, each in its caller's transaction. Each function looks at
//! the next 500 keys and returns where the next batch begins, if there is one. The order of keys needs no index of times, and
//! what is kept is all that is read.

use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;

/// Returns whether a job of the tenant could run now and does not.
pub async fn has_due_jobs(conn: &mut PgConnection, tenant: TenantId, now: Timestamp) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (
             select 1 from lanes where tenant_id = $1 and due_at <= $2 and lease_id is null) as "due!""#,
        tenant.0,
        now
    )
    .fetch_one(conn)
    .await
}

/// Returns whether a job waits behind the first one of a lane.
pub async fn has_queued_jobs(conn: &mut PgConnection, tenant: TenantId, lane: Uuid) -> sqlx::Result<bool> {
    let queued = sqlx::query_scalar!(
        r#"select exists (select 1 from lanes where tenant_id = $1 and id = $2 and queued > 0) as "queued!""#,
        tenant.0,
        lane
    );
    queued.fetch_one(conn).await
}

/// Deletes the records of runs that ended before then, unless an approval or an effect of theirs is still open.
pub async fn delete_steps(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Timestamp,
    from: Uuid,
) -> sqlx::Result<Option<Uuid>> {
    let next = sqlx::query_scalar!(
        r#"with keys as materialized (
             select k.run_id, row_number() over (order by k.run_id) as place from (
                 select distinct run_id from step_records where tenant_id = $1 and run_id >= $3
                 order by run_id limit 501) k),
         gone as (
             delete from step_records s using keys, runs r
             where s.tenant_id = $1 and s.run_id = keys.run_id and keys.place <= 500
               and r.tenant_id = $1 and r.id = keys.run_id and r.status in ('done', 'failed', 'stopped') and r.updated_at < $2
               and not exists (
                 select 1 from approvals a where a.tenant_id = $1 and a.run_id = r.id and a.status = 'pending')
               and not exists (
                 select 1 from effects e where e.tenant_id = $1 and e.run_id = r.id
                   and (e.status in ('planned', 'started') or e.updated_at >= $2)))
         select run_id from keys where place = 501"#,
        tenant.0,
        before,
        from
    );
    next.fetch_optional(conn).await
}

/// Deletes what is left of the records that earlier versions wrote a row a step.
pub async fn delete_old_steps(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Timestamp,
    from: Uuid,
) -> sqlx::Result<Option<Uuid>> {
    let next = sqlx::query_scalar!(
        r#"with keys as materialized (
             select k.run_id, row_number() over (order by k.run_id) as place from (
                 select distinct run_id from old_run_steps where tenant_id = $1 and run_id >= $3
                 order by run_id limit 501) k),
         gone as (
             delete from old_run_steps s using keys, runs r
             where s.tenant_id = $1 and s.run_id = keys.run_id and keys.place <= 500
               and r.tenant_id = $1 and r.id = keys.run_id and r.status in ('done', 'failed', 'stopped') and r.updated_at < $2
               and not exists (
                 select 1 from approvals a where a.tenant_id = $1 and a.run_id = r.id and a.status = 'pending')
               and not exists (
                 select 1 from effects e where e.tenant_id = $1 and e.run_id = r.id
                   and (e.status in ('planned', 'started') or e.updated_at >= $2)))
         select run_id from keys where place = 501"#,
        tenant.0,
        before,
        from
    );
    next.fetch_optional(conn).await
}

/// Deletes the jobs that were given up before then, unless the run that one was to advance still waits for it: then the row
/// says why.
pub async fn delete_dead_jobs(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Timestamp,
    from: i64,
) -> sqlx::Result<Option<i64>> {
    let next = sqlx::query_scalar!(
        r#"with keys as materialized (
             select k.id, row_number() over (order by k.id) as place from (
                 select id from dead_jobs where tenant_id = $1 and id >= $3 order by id limit 501) k),
         gone as (
             delete from dead_jobs d using keys
             where d.tenant_id = $1 and d.id = keys.id and keys.place <= 500 and d.dead_lettered_at < $2
               and not exists (
                 select 1 from runs r where r.tenant_id = $1 and r.id = (d.payload->>'run')::uuid
                   and r.lane_id = d.lane_id and r.status in ('queued', 'running', 'waiting')))
         select id from keys where place = 501"#,
        tenant.0,
        before,
        from
    );
    next.fetch_optional(conn).await
}
