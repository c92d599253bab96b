//! Leader leases (table `leader_leases`) for work that only one replica can do at a time, such as keeping a connection that
//! would deliver everything twice. A lease lasts ten seconds by the database's clock and is renewed before it expires.

use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::ids::TenantId;

/// How long a lease lasts if it is not renewed.
const LEASE_DURATION: Duration = Duration::from_secs(10);

/// Acquires a lease that is free, expired or already the holder's own; returns false if another holder has it.
pub async fn acquire(
    conn: &mut PgConnection,
    tenant: TenantId,
    name: &str,
    holder: Uuid,
) -> sqlx::Result<bool> {
    let taken = sqlx::query!(
        "insert into leader_leases (tenant_id, name, holder, expires_at)
         values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
         on conflict (tenant_id, name) do update set holder = excluded.holder, expires_at = excluded.expires_at
         where leader_leases.holder = excluded.holder or leader_leases.expires_at < clock_timestamp()",
        tenant.0,
        name,
        holder,
        LEASE_DURATION.as_secs_f64()
    )
    .execute(conn)
    .await?;
    Ok(taken.rows_affected() == 1)
}

/// Releases a lease, so that another replica need not wait until it expires.
pub async fn release(
    conn: &mut PgConnection,
    tenant: TenantId,
    name: &str,
    holder: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from leader_leases where tenant_id = $1 and name = $2 and holder = $3",
        tenant.0,
        name,
        holder
    )
    .execute(conn)
    .await?;
    Ok(())
}
