//! Does each kind of job.

use async_trait::async_trait;
use serde::Deserialize;

use crate::catch_up;
use crate::context::App;
use crate::home;
use nod_accounts::connection;
use nod_agent::forget;
use nod_agent::run;
use nod_memory::memory;
use nod_people::{delivery, pane, people};
use nod_requests::perform;
use nod_requests::{approval, question};
use nod_store::jobs::{Claim, Work, WorkError, Worker};

#[async_trait]
impl Worker for App {
    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match &Work::deserialize(&claim.work)? {
            Work::Advance { run, news } => Box::pin(run::advance(self, claim, *run, news.as_ref())).await,
            Work::Deliver { delivery } => delivery::deliver(self, claim, *delivery).await,
            Work::Perform { effect } => perform::perform(self, claim, *effect).await,
            Work::LookAgain { effect } => perform::look_again(self, claim, *effect).await,
            Work::ExpireApproval { approval } => approval::expire(self, claim, *approval).await,
            Work::RemindApproval { approval } => approval::remind(self, claim, *approval).await,
            Work::ExpireQuestion { question } => question::expire(self, claim, *question).await,
            Work::Tally { question } => question::vote::tally(self, claim, *question).await,
            Work::ExpireOffer { offer } => connection::expire(&self.accounts, claim, *offer).await,
            Work::GiveBack { revocation } => {
                connection::disconnect::give_back(&self.accounts, claim, *revocation).await
            }
            Work::WarnOfEnd { person, provider, conversation, ends_at } => {
                connection::ending::warn(self, claim, *person, *provider, *conversation, *ends_at).await
            }
            Work::DressPane { conversation, title } => {
                pane::show(self, claim, *conversation, title.as_deref()).await
            }
            Work::ShowHome { person, platform, workspace } => {
                home::show(self, claim, *person, platform, workspace).await
            }
            Work::Remember { run } => memory::remember(&self.memory, claim, *run).await,
            Work::ReadDirectory { platform, workspace } => {
                people::directory::read(self, claim, platform, workspace).await
            }
            Work::CatchUp { platform, workspace, since, left, from } => {
                let (left, from) = (left.as_deref(), from.clone());
                catch_up::catch_up(self, claim, platform, workspace, *since, left, from).await
            }
            Work::Forget { run } => forget::forget(self, claim, *run).await,
        }
    }
}
