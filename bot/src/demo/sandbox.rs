//! The stage: the sandbox's Slack, Discord, Google and model, filled with the company's data.

use nod_sandbox::discord::{Discord, DiscordConfig};
use nod_sandbox::google::{Google, GoogleConfig};
use nod_sandbox::model::{Model, ModelConfig};
use nod_sandbox::slack::{Slack, SlackConfig};
use url::Url;

use super::{calendar, company, mail};
use crate::slack;

/// The bot's name.
const BOT: &str = "nod";

/// The fakes; they stop when this is dropped.
pub(super) struct DemoSandbox {
    pub slack: Slack,
    pub discord: Discord,
    pub google: Google,
    pub client_id: String,
    pub client_secret: String,
    /// `None` if the visitor configured a model.
    pub model: Option<Model>,
}

impl DemoSandbox {
    /// Starts the fakes on loopback and fills them. Consent pages can redirect to `nod`, its own server.
    pub(super) async fn start(rules_stand_in: bool, nod: &Url) -> anyhow::Result<Self> {
        let mut config = SlackConfig::new(BOT);
        // No more scopes than a real workspace would have granted.
        config.app.scopes = slack::required_scopes().into_iter().map(str::to_owned).collect();
        let slack = Slack::start(company::slack_config(config)).await?;
        company::seed_slack(&slack);
        let mut config = DiscordConfig::new(BOT);
        config.app.redirects = vec![nod.join("oauth/discord/callback")?.into()];
        let discord = Discord::start(company::discord_config(config)).await?;
        company::seed_discord(&discord);
        let config = GoogleConfig {
            accounts: company::accounts(),
            redirect_uris: vec![nod.join("oauth/google/callback")?.into()],
            ..GoogleConfig::default()
        };
        let (client_id, client_secret) = (config.client_id.clone(), config.client_secret.clone());
        let google = Google::start(config).await?;
        let now = chrono::Utc::now();
        mail::seed_mailboxes(&google, now).map_err(anyhow::Error::msg)?;
        calendar::seed_calendars(&google, now).map_err(anyhow::Error::msg)?;
        let model = match rules_stand_in {
            true => Some(Model::start(ModelConfig { rules: true, ..ModelConfig::default() }).await?),
            false => None,
        };
        Ok(Self { slack, discord, google, client_id, client_secret, model })
    }

    /// Returns the admin's Slack id and Discord id.
    pub(super) fn admin_user_ids(&self) -> [String; 2] {
        let on_slack = self.slack.read(|w| w.user_id(company::ADMIN));
        let on_discord = self.discord.read(|w| w.user_id(company::ADMIN));
        [on_slack, on_discord].map(Result::unwrap_or_default)
    }
}
