//! Works on the jobs of tasks, and hears what happens to their steps.

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::context::TaskContext;
use crate::job::TaskJob;
use crate::{failed_step, notice, progress, queue, sql};
use nod_contract::clock::Timestamp;
use nod_store::hooks::{Hook, StepMoved, WorkflowStopped};
use nod_store::jobs::{Claim, Job, JobHandler, WorkError};

/// Shows that a step goes on or waits, and that a task was stopped.
pub(crate) struct ShowsSteps(pub(crate) TaskContext);

#[async_trait]
impl Hook for ShowsSteps {
    async fn step_moved(
        &self,
        conn: &mut PgConnection,
        moved: &StepMoved,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        if sql::update_moved(conn, moved).await? {
            progress::show(conn, moved.tenant, moved.run, now).await?;
        }
        Ok(())
    }

    async fn workflow_stopped(
        &self,
        conn: &mut PgConnection,
        WorkflowStopped { tenant, run, is_deleted }: WorkflowStopped,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        if sql::stop(conn, tenant, run, is_deleted, now).await? {
            progress::show(conn, tenant, run, now).await?;
            queue::enqueue_after(&self.0, conn, (tenant, run), now).await?;
        }
        Ok(())
    }
}

pub(crate) struct TaskJobs(pub(crate) TaskContext);

#[async_trait]
impl JobHandler for TaskJobs {
    fn kinds(&self) -> &'static [&'static str] {
        TaskJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            TaskJob::ExpireFailedStep { notice } => failed_step::expire(&self.0, claim, notice).await,
            TaskJob::BeginQueued { person } => queue::begin(&self.0, claim, person).await,
            TaskJob::RemindFailedStep { notice, until } => {
                notice::remind(&self.0, claim, (notice, until)).await
            }
        }
    }
}
