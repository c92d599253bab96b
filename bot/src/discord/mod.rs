//! Discord: incoming events become inbounds, outgoing cards become components.
//!
//! Parsing (`inbound`, `words`) and rendering (`render` and what it uses) are pure. `adapter` implements what the core
//! calls, `gateway` receives events and passes them to `door`. No serenity type leaves this folder.
//!
//! All servers of the application are one workspace: a Discord user is the same human on each.

mod adapter;
mod buttons;
mod channel_index;
mod commands;
mod delivery_tags;
mod escape;
mod files;
pub mod form;
mod gateway;
mod guilds;
mod history;
mod inbound;
mod incoming_text;
mod ingest;
mod interaction_tokens;
mod interactions;
mod limits;
mod links;
mod markdown;
mod permissions;
mod recent_answers;
pub mod render;
mod rich_text;
mod shard_lease;
mod sign_in;
mod web;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use nod_contract::chat::{ChatAdapter, ChatError};
use nod_contract::clock::{Clock, SystemClock};
use nod_inbox::Nod;
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use url::Url;

pub use adapter::DiscordAdapter;
pub use inbound::Identity;
pub use sign_in::{SignIn, SignInError};

use crate::ingest::Accept;
use crate::ingest_status::{IngestStatus, StorageStatus};
use channel_index::ChannelIndex;
use files::FileDownloader;
use guilds::Guilds;
use ingest::Ingestor;
use web::ApiClient;

/// The platform's name in rows.
pub const PLATFORM: &str = "discord";

/// How to connect to Discord.
#[derive(Debug, Clone)]
pub struct DiscordSettings {
    /// `https://discord.com/api/v10/`
    pub api_url: Url,
    /// The bot's token.
    pub token: SecretString,
    /// The application that the token must belong to, if configured.
    pub application_id: Option<String>,
    /// If set, people can sign in with Discord on the pages.
    pub client_secret: Option<SecretString>,
    /// The servers to serve; all if empty.
    pub servers: Vec<String>,
}

/// Why the connection failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The HTTP client could not be created.
    #[error("a client: {0}")]
    Client(#[from] reqwest::Error),
    /// Discord refused the token or did not answer.
    #[error("Discord (applications/@me): {0}")]
    Discord(#[from] ChatError),
    /// Discord did not return its gateway's URL.
    #[error("Discord (gateway/bot): {0}")]
    Gateway(ChatError),
    /// Anyone who adds the bot to their own server would count as a member.
    #[error(
        "discord.servers is not set, and anybody may add this bot to their own server: list the servers that it \
         serves, or switch off Public Bot in the developer portal"
    )]
    Anybody,
    /// The token belongs to another application.
    #[error("discord.token belongs to application {0}, not to the one in discord.application_id")]
    ApplicationMismatch(String),
}

/// One authenticated application.
pub struct Discord {
    adapter: Arc<DiscordAdapter>,
    web: Arc<ApiClient>,
    settings: DiscordSettings,
    /// The developer portal's settings, as Discord reports them.
    application: Value,
}

/// The state of the shards: whether each is connected, and whether the events of all are stored.
pub(crate) struct ShardStatus {
    pub(crate) statuses: Vec<watch::Receiver<IngestStatus>>,
    pub(crate) storing: watch::Receiver<StorageStatus>,
}

/// Signs in and loads the token's identity.
///
/// # Errors
/// If Discord refuses the token or does not answer, or if anyone could make themselves a member.
pub async fn connect(settings: DiscordSettings, clock: Arc<dyn Clock>) -> Result<Discord, ConnectError> {
    let discord = introduce(settings, clock).await?;
    match is_public(&discord.application) && discord.settings.servers.is_empty() {
        true => Err(ConnectError::Anybody),
        false => Ok(discord),
    }
}

async fn introduce(settings: DiscordSettings, clock: Arc<dyn Clock>) -> Result<Discord, ConnectError> {
    let web = Arc::new(ApiClient::new(settings.api_url.clone(), settings.token.clone(), clock)?);
    let application = web.get("applications/@me", &[]).await?;
    let user = web.get("users/@me", &[]).await?;
    let told = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(adapter::strange);
    let identity = Identity {
        application: told(&application["id"])?,
        name: application["name"].as_str().unwrap_or_default().to_owned(),
        user: told(&user["id"])?,
    };
    if settings.application_id.as_ref().is_some_and(|id| *id != identity.application) {
        return Err(ConnectError::ApplicationMismatch(identity.application));
    }
    let files = FileDownloader::new(&settings.api_url)?;
    let guilds = Guilds::new(Arc::clone(&web), settings.servers.clone());
    let adapter =
        DiscordAdapter::new(Arc::clone(&web), identity, Arc::new(ChannelIndex::default()), guilds, files);
    Ok(Discord { adapter: Arc::new(adapter), web, settings, application })
}

/// What the token has access to.
#[derive(Debug, Clone)]
pub struct Report {
    /// The bot's identity.
    pub identity: Identity,
    /// Whether it reads messages that do not mention it (privileged).
    pub message_content: bool,
    /// Whether it sees a server's members (privileged).
    pub members: bool,
    /// Whether anyone can add it to a server.
    pub public: bool,
    /// The number of served servers of which it is a member.
    pub guilds: usize,
    /// Whether the servers are listed in the configuration.
    pub listed: bool,
    /// The listed servers of which it is not a member.
    pub absent: Vec<String>,
}

