//! The composition root: from a configuration to a running Nod.
//!
//! Clock, ids and the pool are handed in, so that a test runs this very house with a clock of its own.

use std::sync::Arc;

use anyhow::{Context, bail};
use chrono::TimeDelta;
use nod_connectors::google::{self, Accounts, GoogleOAuth, GoogleSettings};
use nod_connectors::llm::{OpenAi, TierSettings};
use nod_core::chat::{Adapters, ChatAdapter};
use nod_core::clock::{Clock, SystemClock};
use nod_core::connection::Connections;
use nod_core::ids::{Ids, SystemIds};
use nod_core::secret::Vault;
use nod_core::tool::{Tool, Tools};
use nod_core::{Nod, Parts, Settings};
use secrecy::SecretString;
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::config::{self, Config};
use crate::database::{self, Database};
use crate::server::{self, Connecting, Platform, Readiness};
use crate::slack::{self, Listener, Slack, SlackSettings};

/// Runs Nod until `stop`.
///
/// # Errors
/// When it cannot start; with every reason that can be known at once.
pub async fn run(config: Config, stop: CancellationToken) -> anyhow::Result<()> {
    let database = Database::open(&config).await?;
    let started = async {
        database::migrate(&database.pool).await?;
        start(&config, database.pool.clone(), Arc::new(SystemClock), Arc::new(SystemIds)).await
    };
    let ended = match started.await {
        Ok(app) => {
            tracing::info!(url = %app.url, "nod is ready");
            stop.cancelled().await;
            app.stop().await;
            Ok(())
        }
        Err(error) => Err(error),
    };
    database.close().await;
    ended
}

