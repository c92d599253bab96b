//! Calls to Slack's Web API: one at a time, each within a time limit, every failure classified by its consequence.
//!
//! Bodies are sent by slack-morphism but are parsed as JSON: its typed answers reject a message for one field that
//! Slack changed. Errors name Slack's code and never quote a body, which can contain people's messages.

use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::HttpsConnectorBuilder;
use nod_contract::chat::ChatError;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use slack_morphism::api::SlackApiFilesUploadViaUrlRequest;
use slack_morphism::errors::SlackClientError;
use slack_morphism::hyper_tokio::{SlackClientHyperConnector, SlackHyperClient};
use slack_morphism::{
    ClientResult, SlackApiToken, SlackApiTokenValue, SlackClient, SlackClientApiCallContext,
    SlackClientHttpConnector, SlackFileUploadUrl,
};
use url::Url;

use super::scopes::Method;

/// How long one call may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The wait in seconds if Slack asks for one without a duration.
const DEFAULT_RETRY_SECS: u64 = 5;

/// Creates slack-morphism's client for this URL.
///
/// # Errors
/// If the machine's root certificates cannot be read.
pub(super) fn client(api_url: &Url) -> std::io::Result<Arc<SlackHyperClient>> {
    let connector = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::ring::default_provider())?
        .https_or_http()
        .enable_http1()
        .build();
    let connector = SlackClientHyperConnector::with_connector(connector)
        .with_slack_api_url(api_url.as_str().trim_end_matches('/'));
    Ok(Arc::new(SlackClient::new(connector)))
}

pub(super) fn token(secret: &SecretString) -> SlackApiToken {
    SlackApiToken::new(SlackApiTokenValue(secret.expose_secret().to_owned()))
}

/// The Web API with a token.
#[derive(Clone)]
pub(super) struct WebApiClient {
    client: Arc<SlackHyperClient>,
    token: SlackApiToken,
    api_url: Url,
}

impl WebApiClient {
    pub(super) fn new(client: Arc<SlackHyperClient>, token: SlackApiToken, api_url: Url) -> Self {
        Self { client, token, api_url }
    }

    /// Calls a method that takes JSON.
    pub(super) async fn call(&self, method: &Method, body: &Value) -> Result<Value, ChatError> {
        let session = self.client.open_session(&self.token);
        run_call(session.http_session_api.http_post(method.name, body, None)).await
    }

    /// Calls a method that only reads; those take a query, not JSON.
    pub(super) async fn read(&self, method: &Method, query: &[(&str, &str)]) -> Result<Value, ChatError> {
        let session = self.client.open_session(&self.token);
        let query: Vec<(&str, Option<&str>)> = query.iter().map(|(k, v)| (*k, Some(*v))).collect();
        run_call(session.http_session_api.http_get(method.name, &query, None)).await
    }

    /// Answers an interaction at the URL that came with it. No token goes there.
    pub(super) async fn respond(&self, url: &str, body: &Value) -> Result<(), ChatError> {
        let url = Url::parse(url).ok().filter(|url| self.is_response_url(url));
        let url = url.ok_or_else(|| ChatError::Rejected { code: "not_a_response_url".to_owned() })?;
        let context = SlackClientApiCallContext {
            rate_control_params: None,
            token: None,
            tracing_span: &tracing::Span::none(),
            is_sensitive_url: true,
        };
        let call = self.client.http_api.connector.http_post_uri::<_, Value>(url, body, context);
        match tokio::time::timeout(LIMIT, call).await {
            Err(_) => Err(ChatError::UnknownOutcome(format!("timeout of {} s", LIMIT.as_secs()))),
            Ok(answered) => answered.map(|_| ()).map_err(classify_error),
        }
    }

    /// Whether Slack answers there: the payload that names it can be forged where it is not signed.
    fn is_response_url(&self, url: &Url) -> bool {
        let api = &self.api_url;
        let hooks = api.host_str().map(|host| format!("hooks.{host}"));
        url.origin() == api.origin() || (url.scheme() == "https" && url.host_str() == hooks.as_deref())
    }

    /// Uploads a file to the URL that Slack returned.
    pub(super) async fn upload(&self, url: Url, text: &str) -> Result<(), ChatError> {
        let session = self.client.open_session(&self.token);
        let request = SlackApiFilesUploadViaUrlRequest::new(
            SlackFileUploadUrl(url),
            text.as_bytes().to_vec(),
            "text/plain; charset=utf-8".to_owned(),
        );
        match tokio::time::timeout(LIMIT, session.files_upload_via_url(&request)).await {
            Err(_) => Err(ChatError::UnknownOutcome(format!("timeout of {} s", LIMIT.as_secs()))),
            Ok(uploaded) => uploaded.map(|_| ()).map_err(classify_error),
        }
    }
}

async fn run_call(call: impl Future<Output = ClientResult<Value>>) -> Result<Value, ChatError> {
    let answer = match tokio::time::timeout(LIMIT, call).await {
        Err(_) => return Err(ChatError::UnknownOutcome(format!("timeout of {} s", LIMIT.as_secs()))),
        Ok(answer) => answer.map_err(classify_error)?,
    };
    // A proxy's page that is not JSON is parsed as `{}`.
    if answer["ok"] == true {
        Ok(answer)
    } else {
        Err(ChatError::UnknownOutcome("an answer that is not Slack's".into()))
    }
}

fn classify_error(error: SlackClientError) -> ChatError {
    match error {
        SlackClientError::RateLimitError(limit) => ChatError::RateLimited {
            retry_after_secs: limit.retry_after.map_or(DEFAULT_RETRY_SECS, |after| after.as_secs().max(1)),
        },
        SlackClientError::ApiError(api) => error_for_code(&api.code),
        SlackClientError::HttpError(http) => error_for_status(http.status_code.as_u16()),
        SlackClientError::ProtocolError(_) => ChatError::UnknownOutcome("an unreadable answer".into()),
        _ => ChatError::UnknownOutcome("the connection broke".into()),
    }
}

/// Slack's codes for its own failures mean that part of the work may have been done.
fn error_for_code(code: &str) -> ChatError {
    match code {
        "ratelimited" | "rate_limited" => ChatError::RateLimited { retry_after_secs: DEFAULT_RETRY_SECS },
        "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" => {
            ChatError::UnknownOutcome(format!("Slack says {code}"))
        }
        code if FORBIDDEN_CODES.contains(&code) => ChatError::ChannelClosed { code: code.to_owned() },
        code => ChatError::Rejected { code: code.to_owned() },
    }
}

/// Codes for a place that accepts no message from us.
const FORBIDDEN_CODES: [&str; 16] = [
    "account_inactive",
    "cannot_dm_bot",
    "cannot_reply_to_message",
    "channel_is_archived",
    "channel_not_found",
    "is_archived",
    "messages_tab_disabled",
    "not_in_channel",
    "restricted_action",
    "restricted_action_non_threadable_channel",
    "restricted_action_read_only_channel",
    "restricted_action_thread_locked",
    "thread_not_found",
    "user_disabled",
    "user_not_found",
    "user_not_visible",
];

fn error_for_status(status: u16) -> ChatError {
    match status {
        408 | 500.. => ChatError::UnknownOutcome(format!("HTTP {status}")),
        _ => ChatError::Rejected { code: format!("http_{status}") },
    }
}
