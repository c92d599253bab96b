//! What a fake workspace starts with: the app, its tokens and scopes, and the habits of the fake itself.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::entities::{Channel, User};

/// Tells the time; handed in so that a test can live through a week in a millisecond.
pub type Clock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// The scopes of [`SlackConfig::new`]: all that the fake knows.
pub const ALL_SCOPES: [&str; 20] = [
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "mpim:history",
    "mpim:read",
    "mpim:write",
    "team:read",
    "users.profile:read",
    "users:read",
    "users:read.email",
];

/// Slack sends a mention twice, as `app_mention` and as `message`, in either order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MentionOrder {
    MentionFirst,
    MessageFirst,
}

/// The workspace in which the app is installed.
#[derive(Debug, Clone)]
pub struct Team {
    pub id: String,
    pub name: String,
    pub domain: String,
}

/// The installed app and its bot user.
#[derive(Debug, Clone)]
pub struct App {
    pub id: String,
    pub bot_id: String,
    pub bot_user: String,
    /// The bot's name without `@`.
    pub name: String,
    /// `xoxb-…`
    pub bot_token: String,
    /// `xapp-…`, for `apps.connections.open` alone.
    pub app_token: String,
    /// With which every request to the app is signed.
    pub signing_secret: String,
    pub scopes: BTreeSet<String>,
    /// With their slash.
    pub commands: Vec<String>,
}

/// All that a fake Slack is started with.
#[derive(Clone)]
pub struct SlackConfig {
    pub team: Team,
    pub app: App,
    pub users: Vec<User>,
    pub channels: Vec<Channel>,
    /// Folder of the vendors' specifications (`slack/slack.requests.schema.json` inside it).
    pub specs_dir: Option<PathBuf>,
    pub clock: Clock,
    /// How long an event waits for its acknowledgement before it is sent again. Slack: at once, then after
    /// one and five minutes.
    pub redeliver_after: Duration,
    /// How often an event is sent again.
    pub redeliveries: u32,
    /// How long a connection lives on after `disconnect` with reason `refresh_requested`.
    pub disconnect_grace: Duration,
    pub mention_order: MentionOrder,
    /// Holds `chat.postMessage` to one a second and channel, by the clock above.
    pub post_limit: bool,
    /// Whether it takes streams (`chat.startStream`).
    pub streams: bool,
    /// How long the trigger of a press, a command or a form opens a form.
    pub trigger_lives: TimeDelta,
    /// Whether people may be written to directly (the "Messages" tab of the app).
    pub messages_tab: bool,
    /// Whether the app has a Home tab.
    pub home_tab: bool,
}

impl SlackConfig {
    /// A workspace "Acme" with one app whose bot and slash command are called `name`, nobody in it yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let tag = name.to_uppercase();
        Self {
            team: Team { id: "T0ACME0001".into(), name: "Acme".into(), domain: "acme".into() },
            app: App {
                id: format!("A0{tag:0>8}"),
                bot_id: format!("B0{tag:0>8}"),
                bot_user: format!("U0{tag:0>8}"),
                name: name.to_owned(),
                bot_token: format!("xoxb-{name}-1"),
                app_token: format!("xapp-1-{name}-1"),
                signing_secret: format!("signing-secret-of-{name}"),
                scopes: ALL_SCOPES.iter().map(|s| (*s).to_owned()).collect(),
                commands: vec![format!("/{name}")],
            },
            users: Vec::new(),
            channels: Vec::new(),
            specs_dir: None,
            clock: Arc::new(Utc::now),
            redeliver_after: Duration::from_secs(3),
            redeliveries: 3,
            disconnect_grace: Duration::from_millis(500),
            mention_order: MentionOrder::MentionFirst,
            post_limit: false,
            streams: true,
            trigger_lives: TimeDelta::seconds(3),
            messages_tab: true,
            home_tab: true,
        }
    }

    /// Adds a person.
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
