//! Why a call to Gmail or Calendar failed, and what that means for a read and for a write, where "no answer" and "not
//! done" differ.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::DateTime;
use google_gmail1::common::{self, Delegate, Retry};
use nod_contract::provider::Provider;
use nod_contract::tool::ToolError;
use serde_json::Value;

/// The job's wait in seconds if Google does not give a time.
const DEFAULT_RETRY_SECS: u64 = 5;
/// The wait if a quota is used up. Many quotas are per day, but an hour later some of it might be available again.
const QUOTA_RETRY_SECS: u64 = 3600;
const REASON_CHARS: usize = 200;

/// What Google asks for after too many requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::google) enum RateLimit {
    /// To wait this many seconds.
    Wait(u64),
    /// To send fewer requests; it does not give a time.
    SlowDown,
    /// To stop for now, perhaps for the day.
    QuotaExhausted,
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(in crate::google) enum GoogleApiError {
    /// There was no access token for the call.
    #[error(transparent)]
    NoToken(ToolError),
    /// Google rejected it. `code` is its error code; `after` is how many seconds it asks to wait.
    #[error("status {status} {code}: {message}")]
    Rejected { status: u16, code: String, message: String, after: Option<u64> },
    /// The request was never sent.
    #[error("{0}")]
    NotSent(&'static str),
    /// The request was sent but no complete answer came: the outcome is unknown.
    #[error("{0}")]
    NoResponse(String),
}

impl GoogleApiError {
    /// Returns the error of a token source that has no token.
    pub(in crate::google) fn no_token(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        match error.downcast::<ToolError>() {
            Ok(fault) => Self::NoToken(*fault),
            Err(_) => Self::NoToken(ToolError::internal("no access token")),
        }
    }

    /// Returns whether an immediate retry might help, if it is harmless.
    pub(in crate::google) fn is_transient(&self) -> bool {
        match self {
            Self::Rejected { status, .. } => matches!(status, 500 | 502..=504),
            Self::NotSent(_) | Self::NoResponse(_) => true,
            Self::NoToken(_) => false,
        }
    }

    /// Returns the quota problem, if there were too many requests or Google asks to come back later.
    /// (<https://developers.google.com/workspace/gmail/api/guides/handle-errors>,
    /// <https://developers.google.com/workspace/calendar/api/guides/errors>)
    pub(in crate::google) fn quota(&self) -> Option<RateLimit> {
        let Self::Rejected { status, code, after, .. } = self else { return None };
        let quota = match (status, code.as_str()) {
            (403 | 429, "quotaExceeded" | "dailyLimitExceeded") => RateLimit::QuotaExhausted,
            (429, _) | (403, "rateLimitExceeded" | "userRateLimitExceeded" | "RATE_LIMIT_EXCEEDED") => {
                RateLimit::SlowDown
            }
            (503, _) if after.is_some() => RateLimit::SlowDown,
            _ => return None,
        };
        Some(after.map_or(quota, RateLimit::Wait))
    }

    /// Returns whether the object changed since it was seen, or its id is taken.
    pub(in crate::google) fn is_conflict(&self) -> bool {
        matches!(self, Self::Rejected { status: 409 | 412, .. })
    }

    pub(in crate::google) fn is_gone(&self) -> bool {
        matches!(self, Self::Rejected { status: 404 | 410, .. })
    }

    /// Maps a failed read, or a call that can be repeated without harm.
    pub(in crate::google) fn into_read_error(self, what: &str) -> ToolError {
        match self {
            Self::NoToken(fault) => fault,
            _ if self.is_gone() => ToolError::NotFound { what: what.to_owned() },
            Self::NotSent(_) | Self::NoResponse(_) => {
                ToolError::internal(format!("Google didn't answer: {self}"))
            }
            Self::Rejected { status, .. } if status >= 500 && self.quota().is_none() => {
                ToolError::internal(format!("something is wrong at Google: {self}"))
            }
            Self::Rejected { .. } => self.into_rejection(),
        }
    }

    /// Maps a failed preparation of a draft. The draft reaches no one and is looked up before a retry, so the job can
    /// simply retry.
    pub(in crate::google) fn into_prepare_error(self) -> ToolError {
        match self {
            _ if self.is_transient() && self.quota().is_none() => {
                ToolError::RateLimited { retry_after_secs: DEFAULT_RETRY_SECS }
            }
            _ => self.into_read_error("the draft"),
        }
    }

    /// Maps a failed write that must not happen twice.
    pub(in crate::google) fn into_write_error(self) -> ToolError {
        match self {
            Self::NoToken(fault) => fault,
            Self::NotSent(_) => ToolError::RateLimited { retry_after_secs: DEFAULT_RETRY_SECS },
            Self::NoResponse(reason) => {
                ToolError::UnknownOutcome { reason: format!("Google didn't answer: {reason}") }
            }
            // A missing draft might have been sent by the previous attempt.
            _ if self.is_gone() => ToolError::UnknownOutcome { reason: "it's no longer at Google".into() },
            Self::Rejected { status, .. } if status >= 500 || status == 408 => ToolError::UnknownOutcome {
                reason: format!("something went wrong at Google while doing it: {self}"),
            },
            Self::Rejected { .. } => self.into_rejection(),
        }
    }

    /// Maps a failed change of the person's own mailbox that can be repeated without harm.
    pub(in crate::google) fn into_repeatable_write_error(self, what: &str) -> ToolError {
        match self {
            _ if self.is_gone() => ToolError::NotFound { what: what.to_owned() },
            _ => self.into_write_error(),
        }
    }

    /// Maps a status below 500, or a quota: it was certainly not done.
    fn into_rejection(self) -> ToolError {
        match self.quota() {
            Some(RateLimit::Wait(after_seconds)) => {
                return ToolError::RateLimited { retry_after_secs: after_seconds };
            }
            Some(RateLimit::SlowDown) => {
                return ToolError::RateLimited { retry_after_secs: DEFAULT_RETRY_SECS };
            }
            Some(RateLimit::QuotaExhausted) => {
                return ToolError::RateLimited { retry_after_secs: QUOTA_RETRY_SECS };
            }
            None => {}
        }
        let Self::Rejected { status, code, message, .. } = self else {
            return ToolError::internal(self.to_string());
        };
        let reconnect = ToolError::reconnect(Provider::Google);
        match (status, code.as_str()) {
            (401, _) => reconnect,
            (403, "insufficientPermissions" | "ACCESS_TOKEN_SCOPE_INSUFFICIENT") => reconnect,
            (403, _) => ToolError::Forbidden { reason: format!("Google said no: {message}") },
            _ => ToolError::invalid(format!("Google said no: {message}")),
        }
    }
}

/// Observes one call of Google's client, which otherwise drops the status and Retry-After. Also makes it retry once
/// with another token after a 401.
pub(in crate::google) struct ErrorCapture {
    token_rejected: Arc<AtomicBool>,
    token_retried: bool,
    failure: Option<GoogleApiError>,
}

impl ErrorCapture {
    pub(in crate::google) fn new(refused: Arc<AtomicBool>) -> Self {
        Self { token_rejected: refused, token_retried: false, failure: None }
    }

    /// Maps a rejection; `None` if the request is to be retried once with another token.
    pub(in crate::google) fn on_rejection(
        &mut self,
        response: &common::Response,
        error: Option<&Value>,
    ) -> Option<GoogleApiError> {
        let status = response.status().as_u16();
        if status == 401 && !self.token_retried {
            self.token_retried = true;
            self.token_rejected.store(true, Ordering::Release);
            return None;
        }
        let (code, message) = parse_error_body(error);
        Some(GoogleApiError::Rejected { status, code, after: parse_retry_after(response, &message), message })
    }

    /// Returns the outcome of the call. Error messages of the client quote whole bodies, so none of them is kept.
    pub(in crate::google) fn outcome<T>(
        self,
        done: common::Result<(common::Response, T)>,
    ) -> Result<T, GoogleApiError> {
        match done {
            Ok((_, value)) => Ok(value),
            Err(common::Error::MissingToken(error)) => Err(GoogleApiError::no_token(error)),
            Err(common::Error::HttpError(error)) if error.is_connect() => {
                Err(GoogleApiError::NotSent("no connection"))
            }
            Err(common::Error::HttpError(_)) => {
                Err(GoogleApiError::NoResponse("the connection broke off".into()))
            }
            Err(common::Error::UploadSizeLimitExceeded(..)) => Err(GoogleApiError::Rejected {
                status: 413,
                code: String::new(),
                message: "the email is larger than Google takes".into(),
                after: None,
            }),
            Err(_) => Err(self
                .failure
                .unwrap_or_else(|| GoogleApiError::NoResponse("the answer could not be read".into()))),
        }
    }
}

impl Delegate for ErrorCapture {
    fn http_failure(&mut self, response: &common::Response, error: Option<&Value>) -> Retry {
        self.failure = self.on_rejection(response, error);
        if self.failure.is_none() { Retry::After(Duration::ZERO) } else { Retry::Abort }
    }
}

/// Returns the seconds to wait: from the header (RFC 9110, section 10.2.3), or from Gmail's message ("User-rate limit
/// exceeded. Retry after 2026-03-06T10:05:00.000Z"). A date is compared with the response's own date.
fn parse_retry_after(response: &common::Response, message: &str) -> Option<u64> {
    let header = |name: &str| response.headers().get(name)?.to_str().ok().map(str::trim);
    let said = header("retry-after").or_else(|| Some(message.split_once("Retry after ")?.1.trim()))?;
    if let Ok(seconds) = said.parse() {
        return Some(seconds);
    }
    let given = DateTime::parse_from_rfc2822(header("date")?).ok()?;
    let until = DateTime::parse_from_rfc3339(said).or_else(|_| DateTime::parse_from_rfc2822(said)).ok()?;
    u64::try_from((until - given).num_seconds()).ok()
}

fn parse_error_body(error: Option<&Value>) -> (String, String) {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let Some(error) = error.and_then(|body| body.get("error")) else {
        return (String::new(), "no reason given".into());
    };
    let code = text(error.pointer("/errors/0/reason"))
        .or_else(|| text(error.pointer("/details/0/reason")))
        .or_else(|| text(error.get("status")));
    let message = text(error.get("message")).or_else(|| text(Some(error)));
    let message: String =
        message.as_deref().unwrap_or("no reason given").chars().take(REASON_CHARS).collect();
    (code.unwrap_or_default(), message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use http_body_util::{BodyExt, Empty};
    use serde_json::json;

    use super::*;

    fn rejection(status: u16, code: &str, after: Option<u64>) -> GoogleApiError {
        GoogleApiError::Rejected { status, code: code.into(), message: "m".into(), after }
    }

    #[test]
    fn send_without_response_is_unknown() {
        let unknown =
            |trouble: GoogleApiError| matches!(trouble.into_write_error(), ToolError::UnknownOutcome { .. });
        assert!(unknown(GoogleApiError::NoResponse("slow".into())));
        assert!(unknown(rejection(500, "", None)));
        assert!(unknown(rejection(503, "", None)));
        assert!(unknown(rejection(408, "", None)));
        assert!(unknown(rejection(404, "notFound", None)));
        assert_eq!(
            GoogleApiError::NotSent("x").into_write_error(),
            ToolError::RateLimited { retry_after_secs: DEFAULT_RETRY_SECS }
        );
    }

    #[test]
    fn rejections_are_classified() {
        let reconnect = ToolError::reconnect(Provider::Google);
        for (trouble, fault) in [
            (rejection(401, "authError", None), reconnect.clone()),
            (rejection(403, "insufficientPermissions", None), reconnect),
            (rejection(429, "rateLimitExceeded", Some(7)), ToolError::RateLimited { retry_after_secs: 7 }),
            (rejection(403, "userRateLimitExceeded", None), ToolError::RateLimited { retry_after_secs: 5 }),
            (rejection(403, "quotaExceeded", None), ToolError::RateLimited { retry_after_secs: 3600 }),
            (rejection(429, "dailyLimitExceeded", None), ToolError::RateLimited { retry_after_secs: 3600 }),
            (rejection(403, "dailyLimitExceeded", Some(60)), ToolError::RateLimited { retry_after_secs: 60 }),
            (
                rejection(403, "domainPolicy", None),
                ToolError::Forbidden { reason: "Google said no: m".into() },
            ),
            (rejection(400, "invalidArgument", None), ToolError::invalid("Google said no: m")),
        ] {
            assert_eq!(trouble.clone().into_write_error(), fault);
            assert_eq!(trouble.into_read_error("it"), fault);
        }
        assert_eq!(rejection(404, "", None).into_read_error("it"), ToolError::NotFound { what: "it".into() });
        assert!(matches!(rejection(502, "", None).into_read_error("it"), ToolError::Internal { .. }));
        assert_eq!(
            rejection(502, "", None).into_prepare_error(),
            ToolError::RateLimited { retry_after_secs: 5 }
        );
        assert_eq!(
            rejection(503, "", Some(60)).into_prepare_error(),
            ToolError::RateLimited { retry_after_secs: 60 }
        );
        assert_eq!(
            rejection(503, "", Some(60)).into_read_error("it"),
            ToolError::RateLimited { retry_after_secs: 60 }
        );
    }

    #[test]
    fn both_error_formats_are_parsed() {
        let old = json!({"error": {"message": "Slow", "errors": [{"reason": "rateLimitExceeded"}]}});
        assert_eq!(parse_error_body(Some(&old)), ("rateLimitExceeded".into(), "Slow".into()));
        let new = json!({"error": {"message": "No", "status": "PERMISSION_DENIED",
            "details": [{"reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}]}});
        assert_eq!(parse_error_body(Some(&new)).0, "ACCESS_TOKEN_SCOPE_INSUFFICIENT");
        assert_eq!(parse_error_body(None).1, "no reason given");
    }

    #[test]
    fn retry_after_is_parsed_from_header_and_message() {
        let asked = |header: Option<&str>, message: &str| {
            let mut response = hyper::Response::builder().header("date", "Fri, 06 Mar 2026 10:00:00 GMT");
            if let Some(header) = header {
                response = response.header("retry-after", header);
            }
            let body = BodyExt::boxed(Empty::new().map_err(|never| match never {}));
            parse_retry_after(&response.body(body).unwrap(), message)
        };
        assert_eq!(asked(Some(" 30 "), ""), Some(30));
        assert_eq!(asked(Some("Fri, 06 Mar 2026 10:02:00 GMT"), ""), Some(120));
        let gmail = "User-rate limit exceeded.  Retry after 2026-03-06T10:05:00.500Z";
        assert_eq!(asked(None, gmail), Some(300));
        assert_eq!(asked(Some("7"), gmail), Some(7));
        assert_eq!(asked(Some("Fri, 06 Mar 2026 09:00:00 GMT"), ""), None, "that is over");
        assert_eq!(asked(None, "User-rate limit exceeded."), None);
    }
}
