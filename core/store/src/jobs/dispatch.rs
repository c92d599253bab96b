//! Claims lanes and runs their jobs in the handlers of their kinds, with heartbeats and a limit on concurrent jobs.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use sqlx::PgPool;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Claim, Claimed, HEARTBEAT, Handlers, JobNotifier, sql};
use crate::store;
use nod_contract::clock::Timestamp;

/// The longest wait before looking for jobs that other replicas left behind.
const POLL: Duration = Duration::from_millis(2_500);
/// How long to leave alone what is due already: another replica locked it a moment ago.
const BUSY_PAUSE: Duration = Duration::from_millis(100);
/// How long a job without a lease has to end by itself.
const ENDS_WITHIN: Duration = Duration::from_secs(1);
/// How many jobs run at once; they spend most of their time waiting for models and providers.
const MAX_CONCURRENT_JOBS: usize = 256;
/// How many jobs one statement claims.
const CLAIM_BATCH_SIZE: usize = 16;
/// A job is dead-lettered after this many failures (about half an hour), so that the rest of its lane can go on.
const MAX_ATTEMPTS: i32 = 32;

/// Begins jobs that were claimed for it, and claims what nobody has, until it is stopped.
pub struct Dispatcher {
    pool: PgPool,
    jobs: JobNotifier,
    handlers: Handlers,
}

impl Dispatcher {
    /// Creates a dispatcher of the jobs that `jobs` hands over.
    pub fn new(pool: PgPool, jobs: JobNotifier, handlers: Handlers) -> Self {
        jobs.set_handlers(&handlers);
        Self { pool, jobs, handlers }
    }

    /// Runs until `stop` is cancelled, then waits for the running jobs to end.
    pub async fn run(self, stop: CancellationToken) {
        let this = Arc::new(self);
        let (mut running, mut claiming) = (JoinSet::new(), JoinSet::new());
        this.jobs.open(MAX_CONCURRENT_JOBS);
        let (mut claim, mut expects_due, mut look_at) = (true, false, Instant::now());
        // The earliest time that was signalled since the last claim began.
        let mut signalled = None;
        while !stop.is_cancelled() {
            let signals = this.jobs.take();
            this.start(&mut running, signals.begun);
            claim |= signals.claim;
            if let Some(due) = signals.next_due {
                let wait = this.until(due);
                let at = Instant::now() + wait;
                signalled = Some(signalled.map_or(at, |earlier: Instant| earlier.min(at)));
                look_at = look_at.min(at);
                expects_due |= wait < POLL;
            }
            // In a task of its own: what was claimed by a commit begins meanwhile.
            if claiming.is_empty() && (claim || look_at <= Instant::now()) {
                // A poll most often finds nothing, so it loads nothing.
                let finds_some = claim || expects_due;
                (claim, expects_due, signalled) = (false, false, None);
                let this = this.clone();
                claiming.spawn(async move { this.claim(finds_some).await });
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = this.jobs.notified() => {}
                () = tokio::time::sleep_until(look_at), if claiming.is_empty() => {}
                Some(Ok(claimed)) = claiming.join_next() => {
                    claim |= claimed.may_have_more;
                    let wait = claimed.next_due.map_or(POLL, |due| this.until(due));
                    look_at = Instant::now() + wait;
                    expects_due |= wait < POLL;
                    look_at = signalled.map_or(look_at, |at| look_at.min(at));
                    this.start(&mut running, claimed.into_begun());
                }
            }
            while running.try_join_next().is_some() {}
        }
        this.jobs.close();
        // What was claimed before the stop still begins, because its lease is held.
        while let Some(Ok(claimed)) = claiming.join_next().await {
            this.start(&mut running, claimed.into_begun());
        }
        let mut idle = std::pin::pin!(this.jobs.wait_until_idle(MAX_CONCURRENT_JOBS));
        loop {
            this.start(&mut running, this.jobs.take().begun);
            tokio::select! {
                () = &mut idle => break,
                () = this.jobs.notified() => {}
            }
        }
        while running.join_next().await.is_some() {}
    }

