//! Handles the jobs of connected accounts.

use async_trait::async_trait;

use crate::connection::{self, Accounts, disconnect, grant_expiry};
use crate::work::AccountJob;
use nod_store::jobs::{Claim, Job, JobHandler, WorkError};

#[async_trait]
impl JobHandler for Accounts {
    fn kinds(&self) -> &'static [&'static str] {
        AccountJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            AccountJob::ExpireConnectRequest { offer } => connection::expire(self, claim, offer).await,
            AccountJob::RevokeGrant { revocation } => disconnect::revoke_grant(self, claim, revocation).await,
            AccountJob::WarnGrantExpiry { person, provider, conversation, grant_expires_at: ends_at } => {
                grant_expiry::warn(self, claim, person, provider, conversation, ends_at).await
            }
        }
    }
}
