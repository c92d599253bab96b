#![allow(clippy::unwrap_used)]

use axum::body::Body;
use axum::http::{Request, Response};
use chrono::TimeZone;
use http_body_util::BodyExt;
use nod_accounts::connection::{ConnectPage, ConnectRequestError};
use nod_connectors::google::scopes;
use sqlx::postgres::PgPoolOptions;
use tower::ServiceExt;

use super::*;
use nod_contract::provider::Provider;

/// A server whose database is down and which knows one platform.
fn router_without_database() -> (Router, PlatformReadiness) {
    let pool = PgPoolOptions::new().connect_lazy("postgres://nobody@127.0.0.1:1/none").unwrap();
    let readiness = Readiness::new(pool);
    let slack = readiness.platform("slack", 0);
    (router(readiness, None, Router::new()), slack)
}

async fn send(router: &Router, request: Request<Body>) -> (StatusCode, String, Response<()>) {
    let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (parts.status, String::from_utf8(bytes.to_vec()).unwrap(), Response::from_parts(parts, ()))
}

fn get_request(path: &str) -> Request<Body> {
    Request::get(path).body(Body::empty()).unwrap()
}

async fn body_text(response: axum::response::Response) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn alive_without_a_database_and_not_ready() {
    let (router, slack) = router_without_database();
    let (status, body, _) = send(&router, get_request("/healthz")).await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, HEALTH_TEXT));
    let (status, body, _) = send(&router, get_request("/readyz")).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(body, r#"{"not_ready":["database","slack"],"ready":false}"#);
    slack.set_connected(true);
    let (_, body, _) = send(&router, get_request("/readyz")).await;
    assert_eq!(body, r#"{"not_ready":["database"],"ready":false}"#);
}

#[tokio::test]
async fn responses_are_uncacheable_and_load_nothing() {
    let (router, _) = router_without_database();
    for path in ["/", "/healthz", "/readyz", "/oauth/google/start?t=x", "/oauth/google/callback"] {
        let (_, body, answer) = send(&router, get_request(path)).await;
        let header = |name: &str| answer.headers().get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!(header("cache-control"), "no-store", "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
        assert!(header("content-security-policy").starts_with("default-src 'none'; style-src 'sha256-"));
        assert!(
            !body.contains("http://") && !body.contains("https://") && !body.contains("<script"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn unknown_routes_are_404_and_connect_needs_google() {
    let (router, _) = router_without_database();
    for (path, sentence) in [
        ("/", "Nod lives in your chat"),
        ("/oauth/github/start", "Nod lives in your chat"),
        ("/oauth/google/start?t=x", "google.client_id"),
        ("/oauth/google/callback?state=x", "google.client_id"),
    ] {
        let (status, body, _) = send(&router, get_request(path)).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
        assert!(body.contains(sentence), "{path}: {body}");
    }
}

#[tokio::test]
async fn the_page_names_whose_account_it_will_be_and_escapes_it() {
    let now = chrono::Utc.with_ymd_and_hms(2026, 3, 6, 14, 0, 0).unwrap();
    let mut offer = ConnectPage {
        person_name: "Ana <b>Ruiz</b>".to_owned(),
        required_email: Some("ana@acme.test".to_owned()),
        platform: "slack".to_owned(),
        workspace_name: "Acme & Sons".to_owned(),
        provider: Provider::Google,
        scopes: scopes::USUAL.map(str::to_owned).to_vec(),
        expires_at: now + chrono::TimeDelta::minutes(12),
    };
    let page = body_text(pages::offer(&offer, false, "a\"token", now)).await;
    for wanted in [
        "ana@acme.test",
        "Acme &#38; Sons",
        "Ana &#60;b&#62;Ruiz",
        "value=\"a&#34;token\"",
        "for another 12 minutes, until 14:12 UTC on 6 March",
        "Continue to Google",
        "method=\"post\"",
    ] {
        assert!(page.contains(wanted), "{wanted} is not in {page}");
    }
    offer.required_email = None;
    let page = body_text(pages::offer(&offer, true, "token", now)).await;
    assert!(page.contains("any of yours. You'll sign in with Discord first"), "{page}");
    assert!(page.contains("Continue to Discord"), "{page}");
}

#[tokio::test]
async fn errors_hide_internals() {
    let inside = sqlx::Error::Protocol("relation offers".to_owned());
    for (error, status) in [
        (ConnectRequestError::Unknown, StatusCode::NOT_FOUND),
        (ConnectRequestError::Expired, StatusCode::GONE),
        (ConnectRequestError::Used, StatusCode::GONE),
        (ConnectRequestError::Stranger, StatusCode::FORBIDDEN),
        (ConnectRequestError::NotNow, StatusCode::SERVICE_UNAVAILABLE),
        (ConnectRequestError::Database(inside), StatusCode::SERVICE_UNAVAILABLE),
    ] {
        let page = pages::offer_error(&error);
        assert_eq!(page.status(), status);
        assert!(!body_text(page).await.contains("relation"));
    }
}

#[tokio::test]
async fn account_mismatch_names_the_expected_account() {
    let page = body_text(pages::other_account("eve@evil.test", Some("ana@acme.test"), false)).await;
    assert!(page.contains("You signed in as eve@evil.test, but this link is for ana@acme.test."), "{page}");
    let asked = body_text(pages::other_account("ana@home.test", None, true)).await;
    assert!(asked.contains("An admin has been asked to allow this account"), "{asked}");
}
