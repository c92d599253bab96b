//! Hooks: an ability reacts to an event of another ability in the same commit.

use async_trait::async_trait;
use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::provider::Provider;

/// An account can no longer be used.
#[derive(Debug, Clone, Copy)]
pub struct AccountEnded<'a> {
    pub tenant: TenantId,
    pub person: PersonId,
    pub provider: Provider,
    /// The account that replaces it, if any.
    pub but: Option<&'a str>,
    /// The reason, as the person reads it.
    pub reason: &'a str,
}

/// Called before the account is removed, in the transaction that ends it.
#[async_trait]
pub trait Hook: Send + Sync {
    async fn account_ended(
        &self,
        conn: &mut PgConnection,
        ended: AccountEnded<'_>,
        now: Timestamp,
    ) -> sqlx::Result<()>;
}
