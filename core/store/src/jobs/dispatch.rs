//! Claims lanes and runs their jobs in the handlers of their kinds, with heartbeats and a limit on concurrent jobs.

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

/// The longest wait before looking for jobs that other replicas left behind.
const POLL: Duration = Duration::from_secs(1);
/// How long to wait for a wake-up before asking the database when the next job is due.
const IDLE_PAUSE: Duration = Duration::from_millis(50);
/// How many jobs run at once; they spend most of their time waiting for models and providers.
const MAX_CONCURRENT_JOBS: usize = 256;
/// How many jobs one statement claims.
const CLAIM_BATCH_SIZE: usize = 16;
/// A job is dead-lettered after this many failures (about half an hour), so that the rest of its lane can go on.
const MAX_ATTEMPTS: i32 = 32;

/// Claims and dispatches jobs until it is stopped.
pub struct Dispatcher {
    pool: PgPool,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    jobs: JobNotifier,
    handlers: Handlers,
}

impl Dispatcher {
    /// Creates a dispatcher, which `jobs` wakes.
    pub fn new(
        pool: PgPool,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        jobs: JobNotifier,
        handlers: Handlers,
    ) -> Self {
        Self { pool, clock, ids, jobs, handlers }
    }

    /// Runs until `stop` is cancelled, then waits for the running jobs to end.
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
            // Only this loop takes permits, so there is one for every job claimed now.
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
                tracing::error!(%error, "could not claim a job");
                tokio::time::sleep(POLL).await;
                Vec::new()
            }
        }
    }

    /// Waits until woken, until the next job is due, or until the next poll.
    async fn wait_for_work(&self, stop: &CancellationToken) {
        // Under load the next wake-up comes soon, and the database need not be asked what is due next.
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
        // A lane that is due already was locked by another replica a moment ago, so there is no hurry.
        (due - self.clock.now()).to_std().map_or(Duration::from_millis(100), |d| d.min(POLL))
    }

    /// Runs a job with heartbeats. A lost lease abandons it; a failure or panic reschedules it.
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
                    tracing::warn!(job = claim.job, lane = %claim.lane, "lease lost");
                    return;
                },
            }
        };
        tracing::warn!(job = claim.job, lane = %claim.lane, attempt = claim.attempt, error = %failure, "job failed");
        self.reschedule(&claim, &failure).await;
    }

    /// Returns false only if the database says that the lease was lost; a heartbeat that fails does not prove that.
    async fn renew(&self, claim: &Claim) -> bool {
        let renewed = async { sql::renew(&mut *self.pool.acquire().await?, claim).await };
        renewed.await.unwrap_or(true)
    }

    async fn reschedule(&self, claim: &Claim, failure: &str) {
        let now = self.clock.now();
        let put_off = async {
            let mut tx = store::begin(&self.pool).await?;
            sql::assert_lease(&mut tx, claim).await?;
            // The job of a started effect is never given up: the effect needs its receipt, however long that takes.
            let may_end = claim.payload["work"] != "perform_effect";
            if claim.attempt >= MAX_ATTEMPTS && may_end {
                tracing::error!(job = claim.job, lane = %claim.lane, error = %failure, "job dead-lettered");
                sql::dead_letter(&mut tx, claim, failure, now).await?;
            } else {
                let wait = TimeDelta::seconds(1 << claim.attempt.clamp(0, 6));
                sql::reschedule(&mut tx, claim, now + wait, Some(failure), true).await?;
            }
            tx.commit().await
        };
        // If this fails too, the lease expires and the job is claimed again.
        if let Err(error) = put_off.await {
            tracing::warn!(job = claim.job, %error, "could not reschedule a failed job");
        }
    }
}
