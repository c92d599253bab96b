//! Slack: incoming payloads become inbounds, outgoing cards become blocks.
//!
//! Parsing (`inbound`, `incoming_text`) and rendering (`render` and what it uses) are pure. `adapter` implements what
//! the core calls, `socket` and `http` receive events and pass them to one `door`. No slack-morphism type leaves this
//! folder.

mod adapter;
mod attachments;
mod autolink;
mod buttons;
mod connection;
mod files;
#[cfg(test)]
mod fixtures;
mod form;
mod history;
mod home;
mod http;
mod inbound;
mod incoming_text;
mod ingest;
mod limits;
mod manifest;
mod markdown;
mod probe;
mod profile;
mod render;
mod rich_text;
mod scopes;
mod signature;
mod socket;
mod stream;
mod text;
mod web;

use std::sync::Arc;

use axum::Router;
use chrono::TimeDelta;
use nod_contract::chat::{ChatAdapter, ChatError};
use nod_contract::clock::Clock;
use secrecy::SecretString;
use serde_json::{Value, json};
use slack_morphism::hyper_tokio::SlackHyperClient;
use url::Url;

pub use crate::ingest::{Accept, IncomingPayload, StoreError};
pub use adapter::SlackAdapter;
pub use inbound::{Identity, ParseOutcome, PayloadKind, parse_payload};
pub use ingest::Ingestor;
pub use manifest::manifest;
#[cfg(feature = "demo")]
pub(crate) use manifest::message_shortcuts;
pub use probe::{Report, probe, probe_socket};
pub use render::{blocks, fallback};
pub use scopes::required_scopes;
pub use socket::Listener;

/// The platform's name in rows.
pub const PLATFORM: &str = "slack";
/// Slack redelivers unacknowledged events at once, after a minute and after five.
pub(crate) const REDELIVERS: TimeDelta = TimeDelta::minutes(10);

/// How to connect to Slack.
#[derive(Debug, Clone)]
pub struct SlackSettings {
    /// `https://slack.com/api`
    pub api_url: Url,
    /// `xoxb-…`
    pub bot_token: SecretString,
    /// How it reaches Nod.
    pub transport: Transport,
}

/// How events reach Nod.
#[derive(Debug, Clone)]
pub enum Transport {
    /// Nod opens a WebSocket with this token (`xapp-…`).
    Socket { app_token: SecretString },
    /// Slack posts to Nod's server and signs with this secret.
    Http { signing_secret: SecretString },
}

/// The receiver of Slack's events.
pub enum EventSource {
    /// A connection that is kept open.
    Socket(Listener),
    /// Routes for Nod's server.
    Http(Router),
}

/// Why the connection failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The machine has no usable root certificates.
    #[error("root certificates: {0}")]
    Certificates(#[from] std::io::Error),
    /// The HTTP client for files could not be created.
    #[error("files: {0}")]
    Files(#[from] reqwest::Error),
    /// Slack refused the bot token or did not answer.
    #[error("Slack (auth.test): {0}")]
    Slack(#[from] ChatError),
}

/// One authenticated workspace.
pub struct Slack {
    identity: Identity,
    client: Arc<SlackHyperClient>,
    adapter: Arc<SlackAdapter>,
    settings: SlackSettings,
}

/// Signs in and loads the bot token's identity.
///
/// # Errors
/// If Slack refuses the token or does not answer.
pub async fn connect(settings: SlackSettings) -> Result<Slack, ConnectError> {
    let client = web::client(&settings.api_url)?;
    let web = web::WebApiClient::new(
        Arc::clone(&client),
        web::token(&settings.bot_token),
        settings.api_url.clone(),
    );
    let answer = web.call(&scopes::AUTH, &json!({})).await?;
    let identity = identity(&answer)?;
    let home = answer["url"].as_str().and_then(|url| Url::parse(url).ok());
    let files = files::FileDownloader::new(&settings.api_url, settings.bot_token.clone())?;
    let adapter = Arc::new(SlackAdapter::new(web, files, identity.clone(), home));
    Ok(Slack { identity, client, adapter, settings })
}

impl Slack {
    /// Returns the bot's identity.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the adapter for the core.
    #[must_use]
    pub fn adapter(&self) -> Arc<dyn ChatAdapter> {
        Arc::clone(&self.adapter) as Arc<dyn ChatAdapter>
    }

    /// Creates the door for payloads from any source.
    #[must_use]
    pub fn ingestor(&self, accept: Accept, clock: Arc<dyn Clock>) -> Ingestor {
        Ingestor::new(self.identity.clone(), Arc::clone(&self.adapter), accept, clock)
    }

    /// Starts receiving events. Must be called within a Tokio runtime.
    #[must_use]
    pub fn listen(&self, accept: Accept, clock: Arc<dyn Clock>) -> EventSource {
        let door = self.ingestor(accept, Arc::clone(&clock));
        match &self.settings.transport {
            Transport::Socket { app_token } => {
                EventSource::Socket(Listener::start(connection::SocketConfig {
                    client: Arc::clone(&self.client),
                    app_token: web::token(app_token),
                    ingestor: door,
                }))
            }
            Transport::Http { signing_secret } => {
                let gate = http::SlackWebhooks::new(door, signing_secret.clone(), clock);
                EventSource::Http(http::routes(gate))
            }
        }
    }
}

fn identity(answer: &Value) -> Result<Identity, ChatError> {
    let field = |name: &str| answer[name].as_str().map(str::to_owned);
    let told = |name: &str| {
        field(name).ok_or_else(|| ChatError::UnknownOutcome(format!("an answer without {name}")))
    };
    Ok(Identity {
        team: told("team_id")?,
        team_name: field("team").unwrap_or_default(),
        bot_user: told("user_id")?,
        bot_id: field("bot_id").unwrap_or_default(),
    })
}
