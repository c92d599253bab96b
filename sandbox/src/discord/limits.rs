//! Rate limits: the headers of every response, and when a request is rejected.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::rejection::{RateLimitInfo, Rejection};
use super::world::World;

/// Messages per window and channel.
const POSTS: u32 = 5;
/// The window in seconds.
const WINDOW: f64 = 5.0;
/// The limit that the headers report for other requests, which are never rejected.
const OTHERS: u32 = 50;

/// The rate limit headers of one response.
#[derive(Debug, Clone)]
pub(super) struct Allowance {
    bucket: String,
    limit: u32,
    remaining: u32,
    reset_after: f64,
    reset: f64,
}

impl World {
    /// Counts one request; rejects it if its bucket is empty.
    #[allow(clippy::cast_precision_loss, reason = "milliseconds of a few seconds and of our age fit")]
    pub(super) fn allowance(&mut self, operation: &str, major: &str) -> (Allowance, Result<(), Rejection>) {
        let bucket = format!("{operation}:{major}");
        let now = self.now();
        let epoch = now.timestamp_millis() as f64 / 1_000.0;
        if operation != "create_message" || !self.config.post_limit {
            let remaining = OTHERS - 1;
            let allowance =
                Allowance { bucket, limit: OTHERS, remaining, reset_after: 1.0, reset: epoch + 1.0 };
            return (allowance, Ok(()));
        }
        let (since, used) = self.buckets.entry(bucket.clone()).or_insert((now, 0));
        let mut passed = (now - *since).num_milliseconds() as f64 / 1_000.0;
        if passed >= WINDOW {
            (*since, *used, passed) = (now, 0, 0.0);
        }
        let reset_after = WINDOW - passed;
        let full = *used >= POSTS;
        *used += u32::from(!full);
        let remaining = POSTS - *used;
        let allowance =
            Allowance { bucket, limit: POSTS, remaining, reset_after, reset: epoch + reset_after };
        let limited = RateLimitInfo { seconds: reset_after, global: false, scope: "user" };
        (allowance, if full { Err(Rejection::rate_limited(limited)) } else { Ok(()) })
    }
}

impl Allowance {
    pub(super) fn write_headers(&self, headers: &mut HeaderMap) {
        let mut set = |name: &'static str, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        set("x-ratelimit-limit", self.limit.to_string());
        set("x-ratelimit-remaining", self.remaining.to_string());
        set("x-ratelimit-reset", format!("{:.3}", self.reset));
        set("x-ratelimit-reset-after", format!("{:.3}", self.reset_after));
        set("x-ratelimit-bucket", hex::encode(&self.bucket));
    }
}

impl RateLimitInfo {
    pub(super) fn write_headers(&self, headers: &mut HeaderMap) {
        let mut set = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        set("retry-after", &format!("{:.0}", self.seconds.ceil()));
        set("x-ratelimit-scope", self.scope);
        if self.global {
            set("x-ratelimit-global", "true");
        }
    }
}
