//! The message that asks how to go on with a step that failed: one reminder a day before nobody's answer counts, and its end.

pub(crate) mod sql;

use sqlx::PgConnection;

use crate::card;
use crate::context::{TaskContext, TaskLimits};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, TenantId};
use nod_people::delivery;
use nod_people::people::Person;
use nod_people::reminder::{self, Reminder};
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::runs;
use nod_when::when::local_time;

/// Reminds, unless somebody decided meanwhile. The message and the end of the job are one commit.
pub(crate) async fn remind(
    core: &TaskContext,
    claim: &Claim,
    (notice, until): (DeliveryId, Option<Timestamp>),
) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    if let Some(step) = sql::find_failed_step(&mut tx, tenant, notice).await? {
        // In the same order as by a decision and by a stop, which then find the reminder.
        runs::lock(&mut tx, tenant, step.run).await?;
        runs::lock(&mut tx, tenant, step.task).await?;
        let until = until.unwrap_or(step.failed_at + TaskLimits::default().answer_within);
        if until > now && sql::find_failed_step(&mut tx, tenant, notice).await?.is_some() {
            let reminder = Reminder {
                card: notice,
                conversation: step.conversation,
                run: step.task,
                person: step.person,
                go_to: "Go to the step",
            };
            let line = |person: &Person| {
                card::reminder(
                    step.number,
                    person.display_name(),
                    &local_time(until, &person.principal().zone),
                )
            };
            reminder::post(core, &mut tx, tenant, &reminder, line, now).await?;
        }
    }
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Says what became of the step, on its message and on the reminder of it.
pub(crate) async fn close(
    conn: &mut PgConnection,
    tenant: TenantId,
    (notice, number): (DeliveryId, i16),
    decision: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    delivery::update_card(conn, tenant, notice, &card::decided_step(number, decision), now).await?;
    reminder::close(conn, tenant, notice, "a step that did not work", now).await
}
