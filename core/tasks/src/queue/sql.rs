//! Which tasks are queued.

use sqlx::PgConnection;

use nod_contract::ids::{PersonId, RunId, TenantId};

/// Returns the oldest queued tasks of a person, as many as can begin if this many are worked on at once.
pub(crate) async fn list_next_queued(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    most: i64,
) -> sqlx::Result<Vec<RunId>> {
    let queued = sqlx::query_scalar!(
        "select id from runs
         where tenant_id = $1 and person_id = $2 and workflow = 'task' and status = 'waiting' and node = 'queued'
         order by created_at, id limit greatest(0, $3 - (
             select count(*) from runs o where o.tenant_id = $1 and o.person_id = $2 and o.workflow = 'task'
                 and o.status in ('queued', 'running', 'waiting') and o.node <> 'queued'))",
        tenant.0,
        person.0,
        most
    )
    .fetch_all(conn)
    .await?;
    Ok(queued.into_iter().map(RunId).collect())
}

/// Returns whose task has ended, if others of theirs can be queued: some are open, or one is worked on at a time, so that the
/// only one to wait for can be the one that ends while another is being queued.
pub(crate) async fn find_person_with_queue(
    conn: &mut PgConnection,
    tenant: TenantId,
    ended: RunId,
    most: i64,
) -> sqlx::Result<Option<PersonId>> {
    let person = sqlx::query_scalar!(
        "select t.person_id from tasks t
         where t.tenant_id = $1 and t.id = $2 and ($3::bigint = 1 or exists (
             select 1 from runs o where o.tenant_id = t.tenant_id and o.person_id = t.person_id and o.workflow = 'task'
                 and o.status in ('queued', 'running', 'waiting')))",
        tenant.0,
        ended.0,
        most
    );
    Ok(person.fetch_optional(conn).await?.map(PersonId))
}
