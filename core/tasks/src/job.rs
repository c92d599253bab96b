//! The jobs of tasks.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, TenantId};
use nod_store::jobs::{Job, sql as jobs};

/// How long a step that failed waits for a decision.
pub(crate) const DECIDES_WITHIN: TimeDelta = TimeDelta::hours(72);

/// How long before that its person is reminded.
const REMINDS_BEFORE: TimeDelta = TimeDelta::hours(24);

/// The jobs of tasks. Both are in the lane of the message that asks for a decision.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum TaskJob {
    /// Goes on without a step that failed, if nobody has decided how.
    ExpireFailedStep { notice: DeliveryId },
    /// Reminds of a step that failed.
    RemindFailedStep { notice: DeliveryId },
}

impl Job for TaskJob {
    const KINDS: &'static [&'static str] = &["expire_failed_step", "remind_failed_step"];
}

/// Schedules what comes if nobody decides: a reminder, and that the task goes on without the step.
pub(crate) async fn enqueue(
    conn: &mut PgConnection,
    tenant: TenantId,
    notice: DeliveryId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let until = now + DECIDES_WITHIN;
    let reminder = TaskJob::RemindFailedStep { notice };
    jobs::enqueue(conn, tenant, notice.0, &reminder, until - REMINDS_BEFORE, now).await?;
    let expiry = TaskJob::ExpireFailedStep { notice };
    jobs::enqueue(conn, tenant, notice.0, &expiry, until, now).await
}
