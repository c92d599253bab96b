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

/// Returns when the tenant was stored: at its first start.
pub async fn load_created_at(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Timestamp> {
    sqlx::query_scalar!("select created_at from tenants where id = $1", tenant.0).fetch_one(conn).await
}
