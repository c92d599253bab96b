//! Runs the jobs of approvals, effects and questions.

use async_trait::async_trait;

use crate::context::Requests;
use crate::work::RequestJob;
use crate::{approval, effect, perform, question};
use nod_store::jobs::{Claim, Job, JobHandler, Loaded, WorkError};
use sqlx::PgConnection;

#[async_trait]
impl JobHandler for Requests {
    fn kinds(&self) -> &'static [&'static str] {
        RequestJob::KINDS
    }

    async fn load(&self, conn: &mut PgConnection, claim: &Claim) -> sqlx::Result<Option<Loaded>> {
        let Ok(RequestJob::PerformEffect { effect }) = claim.job() else { return Ok(None) };
        Ok(effect::sql::load(conn, claim.tenant, effect).await?.map(|effect| -> Loaded { Box::new(effect) }))
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            RequestJob::PerformEffect { effect } => perform::perform(self, claim, effect).await,
            RequestJob::RecheckEffect { effect } => {
                perform::look_up_unknown_outcome(self, claim, effect).await
            }
            RequestJob::ExpireApproval { approval } => approval::expire(self, claim, approval).await,
            RequestJob::RemindApproval { approval } => approval::remind(self, claim, approval).await,
            RequestJob::RemindQuestion { question } => question::remind::remind(self, claim, question).await,
            RequestJob::ExpireQuestion { question } => question::expire(self, claim, question).await,
            RequestJob::RefreshVote { question } => question::vote::update_cards(self, claim, question).await,
        }
    }
}