    fn start(self: &Arc<Self>, running: &mut JoinSet<()>, begun: Vec<(Claim, OwnedSemaphorePermit)>) {
        for (claim, permit) in begun {
            let this = self.clone();
            running.spawn(async move {
                let ended = this.perform(&claim).await;
                match claim.take_then() {
                    Some(claimed) if ended => this.jobs.begin_after(claimed, permit),
                    // The job was put off or lost, or it failed and what it claimed was not committed.
                    _ => {
                        drop(permit);
                        this.jobs.wake();
                    }
                }
            });
        }
    }

    /// Claims what is due and nobody has claimed, as far as there is room. If it expects to find some, their handlers load in
    /// the same transaction what they begin with.
    async fn claim(&self, finds_some: bool) -> Claimed {
        let permits = self.jobs.reserve(CLAIM_BATCH_SIZE);
        if permits.is_empty() {
            let may_have_more = self.jobs.wait_for_place();
            return Claimed { may_have_more, ..Claimed::default() };
        }
        let claimed = async {
            if !finds_some {
                return sql::claim(&mut *self.pool.acquire().await?, &self.jobs, permits.len()).await;
            }
            let mut tx = store::begin(&self.pool).await?;
            let claimed = sql::claim(&mut tx, &self.jobs, permits.len()).await?;
            if self.jobs.load(&mut tx, &claimed.claims).await.is_ok() {
                tx.commit().await?;
                return Ok(claimed);
            }
            tx.rollback().await?;
            sql::claim(&mut *self.pool.acquire().await?, &self.jobs, permits.len()).await
        };
        match claimed.await {
            Ok(claimed) => Claimed { permits, ..claimed },
            Err(error) => {
                tracing::error!(%error, "could not claim a job");
                Claimed::default()
            }
        }
    }

    /// Returns how long to wait for a job that is due then, at most until the next poll.
    fn until(&self, due: Timestamp) -> Duration {
        (due - self.jobs.now()).to_std().map_or(BUSY_PAUSE, |wait| wait.min(POLL))
    }

    /// Runs a job with heartbeats. A lost lease abandons it, after a moment: a heartbeat that waited for the commit with
    /// which the job ended finds no lease either, and what that commit claimed has to begin. A failure or panic
    /// reschedules it. Returns whether its handler has done it.
    async fn perform(&self, claim: &Claim) -> bool {
        let handlers = self.handlers.clone();
        let job = claim.clone();
        let mut doing = JoinSet::new();
        doing.spawn(async move { handlers.work(&job).await });
        let mut is_lost = false;
        let ended = loop {
            tokio::select! {
                ended = doing.join_next() => break ended,
                () = tokio::time::sleep(HEARTBEAT) => if !self.renew(claim).await {
                    is_lost = true;
                    break tokio::time::timeout(ENDS_WITHIN, doing.join_next()).await.unwrap_or_default();
                },
            }
        };
        let failure = match ended {
            Some(Ok(Ok(()))) => return true,
            _ if is_lost => {
                tracing::warn!(job = claim.job, lane = %claim.lane, "lease lost");
                return false;
            }
            None => return false,
            Some(Ok(Err(error))) => error.to_string(),
            Some(Err(panic)) => format!("the job panicked: {panic}"),
        };
        tracing::warn!(job = claim.job, lane = %claim.lane, attempt = claim.attempt, error = %failure, "job failed");
        self.reschedule(claim, &failure).await;
        false
    }

    /// Returns false only if the database says that the lease was lost; a heartbeat that fails does not prove that.
    async fn renew(&self, claim: &Claim) -> bool {
        let renewed = async { sql::renew(&mut *self.pool.acquire().await?, claim).await };
        renewed.await.unwrap_or(true)
    }

    async fn reschedule(&self, claim: &Claim, failure: &str) {
        let now = self.jobs.now();
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
