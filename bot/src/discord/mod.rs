//! The Discord door: what arrives becomes an inbound, what leaves becomes components.
//!
//! Parsing (`inbound`, `words`) and rendering (`render` and what it uses) are pure. `adapter` does what the core
//! asks, `gateway` hears what people do and leads to `door`. Nothing of serenity leaves this folder.
//!
//! All servers that the application is in are one workspace: a user of Discord is the same human on each.

mod adapter;
mod address;
mod atlas;
mod buttons;
mod commands;
mod door;
mod escape;
mod files;
pub mod form;
mod gateway;
mod guilds;
mod history;
mod inbound;
mod interactions;
mod limits;
mod markdown;
mod marks;
mod parts;
mod permissions;
pub mod render;
mod shard;
mod sign_in;
mod tokens;
mod web;
mod words;

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

use crate::accept::Accept;
use crate::hearing::{Hears, Storing};
use atlas::Atlas;
use door::Door;
use files::Files;
use guilds::Guilds;
use web::Web;

/// The platform's name in rows.
pub const PLATFORM: &str = "discord";

/// How to reach Discord.
#[derive(Debug, Clone)]
pub struct DiscordSettings {
    /// `https://discord.com/api/v10/`
    pub api_url: Url,
    /// The bot's token.
    pub token: SecretString,
    /// Whose token that should be.
    pub application_id: Option<String>,
    /// With it people can sign in with Discord on the pages.
    pub client_secret: Option<SecretString>,
    /// The servers that are served; all where there are none.
    pub servers: Vec<String>,
}

/// Why there is no Discord.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is no client to be had.
    #[error("a client: {0}")]
    Client(#[from] reqwest::Error),
    /// Discord refused the token or did not answer.
    #[error("Discord (applications/@me): {0}")]
    Discord(#[from] ChatError),
    /// Discord does not say where its gateway is.
    #[error("Discord (gateway/bot): {0}")]
    Gateway(ChatError),
    /// Whoever adds it to a server of their own would be a member.
    #[error(
        "discord.servers is not set, and anybody may add this bot to their own server: list the servers that it \
         serves, or switch off Public Bot in the developer portal"
    )]
    Anybody,
    /// The token is another application's.
    #[error("discord.token is of application {0}, not of the one in discord.application_id")]
    Another(String),
}

/// One application, signed in.
pub struct Discord {
    adapter: Arc<DiscordAdapter>,
    web: Arc<Web>,
    settings: DiscordSettings,
    /// What is set in the developer portal, as Discord tells it.
    application: Value,
}

/// What is told of the shards: of each whether it is heard, and of all together whether what they bring is stored.
pub(crate) struct Shards {
    pub(crate) heard: Vec<watch::Receiver<Hears>>,
    pub(crate) storing: watch::Receiver<Storing>,
}

/// Signs in: asks whose the token is.
///
/// # Errors
/// When Discord refuses the token or does not answer, or where anybody could make themselves a member.
pub async fn connect(settings: DiscordSettings, clock: Arc<dyn Clock>) -> Result<Discord, ConnectError> {
    let discord = introduce(settings, clock).await?;
    match is_public(&discord.application) && discord.settings.servers.is_empty() {
        true => Err(ConnectError::Anybody),
        false => Ok(discord),
    }
}

async fn introduce(settings: DiscordSettings, clock: Arc<dyn Clock>) -> Result<Discord, ConnectError> {
    let web = Arc::new(Web::new(settings.api_url.clone(), settings.token.clone(), clock)?);
    let application = web.get("applications/@me", &[]).await?;
    let user = web.get("users/@me", &[]).await?;
    let told = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(adapter::strange);
    let identity = Identity {
        application: told(&application["id"])?,
        name: application["name"].as_str().unwrap_or_default().to_owned(),
        user: told(&user["id"])?,
    };
    if settings.application_id.as_ref().is_some_and(|id| *id != identity.application) {
        return Err(ConnectError::Another(identity.application));
    }
    let files = Files::new(&settings.api_url)?;
    let guilds = Guilds::new(Arc::clone(&web), settings.servers.clone());
    let adapter = DiscordAdapter::new(Arc::clone(&web), identity, Arc::new(Atlas::default()), guilds, files);
    Ok(Discord { adapter: Arc::new(adapter), web, settings, application })
}

