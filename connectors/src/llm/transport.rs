//! The only HTTP exchange below the client library: no retries, no environment, lenient with errors.
//!
//! The library would retry by itself without a limit, read its settings from the environment, and fail to parse errors
//! whose `code` is a number. It also accepts any body as a stream. This module handles all of that before the library
//! sees the response.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use chrono::DateTime;
use nod_contract::clock::Clock;
use reqwest::Response;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::attempt_error::AttemptError;
use super::{SettingsError, TierSettings};

/// The maximum number of characters of an endpoint's own message that is passed on.
const REASON_CHARS: usize = 200;

/// A tier's endpoint, and its key.
#[derive(Clone)]
pub(super) struct Endpoint {
    base: String,
    key: SecretString,
    headers: HeaderMap,
}

impl Endpoint {
    pub(super) fn new(tier: &'static str, settings: &TierSettings) -> Result<Self, SettingsError> {
        let base = settings.base_url.trim().trim_end_matches('/').to_owned();
        let sound = url::Url::parse(&base).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !sound {
            return Err(SettingsError::BaseUrl { tier });
        }
        let mut headers = HeaderMap::new();
        if !settings.api_key.expose_secret().trim().is_empty() {
            let bearer = super::bearer(&settings.api_key).ok_or(SettingsError::ApiKey { tier })?;
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(Self { base, key: settings.api_key.clone(), headers })
    }

    pub(super) fn address(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub(super) fn bearer(&self) -> Option<&HeaderValue> {
        self.headers.get(AUTHORIZATION)
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        self.address(path)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

/// Sends a request once.
#[derive(Clone)]
pub(super) struct SingleAttemptService {
    http: reqwest::Client,
    key: SecretString,
    clock: Arc<dyn Clock>,
    streams: bool,
}

impl SingleAttemptService {
    pub(super) fn new(
        http: reqwest::Client,
        endpoint: &Endpoint,
        clock: Arc<dyn Clock>,
        streams: bool,
    ) -> Self {
        Self { http, key: endpoint.key.clone(), clock, streams }
    }
}

impl tower::Service<HttpRequestFactory> for SingleAttemptService {
    type Response = Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequestFactory) -> Self::Future {
        let Self { http, key, clock, streams } = self.clone();
        Box::pin(async move {
            let response = http.execute(request.build().await?).await.map_err(OpenAIError::Reqwest)?;
            if !response.status().is_success() {
                let miss = rejection(response, &key, clock.as_ref()).await;
                return Err(OpenAIError::Boxed(Box::new(miss)));
            }
            if streams && is_json(&response) { as_stream(response).await } else { Ok(response) }
        })
    }
}

fn is_json(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.to_ascii_lowercase().starts_with("application/json")
}

/// Turns a whole answer to a streaming request into a stream of one event, so that nothing is requested twice.
async fn as_stream(response: Response) -> Result<Response, OpenAIError> {
    let whole: Value = response.json().await.map_err(OpenAIError::Reqwest)?;
    let event = hyper::Response::new(format!("data: {whole}\n\ndata: [DONE]\n\n"));
    Ok(Response::from(event))
}

/// Maps a status other than 2xx. Some endpoints quote an invalid key, so it is removed from the message.
pub(super) async fn rejection(response: Response, key: &SecretString, clock: &dyn Clock) -> AttemptError {
    let status = response.status().as_u16();
    let after = retry_after(response.headers(), clock);
    let mut text = response.text().await.unwrap_or_default();
    let key = key.expose_secret().trim();
    if !key.is_empty() {
        text = text.replace(key, "…");
    }
    let (reason, code) = parse_error_body(&text);
    // Used-up credit looks like a rate limit or an invalid request; only an administrator can fix it.
    let said = reason.to_lowercase();
    let broke = status == 402
        || ["insufficient_quota", "billing_hard_limit_reached"].contains(&code.as_str())
        || ["credit balance is too low", "insufficient credits"].iter().any(|words| said.contains(words));
    // The model wrote a call that its own server could not parse (Groq): a retry might succeed.
    let clumsy = ["tool_use_failed", "output_parse_failed"].contains(&code.as_str());
    match status {
        _ if broke => AttemptError::QuotaExhausted { status, reason },
        400 if clumsy => AttemptError::lost(format!("status {status}: {reason}")),
        408 | 425 | 429 | 500.. => {
            AttemptError::Unavailable { reason: format!("status {status}: {reason}"), after }
        }
        _ => AttemptError::Rejected { status, reason },
    }
}

/// Returns the endpoint's own message, shortened, and its code. Everything else that it quotes is dropped.
fn parse_error_body(text: &str) -> (String, String) {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    // `{"error": {"message", "code"}}`, `{"error": "…"}`, `{"message": …}`, and Google's one-element list.
    let body = body.get(0).unwrap_or(&body);
    let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
    let message = error.as_str().or_else(|| error.get("message")?.as_str()).unwrap_or("no reason given");
    let code = error.get("code").map_or_else(String::new, |code| match code {
        Value::String(code) => code.clone(),
        other => other.to_string(),
    });
    (shorten(message), code)
}

pub(super) fn shorten(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(REASON_CHARS).collect()
}

/// Parses seconds or a date; a date is compared with the clock.
fn retry_after(headers: &HeaderMap, clock: &dyn Clock) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = DateTime::parse_from_rfc2822(value).ok()?;
    (at.to_utc() - clock.now()).to_std().ok()
}

/// Describes a transport error without its URL, which can contain a key in its query.
pub(super) fn describe_transport_error(error: &reqwest::Error) -> String {
    let what = if error.is_timeout() {
        "it took too long"
    } else if error.is_connect() {
        "no connection"
    } else if error.is_decode() {
        "the answer is not JSON"
    } else {
        "the connection broke off"
    };
    what.to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_error_is_understood_in_the_shapes_it_comes_in() {
        let cases = [
            (r#"{"error":{"message":"bad  key\n","code":"invalid_api_key"}}"#, "bad key", "invalid_api_key"),
            (r#"{"error":{"message":"no","code":400}}"#, "no", "400"),
            (r#"{"error":"model not found"}"#, "model not found", ""),
            (r#"[{"error":{"message":"quota","code":429}}]"#, "quota", "429"),
            (r#"{"message":"nope"}"#, "nope", ""),
            ("<html>oops</html>", "no reason given", ""),
        ];
        for (text, message, code) in cases {
            assert_eq!(parse_error_body(text), (message.to_owned(), code.to_owned()), "{text}");
        }
        assert_eq!(parse_error_body(&format!(r#"{{"error":"{}"}}"#, "x".repeat(900))).0.len(), REASON_CHARS);
    }

    #[test]
    fn an_address_or_a_key_that_cannot_work_is_refused_at_once() {
        let settings = |base_url: &str, key: &str| TierSettings {
            base_url: base_url.into(),
            api_key: key.to_owned().into(),
            model: "m".into(),
            temperature: None,
            timeout: Duration::from_secs(1),
            max_tokens: None,
            dialect: super::super::Dialect::default(),
            fallback: None,
        };
        let of = |base_url, key| Endpoint::new("router", &settings(base_url, key)).map(|e| e.address("/x"));
        assert_eq!(of("http://h/v1/", "k"), Ok("http://h/v1/x".to_owned()));
        assert_eq!(of("h/v1", "k"), Err(SettingsError::BaseUrl { tier: "router" }));
        assert_eq!(of("http://h/v1", "a\nb"), Err(SettingsError::ApiKey { tier: "router" }));
        assert!(Endpoint::new("router", &settings("http://h/v1", "")).is_ok_and(|e| e.bearer().is_none()));
    }
}
