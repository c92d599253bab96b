//! What must be configured before Nod can run. All missing keys are reported at once.

use anyhow::anyhow;
use nod_connectors::llm::TierSettings;

use crate::config::{self, Config, SlackMode};
use crate::discord::DiscordSettings;
use crate::slack::{SlackSettings, Transport};

/// What Nod cannot run without: a platform and models.
pub(super) struct RequiredSettings {
    pub(super) slack: Option<SlackSettings>,
    pub(super) discord: Option<DiscordSettings>,
    pub(super) models: Models,
}

impl RequiredSettings {
    pub(super) fn from_config(config: &Config) -> anyhow::Result<Self> {
        let mut missing = Vec::new();
        let discord = discord_settings(config);
        // If no Slack key is set, Discord is enough.
        let slack = &config.slack;
        let wants_slack = slack.bot_token.is_some() || slack.app_token.is_some() || discord.is_none();
        let slack = if wants_slack { slack_settings(&mut missing, config) } else { None };
        let models = Models::from_config(&mut missing, config);
        match models {
            Some(models) if missing.is_empty() => Ok(Self { slack, discord, models }),
            _ => Err(missing_settings_error(&missing)),
        }
    }
}

pub(crate) fn discord_settings(config: &Config) -> Option<DiscordSettings> {
    let discord = &config.discord;
    Some(DiscordSettings {
        api_url: discord.api_url.clone(),
        token: discord.token.clone()?,
        application_id: discord.application_id.clone(),
        client_secret: discord.client_secret.clone(),
        servers: discord.servers.clone(),
    })
}

/// The model of each tier.
pub(super) struct Models {
    pub(super) router: TierSettings,
    pub(super) reasoner: TierSettings,
    pub(super) summariser: TierSettings,
}

impl Models {
    pub(super) fn from_config(missing: &mut Vec<String>, config: &Config) -> Option<Self> {
        let (router, reasoner) = (&config.llm.router, &config.llm.reasoner);
        // What neither has is said once, by the key that gives it to both.
        if router.base_url.is_none() && reasoner.base_url.is_none() {
            missing.push(format!("  llm.preset ({}), or llm.base_url", config::env_name("llm.preset")));
        } else {
            require(missing, router.base_url.clone(), "llm.router.base_url");
            require(missing, reasoner.base_url.clone(), "llm.reasoner.base_url");
        }
        if router.model.is_none() && reasoner.model.is_none() {
            require(missing, None::<()>, "llm.model");
        } else {
            require(missing, router.model.clone(), "llm.router.model");
            require(missing, reasoner.model.clone(), "llm.reasoner.model");
        }
        if [router, reasoner].iter().all(|tier| needs_key(tier) && tier.api_key.is_none()) {
            require(missing, None::<()>, "llm.api_key");
        } else {
            for (name, tier) in [("router", router), ("reasoner", reasoner)] {
                if needs_key(tier) {
                    require(missing, tier.api_key.clone(), &format!("llm.{name}.api_key"));
                }
            }
        }
        let router = tier(missing, router, "router");
        let reasoner = tier(missing, reasoner, "reasoner");
        // Falls back to the reasoner's settings, so it adds nothing that could be missing.
        let summariser = tier(&mut Vec::new(), &config.llm.summariser, "summariser");
        Some(Self { router: router?, reasoner: reasoner?, summariser: summariser? })
    }
}

pub(super) fn slack_settings(missing: &mut Vec<String>, config: &Config) -> Option<SlackSettings> {
    let bot_token = require(missing, config.slack.bot_token.clone(), "slack.bot_token");
    let way = transport(missing, &config.slack);
    Some(SlackSettings { api_url: config.slack.api_url.clone(), bot_token: bot_token?, transport: way? })
}

const DEMO: &str = if cfg!(feature = "demo") { "nod demo" } else { "./scripts/demo, in the source" };

pub(super) fn missing_settings_error(missing: &[String]) -> anyhow::Error {
    anyhow!(
        "Nod needs these before it can run (in the file, or in the environment by the name in \
         brackets):\n{}\nTo look around without any account: {DEMO}",
        missing.join("\n")
    )
}

fn require<T>(missing: &mut Vec<String>, value: Option<T>, key: &str) -> Option<T> {
    let line = format!("  {key} ({})", config::env_name(key));
    if value.is_none() && !missing.contains(&line) {
        missing.push(line);
    }
    value
}

/// Returns the one secret that the mode needs.
fn transport(missing: &mut Vec<String>, slack: &config::Slack) -> Option<Transport> {
    match slack.mode {
        SlackMode::Socket => require(missing, slack.app_token.clone(), "slack.app_token")
            .map(|app_token| Transport::Socket { app_token }),
        SlackMode::Http => require(missing, slack.signing_secret.clone(), "slack.signing_secret")
            .map(|signing_secret| Transport::Http { signing_secret }),
    }
}

fn needs_key(tier: &config::Tier) -> bool {
    tier.preset.as_ref().is_some_and(|preset| preset.needs_key)
}

/// Returns a tier's settings, and which keys of its fallback are missing.
fn tier(missing: &mut Vec<String>, tier: &config::Tier, name: &str) -> Option<TierSettings> {
    if let Some(other) = &tier.fallback {
        require(missing, other.model.clone(), &format!("llm.{name}.fallback.model"));
        if needs_key(other) {
            require(missing, other.api_key.clone(), &format!("llm.{name}.fallback.api_key"));
        }
    }
    tier.settings()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn missing(set: &[(&str, &str)]) -> String {
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let config = Config::load(None, set).unwrap();
        let error = RequiredSettings::from_config(&config).map(|_| ()).unwrap_err().to_string();
        let lines = error.lines().filter(|line| line.starts_with("  "));
        lines.map(str::trim).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn what_one_key_gives_to_all_models_is_missed_once() {
        let discord = ("NOD_DISCORD__TOKEN", "x");
        assert_eq!(
            missing(&[discord]),
            "llm.preset (NOD_LLM__PRESET), or llm.base_url; llm.model (NOD_LLM__MODEL)"
        );
        let url = ("NOD_LLM__BASE_URL", "http://127.0.0.1:1");
        assert_eq!(
            missing(&[discord, url, ("NOD_LLM__ROUTER__MODEL", "m")]),
            "llm.reasoner.model (NOD_LLM__REASONER__MODEL)"
        );
        let preset = ("NOD_LLM__PRESET", "openai");
        assert_eq!(missing(&[discord, preset, ("NOD_LLM__MODEL", "m")]), "llm.api_key (NOD_LLM__API_KEY)");
        assert_eq!(
            missing(&[("NOD_LLM__MODEL", "m"), url]),
            "slack.bot_token (NOD_SLACK__BOT_TOKEN); slack.app_token (NOD_SLACK__APP_TOKEN)"
        );
    }
}
