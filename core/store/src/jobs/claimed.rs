//! How jobs reach the dispatcher: the transaction that ends a job also claims what is due then, and the dispatcher begins
//! it once the job's handler has returned. The transaction that stores an arrival inserts the lane of its job leased, and
//! the dispatcher begins that job after the commit.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use sqlx::{PgConnection, PgTransaction};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use super::handlers::WeakHandlers;
use super::sql::{claim_due, encode_error};
use super::{Claim, Handlers, Job, LEASE};
use nod_contract::clock::{Clock, Timestamp};
use nod_contract::ids::TenantId;

/// How many jobs are claimed at most with the end of one, so that its transaction stays short.
pub(super) const MAX_CLAIMED_IN_COMMIT: usize = 4;
/// How many places arrivals leave free, so that a claim finds room for jobs that have waited longer.
const KEPT_FOR_CLAIMS: usize = 16;

/// The way to the dispatcher of this replica. Without a dispatcher nothing is claimed, and jobs wait in their rows.
#[derive(Clone)]
pub struct JobNotifier(Arc<Shared>);

struct Shared {
    clock: Arc<dyn Clock>,
    /// A permit for each job that may begin.
    room: Arc<Semaphore>,
    notify: Notify,
    signals: Mutex<Signals>,
    handlers: OnceLock<WeakHandlers>,
    /// Jobs of which a load failed.
    unloadable: Mutex<HashSet<i64>>,
    /// Something may be due for which there was no place.
    is_starved: AtomicBool,
}

/// What the dispatcher was told since it last looked.
#[derive(Default)]
pub(super) struct Signals {
    /// Jobs to begin, each with its place among those that run.
    pub begun: Vec<(Claim, OwnedSemaphorePermit)>,
    /// Something may be due that nobody has claimed.
    pub claim: bool,
    /// When the next job becomes due, as far as is known.
    pub next_due: Option<Timestamp>,
    /// The dispatcher is stopping: nothing more is claimed.
    closed: bool,
}

/// What a transaction has claimed. If its commit failed, it is dropped: either nothing was claimed, or the leases expire
/// and another claim follows.
#[must_use]
#[derive(Debug, Default)]
pub(super) struct Claimed {
    pub(super) claims: Vec<Claim>,
    /// When the next job becomes due; asked only if there was room for more jobs than were due.
    pub(super) next_due: Option<Timestamp>,
    /// Something more may be due.
    pub(super) may_have_more: bool,
    /// Places for the claims.
    pub(super) permits: Vec<OwnedSemaphorePermit>,
}

/// A place for the first job of a lane that is inserted leased.
#[derive(Debug)]
pub struct Reservation {
    jobs: JobNotifier,
    permit: OwnedSemaphorePermit,
}

impl Reservation {
    /// How long the lease lasts.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        LEASE.as_secs_f64()
    }

    /// Pairs the place with the job that was inserted for it.
    ///
    /// # Errors
    /// If the job cannot be serialised.
    pub fn fill(
        self,
        tenant: TenantId,
        lane: Uuid,
        lease: Uuid,
        job: i64,
        work: &impl Job,
    ) -> sqlx::Result<LeasedJob> {
        let payload = serde_json::to_value(work).map_err(encode_error)?;
        let (jobs, then, loaded) = (self.jobs, Arc::default(), Arc::default());
        let claim = Claim { tenant, job, lane, lease, attempt: 1, payload, jobs, then, loaded };
        Ok(LeasedJob { claim, permit: self.permit })
    }
}

/// A job whose lane was inserted leased. It begins after the commit, by [`JobNotifier::begin`]. If the commit failed, it is
/// dropped: either there is no such lane, or its lease expires.
#[must_use]
#[derive(Debug)]
pub struct LeasedJob {
    claim: Claim,
    permit: OwnedSemaphorePermit,
}

/// Commits a transaction that has enqueued jobs and ends none. It also claims what is due, with what their handlers load, and
/// the dispatcher begins that at once. If it has no room, or none runs, it is woken.
///
/// # Errors
/// If the transaction was not committed.
pub async fn commit_and_begin(mut tx: PgTransaction<'_>, jobs: &JobNotifier) -> sqlx::Result<()> {
    let permits = jobs.reserve_in_commit();
    if permits.is_empty() {
        tx.commit().await?;
        jobs.wake();
        return Ok(());
    }
    let claimed = claim_due(&mut tx, jobs, permits.len()).await?;
    jobs.load(&mut tx, &claimed.claims).await?;
    tx.commit().await?;
    jobs.begin_claimed(Claimed { permits, ..claimed });
    Ok(())
}

impl LeasedJob {
    /// Loads what the job begins with, as the last of the transaction.
    ///
    /// # Errors
    /// If the database failed, which ends the transaction.
    pub async fn load(&self, conn: &mut PgConnection) -> sqlx::Result<()> {
        self.claim.jobs.load(conn, std::slice::from_ref(&self.claim)).await
    }
}

impl Claimed {
    /// Pairs each claim with its place.
    pub(super) fn into_begun(self) -> Vec<(Claim, OwnedSemaphorePermit)> {
        self.claims.into_iter().zip(self.permits).collect()
    }
}

