//! The job of tasks.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, TenantId};
use nod_store::jobs::{Job, sql as jobs};

/// How long a step that failed waits for a decision.
const DECIDES_WITHIN: TimeDelta = TimeDelta::hours(72);

/// The job of tasks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum TaskJob {
    /// Goes on without a step that failed, if nobody has decided how.
    ExpireFailedStep { notice: DeliveryId },
}

impl Job for TaskJob {
    const KINDS: &'static [&'static str] = &["expire_failed_step"];
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
