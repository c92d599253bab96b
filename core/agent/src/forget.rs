//! Deletes what a run read of other people's messages once its retention time is over.

mod sql;

pub use sql::delete_recalled_contexts;

use chrono::TimeDelta;
use sqlx::PgConnection;

use crate::context::Agent;
use crate::work::RecordJob;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{RunId, TenantId, named_lane_id};
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// Schedules the deletion for the end of the retention time.
pub(crate) async fn schedule_purge(
    core: &Agent,
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let then = now + core.keeps_talk_for;
    // Not the run's own lane, in which it would stand before a step that is tried again.
    let lane = named_lane_id(&["purge", &run.to_string()]);
    jobs::enqueue(conn, tenant, lane, &RecordJob::PurgeRunHistory { run }, then, now).await
}

/// Deletes it from the run's record, or tries again in a day if the run has not ended yet.
pub async fn purge_run(core: &Agent, claim: &Claim, run: RunId) -> Result<(), WorkError> {
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    if sql::purge_run(&mut tx, claim.tenant, run).await? {
        jobs::complete(&mut tx, claim).await?;
    } else {
        jobs::reschedule(&mut tx, claim, core.now() + TimeDelta::days(1), None, false).await?;
    }
    Ok(tx.commit().await?)
}
