//! Seats: what only one replica may do at a time, such as keeping a connection that would bring everything twice.
//! Held for ten seconds by the database's clock, and taken anew before they are over.

use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::ids::TenantId;

/// How long a seat is held without being taken anew.
const LEASE_DURATION: Duration = Duration::from_secs(10);

/// Takes a seat that is free, run out or the holder's own; false where it is another's.
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

/// Leaves a seat, so that another need not wait.
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
