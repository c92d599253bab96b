//! Does each kind of job.

use async_trait::async_trait;
use serde::Deserialize;

use crate::jobs::{Claim, Work, WorkError, Worker};
use crate::nod::Core;
use crate::{approval, connection, delivery, effect, people, question, run};

#[async_trait]
impl Worker for Core {
    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match &Work::deserialize(&claim.work)? {
            Work::Advance { run, news } => run::advance(self, claim, *run, news.as_ref()).await,
            Work::Deliver { delivery } => delivery::deliver(self, claim, *delivery).await,
            Work::Perform { effect } => effect::perform(self, claim, *effect).await,
            Work::ExpireApproval { approval } => approval::expire(self, claim, *approval).await,
            Work::ExpireQuestion { question } => question::expire(self, claim, *question).await,
            Work::ExpireOffer { offer } => connection::expire(self, claim, *offer).await,
            Work::ReadDirectory { platform, workspace } => {
                people::directory::read(self, claim, platform, workspace).await
            }
        }
    }
}
