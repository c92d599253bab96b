//! HTTP delivery: signed requests to the app's three addresses, with a timeout of three seconds; events get three
//! retries.
//!
//! An address is used once the app has answered its challenge, as when it is entered on Slack's page.

use std::time::{Duration, Instant};

use hmac::{Hmac, Mac};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::{Value, json};
use sha2::Sha256;
use url::form_urlencoded::Serializer;

use super::Slack;
use super::envelopes::{Delivery, Envelope, EnvelopeKind};
use super::world::{World, secret};

/// How long Slack waits for an answer.
const PATIENCE: Duration = Duration::from_secs(3);
const FORM: &str = "application/x-www-form-urlencoded";

/// Where the app receives requests.
#[derive(Clone)]
pub(super) struct Endpoint {
    /// Without a trailing slash; the three routes of the manifest are below it.
    base: String,
    client: reqwest::Client,
}

/// Returns Slack's signature (version 0) of a body at a time in seconds since 1970.
#[must_use]
pub fn sign(signing_secret: &str, at: i64, body: &str) -> String {
    let mac = <Hmac<Sha256> as Mac>::new_from_slice(signing_secret.as_bytes());
    let code = mac.map(|mac| mac.chain_update(format!("v0:{at}:{body}")).finalize().into_bytes());
    format!("v0={}", code.map(hex::encode).unwrap_or_default())
}

/// An outgoing request.
struct Request {
    url: String,
    content_type: &'static str,
    body: String,
    at: i64,
    signature: String,
    /// The number of the retry, and its reason.
    retry: Option<(u32, &'static str)>,
}

/// The response: its payload, if any, or Slack's name for the error and whether the app wants no retry.
type Outcome = Result<Option<Value>, (&'static str, bool)>;

impl Endpoint {
    async fn send(&self, request: Request) -> Outcome {
        let mut call = self
            .client
            .post(&request.url)
            .header(CONTENT_TYPE, request.content_type)
            .header("X-Slack-Request-Timestamp", request.at.to_string())
            .header("X-Slack-Signature", &request.signature)
            .timeout(PATIENCE)
            .body(request.body);
        if let Some((number, reason)) = request.retry {
            call = call.header("X-Slack-Retry-Num", number).header("X-Slack-Retry-Reason", reason);
        }
        let response = call.send().await.map_err(|error| (word_for(&error), false))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.text().await.map_err(|error| (word_for(&error), false))?;
        if status.is_success() {
            Ok(payload(&headers, &body))
        } else {
            Err(("http_error", no_retry(&headers)))
        }
    }
}

fn word_for(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() { "http_timeout" } else { "connection_failed" }
}

fn no_retry(headers: &HeaderMap) -> bool {
    headers.get("x-slack-no-retry").is_some_and(|value| value == "1")
}

/// An empty body only acknowledges; plain text is a valid answer to a command too.
fn payload(headers: &HeaderMap, body: &str) -> Option<Value> {
    if body.is_empty() {
        return None;
    }
    let json = headers.get(CONTENT_TYPE).and_then(|t| t.to_str().ok()).is_some_and(|t| t.contains("json"));
    let read = json.then(|| serde_json::from_str(body).ok()).flatten();
    Some(read.unwrap_or_else(|| json!({"text": body})))
}

impl World {
    fn request(&self, endpoint: &Endpoint, envelope: &Envelope) -> Request {
        let payload = &envelope.payload;
        let (route, content_type, body) = match envelope.kind {
            EnvelopeKind::EventsApi => ("events", "application/json", payload.to_string()),
            EnvelopeKind::Interactive => {
                let body =
                    Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
                ("interactions", FORM, body)
            }
            EnvelopeKind::SlashCommands => ("commands", FORM, form(payload)),
        };
        let at = self.now().timestamp();
        Request {
            url: format!("{}/slack/{route}", endpoint.base),
            content_type,
            signature: sign(&self.config.app.signing_secret, at, &body),
            body,
            at,
            retry: (envelope.attempt > 0).then_some((envelope.attempt, envelope.reason)),
        }
    }

    /// Posts an envelope; the response is applied later.
    pub(super) fn post_out(&mut self, number: usize) {
        let Some(endpoint) = self.sockets.endpoint.clone() else { return };
        let Some(envelope) = self.sockets.envelopes.get_mut(number) else { return };
        envelope.state = Delivery::Sent;
        envelope.sent_at = Some(Instant::now());
        let envelope = envelope.clone();
        let (request, state) = (self.request(&endpoint, &envelope), self.this.clone());
        tokio::spawn(async move {
            let outcome = endpoint.send(request).await;
            if let Some(state) = state.upgrade() {
                state.change(|w| w.came_back(number, envelope.attempt, outcome));
            }
        });
    }

    fn came_back(&mut self, number: usize, attempt: u32, outcome: Outcome) {
        let Some(envelope) = self.sockets.envelopes.get_mut(number) else { return };
        if envelope.state != Delivery::Sent || envelope.attempt != attempt {
            return;
        }
        let event = envelope.kind == EnvelopeKind::EventsApi;
        match outcome {
            // The content of an answer to an event is ignored.
            Ok(answer) => self.record_acknowledgement(number, answer.filter(|_| !event)),
            Err((_, true)) => envelope.state = if event { Delivery::Abandoned } else { Delivery::Lost },
            Err(("connection_failed", _)) if self.sockets.drops_events_while_disconnected => {
                envelope.state = Delivery::Lost
            }
            Err((reason, _)) => self.post_again(number, attempt, reason),
        }
    }

    /// Slack retries at once, and then after a while.
    fn post_again(&mut self, number: usize, attempt: u32, reason: &'static str) {
        if attempt == 0 {
            return self.retry(number, reason);
        }
        let (state, long) = (self.this.clone(), self.config.redeliver_after);
        tokio::spawn(async move {
            tokio::time::sleep(long).await;
            if let Some(state) = state.upgrade() {
                state.change(|w| w.retry(number, reason));
            }
        });
    }
}

/// Encodes a command's fields as a browser encodes a form.
fn form(payload: &Value) -> String {
    let mut form = Serializer::new(String::new());
    for (name, value) in payload.as_object().into_iter().flatten() {
        form.append_pair(name, value.as_str().unwrap_or_default());
    }
    form.finish()
}

impl Slack {
    /// Sets the app's address, as on Slack's page: it is accepted once the app answers the challenge there. From then
    /// on everything is posted to it, and no socket is needed.
    ///
    /// # Errors
    /// A sentence if the app does not answer as it should.
    pub async fn set_request_url(&self, base: &str) -> Result<(), String> {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
        let client = client.map_err(|error| error.to_string())?;
        let endpoint = Endpoint { base: base.trim_end_matches('/').to_owned(), client };
        let challenge = secret();
        let body = json!({
            "token": "verification-token-unused", "challenge": challenge, "type": "url_verification",
        })
        .to_string();
        let (at, key) = self.read(|w| (w.now().timestamp(), w.config.app.signing_secret.clone()));
        let request = Request {
            url: format!("{}/slack/events", endpoint.base),
            content_type: "application/json",
            signature: sign(&key, at, &body),
            body,
            at,
            retry: None,
        };
        let answer = endpoint.send(request).await.map_err(|(word, _)| format!("the address: {word}"))?;
        let said = answer.unwrap_or_default();
        if said["challenge"] != challenge.as_str() && said["text"] != challenge.as_str() {
            return Err("the address did not answer with the challenge".to_owned());
        }
        self.change(|w| w.sockets.endpoint = Some(endpoint));
        Ok(())
    }
}
