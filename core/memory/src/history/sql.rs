//! Statements behind the history of a chat: names of users.

use std::collections::HashMap;

use sqlx::PgConnection;

use nod_contract::ids::TenantId;

/// Returns the names of users, by the platform's id; unknown users are left out.
pub async fn load_names(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    users: &[String],
) -> sqlx::Result<HashMap<String, String>> {
    let rows = sqlx::query!(
        r#"select i.user_ref, coalesce(nullif(p.full_name, ''), p.name) as "name!"
         from identities i join people p on p.tenant_id = i.tenant_id and p.id = i.person_id
         where i.tenant_id = $1 and i.platform = $2 and i.workspace = $3 and i.user_ref = any($4)"#,
        tenant.0,
        platform,
        workspace,
        users
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().filter(|row| !row.name.is_empty()).map(|row| (row.user_ref, row.name)).collect())
}
