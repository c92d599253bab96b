//! The composition root: from a configuration to a running Nod.
//!
//! The clock, the ids and the pool are parameters, so a test runs this same code with its own clock.

mod abilities;
pub(crate) mod embeddings;
pub(crate) mod google;
mod required_settings;
pub(crate) mod vector_store;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use chrono::TimeDelta;
use nod_accounts::connection::{Connections, Grantor};
use nod_connectors::llm::OpenAi;
use nod_contract::chat::{Adapters, ChatAdapter};
use nod_contract::clock::{Clock, SystemClock};
use nod_contract::ids::{Ids, SystemIds};
use nod_contract::model::Model;
use nod_inbox::{Dependencies, Nod, Settings};
use nod_people::ability::Plug;
use nod_people::attachment::AttachmentStore;
use nod_people::reading::{Program, Reader, Readers};
use nod_store::vault::Vault;
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use url::Url;

pub use self::abilities::MENU_ENTRIES;
use crate::config::{self, Config};
use crate::database::{self, Database, DatabaseClock};
use crate::discord::{self, Discord, SignIn};
use crate::ingest::into_inbox;
use crate::ingest_status::{IngestMonitor, IngestStatus, StorageStatus, Whole};
use crate::policy;
use crate::server::{self, ConnectPages, Readiness};
use crate::slack::{self, EventSource, Listener, Slack};
use crate::terminal::{self, TerminalAdapter};
pub(crate) use required_settings::discord_settings;
use required_settings::{Models, RequiredSettings, missing_settings_error, slack_settings};