/// Loads all settings of the developer portal.
///
/// # Errors
/// If Discord refuses the token or does not answer.
pub async fn probe(settings: DiscordSettings) -> Result<Report, ConnectError> {
    let discord = introduce(settings, Arc::new(SystemClock)).await?;
    let application = &discord.application;
    let guilds = discord.adapter.guilds.list_guilds().await?;
    let listed = &discord.settings.servers;
    Ok(Report {
        identity: discord.adapter.identity.clone(),
        message_content: reads_messages(application),
        members: sees_members(application),
        public: is_public(application),
        guilds: guilds.len(),
        listed: !listed.is_empty(),
        absent: listed.iter().filter(|id| !guilds.contains(id)).cloned().collect(),
    })
}

/// Flags of an application: each intent has one for small bots and one for large ones.
const MEMBERS: u64 = 1 << 14 | 1 << 15;
const MESSAGE_CONTENT: u64 = 1 << 18 | 1 << 19;

fn flags(application: &Value) -> u64 {
    application["flags"].as_u64().unwrap_or_default()
}

fn is_public(application: &Value) -> bool {
    application["bot_public"] == true
}

fn sees_members(application: &Value) -> bool {
    flags(application) & MEMBERS != 0
}

fn reads_messages(application: &Value) -> bool {
    flags(application) & MESSAGE_CONTENT != 0
}

/// The permissions in a server: see channels and their history, write, also in threads, open threads, send files.
const PERMISSIONS: u64 = 1 << 10 | 1 << 11 | 1 << 15 | 1 << 16 | 1 << 35 | 1 << 38;

/// Returns the URL that adds an application to a server.
#[must_use]
pub fn invitation(application: &str) -> String {
    format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands&permissions={PERMISSIONS}"
    )
}

impl Discord {
    /// Returns the bot's identity.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.adapter.identity
    }

    /// Returns the name that people know their place by: the server's if Nod serves one, otherwise the application's.
    pub async fn workspace_name(&self) -> String {
        match self.adapter.guilds.list_names().await.as_deref() {
            Ok([(_, name)]) if !name.is_empty() => name.clone(),
            _ => self.identity().name.clone(),
        }
    }

    /// Returns the sign-in that redirects to `redirect`; `None` without a client secret.
    ///
    /// # Errors
    /// If a URL is invalid.
    pub fn sign_in(&self, redirect: Url) -> anyhow::Result<Option<SignIn>> {
        let DiscordSettings { api_url, client_secret, .. } = &self.settings;
        let secret = client_secret.as_ref();
        secret.map(|secret| SignIn::new(api_url, &self.identity().application, secret, redirect)).transpose()
    }

    /// Returns the adapter for the core.
    #[must_use]
    pub fn adapter(&self) -> Arc<dyn ChatAdapter> {
        Arc::clone(&self.adapter) as Arc<dyn ChatAdapter>
    }

    /// Returns the servers to serve; all if empty.
    pub(crate) fn servers(&self) -> &[String] {
        &self.settings.servers
    }

    /// Receives events until `stop`, unless another replica does. The future does the work; the watches report the
    /// state, one for each shard.
    ///
    /// # Errors
    /// If Discord does not return its gateway's URL.
    pub(crate) async fn listen(
        &self,
        accept: Accept,
        nod: Nod,
        stop: CancellationToken,
    ) -> Result<(ShardStatus, BoxFuture<'static, ()>), ConnectError> {
        let gateway = self.web.get("gateway/bot", &[]).await.map_err(ConnectError::Gateway)?;
        let url = gateway["url"].as_str().ok_or_else(|| ConnectError::Gateway(adapter::strange()))?;
        let shards = gateway["shards"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(1).max(1);
        let at_once = gateway["session_start_limit"]["max_concurrency"].as_u64();
        let (events, heard) = mpsc::unbounded_channel();
        let (told, watched): (Vec<_>, Vec<_>) =
            (0..shards).map(|_| watch::channel(IngestStatus::Disconnected)).unzip();
        let told = told.into_iter().map(Arc::new).collect();
        let line = gateway::GatewayConfig {
            web: Arc::clone(&self.web),
            api_url: self.settings.api_url.clone(),
            token: self.settings.token.clone(),
            url: url.to_owned(),
            shards,
            reads_messages: reads_messages(&self.application),
            sees_members: sees_members(&self.application),
            events,
            turns: Arc::new(gateway::IdentifyLimiter::new(
                at_once.and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
            )),
        };
        let (door, storing) = Ingestor::new(Arc::clone(&self.adapter), accept);
        let door = door.run(heard, stop.clone());
        let owns = shard_lease::run_shards(line, nod, self.adapter.identity.clone(), told, stop);
        let listens = async {
            tokio::join!(door, owns);
        };
        Ok((ShardStatus { statuses: watched, storing }, listens.boxed()))
    }
}
