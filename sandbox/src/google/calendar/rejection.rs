//! Calendar's errors: their reasons and their format.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::google::response::Rejection;

fn because(code: u16, reason: &'static str, message: impl Into<String>) -> Rejection {
    Rejection { code, reason, message: message.into() }
}

pub(super) fn invalid(message: impl Into<String>) -> Rejection {
    because(400, "invalid", message)
}

pub(super) fn required(message: impl Into<String>) -> Rejection {
    because(400, "required", message)
}

pub(super) fn empty_range() -> Rejection {
    because(400, "timeRangeEmpty", "The specified time range is empty.")
}

pub(super) fn long_range() -> Rejection {
    because(400, "timeRangeTooLong", "The requested time range is too long.")
}

pub(super) fn reminders(message: impl Into<String>) -> Rejection {
    because(400, "cannotUseDefaultRemindersAndSpecifyOverride", message)
}

/// Shared fields can be changed only by the organizer.
pub(super) fn not_the_organizer() -> Rejection {
    because(
        403,
        "forbiddenForNonOrganizer",
        "Shared properties can only be changed by the organizer of the event.",
    )
}

pub(super) fn not_a_writer() -> Rejection {
    because(403, "requiredAccessLevel", "You need to have writer access to this calendar.")
}

pub(super) fn not_found() -> Rejection {
    because(404, "notFound", "Not Found")
}

pub(super) fn duplicate() -> Rejection {
    because(409, "duplicate", "The requested identifier already exists.")
}

pub(super) fn resource_deleted() -> Rejection {
    because(410, "deleted", "Resource has been deleted")
}

pub(super) fn precondition_failed() -> Rejection {
    because(412, "conditionNotMet", "Precondition Failed")
}

/// Returns Calendar's error for a status caused by itself or by its quotas.
pub(super) fn status(code: u16) -> Rejection {
    match code {
        404 => not_found(),
        409 => duplicate(),
        410 => resource_deleted(),
        412 => precondition_failed(),
        429 => because(429, "rateLimitExceeded", "Rate Limit Exceeded"),
        code => Rejection::status(code),
    }
}

/// Returns Calendar's error with this status and reason.
pub(super) fn with_reason(code: u16, reason: &'static str) -> Rejection {
    let message = match reason {
        "rateLimitExceeded" => "Rate Limit Exceeded",
        "userRateLimitExceeded" => "User Rate Limit Exceeded",
        "quotaExceeded" => "Calendar usage limits exceeded.",
        other => other,
    };
    because(code, reason, message)
}

/// Returns the response in Calendar's format, which has no canonical status, unlike Gmail's.
pub(super) fn respond(refusal: &Rejection, retry_after: Option<u64>) -> Response {
    let domain = match refusal.reason {
        "rateLimitExceeded" | "userRateLimitExceeded" | "quotaExceeded" | "dailyLimitExceeded" => {
            "usageLimits"
        }
        "timeRangeEmpty"
        | "timeRangeTooLong"
        | "forbiddenForNonOrganizer"
        | "cannotUseDefaultRemindersAndSpecifyOverride" => "calendar",
        _ => "global",
    };
    let mut error = json!({"domain": domain, "reason": refusal.reason, "message": refusal.message});
    let place = match refusal.reason {
        "conditionNotMet" => Some("If-Match"),
        "authError" => Some("Authorization"),
        _ => None,
    };
    if let Some(place) = place {
        error["locationType"] = json!("header");
        error["location"] = json!(place);
    }
    let body = json!({"error": {"errors": [error], "code": refusal.code, "message": refusal.message}});
    let status = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(body)).into_response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if refusal.code == 401 {
        let challenge = HeaderValue::from_static(r#"Bearer realm="https://accounts.google.com/""#);
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
