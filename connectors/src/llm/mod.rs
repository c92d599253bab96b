//! Models behind an endpoint that speaks the OpenAI chat protocol, at any provider.
//!
//! Classifications are requested as a whole, everything else is streamed, so that a silent endpoint is noticed early.
//! Retries happen only here and not below, within the tier's deadline. Neither the key nor any text of a prompt or an
//! answer is ever logged.

mod answer;
mod attempt_error;
mod dialect;
mod reasoning_filter;
mod request;
mod transport;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_openai::Client;
use async_trait::async_trait;
use futures::StreamExt;
use nod_contract::clock::Clock;
use nod_contract::model::{
    Completion, CompletionRequest, Model, ModelError, Tier, TokenSender, ToolDefinition, Turn,
};
use nod_contract::scope::Scope;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use answer::CompletionBuilder;
use attempt_error::AttemptError;
pub use dialect::{Dialect, StructuredOutput};
use transport::{Endpoint, SingleAttemptService};

/// How often one request is attempted before giving up.
const MAX_ATTEMPTS: u32 = 3;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an endpoint that was down is skipped, if it has a fallback.
const FALLBACK_COOLDOWN: Duration = Duration::from_secs(60);
const PROBE_WITHIN: Duration = Duration::from_secs(10);

/// One tier's endpoint.
#[derive(Debug, Clone)]
pub struct TierSettings {
    /// Up to and including the version: `https://api.openai.com/v1`.
    pub base_url: String,
    /// Empty if the endpoint needs none.
    pub api_key: SecretString,
    /// The endpoint's name of the model.
    pub model: String,
    /// The endpoint's default if `None`.
    pub temperature: Option<f32>,
    /// For one answer with all its attempts.
    pub timeout: Duration,
    /// The maximum length of the answer; the endpoint's default if `None`.
    pub max_tokens: Option<u32>,
    /// The endpoint's known differences.
    pub dialect: Dialect,
    /// The endpoint to use if this one is down or its credit is used up.
    pub fallback: Option<Box<TierSettings>>,
}

