//! OAuth 2 after consent: codes, tokens, refresh, revocation.
//!
//! Strict: PKCE is required, a code works once and for ten minutes, and a refresh token is issued only with
//! `access_type=offline` at the first consent (or with `prompt=consent`), as at Google. Secrets are compared and never
//! recorded.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{RawQuery, State as Shares};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::grants::{Grant, Grants};
use super::response::Rejection;
use super::{ApiCall, Shared, service_account};
use crate::{Fault, serve};

const CODE_LIVES_MINUTES: i64 = 10;
const ID_TOKEN_LIVES_SECONDS: i64 = 3599;
/// How long a grant lasts while the app is in "Testing".
const TESTING_SECONDS: i64 = 604_799;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/token", post(token))
        .route("/revoke", post(revoke))
        .route("/v1/userinfo", get(userinfo))
}

/// An OAuth error: RFC 6749, section 5.2.
#[derive(Debug)]
pub(super) struct OAuthErrorResponse(pub(super) &'static str, pub(super) &'static str);

impl IntoResponse for OAuthErrorResponse {
    fn into_response(self) -> Response {
        let status =
            if self.0 == "invalid_client" { StatusCode::UNAUTHORIZED } else { StatusCode::BAD_REQUEST };
        (status, Json(json!({"error": self.0, "error_description": self.1}))).into_response()
    }
}

async fn token(Shares(shared): Shares<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let fields = fields(&body);
    let kind = fields.get("grant_type").cloned().unwrap_or_default();
    record(&shared, "oauth.token", json!({"grant_type": kind}));
    respond_with_google_fault(shared.faults.take("oauth.token"), async {
        match exchange(&shared, &headers, &fields) {
            Ok(answer) => ([(header::CACHE_CONTROL, "no-store")], Json(answer)).into_response(),
            Err(denied) => denied.into_response(),
        }
    })
    .await
}

async fn revoke(Shares(shared): Shares<Arc<Shared>>, RawQuery(query): RawQuery, body: Bytes) -> Response {
    let fields = if body.is_empty() { fields(query.unwrap_or_default().as_bytes()) } else { fields(&body) };
    record(&shared, "oauth.revoke", Value::Null);
    respond_with_google_fault(shared.faults.take("oauth.revoke"), async {
        let token = fields.get("token").cloned().unwrap_or_default();
        match shared.change(|state| state.grants.revoke(&token)) {
            true => Json(json!({})).into_response(),
            false => OAuthErrorResponse("invalid_token", "Token expired or revoked").into_response(),
        }
    })
    .await
}

/// Injected statuses are answered like Google's front ends do: with JSON instead of an empty body.
async fn respond_with_google_fault(fault: Option<Fault>, work: impl Future<Output = Response>) -> Response {
    match fault {
        Some(Fault::Status { code, retry_after } | Fault::ErrorReason { code, retry_after, .. }) => {
            Rejection::status(code).respond(retry_after)
        }
        other => serve::respond_with_fault(other, work).await,
    }
}

fn record(shared: &Shared, operation: &str, body: Value) {
    let at = shared.now();
    let call = ApiCall { operation: operation.to_owned(), account: None, at, body };
    shared.change(|state| state.calls.push(call));
}

fn fields(body: &[u8]) -> HashMap<String, String> {
    url::form_urlencoded::parse(body).into_owned().collect()
}

type Fields = HashMap<String, String>;

fn exchange(shared: &Shared, headers: &HeaderMap, fields: &Fields) -> Result<Value, OAuthErrorResponse> {
    let form = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !form.starts_with("application/x-www-form-urlencoded") {
        return Err(OAuthErrorResponse("invalid_request", "The body must be a form."));
    }
    // The assertion's signature authenticates the client.
    if fields.get("grant_type").is_some_and(|kind| kind == service_account::GRANT_TYPE) {
        let assertion =
            fields.get("assertion").ok_or(OAuthErrorResponse("invalid_request", "Missing assertion"))?;
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        return service_account::exchange_assertion(shared, &format!("http://{host}/token"), assertion);
    }
    client(shared, headers, fields)?;
    match fields.get("grant_type").map(String::as_str) {
        Some("authorization_code") => by_code(shared, fields),
        Some("refresh_token") => by_refresh(shared, fields),
        Some(_) => Err(OAuthErrorResponse("unsupported_grant_type", "Invalid grant_type.")),
        None => Err(OAuthErrorResponse("invalid_request", "Required parameter is missing: grant_type")),
    }
}

fn client(shared: &Shared, headers: &HeaderMap, fields: &Fields) -> Result<(), OAuthErrorResponse> {
    let wrong = || OAuthErrorResponse("invalid_client", "The OAuth client was not found.");
    let basic = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let (id, secret) = match (basic, fields.get("client_secret")) {
        (Some(_), Some(_)) => {
            return Err(OAuthErrorResponse("invalid_request", "Two ways of client authentication."));
        }
        (Some(basic), None) => basic_pair(basic).ok_or_else(wrong)?,
        (None, secret) => (
            fields.get("client_id").cloned().ok_or_else(wrong)?,
            secret.cloned().ok_or(OAuthErrorResponse("invalid_client", "client_secret is missing."))?,
        ),
    };
    if id != shared.config.client_id {
        return Err(wrong());
    }
    if secret != shared.config.client_secret {
        return Err(OAuthErrorResponse("invalid_client", "Unauthorized"));
    }
    Ok(())
}

fn basic_pair(value: &str) -> Option<(String, String)> {
    let decoded = String::from_utf8(STANDARD.decode(value.strip_prefix("Basic ")?).ok()?).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    Some((unescaped(id), unescaped(secret)))
}

