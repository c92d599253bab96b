//! Rows of the home pages that are open.

use sqlx::PgConnection;

use super::Home;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};

pub async fn record_opened(
    conn: &mut PgConnection,
    tenant: TenantId,
    home: &Home,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into homes (tenant_id, person_id, platform, workspace, user_ref, opened_at)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (tenant_id, person_id, platform, workspace)
             do update set opened_at = excluded.opened_at, user_ref = excluded.user_ref",
        tenant.0,
        home.person.0,
        home.platform,
        home.workspace,
        home.user,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns the person's pages that were opened since then.
pub async fn list_recently_opened(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    since: Timestamp,
) -> sqlx::Result<Vec<Home>> {
    let rows = sqlx::query!(
        "select platform, workspace, user_ref from homes
         where tenant_id = $1 and person_id = $2 and opened_at >= $3",
        tenant.0,
        person.0,
        since
    )
    .fetch_all(conn)
    .await?;
    let home = |platform, workspace, user| Home { person, platform, workspace, user };
    Ok(rows.into_iter().map(|row| home(row.platform, row.workspace, row.user_ref)).collect())
}