/// A running Nod.
pub struct App {
    /// The assistant.
    pub nod: Nod,
    /// How a browser reaches its server; ends in a slash.
    pub url: Url,
    listener: Listener,
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl App {
    /// Stops hearing, lets what is under way end, and goes.
    pub async fn stop(mut self) {
        self.listener.shutdown().await;
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Puts everything together over a migrated database and starts it.
///
/// # Errors
/// When something that it needs is not configured, or Slack refuses.
pub async fn start(
    config: &Config,
    pool: PgPool,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
) -> anyhow::Result<App> {
    let needed = Needed::of(config)?;
    let socket = TcpListener::bind(config.server.bind)
        .await
        .with_context(|| format!("server.bind: cannot listen on {}", config.server.bind))?;
    let url = public_url(config, &socket)?;
    let vault = config.vault(ids.as_ref())?;
    let slack = slack::connect(needed.slack).await?;
    let model = OpenAi::new(needed.router, needed.reasoner, clock.clone())?;
    let connections = Connections::new(pool.clone(), vault.clone(), ids.clone());
    let oauth = google(config, &url)?;
    let tools = oauth.as_ref().map_or_else(Vec::new, |oauth| tools(connections, oauth));
    let nod = Nod::new(Parts {
        pool: pool.clone(),
        door: database::beside(&pool),
        clock: clock.clone(),
        ids,
        adapters: Adapters::new([slack.adapter() as Arc<dyn ChatAdapter>]),
        tools: Tools::new(tools),
        model: Arc::new(model),
        vault: Vault::clone(&vault),
        settings: settings(config, &url)?,
    })
    .await?;
    let connecting = oauth.map(|google| Connecting {
        offers: nod.offers(),
        google,
        clock: clock.clone(),
        https: url.scheme() == "https",
    });
    let readiness = Readiness::new(pool);
    let platform = readiness.platform(slack::PLATFORM);
    open(nod, slack, clock, url, socket, server::router(readiness, connecting), platform).await
}

/// Starts the parts: the workers, the server and the ear.
async fn open(
    nod: Nod,
    slack: Slack,
    clock: Arc<dyn Clock>,
    url: Url,
    socket: TcpListener,
    router: axum::Router,
    platform: Platform,
) -> anyhow::Result<App> {
    let identity = slack.identity();
    nod.open_workspace(slack::PLATFORM, &identity.team, &identity.team_name).await?;
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    let (worker, asked) = (nod.clone(), stop.clone());
    tasks.spawn(async move { worker.work(asked).await });
    let asked = stop.clone();
    tasks.spawn(async move {
        if let Err(error) = server::serve(socket, router, asked).await {
            tracing::error!(%error, "the server ended");
        }
    });
    let listener = slack.listen(slack::into_inbox(nod.inbox()), clock);
    let mut connected = listener.connected();
    let asked = stop.clone();
    tasks.spawn(async move {
        loop {
            platform.connected(*connected.borrow_and_update());
            tokio::select! {
                changed = connected.changed() => if changed.is_err() { break },
                () = asked.cancelled() => break,
            }
        }
    });
    Ok(App { nod, url, listener, tasks, stop })
}

/// What Nod cannot run without.
struct Needed {
    slack: SlackSettings,
    router: TierSettings,
    reasoner: TierSettings,
}

impl Needed {
    fn of(config: &Config) -> anyhow::Result<Self> {
        let mut missing = Vec::new();
        let bot_token = wanted(&mut missing, config.slack.bot_token.clone(), "slack.bot_token");
        let app_token = wanted(&mut missing, config.slack.app_token.clone(), "slack.app_token");
        let router = tier(&mut missing, &config.llm.router, "router");
        let reasoner = tier(&mut missing, &config.llm.reasoner, "reasoner");
        match (bot_token, app_token, router, reasoner) {
            (Some(bot_token), Some(app_token), Some(router), Some(reasoner)) => {
                let slack = SlackSettings { api_url: config.slack.api_url.clone(), bot_token, app_token };
                Ok(Self { slack, router, reasoner })
            }
            _ => {
                bail!(
                    "these must be set before Nod can run (in the file, or in the environment by the name in \
                     brackets):\n{}\nTo look around without any account: nod demo",
                    missing.join("\n")
                )
            }
        }
    }
}

fn wanted<T>(missing: &mut Vec<String>, value: Option<T>, key: &str) -> Option<T> {
    let line = format!("  {key} ({})", config::env_name(key));
    if value.is_none() && !missing.contains(&line) {
        missing.push(line);
    }
    value
}

/// A tier's settings; an endpoint without a key is one that wants none.
fn tier(missing: &mut Vec<String>, tier: &config::Tier, name: &str) -> Option<TierSettings> {
    let base_url = wanted(missing, tier.base_url.clone(), "llm.base_url");
    let model = wanted(missing, tier.model.clone(), &format!("llm.{name}.model"));
    Some(TierSettings {
        base_url: base_url?.as_str().trim_end_matches('/').to_owned(),
        api_key: tier.api_key.clone().unwrap_or_else(|| SecretString::from("")),
        model: model?,
        temperature: tier.temperature,
        timeout: tier.timeout,
        max_tokens: tier.max_tokens,
    })
}

fn google(config: &Config, url: &Url) -> anyhow::Result<Option<GoogleOAuth>> {
    let google = &config.google;
    let (Some(client_id), Some(client_secret)) = (&google.client_id, &google.client_secret) else {
        tracing::warn!("google.client_id and google.client_secret are not set: no mail");
        return Ok(None);
    };
    Ok(Some(GoogleOAuth::new(&GoogleSettings {
        client_id: client_id.clone(),
        client_secret: client_secret.clone(),
        auth_url: google.auth_url.clone(),
        token_url: google.token_url.clone(),
        revoke_url: google.revoke_url.clone(),
        gmail_url: google.gmail_url.clone(),
        redirect_url: url.join("oauth/google/callback")?,
    })?))
}

fn tools(connections: Connections, oauth: &GoogleOAuth) -> Vec<Tool> {
    google::tools(&Accounts::new(connections, oauth.clone()))
}

fn settings(config: &Config, url: &Url) -> anyhow::Result<Settings> {
    Ok(Settings {
        approval_expires_after: TimeDelta::from_std(config.approvals.expire_after)
            .context("approvals.expire_after is too long")?,
        admins: config.admin.slack.clone(),
        allow_guests: config.slack.allow_guests,
        allow_external: config.slack.allow_external,
        public_url: url.as_str().trim_end_matches('/').to_owned(),
        ..Settings::default()
    })
}

/// How browsers reach us: as configured, else where we listen.
fn public_url(config: &Config, socket: &TcpListener) -> anyhow::Result<Url> {
    match &config.server.public_url {
        Some(url) => Ok(url.clone()),
        None => Ok(Url::parse(&format!("http://{}/", socket.local_addr()?))?),
    }
}
