//! The composition root: from a configuration to a running Nod.
//!
//! Clock, ids and the pool are handed in, so that a test runs this very house with a clock of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use axum::Router;
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
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::config::{self, Config, SlackMode};
use crate::database::{self, Database};
use crate::server::{self, Connecting, Platform, Readiness};
use crate::slack::{self, Ear, Listener, SlackSettings, Way};
use crate::terminal::{self, TerminalAdapter};

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
    /// `None` where Slack posts to the server.
    listener: Option<Listener>,
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl App {
    /// Stops hearing, lets what is under way end, and goes.
    pub async fn stop(mut self) {
        if let Some(listener) = self.listener {
            listener.shutdown().await;
        }
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
    let socket = listen(config).await?;
    let url = public_url(config, socket.local_addr()?)?;
    let slack = slack::connect(needed.slack).await?;
    let adapters = [slack.adapter(), Arc::new(TerminalAdapter::default()) as Arc<dyn ChatAdapter>];
    let house = House { adapters: Adapters::new(adapters), url: url.clone(), pool: pool.clone(), clock, ids };
    let (nod, connecting) = house.built(config, needed.models).await?;
    let clock = house.clock;
    let readiness = Readiness::new(pool);
    let platform = readiness.platform(slack::PLATFORM);
    let identity = slack.identity();
    nod.open_workspace(slack::PLATFORM, &identity.team, &identity.team_name).await?;
    let ear = slack.hear(slack::into_inbox(nod.inbox()), clock);
    let (listener, routes) = match ear {
        Ear::Socket(listener) => (Some(listener), Router::new()),
        Ear::Http(routes) => (None, routes),
    };
    let router = server::router(readiness, connecting, routes);
    let workspace = slack.identity().team.clone();
    Ok(open(nod, listener, url, socket, router, platform, workspace))
}

/// How long jobs under way are waited for when somebody leaves a terminal.
const GRACE: Duration = Duration::from_secs(3);

/// Talks at this terminal until the person leaves or `stop`. It is one more replica: it does every job, also those
/// of Slack where that is configured, and hears the terminal alone.
///
/// # Errors
/// When it cannot start.
pub async fn chat(config: Config, user: String, stop: CancellationToken) -> anyhow::Result<()> {
    let database = Database::open_or_join(&config).await?;
    let talked = async {
        database::migrate(&database.pool).await?;
        converse(&config, user, database.pool.clone(), stop).await
    };
    let ended = talked.await;
    database.close().await;
    ended
}

async fn converse(
    config: &Config,
    user: String,
    pool: PgPool,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let mut missing = Vec::new();
    let models = Models::of(&mut missing, config).ok_or_else(|| unset(&missing))?;
    // Where `nod run` serves already, that one serves the links.
    let socket = listen(config).await.inspect_err(|error| tracing::info!(%error, "no server here")).ok();
    let at = socket.as_ref().map_or(Ok(config.server.bind), TcpListener::local_addr)?;
    let url = public_url(config, at)?;
    let terminal = TerminalAdapter::here(std::env::current_dir()?);
    let changed = terminal.changed();
    let mut adapters: Vec<Arc<dyn ChatAdapter>> = vec![Arc::new(terminal)];
    if let Some(settings) = slack_settings(&mut Vec::new(), config) {
        adapters.push(slack::connect(settings).await?.adapter());
    }
    let (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>) = (Arc::new(SystemClock), Arc::new(SystemIds));
    let adapters = Adapters::new(adapters);
    let house = House { adapters, url, pool: pool.clone(), clock: clock.clone(), ids: ids.clone() };
    let (nod, connecting) = house.built(config, models).await?;
    let unserved = nod.unserved().await?;
    if !unserved.is_empty() {
        bail!(
            "this database also serves {}, and that is not configured here: jobs for it would fail. Give nod chat \
             the configuration of nod run, or another data.dir",
            unserved.join(" and ")
        );
    }
    let mut tasks = JoinSet::new();
    let (worker, asked) = (nod.clone(), stop.clone());
    tasks.spawn(async move { worker.work(asked).await });
    if let Some(socket) = socket {
        let router = server::router(Readiness::new(pool), connecting, Router::new());
        let asked = stop.clone();
        tasks.spawn(async move {
            if let Err(error) = server::serve(socket, router, asked).await {
                tracing::error!(%error, "the server ended");
            }
        });
    }
    let history = config.data.dir.join("chat_history");
    let talk = terminal::run(terminal::Parts { nod, user, changed, history, clock, ids });
    let talked = tokio::select! {
        talked = talk => talked,
        () = stop.cancelled() => Ok(()),
    };
    stop.cancel();
    // What is under way goes on with the next replica, or the next start.
    let ended = async { while tasks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(GRACE, ended).await;
    talked
}

/// What the core is put together from.
struct House {
    adapters: Adapters,
    url: Url,
    pool: PgPool,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
}

impl House {
    /// The assistant, and the pages that connect accounts.
    async fn built(&self, config: &Config, models: Models) -> anyhow::Result<(Nod, Option<Connecting>)> {
        let Self { adapters, url, pool, clock, ids } = self;
        let vault = config.vault(ids.as_ref())?;
        let model = OpenAi::new(models.router, models.reasoner, models.summariser, clock.clone())?;
        let connections = Connections::new(pool.clone(), vault.clone(), ids.clone());
        let oauth = google(config, url)?;
        let tools = oauth.as_ref().map_or_else(Vec::new, |oauth| tools(connections, oauth));
        let nod = Nod::new(Parts {
            pool: pool.clone(),
            door: database::beside(pool),
            clock: clock.clone(),
            ids: ids.clone(),
            adapters: adapters.clone(),
            tools: Tools::new(tools),
            model: Arc::new(model),
            vault: Vault::clone(&vault),
            settings: settings(config, url)?,
        })
        .await?;
        let connecting = oauth.map(|google| Connecting {
            offers: nod.offers(),
            google,
            clock: clock.clone(),
            https: url.scheme() == "https",
        });
        Ok((nod, connecting))
    }
}

async fn listen(config: &Config) -> anyhow::Result<TcpListener> {
    let bind = config.server.bind;
    TcpListener::bind(bind).await.with_context(|| format!("server.bind: cannot listen on {bind}"))
}

/// Starts the parts: the workers, the server, and whoever watches the ear.
fn open(
    nod: Nod,
    listener: Option<Listener>,
    url: Url,
    socket: TcpListener,
    router: Router,
    platform: Platform,
    workspace: String,
) -> App {
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
    // Whoever posts finds the server.
    let connected = listener.as_ref().map_or_else(|| watch::channel(true).1, Listener::connected);
    let hearing = Hearing { nod: nod.clone(), workspace, platform };
    let asked = stop.clone();
    tasks.spawn(async move {
        tokio::select! {
            () = hearing.keep(connected) => {}
            () = asked.cancelled() => {}
        }
    });
    App { nod, url, listener, tasks, stop }
}

/// Knows whether Slack's events reach this replica: tells `/readyz`, and has what was missed looked up.
struct Hearing {
    nod: Nod,
    workspace: String,
    platform: Platform,
}

/// How often it is written down that events arrive: after an absence it is looked back so much further.
const BEAT: Duration = Duration::from_secs(20);

impl Hearing {
    async fn keep(self, mut connected: watch::Receiver<bool>) {
        let mut beat = tokio::time::interval(BEAT);
        let mut caught_up = false;
        let mut told = true;
        loop {
            let hears = *connected.borrow_and_update();
            self.platform.connected(hears);
            if hears {
                match self.nod.hears(slack::PLATFORM, &self.workspace, !caught_up).await {
                    Ok(()) => caught_up = true,
                    Err(error) => tracing::warn!(%error, "not written down that Slack is heard"),
                }
            } else {
                caught_up = false;
            }
            tokio::select! {
                changed = connected.changed(), if told => told = changed.is_ok(),
                _ = beat.tick() => {}
            }
        }
    }
}

/// What Nod cannot run without.
struct Needed {
    slack: SlackSettings,
    models: Models,
}

impl Needed {
    fn of(config: &Config) -> anyhow::Result<Self> {
        let mut missing = Vec::new();
        let slack = slack_settings(&mut missing, config);
        let models = Models::of(&mut missing, config);
        match (slack, models) {
            (Some(slack), Some(models)) => Ok(Self { slack, models }),
            _ => Err(unset(&missing)),
        }
    }
}

/// The model of each tier.
struct Models {
    router: TierSettings,
    reasoner: TierSettings,
    summariser: TierSettings,
}

impl Models {
    fn of(missing: &mut Vec<String>, config: &Config) -> Option<Self> {
        let router = tier(missing, &config.llm.router, "router");
        let reasoner = tier(missing, &config.llm.reasoner, "reasoner");
        // Falls back to the reasoner's settings, so it adds nothing that could be missing.
        let summariser = tier(&mut Vec::new(), &config.llm.summariser, "summariser");
        Some(Self { router: router?, reasoner: reasoner?, summariser: summariser? })
    }
}

fn slack_settings(missing: &mut Vec<String>, config: &Config) -> Option<SlackSettings> {
    let bot_token = wanted(missing, config.slack.bot_token.clone(), "slack.bot_token");
    let way = way(missing, &config.slack);
    Some(SlackSettings { api_url: config.slack.api_url.clone(), bot_token: bot_token?, way: way? })
}

fn unset(missing: &[String]) -> anyhow::Error {
    anyhow!(
        "these must be set before Nod can run (in the file, or in the environment by the name in brackets):\n{}\n\
         To look around without any account: nod demo",
        missing.join("\n")
    )
}

fn wanted<T>(missing: &mut Vec<String>, value: Option<T>, key: &str) -> Option<T> {
    let line = format!("  {key} ({})", config::env_name(key));
    if value.is_none() && !missing.contains(&line) {
        missing.push(line);
    }
    value
}

/// The one secret that the mode needs.
fn way(missing: &mut Vec<String>, slack: &config::Slack) -> Option<Way> {
    match slack.mode {
        SlackMode::Socket => wanted(missing, slack.app_token.clone(), "slack.app_token")
            .map(|app_token| Way::Socket { app_token }),
        SlackMode::Http => wanted(missing, slack.signing_secret.clone(), "slack.signing_secret")
            .map(|signing_secret| Way::Http { signing_secret }),
    }
}

/// A tier's settings; an endpoint without a key is one that wants none.
fn tier(missing: &mut Vec<String>, tier: &config::Tier, name: &str) -> Option<TierSettings> {
    wanted(missing, tier.base_url.clone(), "llm.base_url");
    wanted(missing, tier.model.clone(), &format!("llm.{name}.model"));
    let needs_key = |tier: &config::Tier| tier.preset.as_ref().is_some_and(|preset| preset.needs_key);
    if needs_key(tier) {
        wanted(missing, tier.api_key.clone(), &format!("llm.{name}.api_key"));
    }
    if let Some(other) = &tier.fallback {
        wanted(missing, other.model.clone(), &format!("llm.{name}.fallback.model"));
        if needs_key(other) {
            wanted(missing, other.api_key.clone(), &format!("llm.{name}.fallback.api_key"));
        }
    }
    tier.settings()
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
        policy: config.approvals.policy.clone(),
        stream_after: config.replies.stream_after,
        admins: config.admin.slack.clone(),
        admins_on: slack::PLATFORM.to_owned(),
        allow_guests: config.slack.allow_guests,
        allow_external: config.slack.allow_external,
        public_url: url.as_str().trim_end_matches('/').to_owned(),
        answers_within: TimeDelta::from_std(config.slack.answer_within)
            .context("slack.answer_within is too long")?,
        ..Settings::default()
    })
}

/// How browsers reach us: as configured, else where we listen.
fn public_url(config: &Config, at: SocketAddr) -> anyhow::Result<Url> {
    match &config.server.public_url {
        Some(url) => Ok(url.clone()),
        None => Ok(Url::parse(&format!("http://{at}/"))?),
    }
}
