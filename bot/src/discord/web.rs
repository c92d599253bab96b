//! Calls to Discord's REST API: one at a time, each within a time limit, every failure classified by its consequence.
//!
//! They use our own client instead of serenity's, which does not report a 429 if its rate limiter is off, and cannot
//! use another host while it is on. Errors name Discord's code and never quote a body.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::TimeDelta;
use nod_contract::chat::ChatError;
use nod_contract::clock::{Clock, Timestamp};
use reqwest::header::{AUTHORIZATION, HeaderMap, USER_AGENT};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::Url;

/// How long one call may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The user agent, in the format that Discord requires from bots.
pub(super) const AGENT: &str =
    concat!("DiscordBot (https://github.com/nod-assistant/nod, ", env!("CARGO_PKG_VERSION"), ")");
/// The wait if Discord asks for one without a duration.
const DEFAULT_RETRY_SECS: f64 = 5.0;
/// Discord blocks an IP address after 10,000 answers of 401, 403 or 429 within ten minutes; we stop at half of it.
const MAX_INVALID_RESPONSES: usize = 5_000;
const INVALID_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// The API with the bot's token.
pub(super) struct ApiClient {
    client: reqwest::Client,
    /// Ends in a slash.
    base: Url,
    token: SecretString,
    clock: Arc<dyn Clock>,
    limits: Mutex<RateLimits>,
}

/// The rate limits from Discord's headers.
#[derive(Default)]
struct RateLimits {
    /// By route: no request can be sent before then.
    blocked_until: HashMap<String, Timestamp>,
    /// The same for every route.
    everywhere: Option<Timestamp>,
    /// The times of the answers that count towards the block.
    invalid: Vec<Timestamp>,
}

