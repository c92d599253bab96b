//! What the doctor asks Slack: whose tokens these are and what they may do. Changes nothing.

use std::time::Duration;

use nod_contract::chat::ChatError;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::scopes::{AUTH, CONNECT, needed};
use super::web::{self, Web};
use super::{ConnectError, Identity, SlackSettings, Way, identity};

const LIMIT: Duration = Duration::from_secs(10);

/// What Slack says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Whose bot token it is.
    pub identity: Identity,
    /// The scopes of the bot token; `None` where Slack does not tell (a proxy may strip its headers).
    pub granted: Option<Vec<String>>,
    /// What Nod needs and was not granted: add it to the app and reinstall it. Empty where Slack does not tell.
    pub missing: Vec<&'static str>,
    /// Whether the app token opens a Socket Mode connection; `None` where Slack posts to Nod instead.
    pub socket: Option<Result<(), ChatError>>,
}

/// Asks with the tokens there are.
///
/// # Errors
/// When the bot token is refused or Slack does not answer.
pub async fn probe(settings: &SlackSettings) -> Result<Report, ConnectError> {
    let (identity, granted) = owner(settings).await?;
    let lacking = |scope: &&str| granted.as_ref().is_some_and(|all| !all.iter().any(|g| g == scope));
    let missing = needed().into_iter().filter(lacking).collect();
    let socket = match &settings.way {
        Way::Socket { app_token } => {
            let app = Web::new(web::client(&settings.api_url)?, web::token(app_token));
            Some(app.call(&CONNECT, &json!({})).await.map(|_| ()))
        }
        Way::Http { .. } => None,
    };
    Ok(Report { identity, granted, missing, socket })
}

/// `auth.test` by hand: the scopes stand in a header, which slack-morphism does not show.
async fn owner(settings: &SlackSettings) -> Result<(Identity, Option<Vec<String>>), ConnectError> {
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
