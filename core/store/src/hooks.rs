//! What happens in one ability and concerns another: it is told in the same commit.

use async_trait::async_trait;
use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::provider::Provider;

/// An account can be used no more.
#[derive(Debug, Clone, Copy)]
pub struct AccountEnded<'a> {
    pub tenant: TenantId,
    pub person: PersonId,
    pub provider: Provider,
    /// The account that takes its place.
    pub but: Option<&'a str>,
    /// Why, for the person.
    pub reason: &'a str,
}

/// Hears of it before the account is gone, in the transaction that ends it.
#[async_trait]
pub trait Hook: Send + Sync {
    async fn account_ended(
        &self,
        conn: &mut PgConnection,
        ended: AccountEnded<'_>,
        now: Timestamp,
    ) -> sqlx::Result<()>;
}
