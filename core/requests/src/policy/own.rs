//! A tenant's own rules: laid after those of the installation, so that they outweigh them, but for what those never
//! allow. An admin sets them; one installation is one tenant until it is given more.

use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::{PgConnection, PgPool};

use super::{Approvers, Policy, Rule, sql};
use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;
use nod_people::named::Named;
use nod_store::{audit, store};

/// Rules as somebody wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// Their text.
    pub text: String,
    /// SHA-256 of the text, in hex.
    pub digest: String,
    /// Who set them.
    pub set_by: String,
    /// When.
    pub set_at: Timestamp,
}

/// A tenant's own rules, for whoever administers them.
#[derive(Debug, Clone)]
pub struct OwnRules {
    pool: PgPool,
    tenant: TenantId,
}

impl OwnRules {
    /// In that database.
    #[must_use]
    pub fn new(pool: PgPool, tenant: TenantId) -> Self {
        Self { pool, tenant }
    }

    /// As they are; `None` where the installation's hold alone.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn read(&self) -> sqlx::Result<Option<Own>> {
        sql::own(&mut *self.pool.acquire().await?, self.tenant).await
    }

    /// What holds, with these of the installation.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn in_force(&self, installation: &Policy) -> sqlx::Result<Policy> {
        sql::in_force(&mut *self.pool.acquire().await?, self.tenant, installation).await
    }

    /// Puts these in their place, as `text` says them; with no rules, those of the installation hold alone. Requests
    /// that wait keep the terms on which they were asked; but a *never*, and a second person who is wanted now, hold at
    /// the press for them too.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn set(&self, text: &str, rules: &[Rule], by: &str, now: Timestamp) -> sqlx::Result<Own> {
        let digest = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        let own = Own { text: text.to_owned(), digest, set_by: by.to_owned(), set_at: now };
        let mut tx = store::begin(&self.pool).await?;
        let was = sql::own(&mut tx, self.tenant).await?.map(|own| own.digest);
        if rules.is_empty() {
            sql::clear(&mut tx, self.tenant).await?;
        } else {
            sql::set(&mut tx, self.tenant, &own, rules).await?;
        }
        let detail = json!({ "by": by, "rules": rules.len(), "was": was });
        let digest = Some(own.digest.as_str());
        audit::insert_entry(&mut tx, self.tenant, None, "policy.set", self.tenant.0, digest, &detail, now)
            .await?;
        tx.commit().await?;
        Ok(own)
    }

    /// The lists that rules name and on which nobody is known as a member: what needs one of them is refused.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn empty_lists(&self, policy: &Policy) -> sqlx::Result<Vec<String>> {
        let mut conn = self.pool.acquire().await?;
        let mut empty = Vec::new();
        for list in policy.lists() {
            if known(&mut conn, self.tenant, list).await? == 0 {
                empty.push(list.name.clone());
            }
        }
        Ok(empty)
    }
}

async fn known(conn: &mut PgConnection, tenant: TenantId, list: &Approvers) -> sqlx::Result<i64> {
    let (addresses, users) = list.as_looked_up();
    sql::known(conn, tenant, &addresses, &users).await
}

impl Approvers {
    /// Addresses in small letters, and users as `platform:id`.
    pub(crate) fn as_looked_up(&self) -> (Vec<String>, Vec<String>) {
        let (mut addresses, mut users) = (Vec::new(), Vec::new());
        for one in &self.people {
            match one {
                Named::Address(address) => addresses.push(address.to_lowercase()),
                Named::User { platform, user } => users.push(format!("{platform}:{user}")),
            }
        }
        (addresses, users)
    }
}
