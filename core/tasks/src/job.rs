//! The jobs of tasks.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, PersonId, TenantId};
use nod_store::jobs::{Job, sql as jobs};

/// How long before nobody's decision counts its person is reminded.
const REMINDS_BEFORE: TimeDelta = TimeDelta::hours(24);

/// The jobs of tasks. The first two are in the lane of the message that asks for a decision.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum TaskJob {
    /// Goes on without a step that failed, if nobody has decided how.
    ExpireFailedStep { notice: DeliveryId },
    /// Reminds of a step that failed.
    RemindFailedStep {
        notice: DeliveryId,
        /// When nobody's decision counts; 72 hours after the failure if it was planned by a Nod that had no setting.
        #[serde(default)]
        until: Option<Timestamp>,
    },
    /// Begins those of a person's queued tasks for which there is room.
    BeginQueued { person: PersonId },
}

impl Job for TaskJob {
    const KINDS: &'static [&'static str] = &["expire_failed_step", "remind_failed_step", "begin_queued"];
}

/// Schedules what comes if nobody decides within that time: a reminder, if it is longer than a day, and that the task goes on
/// without the step.
pub(crate) async fn enqueue(
    conn: &mut PgConnection,
    tenant: TenantId,
    (notice, within): (DeliveryId, TimeDelta),
    now: Timestamp,
) -> sqlx::Result<()> {
    let until = now + within;
    if within > REMINDS_BEFORE {
        let reminder = TaskJob::RemindFailedStep { notice, until: Some(until) };
        jobs::enqueue(conn, tenant, notice.0, &reminder, until - REMINDS_BEFORE, now).await?;
    }
    let expiry = TaskJob::ExpireFailedStep { notice };
    jobs::enqueue(conn, tenant, notice.0, &expiry, until, now).await
}