impl ApiClient {
    /// # Errors
    /// If the HTTP client cannot be created.
    pub(super) fn new(base: Url, token: SecretString, clock: Arc<dyn Clock>) -> reqwest::Result<Self> {
        let client = reqwest::Client::builder().timeout(LIMIT).build()?;
        Ok(Self { client, base, token, clock, limits: Mutex::default() })
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, ChatError> {
        let request = self.request(Method::GET, path)?.query(query);
        self.send_limited(&format!("GET {}", route(path)), request).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, ChatError> {
        let request = self.request(Method::POST, path)?.json(body);
        self.send_limited(&format!("POST {}", route(path)), request).await
    }

    /// Posts a request without a body.
    pub(super) async fn post_empty(&self, path: &str) -> Result<Value, ChatError> {
        self.send_limited(&format!("POST {}", route(path)), self.request(Method::POST, path)?).await
    }

    pub(super) async fn patch(&self, path: &str, body: &Value) -> Result<Value, ChatError> {
        let request = self.request(Method::PATCH, path)?.json(body);
        self.send_limited(&format!("PATCH {}", route(path)), request).await
    }

    pub(super) async fn put(&self, path: &str, body: &Value) -> Result<Value, ChatError> {
        let request = self.request(Method::PUT, path)?.json(body);
        self.send_limited(&format!("PUT {}", route(path)), request).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<Value, ChatError> {
        self.send_limited(&format!("DELETE {}", route(path)), self.request(Method::DELETE, path)?).await
    }

    /// Posts a message with a file.
    pub(super) async fn upload(
        &self,
        path: &str,
        body: &Value,
        name: &str,
        text: &str,
    ) -> Result<Value, ChatError> {
        // No text can contain its own digest.
        let boundary = format!("nod-{}", hex::encode(Sha256::digest(text)));
        let name = name.replace(['"', '\r', '\n', '\\'], "_");
        let parts = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"payload_json\"\r\n\
             Content-Type: application/json\r\n\r\n{body}\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"files[0]\"; filename=\"{name}\"\r\n\
             Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n--{boundary}--\r\n"
        );
        let request = self
            .request(Method::POST, path)?
            .header(reqwest::header::CONTENT_TYPE, format!("multipart/form-data; boundary={boundary}"))
            .body(parts);
        self.send_limited(&format!("POST {}", route(path)), request).await
    }

    /// Answers an interaction: these calls are exempt from the rate limits and must not wait.
    pub(super) async fn respond_to_interaction(&self, path: &str, body: &Value) -> Result<Value, ChatError> {
        self.send("", self.request(Method::POST, path)?.json(body)).await
    }

    /// Edits the answer to an interaction.
    pub(super) async fn edit_response(&self, path: &str, body: &Value) -> Result<Value, ChatError> {
        self.send("", self.request(Method::PATCH, path)?.json(body)).await
    }

    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, ChatError> {
        let url = self.base.join(path).map_err(|_| ChatError::Rejected { code: "path".to_owned() })?;
        let token = format!("Bot {}", self.token.expose_secret());
        Ok(self.client.request(method, url).header(AUTHORIZATION, token).header(USER_AGENT, AGENT))
    }

    async fn send_limited(&self, route: &str, request: RequestBuilder) -> Result<Value, ChatError> {
        match self.wait(route) {
            Some(after_seconds) => Err(ChatError::RateLimited { retry_after_secs: after_seconds }),
            None => self.send(route, request).await,
        }
    }

    async fn send(&self, route: &str, request: RequestBuilder) -> Result<Value, ChatError> {
        let response = request.send().await.map_err(|error| lost(&error))?;
        self.record_headers(route, response.status(), response.headers());
        self.read_response(route, response).await
    }

    async fn read_response(&self, route: &str, response: Response) -> Result<Value, ChatError> {
        let status = response.status();
        if status == StatusCode::NO_CONTENT {
            return Ok(Value::Null);
        }
        let header = |name: &str| response.headers().get(name)?.to_str().ok().map(str::to_owned);
        // A proxy in front of Discord answers without JSON and sets only the header.
        let after = header("retry-after").and_then(|seconds| seconds.parse::<f64>().ok());
        let global = header("x-ratelimit-global").is_some_and(|global| global == "true");
        let body = response.bytes().await.map_err(|error| lost(&error))?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() {
            return Ok(body);
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            let seconds = body["retry_after"].as_f64().or(after).unwrap_or(DEFAULT_RETRY_SECS);
            let everywhere = global || body["global"] == true;
            self.pause_calls(if everywhere { None } else { Some(route) }, seconds);
            return Err(ChatError::RateLimited { retry_after_secs: to_whole_seconds(seconds) });
        }
        Err(classify_error(status, body["code"].as_u64().unwrap_or_default()))
    }

    /// Returns how many seconds this route stays closed; `None` if it is open.
    fn wait(&self, route: &str) -> Option<u64> {
        let now = self.clock.now();
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.blocked_until.retain(|_, until| *until > now);
        limits.everywhere = limits.everywhere.filter(|until| *until > now);
        limits.invalid.retain(|at| *at + INVALID_WITHIN > now);
        let blocked = (limits.invalid.len() >= MAX_INVALID_RESPONSES)
            .then(|| limits.invalid.first().map(|first| *first + INVALID_WITHIN))
            .flatten();
        let until = limits.blocked_until.get(route).copied().max(limits.everywhere).max(blocked)?;
        Some(to_whole_seconds((until - now).as_seconds_f64()))
    }

    fn pause_calls(&self, route: Option<&str>, seconds: f64) {
        let until = self.clock.now() + TimeDelta::milliseconds((seconds * 1_000.0).ceil() as i64);
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        match route {
            Some(route) => _ = limits.blocked_until.insert(route.to_owned(), until),
            None => limits.everywhere = Some(until),
        }
    }

    /// Records what the headers say about the next call.
    fn record_headers(&self, route: &str, status: StatusCode, headers: &HeaderMap) {
        let shared = headers.get("x-ratelimit-scope").is_some_and(|scope| scope == "shared");
        if matches!(status.as_u16(), 401 | 403 | 429) && !shared {
            let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
            limits.invalid.push(self.clock.now());
        }
        let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<f64>().ok();
        if number("x-ratelimit-remaining") == Some(0.0)
            && let Some(seconds) = number("x-ratelimit-reset-after")
            && !route.is_empty()
        {
            self.pause_calls(Some(route), seconds);
        }
    }
}

/// Returns the key of calls that share a limit: the same operation on the same channel, guild or webhook.
fn route(path: &str) -> String {
    let mut parts = path.split('/');
    let major: Vec<&str> = parts.by_ref().take(2).collect();
    let rest = parts.map(|part| if part.bytes().all(|b| b.is_ascii_digit()) { "…" } else { part });
    major.into_iter().chain(rest).collect::<Vec<_>>().join("/")
}

fn to_whole_seconds(seconds: f64) -> u64 {
    (seconds.ceil() as u64).max(1)
}

fn lost(error: &reqwest::Error) -> ChatError {
    let what = if error.is_timeout() { "timeout of 10 s" } else { "the connection broke" };
    ChatError::UnknownOutcome(what.to_owned())
}

/// Discord's codes for a place that accepts no message from us: unknown channel, unknown message, missing access,
/// cannot send to this user, missing permissions, not possible in this kind of channel (a thread in the chat of a voice
/// channel), no mutual server, thread archived, thread locked, no more threads.
const FORBIDDEN_CODES: [u64; 12] =
    [10_003, 10_008, 10_013, 50_001, 50_007, 50_013, 50_024, 50_083, 50_278, 160_005, 160_006, 240_000];

fn classify_error(status: StatusCode, code: u64) -> ChatError {
    let named = if code == 0 { format!("http_{}", status.as_u16()) } else { code.to_string() };
    match status.as_u16() {
        408 | 500.. => ChatError::UnknownOutcome(format!("HTTP {}", status.as_u16())),
        _ if FORBIDDEN_CODES.contains(&code) => ChatError::ChannelClosed { code: named },
        _ => ChatError::Rejected { code: named },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_one_rate_limit_share_a_route() {
        assert_eq!(route("channels/1/messages"), "channels/1/messages");
        assert_eq!(route("channels/1/messages/2"), route("channels/1/messages/3"));
        assert_ne!(route("channels/1/messages"), route("channels/2/messages"));
    }
}
