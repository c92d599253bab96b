//! The doctor's checks of Slack: whose the tokens are and what they allow. Changes nothing.

use std::time::Duration;

use nod_contract::chat::ChatError;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use super::scopes::{AUTH, OPEN_CONNECTION, required_scopes};
use super::web::{self, WebApiClient};
use super::{ConnectError, Identity, SlackSettings, identity};

const LIMIT: Duration = Duration::from_secs(10);

/// The results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The owner of the bot token.
    pub identity: Identity,
    /// The scopes of the bot token; `None` if Slack does not say (a proxy can strip its headers).
    pub granted_scopes: Option<Vec<String>>,
    /// The scopes that Nod needs and lacks: add them to the app and reinstall it. Empty if Slack does not say.
    pub missing: Vec<&'static str>,
}

/// Checks the bot token.
///
/// # Errors
/// If the bot token is refused or Slack does not answer.
pub async fn probe(settings: &SlackSettings) -> Result<Report, ConnectError> {
    let (identity, granted) = fetch_identity(settings).await?;
    let lacking = |scope: &&str| granted.as_ref().is_some_and(|all| !all.iter().any(|g| g == scope));
    let missing = required_scopes().into_iter().filter(lacking).collect();
    Ok(Report { identity, granted_scopes: granted, missing })
}

/// Checks whether the app token opens a Socket Mode connection.
///
/// # Errors
/// If it is refused or Slack does not answer.
pub async fn probe_socket(api_url: &Url, app_token: &SecretString) -> Result<(), ChatError> {
    let client = web::client(api_url).map_err(|error| ChatError::UnknownOutcome(error.to_string()))?;
    let app = WebApiClient::new(client, web::token(app_token), api_url.clone());
    app.call(&OPEN_CONNECTION, &json!({})).await.map(|_| ())
}

/// Calls `auth.test` directly: the scopes are in a header, which slack-morphism does not expose.
async fn fetch_identity(settings: &SlackSettings) -> Result<(Identity, Option<Vec<String>>), ConnectError> {
    let lost = |what: &str| ConnectError::Slack(ChatError::UnknownOutcome(what.to_owned()));
    let url = format!("{}/{}", settings.api_url.as_str().trim_end_matches('/'), AUTH.name);
    let client = reqwest::Client::builder().timeout(LIMIT).build().map_err(|_| lost("no HTTP client"))?;
    let call = client.post(url).bearer_auth(settings.bot_token.expose_secret()).send();
    let answer = call.await.map_err(|_| lost("no connection"))?;
    let scopes = answer.headers().get("x-oauth-scopes").and_then(|value| value.to_str().ok());
    let split = |all: &str| all.split(',').map(|scope| scope.trim().to_owned()).collect();
    let granted = scopes.map(split);
    let body: Value = answer.json().await.map_err(|_| lost("an unreadable answer"))?;
    match body["error"].as_str() {
        Some(code) => Err(ConnectError::Slack(ChatError::Rejected { code: code.to_owned() })),
        None => Ok((identity(&body)?, granted)),
    }
}