impl JobNotifier {
    /// Creates the way to a dispatcher that does not run yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared {
            clock,
            room: Arc::new(Semaphore::new(0)),
            notify: Notify::new(),
            signals: Mutex::default(),
            handlers: OnceLock::new(),
            unloadable: Mutex::default(),
            is_starved: AtomicBool::new(false),
        }))
    }

    /// Sets the handlers of its dispatcher, which load what a job begins with when it is claimed.
    pub(super) fn set_handlers(&self, handlers: &Handlers) {
        // A second dispatcher would have the same ones.
        let _ = self.0.handlers.set(handlers.downgrade());
    }

    /// Loads what these jobs begin with. If the database fails, so does the transaction; a job on whose account that happened
    /// loads for itself from then on, so that it does not hold up the others.
    pub(super) async fn load(&self, conn: &mut PgConnection, claims: &[Claim]) -> sqlx::Result<()> {
        let Some(handlers) = self.0.handlers.get().and_then(WeakHandlers::upgrade) else { return Ok(()) };
        for claim in claims {
            if claim.is_loaded() || self.unloadable().contains(&claim.job) {
                continue;
            }
            if let Err(error) = handlers.load(conn, claim).await {
                tracing::warn!(job = claim.job, %error, "could not load what a job begins with");
                self.unloadable().insert(claim.job);
                return Err(error);
            }
        }
        Ok(())
    }

    fn unloadable(&self) -> MutexGuard<'_, HashSet<i64>> {
        self.0.unloadable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signals that there might be work. Call it after the commit that enqueued the job, unless it also ended one or
    /// leased the job's lane.
    pub fn wake(&self) {
        self.signal(|signals| signals.claim = true);
    }

    /// Reserves a place for a job that is enqueued now. `None` if no dispatcher runs or few places are left: then the job
    /// waits for a claim.
    #[must_use]
    pub fn reserve_one(&self) -> Option<Reservation> {
        if self.0.room.available_permits() <= KEPT_FOR_CLAIMS {
            return None;
        }
        self.reserve(1).pop().map(|permit| Reservation { jobs: self.clone(), permit })
    }

    /// Reserves places for what a transaction claims that ends no job.
    fn reserve_in_commit(&self) -> Vec<OwnedSemaphorePermit> {
        self.reserve(
            MAX_CLAIMED_IN_COMMIT.min(self.0.room.available_permits().saturating_sub(KEPT_FOR_CLAIMS)),
        )
    }

    /// Begins what a transaction has claimed that ended no job. Call it after the commit.
    fn begin_claimed(&self, claimed: Claimed) {
        self.signal(|signals| {
            signals.claim |= claimed.may_have_more;
            signals.next_due = [signals.next_due, claimed.next_due].into_iter().flatten().min();
            signals.begun.extend(claimed.into_begun());
        });
    }

    /// Begins a job whose lane was inserted leased. Call it after the commit.
    pub fn begin(&self, job: LeasedJob) {
        self.signal(|signals| signals.begun.push((job.claim, job.permit)));
    }

    /// Begins what was claimed by the commit that ended a job, in that job's place and those that were reserved.
    pub(super) fn begin_after(&self, mut claimed: Claimed, place: OwnedSemaphorePermit) {
        self.signal(|signals| {
            claimed.permits.push(place);
            signals.claim |= claimed.may_have_more;
            signals.next_due = [signals.next_due, claimed.next_due].into_iter().flatten().min();
            // The places that are left are free before it is asked who waits for one.
            signals.begun.extend(claimed.into_begun());
            signals.claim |= self.0.is_starved.swap(false, Ordering::SeqCst);
        });
    }

    /// Records that something may be due and there is no place for it: the next job that ends has it claimed. Returns whether
    /// there is a place by now.
    pub(super) fn wait_for_place(&self) -> bool {
        self.0.is_starved.store(true, Ordering::SeqCst);
        !self.is_full()
    }

    /// Reserves so many places for what begins with the end of a job, beside the job's own, and returns how many jobs can.
    pub(super) fn reserve_after(&self, beside: usize) -> (usize, Vec<OwnedSemaphorePermit>) {
        let permits = self.reserve(beside);
        if self.is_closed() { (0, Vec::new()) } else { (permits.len() + 1, permits) }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    pub(super) async fn notified(&self) {
        self.0.notify.notified().await;
    }

    /// Returns what was signalled since the last call.
    pub(super) fn take(&self) -> Signals {
        let mut signals = self.0.signals.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = signals.closed;
        std::mem::replace(&mut *signals, Signals { closed, ..Signals::default() })
    }

    /// Makes room for the jobs of a dispatcher.
    pub(super) fn open(&self, room: usize) {
        self.signal(|signals| signals.closed = false);
        self.0.room.add_permits(room);
    }

    /// Claims nothing more.
    pub(super) fn close(&self) {
        self.signal(|signals| signals.closed = true);
    }

    /// Waits until no job runs and none is to begin.
    pub(super) async fn wait_until_idle(&self, room: usize) {
        // It fails only if the semaphore is closed, which nobody does.
        if let Ok(all) = self.0.room.acquire_many(u32::try_from(room).unwrap_or(u32::MAX)).await {
            all.forget();
        }
    }

    /// Reserves places for jobs, as far as there is room.
    pub(super) fn reserve(&self, most: usize) -> Vec<OwnedSemaphorePermit> {
        if self.is_closed() {
            return Vec::new();
        }
        std::iter::from_fn(|| self.0.room.clone().try_acquire_owned().ok()).take(most).collect()
    }

    /// Whether no further job may begin.
    pub(super) fn is_full(&self) -> bool {
        self.0.room.available_permits() == 0
    }

    fn is_closed(&self) -> bool {
        self.0.signals.lock().unwrap_or_else(PoisonError::into_inner).closed
    }

    fn signal(&self, change: impl FnOnce(&mut Signals)) {
        change(&mut self.0.signals.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.notify.notify_one();
    }
}

impl std::fmt::Debug for JobNotifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobNotifier").finish_non_exhaustive()
    }
}
