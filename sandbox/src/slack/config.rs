//! The initial state of a fake workspace: the app, its tokens and scopes, and the settings of the fake itself.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::entities::{Channel, User};

/// Returns the current time; passed in so that a test can pass a week in a millisecond.
pub type Clock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// The scopes of [`SlackConfig::new`]: all that the fake supports.
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
    /// `xapp-…`, only for `apps.connections.open`.
    pub app_token: String,
    /// Signs every request to the app.
    pub signing_secret: String,
    pub scopes: BTreeSet<String>,
    /// Including the slash.
    pub commands: Vec<String>,
}

/// The configuration of a fake Slack.
#[derive(Clone)]
pub struct SlackConfig {
    pub team: Team,
    pub app: App,
    pub users: Vec<User>,
    pub channels: Vec<Channel>,
    /// Folder of the vendors' specifications, which contains `slack/slack.requests.schema.json`.
    pub specs_dir: Option<PathBuf>,
    pub clock: Clock,
    /// How long an event waits for its acknowledgement before it is sent again. Slack resends at once, then after one
    /// and five minutes.
    pub redeliver_after: Duration,
    /// How many times an event is resent.
    pub redeliveries: u32,
    /// How long a connection stays open after `disconnect` with reason `refresh_requested`.
    pub disconnect_grace: Duration,
    pub mention_order: MentionOrder,
    /// Limits `chat.postMessage` to one per second and channel, measured by `clock`.
    pub post_limit: bool,
    /// Whether streams (`chat.startStream`) are accepted.
    pub streams: bool,
    /// How long the trigger of a click, a command or a form can open a form.
    pub trigger_lifetime: TimeDelta,
    /// Whether people can send DMs to the app (its "Messages" tab).
    pub messages_tab: bool,
    /// Whether the app has a Home tab.
    pub home_tab: bool,
}

impl SlackConfig {
    /// Returns a workspace "Acme" without people, with one app whose bot and slash command are called `name`.
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
            trigger_lifetime: TimeDelta::seconds(3),
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
