//! Rows of home pages and their content.

use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};

/// Lists at most ten pending approvals and the last three decided since then, of which the person is the owner or a
/// co-approver who was already asked.
pub(super) async fn list_approvals(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    since: Timestamp,
) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar!(
        r#"with theirs as (
             select * from approvals where tenant_id = $1 and decider_id = $2
                 and (status = 'pending' or decided_at >= $3)
             union
             select a.* from co_approvers s join approvals a on a.tenant_id = s.tenant_id and a.id = s.approval_id
             where s.tenant_id = $1 and s.person_id = $2 and s.delivery_id is not null
                 and (a.status = 'pending' or a.decided_at >= $3))
         (select id as "id!" from theirs where status = 'pending' order by created_at limit 10)
         union all
         (select id from theirs where status <> 'pending' order by decided_at desc limit 3)"#,
        tenant.0,
        person.0,
        since
    )
    .fetch_all(conn)
    .await
}

/// Returns whether Nod has posted in a channel there that is not a direct message.
pub(crate) async fn has_posted_in_channel(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (
             select from channels ch
             join conversations c on c.tenant_id = ch.tenant_id and c.channel_id = ch.id
             join deliveries d on d.tenant_id = c.tenant_id and d.conversation_id = c.id
             where ch.tenant_id = $1 and ch.platform = $2 and ch.workspace = $3 and not ch.is_dm
                 and c.private_with is null and d.target is null and d.posted_message is not null) as "any!""#,
        tenant.0,
        platform,
        workspace
    )
    .fetch_one(conn)
    .await
}
