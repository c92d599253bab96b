//! The row of a tenant's own rules.

use sqlx::PgConnection;
use sqlx::types::Json;

use super::{Policy, Rule, TenantPolicy};
use nod_contract::ids::TenantId;

/// Loads the rules in force: the installation's, followed by the tenant's own.
pub async fn load_effective(
    conn: &mut PgConnection,
    tenant: TenantId,
    installation: &Policy,
) -> sqlx::Result<Policy> {
    let own = sqlx::query_scalar!(
        r#"select rules as "rules: Json<Vec<Rule>>" from policies where tenant_id = $1"#,
        tenant.0
    );
    Ok(installation.followed_by(own.fetch_optional(conn).await?.map(|rules| rules.0).unwrap_or_default()))
}

/// Loads the tenant's own rules as they were written.
pub async fn load_tenant_policy(
    conn: &mut PgConnection,
    tenant: TenantId,
) -> sqlx::Result<Option<TenantPolicy>> {
    let row =
        sqlx::query!("select text, digest, set_by, set_at from policies where tenant_id = $1", tenant.0)
            .fetch_optional(conn)
            .await?;
    Ok(row.map(|row| TenantPolicy {
        text: row.text,
        digest: row.digest,
        set_by: row.set_by,
        set_at: row.set_at,
    }))
}

/// Replaces the tenant's own rules.
pub(super) async fn upsert(
    conn: &mut PgConnection,
    tenant: TenantId,
    own: &TenantPolicy,
    rules: &[Rule],
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into policies (tenant_id, text, rules, digest, set_by, set_at) values ($1, $2, $3, $4, $5, $6)
         on conflict (tenant_id) do update set text = excluded.text, rules = excluded.rules,
             digest = excluded.digest, set_by = excluded.set_by, set_at = excluded.set_at",
        tenant.0,
        own.text,
        Json(rules) as _,
        own.digest,
        own.set_by,
        own.set_at
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the tenant's own rules, so that only the installation's apply.
pub(super) async fn delete(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!("delete from policies where tenant_id = $1", tenant.0).execute(conn).await?;
    Ok(())
}

/// Counts the people of a list who are known as members in some workspace.
pub(super) async fn count_known_members(
    conn: &mut PgConnection,
    tenant: TenantId,
    addresses: &[String],
    users: &[String],
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(distinct p.id) as "known!" from people p
         join identities i on i.tenant_id = p.tenant_id and i.person_id = p.id and i.membership = 'member'
         where p.tenant_id = $1 and (lower(p.email) = any($2) or i.platform || ':' || i.user_ref = any($3))"#,
        tenant.0,
        addresses,
        users
    )
    .fetch_one(conn)
    .await
}