/// Settings that cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// `base_url` is not an http or https URL.
    #[error("llm.{tier}.base_url isn't a web address")]
    BaseUrl { tier: &'static str },
    /// The key contains characters that no header can carry.
    #[error("llm.{tier}.api_key contains characters a key can't have (a line break?)")]
    ApiKey { tier: &'static str },
    /// The HTTP client could not be built (no certificate store?).
    #[error("no HTTP client: {reason}")]
    Client { reason: String },
}

/// The models of an installation, one per tier.
pub struct OpenAi {
    router: TierClient,
    reasoner: TierClient,
    summariser: TierClient,
    clock: Arc<dyn Clock>,
}

/// The connection to one tier's endpoint.
struct TierClient {
    settings: TierSettings,
    whole: Client<Endpoint>,
    stream_client: Client<Endpoint>,
    http: reqwest::Client,
    endpoint: Endpoint,
    dialect: Mutex<Dialect>,
    fallback: Option<Box<TierClient>>,
    /// Until this time the endpoint is skipped, because it was just down.
    down_until: Mutex<Option<Instant>>,
}

impl OpenAi {
    /// Creates the clients without connecting.
    ///
    /// # Errors
    /// If a URL or a key is invalid.
    pub fn new(
        router: TierSettings,
        reasoner: TierSettings,
        summariser: TierSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SettingsError> {
        let router = TierClient::new(Tier::Router, router, &clock)?;
        let reasoner = TierClient::new(Tier::Reasoner, reasoner, &clock)?;
        let summariser = TierClient::new(Tier::Summariser, summariser, &clock)?;
        Ok(Self { router, reasoner, summariser, clock })
    }

    /// Checks that the tier's endpoint is reachable and accepts the key: `GET /models`, which some do not have.
    ///
    /// # Errors
    /// If it does not answer within ten seconds, or rejects the request.
    pub async fn probe(&self, tier: Tier) -> Result<(), ModelError> {
        let line = self.tier_client(tier);
        let begun = Instant::now();
        let silent = |reason: String| ModelError::Timeout { attempts: 1, waited: begun.elapsed(), reason };
        let mut request = line.http.get(line.endpoint.address("/models")).timeout(PROBE_WITHIN);
        if let Some(bearer) = line.endpoint.bearer() {
            request = request.header(AUTHORIZATION, bearer.clone());
        }
        let response =
            request.send().await.map_err(|error| silent(transport::describe_transport_error(&error)))?;
        match response.status().as_u16() {
            200..=299 | 404 | 405 => Ok(()),
            status => match transport::rejection(response, &line.settings.api_key, self.clock.as_ref()).await
            {
                AttemptError::Rejected { reason, .. } => Err(ModelError::Rejected { status, reason }),
                miss => Err(silent(miss.reason())),
            },
        }
    }

    /// Returns whether the tier's model calls a tool when told to, by a short test request.
    ///
    /// # Errors
    /// If it does not answer, or cannot call tools.
    pub async fn probe_tool_calls(&self, tier: Tier) -> Result<bool, ModelError> {
        let parameters = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let ask = CompletionRequest {
            tier,
            system: "You test whether tools can be called. Call the tool `ready`, and say nothing.".into(),
            turns: vec![Turn::Human { text: "Call the tool now.".to_owned() }],
            tools: vec![Arc::new(ToolDefinition::new("ready", "Says that tools work.", &parameters))],
            response_schema: None,
        };
        let line = self.tier_client(tier);
        let miss = |miss: AttemptError| miss.into_error(1, line.settings.timeout);
        let answer =
            self.attempt(line, &ask, &TokenSender::disconnected(), PROBE_WITHIN).await.map_err(miss)?;
        Ok(!answer.calls.is_empty())
    }

    fn tier_client(&self, tier: Tier) -> &TierClient {
        match tier {
            Tier::Router => &self.router,
            Tier::Reasoner => &self.reasoner,
            Tier::Summariser => &self.summariser,
        }
    }

    /// Makes one attempt, and learns which arguments the endpoint does not accept.
    async fn attempt(
        &self,
        line: &TierClient,
        ask: &CompletionRequest,
        words: &TokenSender,
        patience: Duration,
    ) -> Result<Completion, AttemptError> {
        loop {
            let dialect = *line.dialect();
            let body = request::body(ask, &line.settings, dialect).map_err(|error| no_body(&error))?;
            let result = match timeout(patience, self.send_once(line, ask, words, body, patience / 2)).await {
                Ok(result) => result,
                Err(_) => return Err(AttemptError::timeout(patience)),
            };
            match result {
                Err(AttemptError::Rejected { status, reason })
                    if !ask.tools.is_empty() && dialect::has_no_tools(status, &reason) =>
                {
                    return Err(AttemptError::ToolsUnsupported { model: line.settings.model.clone() });
                }
                Err(AttemptError::Rejected { status, reason }) => {
                    match dialect.without_argument(status, &reason) {
                        Some(simpler) => {
                            tracing::info!(
                                tier = ask.tier.as_str(),
                                ?simpler,
                                "the model endpoint accepts fewer parameters"
                            );
                            *line.dialect() = simpler;
                        }
                        None => return Err(AttemptError::Rejected { status, reason }),
                    }
                }
                other => return other,
            }
        }
    }

    async fn send_once(
        &self,
        line: &TierClient,
        ask: &CompletionRequest,
        words: &TokenSender,
        body: Box<RawValue>,
        silence: Duration,
    ) -> Result<Completion, AttemptError> {
        let mut assembly = CompletionBuilder::new(line.dialect().leading_reasoning);
        if request::streams(ask) {
            let chat = line.stream_client.chat();
            let opened = timeout(silence, chat.create_stream_byot::<_, Value>(body)).await;
            let mut stream =
                opened.map_err(|_| AttemptError::timeout(silence))?.map_err(AttemptError::from_client)?;
            while let Some(chunk) =
                timeout(silence, stream.next()).await.map_err(|_| AttemptError::timeout(silence))?
            {
                words.push(assembly.push_chunk(chunk.map_err(AttemptError::from_client)?)?);
                if assembly.is_full() {
                    break;
                }
            }
        } else {
            let chat = line.whole.chat();
            let whole = timeout(silence, chat.create_byot::<_, Value>(body)).await;
            assembly.push_chunk(
                whole.map_err(|_| AttemptError::timeout(silence))?.map_err(AttemptError::from_client)?,
            )?;
        }
        line.dialect().leading_reasoning = assembly.has_leading_reasoning();
        assembly.finish(&line.settings.model, self.clock.now().timestamp_micros())
    }
}

/// A prompt is text and JSON, so it can be written as JSON.
fn no_body(error: &serde_json::Error) -> AttemptError {
    AttemptError::lost(format!("the request could not be written: {error}"))
}

impl TierClient {
    fn new(tier: Tier, settings: TierSettings, clock: &Arc<dyn Clock>) -> Result<Self, SettingsError> {
        let endpoint = Endpoint::new(tier.as_str(), &settings)?;
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(settings.timeout)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| SettingsError::Client { reason: error.to_string() })?;
        let client = |streams| {
            let once = SingleAttemptService::new(http.clone(), &endpoint, clock.clone(), streams);
            Client::build(http.clone(), endpoint.clone()).with_http_service(once)
        };
        let (whole, streamed) = (client(false), client(true));
        let fallback = settings.fallback.as_deref().cloned();
        let fallback = fallback.map(|stand_in| Self::new(tier, stand_in, clock)).transpose()?.map(Box::new);
        let dialect = Mutex::new(settings.dialect);
        let down_until = Mutex::default();
        Ok(Self { settings, whole, stream_client: streamed, http, endpoint, dialect, fallback, down_until })
    }

    fn is_cooling_down(&self) -> bool {
        let until = *self.down_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    fn was_down(&self, down: bool) {
        *self.down_until.lock().unwrap_or_else(PoisonError::into_inner) =
            down.then(|| Instant::now() + FALLBACK_COOLDOWN);
    }

    fn dialect(&self) -> MutexGuard<'_, Dialect> {
        self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Model for OpenAi {
    async fn complete(
        &self,
        scope: &Scope,
        ask: &CompletionRequest,
        words: &TokenSender,
    ) -> Result<Completion, ModelError> {
        let line = self.tier_client(ask.tier);
        let Some(stand_in) = &line.fallback else {
            return self.request_completion(line, scope, ask, words).await.map_err(|(error, _)| error);
        };
        let first = if line.is_cooling_down() {
            None
        } else {
            match self.request_completion(line, scope, ask, words).await {
                Ok(answer) => {
                    line.was_down(false);
                    return Ok(answer);
                }
                Err((error, false)) => return Err(error),
                Err((error, true)) => Some(error),
            }
        };
        line.was_down(true);
        words.reset();
        match (self.request_completion(stand_in, scope, ask, words).await, first) {
            (Ok(answer), _) => Ok(Completion { from_fallback: true, ..answer }),
            (Err((second, _)), Some(first)) => {
                line.was_down(false);
                Err(ModelError::Both { first: Box::new(first), second: Box::new(second) })
            }
            // The first endpoint was skipped as down; it might be available again.
            (Err((second, _)), None) => {
                line.was_down(false);
                words.reset();
                let again = self.request_completion(line, scope, ask, words).await;
                again.map_err(|(first, _)| ModelError::Both {
                    first: Box::new(first),
                    second: Box::new(second),
                })
            }
        }
    }
}

impl OpenAi {
    /// Calls one endpoint, with retries. The error comes with whether another endpoint might answer.
    async fn request_completion(
        &self,
        line: &TierClient,
        scope: &Scope,
        ask: &CompletionRequest,
        words: &TokenSender,
    ) -> Result<Completion, (ModelError, bool)> {
        let begun = Instant::now();
        let deadline = begun + line.settings.timeout;
        let mut tries = 0;
        loop {
            tries += 1;
            let left = deadline.saturating_duration_since(Instant::now());
            let miss = match self.attempt(line, ask, words, left).await {
                Ok(answer) => return Ok(answer),
                Err(miss) => miss,
            };
            tracing::warn!(
                run = ?scope.run,
                invocation = %scope.invocation,
                tier = ask.tier.as_str(),
                tries,
                miss = miss.kind(),
                "the model did not answer"
            );
            let pause = miss.backoff(tries, jitter(self.clock.as_ref()));
            if tries >= MAX_ATTEMPTS || !miss.worth_another() || Instant::now() + pause >= deadline {
                let elsewhere = miss.allows_fallback();
                return Err((miss.into_error(tries, begun.elapsed()), elsewhere));
            }
            words.reset();
            tokio::time::sleep(pause).await;
        }
    }
}

/// Returns a number in 0..1 that differs between callers; nothing depends on its value.
fn jitter(clock: &dyn Clock) -> f64 {
    f64::from(clock.now().timestamp_subsec_micros() % 1000) / 1000.0
}

/// Returns the header that carries a key.
fn bearer(key: &SecretString) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret().trim())).ok()?;
    value.set_sensitive(true);
    Some(value)
}
