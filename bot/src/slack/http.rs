//! HTTP mode: Slack posts events to three routes of Nod's one server. A request without a recent signature of Slack is
//! refused and leaves no trace; behind the signature check is the same door as for Socket Mode.
//!
//! A signature covers the body, so it cannot be checked before that is read. The head is checked first; then small
//! bodies are read freely, and large ones a few at a time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_LENGTH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use nod_contract::clock::Clock;
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::form_urlencoded;

use super::inbound::PayloadKind;
use super::ingest::Ingestor;
use super::signature;

/// The largest accepted body, in bytes: a message of 40,000 characters is repeated several times in one event, and a
/// click contains its whole card.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;
/// Bodies up to this size are read regardless of others; nearly everything that Slack sends is smaller.
const SMALL_BODY: usize = 64 * 1024;
/// The number of larger ones that are read at once.
const LARGE_BODIES: usize = 4;
/// How long a body can take. Slack itself gives up after three seconds.
const BODY: Duration = Duration::from_secs(10);

/// Checks requests before they reach the door.
pub(super) struct SlackWebhooks {
    ingestor: Ingestor,
    signing_secret: SecretString,
    clock: Arc<dyn Clock>,
    large: Semaphore,
}

/// The three routes that the app's manifest names.
pub(super) fn routes(gate: SlackWebhooks) -> Router {
    Router::new()
        .route("/slack/events", post(events))
        .route("/slack/interactions", post(interactions))
        .route("/slack/commands", post(commands))
        .with_state(Arc::new(gate))
}

async fn events(State(gate): State<Arc<SlackWebhooks>>, request: Request) -> Response {
    let body = match gate.read(request).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    match serde_json::from_slice::<Value>(&body) {
        Err(_) => gate.store_unreadable("body", &body).await,
        // Slack sends this when the URL is entered, to verify the endpoint.
        Ok(payload) if payload["type"] == "url_verification" => {
            Json(json!({"challenge": payload["challenge"]})).into_response()
        }
        Ok(payload) => gate.handle_payload(PayloadKind::Event, &payload).await,
    }
}

async fn interactions(State(gate): State<Arc<SlackWebhooks>>, request: Request) -> Response {
    let body = match gate.read(request).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    let field = form_urlencoded::parse(&body).find(|(name, _)| name == "payload");
    match field.and_then(|(_, payload)| serde_json::from_str::<Value>(&payload).ok()) {
        Some(payload) => gate.handle_payload(PayloadKind::Interaction, &payload).await,
        None => gate.store_unreadable("interaction without payload", &body).await,
    }
}

async fn commands(State(gate): State<Arc<SlackWebhooks>>, request: Request) -> Response {
    let body = match gate.read(request).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    let fields = form_urlencoded::parse(&body).map(|(name, value)| (name.into_owned(), value.into()));
    let payload = Value::Object(fields.collect::<Map<_, _>>());
    // Slack checks the certificate now and then, with a command that no user typed.
    if payload["ssl_check"] == "1" {
        return StatusCode::OK.into_response();
    }
    gate.handle_payload(PayloadKind::Command, &payload).await
}

impl SlackWebhooks {
    pub(super) fn new(door: Ingestor, signing_secret: SecretString, clock: Arc<dyn Clock>) -> Self {
        Self { ingestor: door, signing_secret, clock, large: Semaphore::new(LARGE_BODIES) }
    }

    /// Returns the body of a request with a recent signature of Slack, or the refusal.
    async fn read(&self, request: Request) -> Result<Bytes, Response> {
        let (head, body) = request.into_parts();
        let (at, signature) =
            (header(&head.headers, signature::TIMESTAMP), header(&head.headers, signature::SIGNATURE));
        if !signature::is_plausible(at, signature, self.clock.now()) {
            return Err(unsigned());
        }
        // A body without a length counts as the longest one allowed.
        let length = header(&head.headers, CONTENT_LENGTH.as_str()).parse().unwrap_or(MAX_BODY_BYTES);
        if length > MAX_BODY_BYTES {
            return Err(unauthorized_response(StatusCode::PAYLOAD_TOO_LARGE));
        }
        let reads = async {
            // The semaphore is never closed.
            let _place = if length > SMALL_BODY { self.large.acquire().await.ok() } else { None };
            to_bytes(body, MAX_BODY_BYTES).await
        };
        let body = match timeout(BODY, reads).await {
            Err(_) => return Err(unauthorized_response(StatusCode::REQUEST_TIMEOUT)),
            Ok(Err(_)) => return Err(unauthorized_response(StatusCode::PAYLOAD_TOO_LARGE)),
            Ok(Ok(body)) => body,
        };
        match signature::is_valid(&self.signing_secret, at, &body, signature, self.clock.now()) {
            true => Ok(body),
            false => Err(unsigned()),
        }
    }

    /// Stores first, then answers: the response contains the immediate answer, like a socket's acknowledgement. If the
    /// payload was not stored, the status is an error, so that Slack redelivers events.
    async fn handle_payload(&self, kind: PayloadKind, payload: &Value) -> Response {
        match self.ingestor.handle_payload(kind, payload).await {
            Ok(Some(answer)) => Json(answer).into_response(),
            Ok(None) => StatusCode::OK.into_response(),
            Err(error) => store_error_response(&error),
        }
    }

    async fn store_unreadable(&self, why: &'static str, body: &[u8]) -> Response {
        match self.ingestor.store_unreadable(why, String::from_utf8_lossy(body).into()).await {
            Ok(()) => StatusCode::OK.into_response(),
            Err(error) => store_error_response(&error),
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn unsigned() -> Response {
    tracing::warn!("refused a request with an invalid or expired Slack signature");
    unauthorized_response(StatusCode::UNAUTHORIZED)
}

/// The rest of the body is not read.
fn unauthorized_response(status: StatusCode) -> Response {
    (status, [(CONNECTION, "close")]).into_response()
}

fn store_error_response(error: &super::StoreError) -> Response {
    tracing::error!(%error, "request not acknowledged");
    StatusCode::SERVICE_UNAVAILABLE.into_response()
}
