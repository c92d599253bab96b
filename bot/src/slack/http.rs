//! HTTP mode: Slack posts what people do to three routes of Nod's one server. What Slack did not sign just now
//! is refused and leaves no trace; behind the signature stands the very door that Socket Mode leads to.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use nod_core::clock::Clock;
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::door::Door;
use super::inbound::Kind;
use super::signature;

/// The largest body that is taken, in bytes: a message of 40,000 characters comes several times in one event,
/// and a press brings its whole card.
const LARGEST_BODY: usize = 2 * 1024 * 1024;

/// What stands before the door.
pub(super) struct Gate {
    pub door: Door,
    pub signing_secret: SecretString,
    pub clock: Arc<dyn Clock>,
}

/// The three routes that the app's manifest names.
pub(super) fn routes(gate: Gate) -> Router {
    Router::new()
        .route("/slack/events", post(events))
        .route("/slack/interactions", post(interactions))
        .route("/slack/commands", post(commands))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(Arc::new(gate))
}

async fn events(State(gate): State<Arc<Gate>>, headers: HeaderMap, body: Bytes) -> Response {
    if !gate.signed(&headers, &body) {
        return refused();
    }
    match serde_json::from_slice::<Value>(&body) {
        Err(_) => gate.keep("body", &body).await,
        // Slack asks for this when the address is entered, to see that somebody listens there.
        Ok(payload) if payload["type"] == "url_verification" => {
            Json(json!({"challenge": payload["challenge"]})).into_response()
        }
        Ok(payload) => gate.take(Kind::Event, &payload).await,
    }
}

async fn interactions(State(gate): State<Arc<Gate>>, headers: HeaderMap, body: Bytes) -> Response {
    if !gate.signed(&headers, &body) {
        return refused();
    }
    let field = form_urlencoded::parse(&body).find(|(name, _)| name == "payload");
    match field.and_then(|(_, payload)| serde_json::from_str::<Value>(&payload).ok()) {
        Some(payload) => gate.take(Kind::Interaction, &payload).await,
        None => gate.keep("interaction without payload", &body).await,
    }
}

async fn commands(State(gate): State<Arc<Gate>>, headers: HeaderMap, body: Bytes) -> Response {
    if !gate.signed(&headers, &body) {
        return refused();
    }
    let fields = form_urlencoded::parse(&body).map(|(name, value)| (name.into_owned(), value.into()));
    let payload = Value::Object(fields.collect::<Map<_, _>>());
    // Slack looks at the certificate now and then, with a command that nobody gave.
    if payload["ssl_check"] == "1" {
        return StatusCode::OK.into_response();
    }
    gate.take(Kind::Command, &payload).await
}

impl Gate {
    fn signed(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (at, signature) = (header(signature::TIMESTAMP), header(signature::SIGNATURE));
        let signed = signature::holds(&self.signing_secret, at, body, signature, self.clock.now());
        if !signed {
            tracing::warn!("refused a request that Slack did not sign just now");
        }
        signed
    }

    /// Stored first, answered then: the immediate answer rides on the response, as it does on a socket's
    /// acknowledgement. What was not stored is not answered well, so that Slack sends events again.
    async fn take(&self, kind: Kind, payload: &Value) -> Response {
        match self.door.take(kind, payload).await {
            Ok(Some(answer)) => Json(answer).into_response(),
            Ok(None) => StatusCode::OK.into_response(),
            Err(error) => unstored(&error),
        }
    }

    async fn keep(&self, why: &'static str, body: &[u8]) -> Response {
        match self.door.keep(why, String::from_utf8_lossy(body).into()).await {
            Ok(()) => StatusCode::OK.into_response(),
            Err(error) => unstored(&error),
        }
    }
}

fn refused() -> Response {
    StatusCode::UNAUTHORIZED.into_response()
}

fn unstored(error: &super::NotStored) -> Response {
    tracing::error!(%error, "not acknowledged");
    StatusCode::SERVICE_UNAVAILABLE.into_response()
}
