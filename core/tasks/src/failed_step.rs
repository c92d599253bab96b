//! A step that failed: its person has it tried again or skips it. If nobody decides, the task ends with what there is.

use sqlx::PgConnection;

use crate::context::TaskContext;
use crate::notice::{self, sql};
use crate::{StepStatus, progress};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, PersonId, TenantId};
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::runs;
use nod_store::workflow::{self, WorkflowEvent};

/// How a task goes on after a step that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    TryAgain,
    Skip,
    /// Nobody decided: this step and those behind it are skipped.
    Expired,
}

/// What a decision came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decided {
    Accepted,
    /// Somebody decided before, or the task has ended.
    TooLate,
    NotOwner,
}

/// Takes a decision, once. `by` is nobody if none came in time.
pub(crate) async fn decide(
    conn: &mut PgConnection,
    tenant: TenantId,
    message: DeliveryId,
    (decision, by): (Decision, Option<PersonId>),
    now: Timestamp,
) -> sqlx::Result<Decided> {
    let Some(step) = sql::find_failed_step(conn, tenant, message).await? else { return Ok(Decided::TooLate) };
    if by.is_some_and(|by| by != step.person) {
        return Ok(Decided::NotOwner);
    }
    // In the same order as by a step that ends and by whoever stops the task. The row of the run is what all of them change.
    runs::lock(conn, tenant, step.run).await?;
    runs::lock(conn, tenant, step.task).await?;
    if !sql::lock_waiting(conn, tenant, step.task).await?
        || sql::find_failed_step(conn, tenant, message).await?.is_none()
    {
        return Ok(Decided::TooLate);
    }
    let (status, words) = match decision {
        Decision::TryAgain => (StepStatus::Running, "tried again"),
        Decision::Skip => (StepStatus::Skipped, "skipped"),
        Decision::Expired => (StepStatus::Skipped, "nobody decided, so the rest was skipped"),
    };
    match decision {
        Decision::TryAgain => {
            if !workflow::restart_step(conn, tenant, step.run, now).await? {
                return Ok(Decided::TooLate);
            }
        }
        Decision::Skip | Decision::Expired => {
            workflow::notify(conn, tenant, step.task, WorkflowEvent::RowsChanged, now).await?;
        }
    }
    notice::close(conn, tenant, (message, step.number), words, now).await?;
    sql::update_failed_step(conn, tenant, &step, (status, decision == Decision::Expired)).await?;
    progress::show(conn, tenant, step.task, now).await?;
    Ok(Decided::Accepted)
}

/// Decides for a person who did not.
pub(crate) async fn expire(core: &TaskContext, claim: &Claim, notice: DeliveryId) -> Result<(), WorkError> {
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    decide(&mut tx, claim.tenant, notice, (Decision::Expired, None), core.now()).await?;
    jobs::complete(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}
