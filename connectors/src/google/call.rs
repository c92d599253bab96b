//! Calls to Google, each with a time limit. Reads are retried up to twice if Google fails or asks for a short wait;
//! writes are sent once.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::trouble::{Quota, Trouble, Watch};

const LOOK_WITHIN: Duration = Duration::from_secs(10);
const ACT_WITHIN: Duration = Duration::from_secs(30);
/// The pauses before the second and the third attempt of a read.
const LOOK_AGAIN: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(600)];

/// The pauses if Google asks for fewer requests without a time
/// (<https://developers.google.com/workspace/gmail/api/guides/handle-errors#exponential-backoff>).
const SLOWER: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
/// If Google asks for a longer wait, the person is told instead.
const A_MOMENT: Duration = Duration::from_secs(3);

/// The requests of one tool call.
pub(super) struct Calls {
    until: Instant,
    refused: Arc<AtomicBool>,
}

impl Calls {
    /// Creates it; no request is waited for after `until`.
    pub(super) fn new(until: Instant) -> Self {
        Self { until, refused: Arc::default() }
    }

    /// Adds a flag that tells the token's source that Google rejected its token.
    pub(super) fn renewing(self, refused: Arc<AtomicBool>) -> Self {
        Self { refused, ..self }
    }

    /// Returns the time left.
    fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Returns a watch for one request.
    pub(super) fn watch(&self) -> Watch {
        Watch::new(self.refused.clone())
    }

    /// Sends a read, which can be retried.
    pub(super) async fn look<T, F>(&self, call: impl Fn() -> F + Send + Sync) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Trouble>> + Send,
        T: Send,
    {
        let mut again = 0..LOOK_AGAIN.len();
        loop {
            let trouble = match self.within(LOOK_WITHIN, call()).await {
                Ok(found) => return Ok(found),
                Err(trouble) => trouble,
            };
            match again.next().and_then(|at| pause(&trouble, at)) {
                Some(pause) if pause < self.time_left() => sleep(pause).await,
                _ => return Err(trouble),
            }
        }
    }

    /// Sends a write, which is never retried.
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
        // On the heap: the generated calls are large, and several run at once.
        match timeout(limit, Box::pin(call)).await {
            Ok(done) => done,
            Err(_) => Err(Trouble::Lost(format!("nothing came for {} s", limit.as_secs()))),
        }
    }
}

/// Returns the pause before a retry that might help; `None` if none would.
fn pause(trouble: &Trouble, at: usize) -> Option<Duration> {
    match trouble.quota() {
        Some(Quota::Wait(seconds)) => Some(Duration::from_secs(seconds)).filter(|pause| *pause <= A_MOMENT),
        Some(Quota::Slower) => SLOWER.get(at).copied(),
        Some(Quota::UsedUp) => None,
        None => LOOK_AGAIN.get(at).copied().filter(|_| trouble.passing()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_waits_are_retried_and_exhausted_quotas_are_not() {
        let refused = |status, code: &str, after| Trouble::Refused {
            status,
            code: code.into(),
            message: String::new(),
            after,
        };
        let pauses = |trouble: Trouble| (pause(&trouble, 0), pause(&trouble, 1));
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(pauses(refused(429, "rateLimitExceeded", Some(2))), (seconds(2), seconds(2)));
        assert_eq!(pauses(refused(429, "rateLimitExceeded", Some(4))), (None, None));
        assert_eq!(pauses(refused(403, "userRateLimitExceeded", None)), (seconds(1), seconds(2)));
        assert_eq!(pauses(refused(403, "dailyLimitExceeded", None)), (None, None));
        assert_eq!(pauses(refused(503, "backendError", Some(60))), (None, None));
        assert_eq!(pauses(refused(503, "backendError", None)).0, Some(LOOK_AGAIN[0]));
        assert_eq!(pauses(refused(404, "notFound", None)), (None, None));
    }
}
