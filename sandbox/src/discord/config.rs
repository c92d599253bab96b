//! What a fake Discord starts with: the guild, the app and its intents, and the settings of the fake itself.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::entities::{Channel, User};

/// The source of the time. It is injected so that a test can pass through a week in a millisecond.
pub type Clock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// A server to which the app was added.
#[derive(Debug, Clone)]
pub struct Guild {
    /// A snowflake.
    pub id: String,
    /// The name that Discord shows above the channels.
    pub name: String,
    /// The channel in which Discord welcomes newcomers, by name or id.
    pub system_channel: Option<String>,
    /// When the app was added.
    pub joined_at: DateTime<Utc>,
}

impl Guild {
    /// Returns a server without a system channel, to which the app was added long ago.
    #[must_use]
    pub fn new(id: &str, name: &str) -> Self {
        let joined_at = DateTime::from_timestamp(1_704_448_800, 0).unwrap_or_default();
        Self { id: id.to_owned(), name: name.to_owned(), system_channel: None, joined_at }
    }
}

/// The installed app and its bot user.
#[derive(Debug, Clone)]
pub struct App {
    /// A snowflake; the bot user has the same.
    pub id: String,
    /// The bot's username.
    pub name: String,
    /// Goes after `Bot ` in `Authorization`.
    pub bot_token: String,
    /// For `POST /oauth2/token`.
    pub client_secret: String,
    /// Redirect URIs that the consent page accepts; compared exactly.
    pub redirects: Vec<String>,
    /// Whether the privileged `GUILD_MEMBERS` intent is switched on.
    pub members_intent: bool,
    /// Whether the privileged `MESSAGE_CONTENT` intent is switched on.
    pub content_intent: bool,
    /// Whether any user may add it to a server.
    pub public: bool,
}

/// The configuration of a fake Discord.
#[derive(Clone)]
pub struct DiscordConfig {
    /// The one server.
    pub guild: Guild,
    /// Another server to which the app was added; users who are not members of the first are members of it. The fake
    /// stores only its id and name.
    pub elsewhere: Option<Guild>,
    /// The app under test.
    pub app: App,
    /// The users of the guild, other bots included.
    pub users: Vec<User>,
    /// Its text channels.
    pub channels: Vec<Channel>,
    /// Folder of the vendors' specifications (`discord/discord.requests.strict.schema.json` inside it).
    pub specs_dir: Option<PathBuf>,
    /// The clock that ids, limits and expiries use.
    pub clock: Clock,
    /// Limits `create_message` to five per five seconds and channel, by the clock above.
    pub post_limit: bool,
    /// The number of shards that the gateway recommends.
    pub shards: u64,
    /// The heartbeat interval that Hello requests.
    pub heartbeat_interval: Duration,
    /// Whether a heartbeat that is late by half an interval closes the connection with 4009.
    pub heartbeat_strict: bool,
    /// How long a session without a connection can be resumed, by the clock above.
    pub resume_timeout: TimeDelta,
    /// How long the app has to answer an interaction with a callback.
    pub interaction_timeout: TimeDelta,
    /// How long an interaction's token is valid.
    pub token_lifetime: TimeDelta,
}

impl DiscordConfig {
    /// Returns a guild "Acme" without users, with one app whose bot is called `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            guild: Guild::new("1100000000000000100", "Acme"),
            elsewhere: None,
            app: App {
                id: "1100000000000000001".into(),
                name: name.to_owned(),
                bot_token: format!("MTEwMDAwMDAwMDAwMDAwMDAwMQ.Gnodnd.{name:_<38}"),
                client_secret: format!("client-secret-of-{name}"),
                redirects: Vec::new(),
                members_intent: true,
                content_intent: true,
                public: false,
            },
            users: Vec::new(),
            channels: Vec::new(),
            specs_dir: None,
            clock: Arc::new(Utc::now),
            post_limit: false,
            shards: 1,
            heartbeat_interval: Duration::from_millis(41_250),
            heartbeat_strict: false,
            resume_timeout: TimeDelta::minutes(2),
            interaction_timeout: TimeDelta::seconds(3),
            token_lifetime: TimeDelta::minutes(15),
        }
    }

    /// Sets the guild.
    #[must_use]
    pub fn guild(mut self, guild: Guild) -> Self {
        self.guild = guild;
        self
    }

    /// Adds a user.
    #[must_use]
    pub fn user(mut self, user: User) -> Self {
        self.users.push(user);
        self
    }

    /// Adds a channel.
    #[must_use]
    pub fn channel(mut self, channel: Channel) -> Self {
        self.channels.push(channel);
        self
    }
}