// RFC 6749, section 2.3.1: both halves are form-encoded before they are joined.
fn unescaped(text: &str) -> String {
    let line = format!("x={text}");
    url::form_urlencoded::parse(line.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

fn by_code(shared: &Shared, fields: &Fields) -> Result<Value, OAuthErrorResponse> {
    let now = shared.now();
    shared.change(|state| {
        let testing = state.testing;
        let grants = &mut state.grants;
        let given =
            fields.get("code").ok_or(OAuthErrorResponse("invalid_request", "Missing parameter: code"))?;
        let code =
            grants.codes.get_mut(given).ok_or(OAuthErrorResponse("invalid_grant", "Malformed auth code."))?;
        if code.used || now - code.created_at > Duration::minutes(CODE_LIVES_MINUTES) {
            return Err(OAuthErrorResponse("invalid_grant", "Bad Request"));
        }
        if fields.get("redirect_uri") != Some(&code.redirect_uri) {
            return Err(OAuthErrorResponse("redirect_uri_mismatch", "Bad Request"));
        }
        let verifier = fields.get("code_verifier").map(String::as_str).unwrap_or_default();
        if verifier.is_empty() {
            return Err(OAuthErrorResponse("invalid_grant", "Missing code verifier."));
        }
        if !verifies(verifier, &code.challenge) {
            return Err(OAuthErrorResponse("invalid_grant", "Invalid code verifier."));
        }
        code.used = true;
        let (grant, refreshable) = (code.grant, code.refreshable);
        let refresh = if refreshable { grants.make_refreshable(grant) } else { None };
        if testing && let Some(grant) = grants.all.get_mut(grant) {
            grant.expires_at = Some(now + Duration::seconds(TESTING_SECONDS));
        }
        let mut answer = tokens(grants, grant, refresh, now);
        if testing {
            answer["refresh_token_expires_in"] = json!(TESTING_SECONDS);
        }
        if let Some(grant) = grants.all.get(grant).filter(|grant| grant.scopes.contains("openid")) {
            answer["id_token"] = json!(id_token(&shared.config.client_id, grant, now));
        }
        Ok(answer)
    })
}

fn verifies(verifier: &str, challenge: &str) -> bool {
    let unreserved = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    (43..=128).contains(&verifier.len())
        && verifier.chars().all(unreserved)
        && URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == challenge
}

fn by_refresh(shared: &Shared, fields: &Fields) -> Result<Value, OAuthErrorResponse> {
    let now = shared.now();
    shared.change(|state| {
        let grants = &mut state.grants;
        let given = fields
            .get("refresh_token")
            .ok_or(OAuthErrorResponse("invalid_request", "Missing refresh_token"))?;
        let over = |grant: &Grant| grant.revoked || grant.expires_at.is_some_and(|ends| ends <= now);
        let alive = |grant: &Grant| !over(grant) && grant.refresh.as_ref() == Some(given);
        let grant = grants.all.iter().position(alive);
        let grant = grant.ok_or(OAuthErrorResponse("invalid_grant", "Token has been expired or revoked."))?;
        let refresh = if grants.rotates_refresh_tokens { grants.make_refreshable(grant) } else { None };
        Ok(tokens(grants, grant, refresh, now))
    })
}

fn tokens(grants: &mut Grants, grant: usize, refresh: Option<String>, now: DateTime<Utc>) -> Value {
    let (access, lives) = grants.issue(grant, now);
    let scopes = grants.all.get(grant).map(|grant| grant.scopes.iter().cloned().collect::<Vec<_>>());
    let mut answer = json!({
        "access_token": access,
        "expires_in": lives,
        "scope": scopes.unwrap_or_default().join(" "),
        "token_type": "Bearer",
    });
    if let Some(refresh) = refresh {
        answer["refresh_token"] = json!(refresh);
    }
    answer
}

/// Returns the ID token. Clients do not verify the signature of a token received directly from the token endpoint, so
/// this one has none.
fn id_token(client: &str, grant: &Grant, now: DateTime<Utc>) -> String {
    let mut claims = json!({
        "iss": "https://accounts.google.com",
        "aud": client,
        "azp": client,
        "sub": sub(&grant.email),
        "iat": now.timestamp(),
        "exp": now.timestamp() + ID_TOKEN_LIVES_SECONDS,
    });
    if EMAIL.iter().any(|scope| grant.scopes.contains(*scope)) {
        claims["email"] = json!(grant.email);
        claims["email_verified"] = json!(true);
    }
    let header = json!({"alg": "RS256", "typ": "JWT", "kid": "sandbox"});
    let encoded = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    format!("{}.{}.{}", encoded[0], encoded[1], URL_SAFE_NO_PAD.encode("not signed"))
}

const EMAIL: [&str; 2] = ["email", "https://www.googleapis.com/auth/userinfo.email"];

fn sub(email: &str) -> String {
    hex::encode(&Sha256::digest(email)[..8])
}

/// The bearer token of a request.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

async fn userinfo(Shares(shared): Shares<Arc<Shared>>, headers: HeaderMap) -> Response {
    let state = shared.state();
    let grant = bearer(&headers).and_then(|token| state.grants.bearer(token, shared.now()));
    let Some(grant) = grant else { return Rejection::unauthenticated().respond(None) };
    if !EMAIL.iter().any(|scope| grant.scopes.contains(*scope)) {
        return Rejection::insufficient_scopes().respond(None);
    }
    Json(json!({"sub": sub(&grant.email), "email": grant.email, "email_verified": true})).into_response()
}
