//! What the gate reads of several tables at once.

use sqlx::PgConnection;
use sqlx::types::Json;

use nod_contract::ids::{PersonId, TenantId};
use nod_contract::tool::account::SealedAccounts;
use nod_requests::policy::Rule;

/// Returns the tenant's own rules and the connected accounts of a person.
pub(super) async fn load_rules_and_accounts(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<(Vec<Rule>, SealedAccounts)> {
    let row = sqlx::query!(
        r#"select (select rules from policies where tenant_id = $1) as "rules: Json<Vec<Rule>>",
             (select coalesce(jsonb_agg(to_jsonb(c)), '[]') from connections c
              where c.tenant_id = $1 and c.person_id = $2) as "accounts!: Json<SealedAccounts>""#,
        tenant.0,
        person.0
    )
    .fetch_one(conn)
    .await?;
    Ok((row.rules.map(|rules| rules.0).unwrap_or_default(), row.accounts.0))
}
