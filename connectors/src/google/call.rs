//! How Google is called: each call with a time limit. Looks are repeated up to twice when Google stumbles;
//! whatever changes something is asked once.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::trouble::{Trouble, Watch};

const LOOK_WITHIN: Duration = Duration::from_secs(10);
const ACT_WITHIN: Duration = Duration::from_secs(30);
/// Before the second and the third look.
const LOOK_AGAIN: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(600)];

/// The calls of one call of a tool.
pub(super) struct Calls {
    until: Instant,
    refused: Arc<AtomicBool>,
}

impl Calls {
    /// Nothing is waited for beyond `until`.
    pub(super) fn new(until: Instant) -> Self {
        Self { until, refused: Arc::default() }
    }

    /// With a flag that tells the token's source when Google rejected its token.
    pub(super) fn renewing(self, refused: Arc<AtomicBool>) -> Self {
        Self { refused, ..self }
    }

    /// What is left of the time.
    fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// For one request.
    pub(super) fn watch(&self) -> Watch {
        Watch::new(self.refused.clone())
    }

    /// Only looks, so it may be repeated.
    pub(super) async fn look<T, F>(&self, call: impl Fn() -> F + Send + Sync) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Trouble>> + Send,
        T: Send,
    {
        let mut pauses = LOOK_AGAIN.into_iter();
        loop {
            let trouble = match self.within(LOOK_WITHIN, call()).await {
                Ok(found) => return Ok(found),
                Err(trouble) => trouble,
            };
            match pauses.next() {
                Some(pause) if trouble.passing() && pause < self.time_left() => sleep(pause).await,
                _ => return Err(trouble),
            }
        }
    }

    /// Changes something, so it is asked once.
    pub(super) async fn act<T>(
        &self,
        call: impl Future<Output = Result<T, Trouble>> + Send,
    ) -> Result<T, Trouble> {
        self.within(ACT_WITHIN, call).await
    }

    async fn within<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, Trouble>> + Send,
    ) -> Result<T, Trouble> {
        let limit = limit.min(self.time_left());
        // On the heap: the generated calls are large, and several are under way at once.
        match timeout(limit, Box::pin(call)).await {
            Ok(done) => done,
            Err(_) => Err(Trouble::Lost(format!("nothing came for {} s", limit.as_secs()))),
        }
    }
}
