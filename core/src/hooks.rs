//! What happens in one ability and concerns another: it is told in the same commit.

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::clock::Timestamp;
use crate::ids::{PersonId, TenantId};
use crate::provider::Provider;

/// An account can be used no more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AccountEnded<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) person: PersonId,
    pub(crate) provider: Provider,
    /// The account that takes its place.
    pub(crate) but: Option<&'a str>,
    /// Why, for the person.
    pub(crate) reason: &'a str,
}

/// Hears of it before the account is gone, in the transaction that ends it.
#[async_trait]
pub(crate) trait Hook: Send + Sync {
    async fn account_ended(
        &self,
        conn: &mut PgConnection,
        ended: AccountEnded<'_>,
        now: Timestamp,
    ) -> sqlx::Result<()>;
}
