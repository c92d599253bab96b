//! An embedding model behind `POST /embeddings` of the OpenAI protocol.

use std::time::Duration;

use async_trait::async_trait;
use nod_contract::embedding::{EmbedError, Embedder, EmbeddingModel, TextKind};
use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::normalize;

/// The most texts of one request.
const MAX_TEXTS: usize = 64;
/// How long one request may take, and somebody's question waits.
const PASSAGES_TIMEOUT: Duration = Duration::from_secs(60);
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest code of an error that is repeated.
const MAX_CODE_LENGTH: usize = 60;
/// The fewest tokens of a text: with less, there is no room beside the title.
const MIN_TOKENS: usize = 64;
/// How many characters one token is taken for, because the endpoint's tokenizer is not known. Few, so that a text fits.
const CHARS_PER_TOKEN: usize = 3;

/// Where the model is.
#[derive(Debug, Clone)]
pub struct EndpointSettings {
    /// Up to and including the version: `https://api.openai.com/v1/`.
    pub base_url: Url,
    pub api_key: Option<SecretString>,
    /// The endpoint's name of the model.
    pub model: String,
    /// The most tokens of a text.
    pub max_tokens: usize,
}

/// Settings that cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("embeddings.base_url cannot be extended by \"embeddings\": {reason}")]
    BaseUrl { reason: String },
    #[error("no HTTP client: {reason}")]
    Client { reason: String },
}

/// The connection to the endpoint.
pub struct Endpoint {
    http: reqwest::Client,
    url: Url,
    api_key: Option<SecretString>,
    name: String,
    model: EmbeddingModel,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<AnsweredText>,
}

#[derive(Deserialize)]
struct AnsweredText {
    index: usize,
    embedding: Vec<f32>,
}

impl Endpoint {
    /// Creates the client without connecting.
    ///
    /// # Errors
    /// If the address is not one.
    pub fn new(settings: EndpointSettings) -> Result<Self, EndpointError> {
        let base = settings.base_url.as_str().trim_end_matches('/');
        let url = Url::parse(&format!("{base}/embeddings"))
            .map_err(|error| EndpointError::BaseUrl { reason: error.to_string() })?;
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            // A key must not be carried to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| EndpointError::Client { reason: error.to_string() })?;
        // One host may have several.
        let place = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
        let id = format!("{}@{}:{}{}", settings.model, place.0, place.1, url.path());
        let model = EmbeddingModel { id, max_tokens: settings.max_tokens.max(MIN_TOKENS) };
        Ok(Self { http, url, api_key: settings.api_key, name: settings.model, model })
    }

    async fn send(&self, texts: &[String], timeout: Duration) -> Result<Vec<Vec<f32>>, EmbedError> {
        let unavailable =
            |error: reqwest::Error| EmbedError::Unavailable { reason: error.without_url().to_string() };
        let body = json!({ "model": self.name, "input": texts, "encoding_format": "float" });
        let mut request = self.http.post(self.url.clone()).timeout(timeout).json(&body);
        if let Some(key) = &self.api_key {
            request = request.bearer_auth(key.expose_secret());
        }
        let response = request.send().await.map_err(unavailable)?;
        let status = response.status();
        if !status.is_success() {
            return Err(refusal(status, response).await);
        }
        let answer: Answer = response.json().await.map_err(unavailable)?;
        in_order(answer, texts.len())
    }
}

/// Returns the vectors in the order of their texts.
fn in_order(answer: Answer, count: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
    let mut data = answer.data;
    data.sort_by_key(|text| text.index);
    let is_complete = data.len() == count && data.iter().enumerate().all(|(at, text)| text.index == at);
    let dimension = data.first().map_or(0, |text| text.embedding.len());
    let is_even = dimension > 0
        && data.iter().all(|text| text.embedding.len() == dimension)
        && data.iter().flat_map(|text| &text.embedding).all(|x| x.is_finite());
    if !is_complete || !is_even {
        return Err(EmbedError::Rejected { reason: "it does not give one vector for each text".to_owned() });
    }
    let unit = |mut text: AnsweredText| {
        normalize(&mut text.embedding);
        text.embedding
    };
    Ok(data.into_iter().map(unit).collect())
}

/// Returns what a refusal says. An error's text may repeat what was sent, so only its code is kept.
async fn refusal(status: StatusCode, response: reqwest::Response) -> EmbedError {
    let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body: Value = response.json().await.unwrap_or_default();
    let code = [&body["error"]["code"], &body["error"]["type"]].into_iter().find_map(Value::as_str);
    let is_code = |code: &&str| {
        code.len() <= MAX_CODE_LENGTH && code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let code = code.filter(is_code).map(|code| format!(" ({code})")).unwrap_or_default();
    let wait = wait.map(|wait| format!(", to be asked again after {wait} s")).unwrap_or_default();
    let reason = format!("status {}{code}{wait}", status.as_u16());
    let is_transient = status.is_server_error()
        || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
    if is_transient { EmbedError::Unavailable { reason } } else { EmbedError::Rejected { reason } }
}

#[async_trait]
impl Embedder for Endpoint {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    fn token_ends(&self, text: &str) -> Vec<usize> {
        let ends = text.char_indices().skip(CHARS_PER_TOKEN).step_by(CHARS_PER_TOKEN);
        ends.map(|(at, _)| at).chain((!text.is_empty()).then_some(text.len())).collect()
    }

    async fn embed(&self, texts: Vec<String>, kind: TextKind) -> Result<Vec<Vec<f32>>, EmbedError> {
        let timeout = match kind {
            TextKind::Query => QUERY_TIMEOUT,
            TextKind::Passage => PASSAGES_TIMEOUT,
        };
        let mut vectors = Vec::with_capacity(texts.len());
        for some in texts.chunks(MAX_TEXTS) {
            vectors.extend(self.send(some, timeout).await?);
        }
        Ok(vectors)
    }
}
