//! The jobs of tasks. The one that draws a card from its rows has a lane of its own, and one that has not begun draws for all
//! changes before it.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, RunId, TenantId, named_lane_id};
use nod_store::jobs::{Job, sql as jobs};

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
