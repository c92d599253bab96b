//! Works on the jobs of tasks, and hears what happens to their steps.

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::job::{TaskJob, enqueue};
use crate::{card, failed_step, sql};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, RunId, TenantId};
use nod_people::context::Chat;
use nod_people::delivery;
use nod_store::hooks::{Hook, StepMoved};
use nod_store::jobs::{Claim, Job, JobHandler, WorkError, sql as jobs};

/// Shows that a step goes on or waits, and that a task was stopped.
pub(crate) struct ShowsSteps;

#[async_trait]
impl Hook for ShowsSteps {
    async fn step_moved(
        &self,
        conn: &mut PgConnection,
        moved: StepMoved,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        if sql::update_wait(conn, &moved).await? {
            enqueue(conn, moved.tenant, moved.run, now).await?;
        }
        Ok(())
    }

    async fn workflow_stopped(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
        run: RunId,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        if sql::stop(conn, tenant, run, now).await? {
            enqueue(conn, tenant, run, now).await?;
        }
        Ok(())
    }
}

pub(crate) struct Cards(pub(crate) Chat);

#[async_trait]
impl JobHandler for Cards {
    fn kinds(&self) -> &'static [&'static str] {
        TaskJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            TaskJob::ShowTask { task } => show(&self.0, claim, task).await,
            TaskJob::ExpireFailedStep { notice } => failed_step::expire(&self.0, claim, notice).await,
        }
    }
}

async fn show(core: &Chat, claim: &Claim, task: RunId) -> Result<(), WorkError> {
    // The lane of the message is locked before this job's own, in the same order as by a commit that changes the task; the
    // lease is asserted last.
    let mut tx = core.begin().await?;
    if let Some(shown) = sql::load_shown(&mut tx, claim.tenant, task).await? {
        let mut card = card::progress(task, &shown.task, &shown.owner, shown.phase);
        if shown.was_interrupted {
            card.body.push(card::interruption());
        }
        let delivery = DeliveryId(shown.task.card);
        delivery::update_card(&mut tx, claim.tenant, delivery, &card, core.now()).await?;
        if !shown.phase.is_open() {
            failed_step::close_notice(&mut tx, claim.tenant, task, &shown.task, core.now()).await?;
        }
    }
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    Ok(())
}
