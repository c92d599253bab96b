//! Handles the jobs of people and their messages.

use async_trait::async_trait;

use crate::context::Chat;
use crate::work::PeopleJob;
use crate::{assistant_thread, delivery, people};
use nod_store::jobs::{Claim, Job, JobHandler, Loaded, WorkError};
use sqlx::PgConnection;

#[async_trait]
impl JobHandler for Chat {
    fn kinds(&self) -> &'static [&'static str] {
        PeopleJob::KINDS
    }

    async fn load(&self, conn: &mut PgConnection, claim: &Claim) -> sqlx::Result<Option<Loaded>> {
        match claim.job() {
            Ok(PeopleJob::DeliverMessage { delivery }) => {
                delivery::load_for_post(self, conn, claim, delivery).await
            }
            _ => Ok(None),
        }
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            PeopleJob::DeliverMessage { delivery } => delivery::deliver(self, claim, delivery).await,
            PeopleJob::UpdateAssistantThread { conversation, title } => {
                assistant_thread::update(self, claim, conversation, title.as_deref()).await
            }
            PeopleJob::SyncDirectory { platform, workspace } => {
                people::directory::sync(self, claim, &platform, &workspace).await
            }
        }
    }
}
