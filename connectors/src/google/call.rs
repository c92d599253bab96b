//! How Google is called: each call with a time limit. Looks are repeated up to twice when Google stumbles or asks for a
//! moment; whatever changes something is asked once.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::trouble::{Quota, Trouble, Watch};

const LOOK_WITHIN: Duration = Duration::from_secs(10);
const ACT_WITHIN: Duration = Duration::from_secs(30);
/// Before the second and the third look.
const LOOK_AGAIN: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(600)];

/// The same where Google asks for fewer requests and does not say for how long
/// (<https://developers.google.com/workspace/gmail/api/guides/handle-errors#exponential-backoff>).
const SLOWER: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
/// What Google asks to wait longer than this, the person hears of instead.
const A_MOMENT: Duration = Duration::from_secs(3);

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

/// How long until another look may help, where it may.
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
    fn a_moment_is_waited_for_and_what_is_used_up_is_not_asked_again() {
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
