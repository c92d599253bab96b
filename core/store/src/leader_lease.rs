//! Leader leases (table `seats`) for work that only one replica can do at a time, such as keeping a connection that
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
        "insert into seats (tenant_id, name, holder, held_until)
         values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
         on conflict (tenant_id, name) do update set holder = excluded.holder, held_until = excluded.held_until
         where seats.holder = excluded.holder or seats.held_until < clock_timestamp()",
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
        "delete from seats where tenant_id = $1 and name = $2 and holder = $3",
        tenant.0,
        name,
        holder
    )
    .execute(conn)
    .await?;
    Ok(())
}
