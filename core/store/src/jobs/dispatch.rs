//! Claims lanes and hands their jobs to whoever does their kind, as many at once as it may, with heartbeats.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use sqlx::PgPool;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Claim, HEARTBEAT, Handlers, JobNotifier, sql};
use crate::store;
use nod_contract::clock::{Clock, Timestamp};
use nod_contract::ids::Ids;

/// How long until a look for what other replicas left behind.
const POLL: Duration = Duration::from_secs(1);
/// How long without work until the database is asked when there will be some.
const IDLE_PAUSE: Duration = Duration::from_millis(50);
/// How many jobs are done at once; most of their time is waiting for models and providers.
const MAX_CONCURRENT_JOBS: usize = 256;
/// How many are claimed by one statement.
const CLAIM_BATCH_SIZE: usize = 16;
/// After so many failures, half an hour of them, a job is given up: whatever stands behind it in its lane goes on.
const MAX_ATTEMPTS: i32 = 32;

/// Claims and dispatches until it is told to stop.
pub struct Dispatcher {
    pool: PgPool,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    jobs: JobNotifier,
    handlers: Handlers,
}

impl Dispatcher {
    /// Over a pool; `jobs` wakes it.
    pub fn new(
        pool: PgPool,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        jobs: JobNotifier,
        handlers: Handlers,
    ) -> Self {
        Self { pool, clock, ids, jobs, handlers }
    }

    /// Runs until `stop`, then lets the jobs under way end.
    pub async fn run(self, stop: CancellationToken) {
        let this = Arc::new(self);
        let room = Arc::new(Semaphore::new(MAX_CONCURRENT_JOBS));
        let mut under_way = JoinSet::new();
        loop {
            let permit = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                permit = room.clone().acquire_owned() => permit,
            };
            let Ok(permit) = permit else { break };
            // Only this loop takes permits, so there is room for whatever is claimed now.
            let most = (room.available_permits() + 1).min(CLAIM_BATCH_SIZE);
            drop(permit);
            let claims = this.claim(most).await;
            let all = claims.len() < most;
            for claim in claims {
                let Ok(permit) = room.clone().acquire_owned().await else { break };
                let this = this.clone();
                under_way.spawn(async move {
                    this.perform(claim).await;
                    drop(permit);
                    this.jobs.wake();
                });
            }
            if all {
                this.wait_for_work(&stop).await;
            }
            while under_way.try_join_next().is_some() {}
        }
        while under_way.join_next().await.is_some() {}
    }

    async fn claim(&self, most: usize) -> Vec<Claim> {
        let lease = self.ids.next();
        let claimed =
            async { sql::claim(&mut *self.pool.acquire().await?, most, lease, self.clock.now()).await };
        match claimed.await {
            Ok(claims) => claims,
            Err(error) => {
                tracing::error!(%error, "no job could be claimed");
                tokio::time::sleep(POLL).await;
                Vec::new()
            }
        }
    }

    /// Until woken, until the next job is due, or until it is time to look again.
    async fn wait_for_work(&self, stop: &CancellationToken) {
        // Under load the next wake is near, and nobody need ask the database what will be due.
        if tokio::time::timeout(IDLE_PAUSE, self.jobs.notified()).await.is_ok() {
            return;
        }
        let due = async { sql::next_due(&mut *self.pool.acquire().await?).await };
        let long = tokio::select! {
            () = self.jobs.notified() => return,
            due = due => due.ok().flatten().map_or(POLL, |due| self.until(due)),
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.jobs.notified() => {}
            () = tokio::time::sleep(long) => {}
        }
    }

    fn until(&self, due: Timestamp) -> Duration {
        // A lane that is due already was locked by another replica a moment ago: no hurry.
        (due - self.clock.now()).to_std().map_or(Duration::from_millis(100), |d| d.min(POLL))
    }

    /// Does a job under heartbeat. A lost lease abandons it; a failure or panic puts it off.
    async fn perform(&self, claim: Claim) {
        let handlers = self.handlers.clone();
        let job = claim.clone();
        let mut doing = JoinSet::new();
        doing.spawn(async move { handlers.work(&job).await });
        let failure = loop {
            tokio::select! {
                ended = doing.join_next() => match ended {
                    Some(Ok(Ok(()))) | None => return,
                    Some(Ok(Err(error))) => break error.to_string(),
                    Some(Err(panic)) => break format!("the job panicked: {panic}"),
                },
                () = tokio::time::sleep(HEARTBEAT) => if !self.renew(&claim).await {
                    tracing::warn!(job = claim.job, lane = %claim.lane, "the lease passed on");
                    return;
                },
            }
        };
        tracing::warn!(job = claim.job, lane = %claim.lane, attempt = claim.attempt, error = %failure, "a job failed");
        self.reschedule(&claim, &failure).await;
    }

    /// False only where the database says that the lease is another's; an unanswered heartbeat is not that.
    async fn renew(&self, claim: &Claim) -> bool {
        let renewed = async { sql::renew(&mut *self.pool.acquire().await?, claim).await };
        renewed.await.unwrap_or(true)
    }

    async fn reschedule(&self, claim: &Claim, failure: &str) {
        let now = self.clock.now();
        let put_off = async {
            let mut tx = store::begin(&self.pool).await?;
            sql::assert_lease(&mut tx, claim).await?;
            // An effect that was begun needs its receipt, however long that takes.
            let may_end = claim.payload["work"] != "perform";
            if claim.attempt >= MAX_ATTEMPTS && may_end {
                tracing::error!(job = claim.job, lane = %claim.lane, error = %failure, "a job was given up");
                sql::dead_letter(&mut tx, claim, failure, now).await?;
            } else {
                let wait = TimeDelta::seconds(1 << claim.attempt.clamp(0, 6));
                sql::reschedule(&mut tx, claim, now + wait, Some(failure), true).await?;
            }
            tx.commit().await
        };
        // If this fails too, the lease runs out and the job is found again.
        if let Err(error) = put_off.await {
            tracing::warn!(job = claim.job, %error, "a failed job could not be put off");
        }
    }
}