/// What the token leads to.
#[derive(Debug, Clone)]
pub struct Report {
    /// Whose bot it is.
    pub identity: Identity,
    /// Whether it reads messages that do not name it (privileged).
    pub message_content: bool,
    /// Whether it sees who is in a server (privileged).
    pub members: bool,
    /// Whether anybody may add it to a server.
    pub public: bool,
    /// In how many servers it is that are served.
    pub guilds: usize,
    /// Whether those are listed.
    pub listed: bool,
    /// Those of the list in which it is not.
    pub absent: Vec<String>,
}

/// Looks at everything that is set in the developer portal.
///
/// # Errors
/// When Discord refuses the token or does not answer.
pub async fn probe(settings: DiscordSettings) -> Result<Report, ConnectError> {
    let discord = introduce(settings, Arc::new(SystemClock)).await?;
    let application = &discord.application;
    let guilds = discord.adapter.guilds.all().await?;
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

/// What Nod does in a server: see channels and their history, write, in threads too, open those, send files.
const PERMISSIONS: u64 = 1 << 10 | 1 << 11 | 1 << 15 | 1 << 16 | 1 << 35 | 1 << 38;

/// The address that adds an application to a server.
#[must_use]
pub fn invitation(application: &str) -> String {
    format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands&permissions={PERMISSIONS}"
    )
}

impl Discord {
    /// Whose bot it is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.adapter.identity
    }

    /// The sign-in that comes back to `redirect`; none without a client secret.
    ///
    /// # Errors
    /// When an address cannot be made of it.
    pub fn sign_in(&self, redirect: Url) -> anyhow::Result<Option<SignIn>> {
        let DiscordSettings { api_url, client_secret, .. } = &self.settings;
        let secret = client_secret.as_ref();
        secret.map(|secret| SignIn::new(api_url, &self.identity().application, secret, redirect)).transpose()
    }

    /// For the core.
    #[must_use]
    pub fn adapter(&self) -> Arc<dyn ChatAdapter> {
        Arc::clone(&self.adapter) as Arc<dyn ChatAdapter>
    }

    /// The servers that are served; all where there are none.
    pub(crate) fn servers(&self) -> &[String] {
        &self.settings.servers
    }

    /// Hears what people do until `stop`, as long as no other replica does: the future does it, the watches tell, one
    /// for each shard.
    ///
    /// # Errors
    /// When Discord does not say where its gateway is.
    pub(crate) async fn hear(
        &self,
        accept: Accept,
        nod: Nod,
        stop: CancellationToken,
    ) -> Result<(Shards, BoxFuture<'static, ()>), ConnectError> {
        let gateway = self.web.get("gateway/bot", &[]).await.map_err(ConnectError::Gateway)?;
        let url = gateway["url"].as_str().ok_or_else(|| ConnectError::Gateway(adapter::strange()))?;
        let shards = gateway["shards"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(1).max(1);
        let at_once = gateway["session_start_limit"]["max_concurrency"].as_u64();
        let (events, heard) = mpsc::unbounded_channel();
        let (told, watched): (Vec<_>, Vec<_>) = (0..shards).map(|_| watch::channel(Hears::No)).unzip();
        let told = told.into_iter().map(Arc::new).collect();
        let line = gateway::Line {
            web: Arc::clone(&self.web),
            api_url: self.settings.api_url.clone(),
            token: self.settings.token.clone(),
            url: url.to_owned(),
            shards,
            reads_messages: reads_messages(&self.application),
            sees_members: sees_members(&self.application),
            events,
            turns: Arc::new(gateway::Turns::new(at_once.and_then(|n| u32::try_from(n).ok()).unwrap_or(1))),
        };
        let (door, storing) = Door::new(Arc::clone(&self.adapter), accept);
        let door = door.listen(heard, stop.clone());
        let owns = shard::own(line, nod, self.adapter.identity.clone(), told, stop);
        let listens = async {
            tokio::join!(door, owns);
        };
        Ok((Shards { heard: watched, storing }, listens.boxed()))
    }
}
