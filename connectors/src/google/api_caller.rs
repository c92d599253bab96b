//! Calls to Google, each with a time limit. Reads are retried up to twice if Google fails or asks for a short wait;
//! writes are sent once.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::api_error::{ErrorCapture, GoogleApiError, RateLimit};

const READ_TIMEOUT: Duration = Duration::from_secs(10);
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// The pauses before the second and the third attempt of a read.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(600)];

/// The pauses if Google asks for fewer requests without a time
/// (<https://developers.google.com/workspace/gmail/api/guides/handle-errors#exponential-backoff>).
const RATE_LIMIT_DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
/// If Google asks for a longer wait, the person is told instead.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(3);

/// The requests of one tool call.
pub(super) struct ApiCaller {
    until: Instant,
    token_rejected: Arc<AtomicBool>,
}

impl ApiCaller {
    /// Creates it; no request is waited for after `until`.
    pub(super) fn new(until: Instant) -> Self {
        Self { until, token_rejected: Arc::default() }
    }

    /// Adds a flag that tells the token's source that Google rejected its token.
    pub(super) fn with_token_rejected_flag(self, refused: Arc<AtomicBool>) -> Self {
        Self { token_rejected: refused, ..self }
    }

    /// Returns the time left.
    fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Returns a watch for one request.
    pub(super) fn watch(&self) -> ErrorCapture {
        ErrorCapture::new(self.token_rejected.clone())
    }

    /// Sends a read, which can be retried.
    pub(super) async fn read<T, F>(&self, call: impl Fn() -> F + Send + Sync) -> Result<T, GoogleApiError>
    where
        F: Future<Output = Result<T, GoogleApiError>> + Send,
        T: Send,
    {
        let mut again = 0..RETRY_DELAYS.len();
        loop {
            let trouble = match self.run_with_timeout(READ_TIMEOUT, call()).await {
                Ok(found) => return Ok(found),
                Err(trouble) => trouble,
            };
            match again.next().and_then(|at| retry_delay(&trouble, at)) {
                Some(pause) if pause < self.time_left() => sleep(pause).await,
                _ => return Err(trouble),
            }
        }
    }

    /// Sends a write, which is never retried.
    pub(super) async fn write<T>(
        &self,
        call: impl Future<Output = Result<T, GoogleApiError>> + Send,
    ) -> Result<T, GoogleApiError> {
        self.run_with_timeout(WRITE_TIMEOUT, call).await
    }

    async fn run_with_timeout<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, GoogleApiError>> + Send,
    ) -> Result<T, GoogleApiError> {
        let limit = limit.min(self.time_left());
        // On the heap: the generated calls are large, and several run at once.
        match timeout(limit, Box::pin(call)).await {
            Ok(done) => done,
            Err(_) => Err(GoogleApiError::NoResponse(format!("no answer for {} s", limit.as_secs()))),
        }
    }
}

/// Returns the pause before a retry that might help; `None` if none would.
fn retry_delay(trouble: &GoogleApiError, at: usize) -> Option<Duration> {
    match trouble.quota() {
        Some(RateLimit::Wait(seconds)) => {
            Some(Duration::from_secs(seconds)).filter(|pause| *pause <= MAX_RETRY_WAIT)
        }
        Some(RateLimit::SlowDown) => RATE_LIMIT_DELAYS.get(at).copied(),
        Some(RateLimit::QuotaExhausted) => None,
        None => RETRY_DELAYS.get(at).copied().filter(|_| trouble.is_transient()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_waits_are_retried_and_exhausted_quotas_are_not() {
        let refused = |status, code: &str, after| GoogleApiError::Rejected {
            status,
            code: code.into(),
            message: String::new(),
            after,
        };
        let pauses = |trouble: GoogleApiError| (retry_delay(&trouble, 0), retry_delay(&trouble, 1));
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(pauses(refused(429, "rateLimitExceeded", Some(2))), (seconds(2), seconds(2)));
        assert_eq!(pauses(refused(429, "rateLimitExceeded", Some(4))), (None, None));
        assert_eq!(pauses(refused(403, "userRateLimitExceeded", None)), (seconds(1), seconds(2)));
        assert_eq!(pauses(refused(403, "dailyLimitExceeded", None)), (None, None));
        assert_eq!(pauses(refused(503, "backendError", Some(60))), (None, None));
        assert_eq!(pauses(refused(503, "backendError", None)).0, Some(RETRY_DELAYS[0]));
        assert_eq!(pauses(refused(404, "notFound", None)), (None, None));
    }
}
