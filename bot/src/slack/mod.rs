//! The Slack door: what arrives becomes an inbound, what leaves becomes blocks.
//!
//! Parsing (`inbound`, `incoming_text`) and rendering (`render` and what it uses) are pure. `adapter` does what
//! the core asks, `socket` hears what people do. Nothing of slack-morphism leaves this folder.

mod adapter;
mod autolink;
mod buttons;
mod connection;
mod door;
mod inbound;
mod incoming_text;
mod limits;
mod manifest;
mod markdown;
mod probe;
mod profile;
mod render;
mod rich;
mod scopes;
mod socket;
mod table;
#[cfg(test)]
mod testing;
mod text;
mod web;

use std::sync::Arc;

use nod_core::chat::{ChatAdapter, ChatError};
use nod_core::clock::Clock;
use secrecy::SecretString;
use serde_json::{Value, json};
use slack_morphism::hyper_tokio::SlackHyperClient;
use url::Url;

pub use adapter::SlackAdapter;
pub use door::{Accept, Arrival, Door, NotStored, into_inbox};
pub use inbound::{Heard, Identity, Kind, heard};
pub use manifest::manifest;
pub use probe::{Report, probe};
pub use render::{blocks, fallback};
pub use scopes::needed as needed_scopes;
pub use socket::Listener;

/// The platform's name in rows.
pub const PLATFORM: &str = "slack";

/// How to reach Slack.
#[derive(Debug, Clone)]
pub struct SlackSettings {
    /// `https://slack.com/api`
    pub api_url: Url,
    /// `xoxb-…`
    pub bot_token: SecretString,
    /// `xapp-…`
    pub app_token: SecretString,
}

/// Why there is no Slack.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The machine has no usable root certificates.
    #[error("root certificates: {0}")]
    Certificates(#[from] std::io::Error),
    /// Slack refused the bot token or did not answer.
    #[error("Slack (auth.test): {0}")]
    Slack(#[from] ChatError),
}

/// One workspace, signed in.
pub struct Slack {
    identity: Identity,
    client: Arc<SlackHyperClient>,
    adapter: Arc<SlackAdapter>,
    settings: SlackSettings,
}

/// Signs in: asks whose the bot token is.
///
/// # Errors
/// When Slack refuses the token or does not answer.
pub async fn connect(settings: SlackSettings) -> Result<Slack, ConnectError> {
    let client = web::client(&settings.api_url)?;
    let web = web::Web::new(Arc::clone(&client), web::token(&settings.bot_token));
    let identity = identity(&web.call(&scopes::AUTH, &json!({})).await?)?;
    let adapter = Arc::new(SlackAdapter::new(web, identity.clone()));
    Ok(Slack { identity, client, adapter, settings })
}

impl Slack {
    /// Whose bot it is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// For the core.
    #[must_use]
    pub fn adapter(&self) -> Arc<dyn ChatAdapter> {
        Arc::clone(&self.adapter) as Arc<dyn ChatAdapter>
    }

    /// The door, for whatever brings payloads.
    #[must_use]
    pub fn door(&self, accept: Accept, clock: Arc<dyn Clock>) -> Door {
        Door::new(self.identity.clone(), Arc::clone(&self.adapter), accept, clock)
    }

    /// Listens by Socket Mode until it is shut down. Must be called within a Tokio runtime.
    #[must_use]
    pub fn listen(&self, accept: Accept, clock: Arc<dyn Clock>) -> Listener {
        Listener::start(connection::Line {
            client: Arc::clone(&self.client),
            app_token: web::token(&self.settings.app_token),
            door: self.door(accept, clock),
        })
    }
}

fn identity(answer: &Value) -> Result<Identity, ChatError> {
    let field = |name: &str| answer[name].as_str().map(str::to_owned);
    let told = |name: &str| field(name).ok_or_else(|| ChatError::Lost(format!("an answer without {name}")));
    Ok(Identity {
        team: told("team_id")?,
        team_name: field("team").unwrap_or_default(),
        bot_user: told("user_id")?,
        bot_id: field("bot_id").unwrap_or_default(),
    })
}
