//! Tenants (organisations). An installation has one until more are added.

use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;

/// Inserts the tenant, or updates its name.
pub async fn upsert(
    conn: &mut PgConnection,
    tenant: TenantId,
    name: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into tenants (id, name, created_at) values ($1, $2, $3)
         on conflict (id) do update set name = excluded.name where tenants.name <> excluded.name",
        tenant.0,
        name,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}
