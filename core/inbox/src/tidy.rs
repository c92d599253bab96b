//! Tidying up: rows that nobody needs any longer are deleted. Once a day one job goes through the tables by key, in small
//! batches, and rests when other work is due. Its payload says where the next batch begins, and is committed with each
//! batch, so a job that was killed goes on there.

mod sql;

use chrono::TimeDelta;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::context::App;
use crate::work::{Position, Table, TidyJob};
use nod_agent::forget::delete_recalled_contexts;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{TenantId, named_lane_id};
use nod_people::delivery::sql as delivery;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::tidy;

/// How long the rows of each table are kept, in the order in which they are tidied.
const PERIODS: [(Table, TimeDelta); 6] = [
    // A platform delivers again within a day, and a catch-up reads a week back at most.
    (Table::Inbound, TimeDelta::days(14)),
    // From the end of the run.
    (Table::StepRecords, TimeDelta::days(30)),
    (Table::OldRunSteps, TimeDelta::days(30)),
    // Recorded prompts name what was recalled.
    (Table::RecalledContexts, TimeDelta::days(30)),
    (Table::DeadJobs, TimeDelta::days(90)),
    // From the time at which the next message may be posted.
    (Table::RateLimits, TimeDelta::hours(1)),
];
/// How often the tables are tidied.
const INTERVAL: TimeDelta = TimeDelta::days(1);
/// How long it rests when other work is due.
const REST: TimeDelta = TimeDelta::seconds(30);

/// Enqueues the job, which stays in its lane from then on.
pub(crate) async fn schedule(core: &App) -> sqlx::Result<()> {
    let (tenant, now) = (core.tenant, core.now());
    let lane = named_lane_id(&["tidy"]);
    let mut tx = core.begin().await?;
    if jobs::is_lane_idle(&mut tx, tenant, lane).await? {
        let work = TidyJob::Tidy { position: Position::begin(Table::Inbound) };
        // Two replicas that start at once enqueue two; the first that ends leaves it to the other.
        jobs::enqueue(&mut tx, tenant, lane, &work, now + INTERVAL, now).await?;
    }
    tx.commit().await
}

/// Deletes batch after batch until all tables are tidied or other work is due.
pub(crate) async fn tidy(core: &App, claim: &Claim, mut position: Position) -> Result<(), WorkError> {
    loop {
        let now = core.now();
        let mut tx = core.begin().await?;
        jobs::assert_lease(&mut tx, claim).await?;
        let Some(next) = delete_batch(&mut tx, claim.tenant, &position, now).await? else {
            if !tidy::has_queued_jobs(&mut tx, claim.tenant, claim.lane).await? {
                let work = TidyJob::Tidy { position: Position::begin(Table::Inbound) };
                jobs::enqueue(&mut tx, claim.tenant, claim.lane, &work, now + INTERVAL, now).await?;
            }
            jobs::complete(&mut tx, claim).await?;
            return Ok(tx.commit().await?);
        };
        position = next;
        let work = TidyJob::Tidy { position: position.clone() };
        jobs::update_payload(&mut tx, claim, &work).await?;
        let rests = tidy::has_due_jobs(&mut tx, claim.tenant, now).await?;
        if rests {
            jobs::reschedule(&mut tx, claim, now + REST, None, false).await?;
        }
        tx.commit().await?;
        if rests {
            return Ok(());
        }
    }
}

/// Deletes a batch and returns where the next one begins, in this table or in the next one.
async fn delete_batch(
    conn: &mut PgConnection,
    tenant: TenantId,
    position: &Position,
    now: Timestamp,
) -> sqlx::Result<Option<Position>> {
    let Position { table, from } = position;
    let mut left = PERIODS.iter().skip_while(|(other, _)| other != table);
    let Some((_, period)) = left.next() else { return Ok(None) };
    let before = now - *period;
    let next = match table {
        Table::Inbound => {
            to_value(sql::delete_inbound(conn, tenant, before, &key::<(String, String)>(from)).await?)
        }
        Table::StepRecords => to_value(tidy::delete_steps(conn, tenant, before, key::<Uuid>(from)).await?),
        Table::OldRunSteps => {
            to_value(tidy::delete_old_steps(conn, tenant, before, key::<Uuid>(from)).await?)
        }
        Table::RecalledContexts => {
            to_value(delete_recalled_contexts(conn, tenant, before, key::<Uuid>(from)).await?)
        }
        Table::DeadJobs => to_value(tidy::delete_dead_jobs(conn, tenant, before, key::<i64>(from)).await?),
        Table::RateLimits => {
            to_value(delivery::delete_ended_rate_limits(conn, tenant, before, key::<Uuid>(from)).await?)
        }
    };
    Ok(match next {
        Value::Null => left.next().map(|(table, _)| Position::begin(*table)),
        from => Some(Position { table: *table, from }),
    })
}

/// Returns the key at which a batch begins: the least one at the beginning of a table.
fn key<K: Default + DeserializeOwned>(from: &Value) -> K {
    K::deserialize(from).unwrap_or_default()
}

fn to_value<K: Serialize>(next: Option<K>) -> Value {
    next.and_then(|key| serde_json::to_value(key).ok()).unwrap_or_default()
}
