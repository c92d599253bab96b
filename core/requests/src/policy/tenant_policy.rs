//! A tenant's own rules. They are applied after the installation's rules and override them, except what those forbid.
//! An admin sets them; an installation has one tenant so far.

use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::{PgConnection, PgPool};

use super::{ApproverList, Policy, Rule, sql};
use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;
use nod_people::named::Named;
use nod_store::{audit, store};

/// A tenant's rules as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantPolicy {
    /// The rules' text.
    pub text: String,
    /// SHA-256 of the text, in hex.
    pub digest: String,
    /// The admin who set them.
    pub set_by: String,
    /// When they were set.
    pub set_at: Timestamp,
}

/// Reads and writes a tenant's own rules, for the administrator.
#[derive(Debug, Clone)]
pub struct TenantPolicyStore {
    pool: PgPool,
    tenant: TenantId,
}

impl TenantPolicyStore {
    /// Creates it for a tenant in a database.
    #[must_use]
    pub fn new(pool: PgPool, tenant: TenantId) -> Self {
        Self { pool, tenant }
    }

    /// Returns the rules; `None` if only the installation's rules apply.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn load(&self) -> sqlx::Result<Option<TenantPolicy>> {
        sql::load_tenant_policy(&mut *self.pool.acquire().await?, self.tenant).await
    }

    /// Returns the rules in force, on top of the installation's.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn load_effective(&self, installation: &Policy) -> sqlx::Result<Policy> {
        sql::load_effective(&mut *self.pool.acquire().await?, self.tenant, installation).await
    }

    /// Replaces the rules with those in `text`; without rules, only the installation's apply. Pending requests keep the
    /// terms on which they were asked, but a `never` and a newly required co-approver apply to them too when they are
    /// approved.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn set(
        &self,
        text: &str,
        rules: &[Rule],
        by: &str,
        now: Timestamp,
    ) -> sqlx::Result<TenantPolicy> {
        let digest = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        let own = TenantPolicy { text: text.to_owned(), digest, set_by: by.to_owned(), set_at: now };
        let mut tx = store::begin(&self.pool).await?;
        let was = sql::load_tenant_policy(&mut tx, self.tenant).await?.map(|own| own.digest);
        if rules.is_empty() {
            sql::delete(&mut tx, self.tenant).await?;
        } else {
            sql::upsert(&mut tx, self.tenant, &own, rules).await?;
        }
        let detail = json!({ "by": by, "rules": rules.len(), "was": was });
        let digest = Some(own.digest.as_str());
        audit::insert_entry(
            &mut tx,
            self.tenant,
            None,
            "policy.updated",
            self.tenant.0,
            digest,
            &detail,
            now,
        )
        .await?;
        tx.commit().await?;
        Ok(own)
    }

    /// Returns the lists in the rules that have no known member. Calls that need one of them are refused.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn empty_lists(&self, policy: &Policy) -> sqlx::Result<Vec<String>> {
        let mut conn = self.pool.acquire().await?;
        let mut empty = Vec::new();
        for list in policy.lists() {
            if count_known_members(&mut conn, self.tenant, list).await? == 0 {
                empty.push(list.name.clone());
            }
        }
        Ok(empty)
    }
}

async fn count_known_members(
    conn: &mut PgConnection,
    tenant: TenantId,
    list: &ApproverList,
) -> sqlx::Result<i64> {
    let (addresses, users) = list.to_lookup_keys();
    sql::count_known_members(conn, tenant, &addresses, &users).await
}

impl ApproverList {
    /// Returns addresses in lower case, and users as `platform:id`.
    pub(crate) fn to_lookup_keys(&self) -> (Vec<String>, Vec<String>) {
        let (mut addresses, mut users) = (Vec::new(), Vec::new());
        for one in &self.people {
            match one {
                Named::Email(address) => addresses.push(address.to_lowercase()),
                Named::User { platform, user } => users.push(format!("{platform}:{user}")),
            }
        }
        (addresses, users)
    }
}
