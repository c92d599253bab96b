//! Organisations; an installation is one until it is given more.

use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;

/// Makes the tenant known.
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
