//! The job that draws a task's card from its rows. It has a lane of its own, and one that has not begun draws for all changes
//! before it.

use async_trait::async_trait;
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{card, failed_step, sql};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, RunId, TenantId, named_lane_id};
use nod_people::context::Chat;
use nod_people::delivery;
use nod_store::hooks::{Hook, StepMoved};
use nod_store::jobs::{Claim, Job, JobHandler, WorkError, sql as jobs};

/// How long a step that failed waits for a decision.
const DECIDES_WITHIN: TimeDelta = TimeDelta::hours(72);

/// The jobs of tasks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum TaskJob {
    /// Draws the card of a task.
    ShowTask { task: RunId },
    /// Goes on without a step that failed, if nobody has decided how.
    ExpireFailedStep { notice: DeliveryId },
}

impl Job for TaskJob {
    const KINDS: &'static [&'static str] = &["show_task", "expire_failed_step"];
}

/// Has the card of a task drawn. Its lane is locked after all others.
pub(crate) async fn enqueue(
    conn: &mut PgConnection,
    tenant: TenantId,
    task: RunId,
    now: Timestamp,
) -> sqlx::Result<()> {
    jobs::enqueue_once(conn, tenant, lane(task), &TaskJob::ShowTask { task }, now).await
}

/// Has the task go on without a failed step, if nobody decides how in time.
pub(crate) async fn enqueue_expiry(
    conn: &mut PgConnection,
    tenant: TenantId,
    notice: DeliveryId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let work = TaskJob::ExpireFailedStep { notice };
    jobs::enqueue(conn, tenant, notice.0, &work, now + DECIDES_WITHIN, now).await
}

fn lane(task: RunId) -> Uuid {
    named_lane_id(&["card of a task", &task.to_string()])
}

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
