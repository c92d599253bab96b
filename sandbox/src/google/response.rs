//! Google's answers: JSON, and the format of errors.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// An error in Google's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
}

impl Rejection {
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self { code: 400, reason: "invalidArgument", message: message.into() }
    }

    pub fn unauthenticated() -> Self {
        let message = "Request had invalid authentication credentials. Expected OAuth 2 access token, login \
                       cookie or other valid authentication credential.";
        Self { code: 401, reason: "authError", message: message.to_owned() }
    }

    pub fn insufficient_scopes() -> Self {
        let message = "Request had insufficient authentication scopes.".to_owned();
        Self { code: 403, reason: "insufficientPermissions", message }
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self { code: 403, reason: "forbidden", message: message.into() }
    }

    pub fn not_found() -> Self {
        Self { code: 404, reason: "notFound", message: "Requested entity was not found.".to_owned() }
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self { code: 409, reason: "aborted", message: message.into() }
    }

    pub fn backend(message: impl Into<String>) -> Self {
        Self { code: 500, reason: "backendError", message: message.into() }
    }

    /// Returns Google's error for a status caused by itself or by its quotas.
    pub fn status(code: u16) -> Self {
        let (reason, message) = match code {
            401 => return Self::unauthenticated(),
            403 => return Self::insufficient_scopes(),
            404 => return Self::not_found(),
            429 => ("rateLimitExceeded", "User-rate limit exceeded."),
            503 => ("backendError", "The service is currently unavailable."),
            500..=599 => ("backendError", "Internal error encountered."),
            _ => ("invalidArgument", "Request contains an invalid argument."),
        };
        Self { code, reason, message: message.to_owned() }
    }

    fn canonical(&self) -> &'static str {
        match self.code {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            409 => "ABORTED",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            500..=599 => "INTERNAL",
            _ => "INVALID_ARGUMENT",
        }
    }

    /// Returns the response, with `Retry-After` if `retry_after` (in seconds) is given.
    pub fn respond(&self, retry_after: Option<u64>) -> Response {
        let status = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let error = json!({"error": {
            "code": self.code,
            "message": self.message,
            "errors": [{"message": self.message, "domain": "global", "reason": self.reason}],
            "status": self.canonical(),
        }});
        let mut response = (status, Json(error)).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == 401 {
            let challenge = HeaderValue::from_static(r#"Bearer realm="https://accounts.google.com/""#);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// An operation's answer: its resource, or no content (204).
pub(super) type Outcome = Result<Option<Value>, Rejection>;

pub(super) fn respond(outcome: Outcome) -> Response {
    match outcome {
        Ok(Some(value)) => Json(value).into_response(),
        Ok(None) => StatusCode::NO_CONTENT.into_response(),
        Err(refusal) => refusal.respond(None),
    }
}

pub(super) async fn not_found() -> Response {
    Rejection::not_found().respond(None)
}
