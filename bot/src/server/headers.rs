//! The headers of every response: not cached, not framed, loading nothing.

use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::Response;

use super::pages;

/// Adds them. There is no `form-action`: Chrome applies it to a form's whole chain of redirects, and Google redirects
/// people of many organisations to their own sign-in.
pub(super) async fn add_security_headers(mut response: Response) -> Response {
    let policy = format!(
        "default-src 'none'; style-src '{}'; base-uri 'none'; frame-ancestors 'none'",
        pages::style_digest()
    );
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
