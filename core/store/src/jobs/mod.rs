//! Work to do, as rows. A job is written in the caller's transaction and belongs to a *lane*: the jobs of
//! one lane are done one after another, different lanes in parallel. Whoever holds a lane's lease does its
//! first job; when they die, the lease passes on by the database's clock.
//!
//! The row is the memory and not the path: right after its commit the caller calls [`Jobs::wake`], and the
//! dispatcher of this replica claims without waiting for a poll. (After a job has ended it looks by itself.) Polling finds only what another replica
//! left behind and what became due with time.

mod dispatch;
mod handlers;
pub mod sql;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use uuid::Uuid;

pub use dispatch::Dispatcher;
pub use handlers::{Handlers, Job, JobHandler, Twice, WorkError};

use nod_contract::ids::TenantId;

/// How long a lease lasts without a heartbeat: what a killed replica held goes on after this long.
pub(crate) const LEASE: Duration = Duration::from_secs(10);
/// How often a lease is renewed while its job is being done.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(3);

/// A claimed job. Whoever commits for it shows the lease, so that a replica that lost it commits nothing.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The tenant it serves.
    pub tenant: TenantId,
    /// Its place in line.
    pub job: i64,
    /// The line.
    pub lane: Uuid,
    /// Proof of holding the line.
    pub lease: Uuid,
    /// From 1.
    pub attempt: i32,
    /// What to do, as written: a row of another version must not stop whoever claims it.
    pub payload: serde_json::Value,
}

impl Claim {
    /// The job, as whoever does its kind reads it.
    ///
    /// # Errors
    /// When another version wrote it.
    pub fn job<J: Job>(&self) -> serde_json::Result<J> {
        J::deserialize(&self.payload)
    }
}

/// Wakes the dispatcher of this replica.
#[derive(Debug, Clone, Default)]
pub struct JobNotifier {
    notify: Arc<Notify>,
}

impl JobNotifier {
    /// There may be work: call after the commit that enqueued it.
    pub fn wake(&self) {
        self.notify.notify_one();
    }

    async fn notified(&self) {
        self.notify.notified().await;
    }
}
