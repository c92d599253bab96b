//! The demo's configuration: everything points at the stage. From the visitor's own environment it takes only the home
//! folder and the models.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use nod_sandbox::model::RULES_MODEL;
use url::Url;

use super::sandbox::DemoSandbox;
use crate::config::{Config, policy};

/// For some mail the demo's company asks for a second pair of eyes.
const RULES: &str = r#"
[approvers]
legal = ["bob.reyes@acme.test"]

[[rule]]
when.recipients_at = ["contracts.northwind.test"]
decider = "owner and legal"
"#;

/// The environment variables that count.
#[derive(Debug, Default)]
pub(super) struct DemoEnvironment(BTreeMap<String, String>);

impl DemoEnvironment {
    /// Keeps the variables that count. Names and values that are not UTF-8 are skipped.
    pub(super) fn from_environment(environment: impl Iterator<Item = (OsString, OsString)>) -> Self {
        let text = environment
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self(text.filter(|(name, value)| is_used(name) && !value.is_empty()).collect())
    }

    /// Returns the model's variables; empty if no endpoint is set, because a key or a name is useless without one.
    pub(super) fn model(&self) -> Vec<(String, String)> {
        let all: Vec<_> = self.0.iter().filter(|(name, _)| is_model(name)).collect();
        if !all.iter().any(|(name, _)| name.ends_with("__BASE_URL") || name.ends_with("__PRESET")) {
            return Vec::new();
        }
        all.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn other_variables(&self) -> impl Iterator<Item = (String, String)> {
        self.0.iter().filter(|(name, _)| !is_model(name)).map(|(name, value)| (name.clone(), value.clone()))
    }
}

fn is_used(name: &str) -> bool {
    is_model(name) || name.starts_with("NOD_EMBEDDINGS__") || ["HOME", "XDG_DATA_HOME"].contains(&name)
}

fn is_model(name: &str) -> bool {
    name.starts_with("NOD_LLM__")
}

/// Builds Nod's configuration on this stage. The data folder is `demo` in Nod's own, or `folder`.
pub(super) fn config(
    given: &DemoEnvironment,
    stage: &DemoSandbox,
    bind: SocketAddr,
    public: &Url,
    folder: Option<PathBuf>,
) -> anyhow::Result<Config> {
    let [admin_on_slack, admin_on_discord] = stage.admin_user_ids();
    let own = [
        ("NOD_SERVER__BIND", bind.to_string()),
        ("NOD_SERVER__PUBLIC_URL", public.to_string()),
        ("NOD_ADMIN__SLACK", admin_on_slack),
        ("NOD_ADMIN__DISCORD", admin_on_discord),
        // A visitor should not wait a day to see a request expire.
        ("NOD_APPROVALS__EXPIRE_AFTER", "5m".to_owned()),
        ("NOD_APPROVALS__REMIND_BEFORE", "2m".to_owned()),
    ];
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
    let model = match &stage.model {
        None => given.model(),
        Some(model) => vec![
            ("NOD_LLM__BASE_URL".to_owned(), model.base_url()),
            ("NOD_LLM__MODEL".to_owned(), RULES_MODEL.to_owned()),
            ("NOD_LLM__API_KEY".to_owned(), "any".to_owned()),
        ],
    };
    let all = own
        .chain(slack(stage))
        .chain(discord(stage))
        .chain(google(stage))
        .chain(model)
        .chain(given.other_variables());
    // An empty file, so that neither NOD_CONFIG nor config/nod.toml is used.
    let mut config = Config::load(Some(Path::new("/dev/null")), all)?;
    let rules = policy::read(RULES).map_err(|problems| anyhow::anyhow!(problems.join("\n")))?;
    config.approvals.policy.rules.extend(rules);
    match folder {
        Some(folder) => config.data.dir = folder,
        None => config.data.dir.push("demo"),
    }
    Ok(config)
}

fn slack(stage: &DemoSandbox) -> impl Iterator<Item = (String, String)> {
    let (bot_token, app_token) = stage.slack.read(|w| {
        let app = &w.config.app;
        (app.bot_token.clone(), app.app_token.clone())
    });
    let pairs = [
        ("NOD_SLACK__API_URL", stage.slack.api_url()),
        ("NOD_SLACK__BOT_TOKEN", bot_token),
        ("NOD_SLACK__APP_TOKEN", app_token),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value))
}

fn discord(stage: &DemoSandbox) -> impl Iterator<Item = (String, String)> {
    let app = stage.discord.read(|w| w.config.app.clone());
    let pairs = [
        ("NOD_DISCORD__API_URL", stage.discord.url()),
        ("NOD_DISCORD__TOKEN", app.bot_token),
        ("NOD_DISCORD__CLIENT_SECRET", app.client_secret),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value))
}

fn google(stage: &DemoSandbox) -> impl Iterator<Item = (String, String)> {
    let pairs = [
        ("NOD_GOOGLE__CLIENT_ID", stage.client_id.clone()),
        ("NOD_GOOGLE__CLIENT_SECRET", stage.client_secret.clone()),
        ("NOD_GOOGLE__AUTH_URL", stage.google.auth_url()),
        ("NOD_GOOGLE__TOKEN_URL", stage.google.token_url()),
        ("NOD_GOOGLE__REVOKE_URL", stage.google.revoke_url()),
        ("NOD_GOOGLE__GMAIL_URL", stage.google.url()),
        ("NOD_GOOGLE__CALENDAR_URL", format!("{}/calendar/v3/", stage.google.url())),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value))
}
