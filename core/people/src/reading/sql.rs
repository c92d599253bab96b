//! Rows of documents that ended their reader.

use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;

/// Returns which limit the document exceeds, if it is known to end this reader.
pub(super) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    digest: &[u8],
    reader: &str,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "select why from unreadable where tenant_id = $1 and digest = $2 and reader = $3",
        tenant.0,
        digest,
        reader
    )
    .fetch_optional(conn)
    .await
}

pub(super) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    digest: &[u8],
    reader: &str,
    why: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into unreadable (tenant_id, digest, reader, why, at) values ($1, $2, $3, $4, $5)
         on conflict do nothing",
        tenant.0,
        digest,
        reader,
        why,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}
