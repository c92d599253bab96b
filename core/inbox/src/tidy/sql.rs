//! The tidying of this crate's rows.

use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;

/// Deletes what arrived before then: 500 rows by key. Returns where the next batch begins, if there is one.
pub(super) async fn delete_inbound(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Timestamp,
    from: &(String, String),
) -> sqlx::Result<Option<(String, String)>> {
    let next = sqlx::query!(
        r#"with keys as materialized (
             select k.platform, k.key, row_number() over (order by k.platform, k.key) as place from (
                 select platform, key from inbound where tenant_id = $1 and (platform, key) >= ($3, $4)
                 order by platform, key limit 501) k),
         gone as (
             delete from inbound i using keys
             where i.tenant_id = $1 and i.platform = keys.platform and i.key = keys.key and keys.place <= 500
               and i.received_at < $2)
         select platform, key from keys where place = 501"#,
        tenant.0,
        before,
        from.0,
        from.1
    );
    Ok(next.fetch_optional(conn).await?.map(|next| (next.platform, next.key)))
}
