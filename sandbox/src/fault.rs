//! Faults on demand: what goes wrong, at which operation, how many times.
//!
//! An operation is named as the vendor names it (`chat.postMessage`, `gmail.users.drafts.send`). A fault
//! that was asked for and never met is reported by [`Faults::unused`]: a story that ends so has not tested
//! what it says.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// How long a story waits for what it planned.
const LONG: Duration = Duration::from_secs(60);

/// One thing that goes wrong with one request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Answered with this status and nothing done. `retry_after` is in seconds.
    Status { code: u16, retry_after: Option<u64> },
    /// The same for this reason, as Google names it (`rateLimitExceeded`) or Slack (`msg_blocks_too_long`, which has
    /// the status 200); others say the status only.
    Reason { code: u16, reason: &'static str, retry_after: Option<u64> },
    /// The connection is closed before anything is done.
    Drop,
    /// It is done, and the connection is closed before the answer.
    LoseAnswer,
    /// Nothing is done and nothing is answered until the client gives up or dies.
    Hang,
    /// It is done, and nothing is answered until the client gives up or dies.
    HangAfter,
    /// Done and answered, but only after this long.
    Delay(Duration),
}

#[derive(Debug)]
struct Planned {
    operation: String,
    fault: Fault,
}

/// The faults that are still to happen, shared between a fake and the test that plans them.
#[derive(Debug, Clone)]
pub struct Faults {
    planned: Arc<Mutex<VecDeque<Planned>>>,
    met: Arc<watch::Sender<Vec<String>>>,
}

impl Default for Faults {
    fn default() -> Self {
        Self { planned: Arc::default(), met: Arc::new(watch::channel(Vec::new()).0) }
    }
}

impl Faults {
    /// The next call of `operation` meets this fault. Several planned for one operation happen in order.
    pub fn next(&self, operation: &str, fault: Fault) {
        self.planned().push_back(Planned { operation: operation.to_owned(), fault });
    }

    /// Same, `times` times in a row.
    pub fn next_times(&self, operation: &str, times: usize, fault: &Fault) {
        for _ in 0..times {
            self.next(operation, fault.clone());
        }
    }

    /// Called by the fakes: the fault that this call meets, if one is planned for it.
    #[must_use]
    pub fn take(&self, operation: &str) -> Option<Fault> {
        let mut planned = self.planned();
        let at = planned.iter().position(|p| p.operation == operation)?;
        let fault = planned.remove(at)?.fault;
        drop(planned);
        self.met.send_modify(|met| met.push(operation.to_owned()));
        Some(fault)
    }

    /// Resolves once `operation` has met `times` faults in all.
    ///
    /// # Panics
    /// When that takes longer than a minute.
    pub async fn met(&self, operation: &str, times: usize) {
        let mut met = self.met.subscribe();
        let enough = |all: &Vec<String>| all.iter().filter(|o| *o == operation).count() >= times;
        let waited = tokio::time::timeout(LONG, met.wait_for(enough)).await;
        assert!(waited.is_ok(), "{operation} was not called {times} times within {LONG:?}");
    }

    /// Operations whose planned faults never happened.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        self.planned().iter().map(|p| format!("{}: {:?}", p.operation, p.fault)).collect()
    }

    /// Forgets what is still planned.
    pub fn clear(&self) {
        self.planned().clear();
    }

    fn planned(&self) -> MutexGuard<'_, VecDeque<Planned>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