/// Runs Nod until `stop`.
///
/// # Errors
/// If it cannot start; with every reason that can be known at once.
pub async fn run(config: Config, stop: CancellationToken) -> anyhow::Result<()> {
    let database = Database::open(&config).await?;
    let started = async {
        database::migrate(&database.pool).await?;
        let clock = DatabaseClock::follow(&database.pool, stop.clone()).await?;
        start(&config, database.pool.clone(), clock, Arc::new(SystemIds), Vec::new()).await
    };
    let ended = match started.await {
        Ok(app) => {
            for list in policy::find_empty_lists(database.pool.clone(), &config.approvals.policy).await? {
                tracing::warn!(list, "the policy names a list with no known members");
            }
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
    /// The URL at which a browser reaches its server; ends in a slash.
    pub url: Url,
    /// `None` if Slack posts to the server.
    listener: Option<Listener>,
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl App {
    /// Stops receiving events, waits for the tasks in progress, and returns.
    pub async fn stop(mut self) {
        if let Some(listener) = self.listener {
            listener.shutdown().await;
        }
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Builds Nod on a migrated database and starts it, with the abilities in `beside` in addition to the built-in ones:
/// those of a custom build, or the toy ability of the story tests.
///
/// # Errors
/// If something that it needs is not configured, or Slack refuses.
pub async fn start(
    config: &Config,
    pool: PgPool,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    beside: Vec<Plug>,
) -> anyhow::Result<App> {
    let needed = RequiredSettings::from_config(config)?;
    let socket = bind_listener(config).await?;
    let url = public_url(config, socket.local_addr()?)?;
    let slack = match needed.slack {
        Some(settings) => Some(slack::connect(settings).await?),
        None => None,
    };
    let discord = match needed.discord {
        Some(settings) => Some(discord::connect(settings, clock.clone()).await?),
        None => None,
    };
    let mut adapters = vec![Arc::new(TerminalAdapter::elsewhere(clock.clone())) as Arc<dyn ChatAdapter>];
    adapters.extend(slack.as_ref().map(Slack::adapter));
    adapters.extend(discord.as_ref().map(Discord::adapter));
    let discord_sign_in = discord_sign_in(discord.as_ref(), &url)?;
    let house =
        AppBuilder { adapters: Adapters::new(adapters), url: url.clone(), pool: pool.clone(), clock, ids };
    let (nod, connecting) = house.build(config, needed.models, discord_sign_in, beside).await?;
    let mut parts = RunningServices::new(nod, house.clock, Readiness::new(pool));
    if let Some(slack) = slack {
        parts.start_slack(&slack).await?;
    }
    if let Some(discord) = discord {
        parts.start_discord(&discord).await?;
    }
    Ok(parts.open(url, socket, connecting))
}

/// How long to wait for jobs in progress when a user leaves the terminal.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// Chats at this terminal until the user leaves or `stop`. The process is one more replica: it works on every job, also
/// those of Slack if it is configured, but receives events only from the terminal.
///
/// # Errors
/// If it cannot start.
pub async fn chat(config: Config, user: String, stop: CancellationToken) -> anyhow::Result<()> {
    let database = Database::open_or_join(&config).await?;
    let talked = async {
        database::migrate(&database.pool).await?;
        Box::pin(run_chat(&config, user, database.pool.clone(), stop)).await
    };
    let ended = talked.await;
    database.close().await;
    ended
}

async fn run_chat(
    config: &Config,
    user: String,
    pool: PgPool,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let mut missing = Vec::new();
    let models = Models::from_config(&mut missing, config).ok_or_else(|| missing_settings_error(&missing))?;
    // If `nod run` already serves here, its server handles the links.
    let socket =
        bind_listener(config).await.inspect_err(|error| tracing::info!(%error, "no server here")).ok();
    let at = socket.as_ref().map_or(Ok(config.server.bind), TcpListener::local_addr)?;
    let url = public_url(config, at)?;
    let clock: Arc<dyn Clock> = DatabaseClock::follow(&pool, stop.clone()).await?;
    let ids: Arc<dyn Ids> = Arc::new(SystemIds);
    let terminal = TerminalAdapter::with_terminal(clock.clone(), std::env::current_dir()?);
    let changed = terminal.change_notifier();
    let mut adapters: Vec<Arc<dyn ChatAdapter>> = vec![Arc::new(terminal)];
    if let Some(settings) = slack_settings(&mut Vec::new(), config) {
        adapters.push(slack::connect(settings).await?.adapter());
    }
    let discord = match discord_settings(config) {
        Some(settings) => Some(discord::connect(settings, clock.clone()).await?),
        None => None,
    };
    adapters.extend(discord.as_ref().map(Discord::adapter));
    let discord_sign_in = discord_sign_in(discord.as_ref(), &url)?;
    let adapters = Adapters::new(adapters);
    let house = AppBuilder { adapters, url, pool: pool.clone(), clock: clock.clone(), ids: ids.clone() };
    let (nod, connecting) = house.build(config, models, discord_sign_in, Vec::new()).await?;
    let unserved = nod.list_unserved().await?;
    if !unserved.is_empty() {
        bail!(
            "this database also serves {}, which isn't configured here, so its jobs would fail. Give nod \
             chat the configuration of nod run, or another data.dir",
            unserved.join(" and ")
        );
    }
    let mut tasks = JoinSet::new();
    let (worker, asked) = (nod.clone(), stop.clone());
    tasks.spawn(async move { worker.run_jobs(asked).await });
    if let Some(socket) = socket {
        let router = server::router(Readiness::new(pool), connecting, Router::new());
        let asked = stop.clone();
        tasks.spawn(server::serve(socket, router, asked));
    }
    let history = config.data.dir.join("chat_history");
    let talk =
        terminal::run_session(terminal::SessionDependencies { nod, user, changed, history, clock, ids });
    let talked = tokio::select! {
        talked = talk => talked,
        () = stop.cancelled() => Ok(()),
    };
    stop.cancel();
    // Unfinished jobs continue on another replica or at the next start.
    let ended = async { while tasks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await;
    talked
}

/// Returns the models of all tiers.
///
/// # Errors
/// If a setting is missing or cannot be used.
pub(crate) fn open_model(config: &Config) -> anyhow::Result<Arc<dyn Model>> {
    let mut missing = Vec::new();
    let models = Models::from_config(&mut missing, config).ok_or_else(|| missing_settings_error(&missing))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    Ok(Arc::new(OpenAi::new(models.router, models.reasoner, models.summariser, clock)?))
}

/// The dependencies of the core.
struct AppBuilder {
    adapters: Adapters,
    url: Url,
    pool: PgPool,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
}

impl AppBuilder {
    /// Builds the assistant and the pages that connect accounts.
    async fn build(
        &self,
        config: &Config,
        models: Models,
        discord: Option<SignIn>,
        beside: Vec<Plug>,
    ) -> anyhow::Result<(Nod, Option<ConnectPages>)> {
        let Self { adapters, url, pool, clock, ids } = self;
        let vault = config.vault(ids.as_ref())?;
        let model = OpenAi::new(models.router, models.reasoner, models.summariser, clock.clone())?;
        let model: Arc<dyn Model> = Arc::new(model);
        let connections = Connections::new(pool.clone(), vault.clone(), ids.clone());
        let oauth = google::oauth(config, url)?;
        let lending = google::lending(&config.google);
        let program = Program::new(config.reading.program.as_deref());
        let reading: Arc<dyn Reader> = Arc::new(Readers::new(program, pool.clone(), clock.clone()));
        let accounts = oauth.as_ref().map(|oauth| {
            let shelf = AttachmentStore::new(pool.clone(), adapters.clone());
            google::accounts(
                &config.google,
                oauth,
                pool,
                connections,
                lending.clone(),
                shelf,
                reading.clone(),
            )
        });
        let embedder = embeddings::open(config)?;
        let web = nod_web::Fetcher::new(config.web.allow_private.clone()).map_err(anyhow::Error::msg)?;
        let store = vector_store::open(config)?;
        let house =
            abilities::abilities(config, accounts.as_ref(), model.clone(), embedder, store, Arc::new(web));
        let nod = Nod::new(Dependencies {
            pool: pool.clone(),
            ingest_pool: database::ingest_pool(pool),
            clock: clock.clone(),
            ids: ids.clone(),
            adapters: adapters.clone(),
            abilities: house.into_iter().chain(beside).collect(),
            contacts: accounts.iter().map(nod_connectors::google::contacts).collect(),
            reading,
            grantors: oauth.iter().map(|oauth| Arc::new(oauth.clone()) as Arc<dyn Grantor>).collect(),
            model,
            vault: Vault::clone(&vault),
            settings: Settings { delegated_access: lending, ..settings(config, url)? },
        })
        .await?;
        let connecting = oauth.map(|google| ConnectPages {
            offers: nod.connect_requests(),
            google,
            discord,
            clock: clock.clone(),
            https: url.scheme() == "https",
        });
        Ok((nod, connecting))
    }
}

fn discord_sign_in(discord: Option<&Discord>, url: &Url) -> anyhow::Result<Option<SignIn>> {
    match discord {
        Some(discord) => discord.sign_in(url.join("oauth/discord/callback")?),
        None => Ok(None),
    }
}

async fn bind_listener(config: &Config) -> anyhow::Result<TcpListener> {
    let bind = config.server.bind;
    TcpListener::bind(bind).await.with_context(|| format!("server.bind: can't listen on {bind}"))
}

/// The running parts, started one after another.
struct RunningServices {
    nod: Nod,
    clock: Arc<dyn Clock>,
    readiness: Readiness,
    /// `None` if Slack posts to the server.
    listener: Option<Listener>,
    /// The routes that Slack posts to.
    routes: Router,
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl RunningServices {
    fn new(nod: Nod, clock: Arc<dyn Clock>, readiness: Readiness) -> Self {
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        let (worker, asked) = (nod.clone(), stop.clone());
        tasks.spawn(async move { worker.run_jobs(asked).await });
        Self { nod, clock, readiness, listener: None, routes: Router::new(), tasks, stop }
    }

    async fn start_slack(&mut self, slack: &Slack) -> anyhow::Result<()> {
        let identity = slack.identity();
        self.nod.register_workspace(slack::PLATFORM, &identity.team, &identity.team_name, &[]).await?;
        let whole = Whole::new(slack::REDELIVERS);
        let accept = into_inbox(slack::PLATFORM, self.nod.inbox(), whole.clone());
        let heard = match slack.listen(accept, self.clock.clone()) {
            EventSource::Socket(listener) => {
                let heard = listener.status();
                self.listener = Some(listener);
                heard
            }
            EventSource::Http(routes) => {
                self.routes = routes;
                // Slack reaches the server over HTTP, so there is no connection that could be down.
                watch::channel(IngestStatus::Receiving(1)).1
            }
        };
        // An event that is not stored is not acknowledged, and Slack delivers it again.
        let storing = watch::channel(StorageStatus::default()).1;
        self.monitor_ingest(&whole, slack::PLATFORM, identity.team.clone(), 0, heard, storing);
        Ok(())
    }

    async fn start_discord(&mut self, discord: &Discord) -> anyhow::Result<()> {
        let identity = discord.identity();
        let (workspace, name) = (&identity.application, discord.workspace_name().await);
        self.nod.register_workspace(discord::PLATFORM, workspace, &name, discord.servers()).await?;
        // Events that wait to be stored keep their order.
        let whole = Whole::new(TimeDelta::zero());
        let accept = into_inbox(discord::PLATFORM, self.nod.inbox(), whole.clone());
        let (shards, listens) = discord.listen(accept, self.nod.clone(), self.stop.clone()).await?;
        self.tasks.spawn(listens);
        for (shard, heard) in (0..).zip(shards.statuses) {
            let storing = shards.storing.clone();
            self.monitor_ingest(
                &whole,
                discord::PLATFORM,
                identity.application.clone(),
                shard,
                heard,
                storing,
            );
        }
        Ok(())
    }

    /// Publishes whether a part of a platform is connected.
    fn monitor_ingest(
        &mut self,
        whole: &Whole,
        platform: &'static str,
        workspace: String,
        part: u32,
        heard: watch::Receiver<IngestStatus>,
        storing: watch::Receiver<StorageStatus>,
    ) {
        let ready = self.readiness.platform(platform, part);
        let written = whole.add_connection(&heard, &storing);
        let hearing =
            IngestMonitor { nod: self.nod.clone(), platform, workspace, shard: part, ready, written };
        let asked = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = hearing.run(heard, storing) => {}
                () = asked.cancelled() => {}
            }
        });
    }

    /// Opens the server, as the last step.
    fn open(mut self, url: Url, socket: TcpListener, connecting: Option<ConnectPages>) -> App {
        let router = server::router(self.readiness, connecting, self.routes);
        let asked = self.stop.clone();
        self.tasks.spawn(server::serve(socket, router, asked));
        App { nod: self.nod, url, listener: self.listener, tasks: self.tasks, stop: self.stop }
    }
}

fn settings(config: &Config, url: &Url) -> anyhow::Result<Settings> {
    Ok(Settings {
        policy: config.approvals.policy.clone(),
        stream_delay: config.replies.stream_after,
        admins: admins(&config.admin),
        allow_guests: config.slack.allow_guests,
        allow_external: config.slack.allow_external,
        public_url: url.as_str().trim_end_matches('/').to_owned(),
        max_message_age: TimeDelta::from_std(config.slack.answer_within)
            .context("slack.answer_within is too long")?,
        ..Settings::default()
    })
}

fn admins(admin: &config::Admin) -> Vec<(String, String)> {
    let on = |platform: &'static str| move |user: &String| (platform.to_owned(), user.clone());
    let slack = admin.slack.iter().map(on(slack::PLATFORM));
    slack.chain(admin.discord.iter().map(on(discord::PLATFORM))).collect()
}

/// Returns the URL at which browsers reach Nod: the configured one, else the listening address.
fn public_url(config: &Config, at: SocketAddr) -> anyhow::Result<Url> {
    match &config.server.public_url {
        Some(url) => Ok(url.clone()),
        None => Ok(Url::parse(&format!("http://{at}/"))?),
    }
}
