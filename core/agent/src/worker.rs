//! Job handlers that advance runs and delete from their record what is not kept.

use std::sync::Arc;

use async_trait::async_trait;

use crate::context::Agent;
use crate::work::RecordJob;
use crate::{forget, run};
use nod_store::jobs::{Claim, Job, JobHandler, WorkError};
use nod_store::runs::RunJob;

/// Returns the handlers for the jobs of a turn.
pub fn handlers(agent: &Agent) -> [Arc<dyn JobHandler>; 2] {
    [Arc::new(Turns(agent.clone())), Arc::new(Records(agent.clone()))]
}

struct Turns(Agent);

#[async_trait]
impl JobHandler for Turns {
    fn kinds(&self) -> &'static [&'static str] {
        RunJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            RunJob::AdvanceRun { run, event } => {
                Box::pin(run::advance(&self.0, claim, run, event.as_ref())).await
            }
        }
    }
}

struct Records(Agent);

#[async_trait]
impl JobHandler for Records {
    fn kinds(&self) -> &'static [&'static str] {
        RecordJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            RecordJob::PurgeRunHistory { run } => forget::purge_run(&self.0, claim, run).await,
        }
    }
}
