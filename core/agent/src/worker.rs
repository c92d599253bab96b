//! Job handlers that advance runs and delete from their record what is not kept.

use std::sync::Arc;

use async_trait::async_trait;

use crate::context::Agent;
use crate::work::RecordJob;
use crate::{forget, rows, run};
use nod_store::jobs::{Claim, Job, JobHandler, Loaded, WorkError};
use nod_store::runs::RunJob;
use nod_store::workflow::WorkflowJob;
use sqlx::PgConnection;

/// Returns the handlers for the jobs of a turn.
pub fn handlers(agent: &Agent) -> [Arc<dyn JobHandler>; 3] {
    [Arc::new(Turns(agent.clone())), Arc::new(Workflows(agent.clone())), Arc::new(Records(agent.clone()))]
}

struct Turns(Agent);

#[async_trait]
impl JobHandler for Turns {
    fn kinds(&self) -> &'static [&'static str] {
        RunJob::KINDS
    }

    async fn load(&self, conn: &mut PgConnection, claim: &Claim) -> sqlx::Result<Option<Loaded>> {
        let Ok(RunJob::AdvanceRun { run, .. }) = claim.job() else { return Ok(None) };
        let loaded = rows::load(conn, claim.tenant, run).await?;
        Ok(loaded.map(|loaded| -> Loaded { Box::new(loaded) }))
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            RunJob::AdvanceRun { run, event } => {
                Box::pin(run::advance(&self.0, claim, run, event.as_ref())).await
            }
        }
    }
}

struct Workflows(Agent);

#[async_trait]
impl JobHandler for Workflows {
    fn kinds(&self) -> &'static [&'static str] {
        WorkflowJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            WorkflowJob::AdvanceWorkflow { run, event } => {
                Box::pin(run::advance_workflow(&self.0, claim, run, event.as_ref())).await
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
