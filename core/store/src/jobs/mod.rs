//! Jobs, stored as rows. A job is written in the caller's transaction and belongs to a *lane*: the jobs of one
//! lane run one after another, different lanes run in parallel. A lane's row holds its first job, and how many wait behind
//! it in `queued_jobs`; most lanes never hold a second one. The holder of a lane's lease runs its first job; if the
//! holder dies, the lease expires by the database's clock and another replica acquires it.
//!
//! The row makes a job durable, but a job need not wait for a poll. The commit that ends a job also claims what is due
//! then, such as what it has just enqueued (`complete_job` in the migrations), or, if it has enqueued nothing that nobody has
//! leased, only what follows in its lane (`end_job`). The commit that stores a message inserts the
//! lane of its run leased (`enqueue_leased`), and the dispatcher begins it at once. Both load what such a job begins with
//! ([`JobHandler::load`]), as does [`commit_and_begin`] for others from which somebody waits for the next job. After any other
//! commit the caller calls [`JobNotifier::wake`], and the dispatcher claims.
//! Polling finds only jobs that another replica left behind.

mod claimed;
mod dispatch;
mod handlers;
pub mod sql;

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use claimed::Claimed;
pub use claimed::{JobNotifier, LeasedJob, Reservation, commit_and_begin};
pub use dispatch::Dispatcher;
pub use handlers::{Handlers, Job, JobHandler, Loaded, Twice, WorkError};

use nod_contract::ids::TenantId;

/// How long a lease lasts without a heartbeat. After that, another replica takes over the lanes of a killed one.
pub(crate) const LEASE: Duration = Duration::from_secs(10);
/// How often a lease is renewed while its job runs.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(3);

/// A claimed job. Every commit asserts the lease, so a replica that lost it cannot commit.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The tenant of the job.
    pub tenant: TenantId,
    /// The job's id, which is also its position in the lane.
    pub job: i64,
    /// The lane.
    pub lane: Uuid,
    /// Proof of holding the lane.
    pub lease: Uuid,
    /// The number of this attempt, from 1.
    pub attempt: i32,
    /// The job as stored, not yet parsed: a row of another version must not make the claim fail.
    pub payload: serde_json::Value,
    /// The dispatcher that runs it.
    jobs: JobNotifier,
    /// What was claimed by the commit that ended it.
    then: Arc<Mutex<Option<Claimed>>>,
    /// What its handler loaded when it was claimed.
    loaded: Arc<Mutex<Option<Loaded>>>,
}

impl Claim {
    /// Parses the job for the handler of its kind.
    ///
    /// # Errors
    /// If another version of Nod wrote the job in a form that this one cannot parse.
    pub fn job<J: Job>(&self) -> serde_json::Result<J> {
        J::deserialize(&self.payload)
    }

    /// Returns what its handler loaded when it was claimed, once.
    #[must_use]
    pub fn take_loaded<T: Any>(&self) -> Option<T> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).take();
        loaded.and_then(|loaded| loaded.downcast().ok()).map(|loaded| *loaded)
    }

    fn is_loaded(&self) -> bool {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn set_loaded(&self, loaded: Option<Loaded>) {
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = loaded;
    }

    fn kind(&self) -> &str {
        self.payload["work"].as_str().unwrap_or_default()
    }

    /// Keeps what was claimed with its end until its handler has returned. A commit that failed and was repeated counts
    /// once.
    fn set_then(&self, claimed: Claimed) {
        *self.then.lock().unwrap_or_else(PoisonError::into_inner) = Some(claimed);
    }

    /// Lets the handlers of what was claimed with its end load what they begin with.
    ///
    /// # Errors
    /// If the database failed, which ends the transaction.
    pub async fn load_claimed(&self, conn: &mut PgConnection) -> sqlx::Result<()> {
        let claims: Vec<Self> = {
            let then = self.then.lock().unwrap_or_else(PoisonError::into_inner);
            then.iter().flat_map(|claimed| &claimed.claims).cloned().collect()
        };
        self.jobs.load(conn, &claims).await
    }

    /// Has the dispatcher look for what else is due once the job's handler has returned: its commit enqueued more than it
    /// claimed.
    pub fn wake_after(&self) {
        let mut then = self.then.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(claimed) = then.as_mut() {
            claimed.may_have_more = true;
        }
    }

    fn take_then(&self) -> Option<Claimed> {
        self.then.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
