//! Rows of what arrived.

use serde_json::Value;
use sqlx::PgConnection;

use crate::clock::Timestamp;
use crate::ids::TenantId;

/// Notes an arrival; false where the same came before.
pub(super) async fn first(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    key: &str,
    kind: &str,
    raw: Option<&Value>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "insert into inbound (tenant_id, platform, key, kind, raw, received_at) values ($1, $2, $3, $4, $5, $6)
         on conflict do nothing",
        tenant.0,
        platform,
        key,
        kind,
        raw,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}
