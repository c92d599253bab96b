//! Injected faults: what goes wrong, at which operation, how many times.
//!
//! An operation has the vendor's name for it (`chat.postMessage`, `gmail.users.drafts.send`). A planned fault that no
//! call met is reported by [`Faults::unused`]: a story with such a fault has not tested what it claims.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// How long a story waits for its planned faults.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// A fault that one request meets.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The answer has this status and nothing is done. `retry_after` is in seconds.
    Status { code: u16, retry_after: Option<u64> },
    /// Same, with this reason in the answer, as Google names it (`rateLimitExceeded`) or Slack (`msg_blocks_too_long`,
    /// which has the status 200); other fakes answer with the status only.
    ErrorReason { code: u16, reason: &'static str, retry_after: Option<u64> },
    /// The connection is closed before anything is done.
    DropConnection,
    /// The operation is done, and the connection is closed before the answer.
    DropResponse,
    /// Nothing is done and nothing is answered until the client gives up or dies.
    HangBefore,
    /// The operation is done, and nothing is answered until the client gives up or dies.
    HangAfter,
    /// The operation is done and answered after this delay.
    DelayResponse(Duration),
    /// The operation is done, and answered once its [`HeldResponse`] is dropped.
    HoldResponse(watch::Receiver<()>),
}

/// A response that a story holds back, so that something else can happen first. Dropping it lets the response go.
#[derive(Debug)]
pub struct HeldResponse {
    _held: watch::Sender<()>,
}

#[derive(Debug)]
struct PlannedFault {
    operation: String,
    fault: Fault,
}

/// The pending faults, shared between a fake and the test that plans them.
#[derive(Debug, Clone)]
pub struct Faults {
    planned: Arc<Mutex<VecDeque<PlannedFault>>>,
    triggered: Arc<watch::Sender<Vec<String>>>,
}

impl Default for Faults {
    fn default() -> Self {
        Self { planned: Arc::default(), triggered: Arc::new(watch::channel(Vec::new()).0) }
    }
}

impl Faults {
    /// Plans a fault for the next call of `operation`. Several faults planned for one operation happen in order.
    pub fn next(&self, operation: &str, fault: Fault) {
        self.planned().push_back(PlannedFault { operation: operation.to_owned(), fault });
    }

    /// Holds back the response to the next call of `operation`.
    #[must_use]
    pub fn hold_next(&self, operation: &str) -> HeldResponse {
        let (held, released) = watch::channel(());
        self.next(operation, Fault::HoldResponse(released));
        HeldResponse { _held: held }
    }

    /// Plans the fault for the next `times` calls.
    pub fn next_times(&self, operation: &str, times: usize, fault: &Fault) {
        for _ in 0..times {
            self.next(operation, fault.clone());
        }
    }

    /// Called by the fakes: takes the fault that this call meets, if one is planned.
    #[must_use]
    pub fn take(&self, operation: &str) -> Option<Fault> {
        let mut planned = self.planned();
        let at = planned.iter().position(|p| p.operation == operation)?;
        let fault = planned.remove(at)?.fault;
        drop(planned);
        self.triggered.send_modify(|met| met.push(operation.to_owned()));
        Some(fault)
    }

    /// Resolves once `operation` has met `times` faults in total.
    ///
    /// # Panics
    /// If that takes longer than a minute.
    pub async fn wait_until_triggered(&self, operation: &str, times: usize) {
        let mut met = self.triggered.subscribe();
        let enough = |all: &Vec<String>| all.iter().filter(|o| *o == operation).count() >= times;
        let waited = tokio::time::timeout(WAIT_TIMEOUT, met.wait_for(enough)).await;
        assert!(waited.is_ok(), "{operation} was not called {times} times within {WAIT_TIMEOUT:?}");
    }

    /// Returns the operations whose planned faults never happened.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        self.planned().iter().map(|p| format!("{}: {:?}", p.operation, p.fault)).collect()
    }

    /// Discards the faults that are still planned.
    pub fn clear(&self) {
        self.planned().clear();
    }

    fn planned(&self) -> MutexGuard<'_, VecDeque<PlannedFault>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
