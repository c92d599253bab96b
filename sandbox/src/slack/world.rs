//! The content of the workspace: people, channels, messages, and who can see what. It never uses a network.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Weak;

use chrono::{DateTime, Utc};
use rand::Rng;
use serde::Serialize;
use serde_json::Value;

use super::State;
use super::config::SlackConfig;
use super::entities::{AssistantThread, Channel, ChannelKind, Ephemeral, Message, OpenView, User};
use super::envelopes::Sockets;

/// A request to the Web API.
#[derive(Debug, Clone, Serialize)]
pub struct ApiCall {
    pub method: String,
    /// Decoded, without the token.
    pub args: Value,
    pub at: DateTime<Utc>,
    /// The error code; `None` for `ok` and for calls answered by a fault.
    pub error: Option<String>,
}

/// Allows late answers: five uses within 30 minutes.
#[derive(Debug, Clone)]
pub(super) struct ResponseUrl {
    pub user: String,
    pub channel: String,
    /// The message whose button was clicked.
    pub message: Option<String>,
    pub uses: u32,
    pub since: DateTime<Utc>,
}

/// A file of the bot, from its announcement on.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    /// The unguessable part of its upload URL.
    pub key: String,
    pub name: String,
    /// As announced, in bytes.
    pub length: usize,
    pub content: Option<Vec<u8>>,
    pub is_shared: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Trigger {
    pub user: String,
    pub since: DateTime<Utc>,
    pub is_used: bool,
}

/// The whole workspace. Read it in [`super::Slack::wait_for`]; change it through [`super::Slack`].
pub struct World {
    pub config: SlackConfig,
    pub users: BTreeMap<String, User>,
    pub channels: BTreeMap<String, Channel>,
    pub(super) messages: HashMap<String, Vec<Message>>,
    pub ephemerals: Vec<Ephemeral>,
    pub views: Vec<OpenView>,
    /// The assistant status by channel and thread.
    pub statuses: BTreeMap<(String, String), String>,
    /// The latest published Home tab of each person.
    pub homes: BTreeMap<String, Value>,
    /// Assistant threads, by channel and thread.
    pub panes: BTreeMap<(String, String), AssistantThread>,
    pub(super) files: HashMap<String, Vec<u8>>,
    pub calls: Vec<ApiCall>,
    pub violations: Vec<String>,
    /// Whom the bot's messages notified.
    pub(super) mentioned_users: Vec<String>,
    pub(super) uploads: BTreeMap<String, Upload>,
    pub(super) response_urls: HashMap<String, ResponseUrl>,
    pub(super) triggers: HashMap<String, Trigger>,
    pub(super) sockets: Sockets,
    /// The messages that are growing, by channel and ts.
    pub(super) streams: HashSet<(String, String)>,
    pub(super) base_url: String,
    pub(super) this: Weak<State>,
    pub(super) last_post: HashMap<String, DateTime<Utc>>,
    last_ts: i64,
    counter: u64,
}

impl World {
    pub(super) fn new(config: SlackConfig, this: Weak<State>) -> Self {
        let mut world = Self {
            users: config.users.iter().map(|u| (u.id.clone(), u.clone())).collect(),
            channels: BTreeMap::new(),
            messages: HashMap::new(),
            ephemerals: Vec::new(),
            views: Vec::new(),
            statuses: BTreeMap::new(),
            homes: BTreeMap::new(),
            panes: BTreeMap::new(),
            files: HashMap::new(),
            calls: Vec::new(),
            mentioned_users: Vec::new(),
            violations: Vec::new(),
            uploads: BTreeMap::new(),
            response_urls: HashMap::new(),
            triggers: HashMap::new(),
            sockets: Sockets::default(),
            streams: HashSet::new(),
            base_url: String::new(),
            this,
            last_post: HashMap::new(),
            last_ts: 0,
            counter: 0,
            config,
        };
        world.install_bot();
        for channel in world.config.channels.clone() {
            world.add_channel(channel);
        }
        world
    }

    fn install_bot(&mut self) {
        let mut bot = User::new(&self.config.app.name, &self.config.app.name);
        bot.id.clone_from(&self.config.app.bot_user);
        bot.is_bot = true;
        bot.email = None;
        self.users.insert(bot.id.clone(), bot);
    }

    /// Adds or replaces a channel; unknown handles among its members are left unchanged.
    pub fn add_channel(&mut self, mut channel: Channel) {
        for member in &mut channel.members {
            if let Ok(id) = self.user_id(member) {
                *member = id;
            }
        }
        self.channels.insert(channel.id.clone(), channel);
    }

    /// Finds a user's id by id or handle.
    ///
    /// # Errors
    /// A sentence if there is no such user.
    pub fn user_id(&self, who: &str) -> Result<String, String> {
        let handle = who.trim_start_matches('@');
        let by_name = || self.users.values().find(|u| u.name == handle).map(|u| u.id.clone());
        let found = self.users.get(who).map(|u| u.id.clone()).or_else(by_name);
        found.ok_or_else(|| format!("There is no user {who}."))
    }

    /// Finds a channel's id by id, name (`general`, `#general`) or person (`dm:ana`; must be open already).
    ///
    /// # Errors
    /// A sentence if there is no such channel.
    pub fn channel_id(&self, which: &str) -> Result<String, String> {
        if self.channels.contains_key(which) {
            return Ok(which.to_owned());
        }
        let id = match which.strip_prefix("dm:") {
            Some(who) => Some(self.dm_id(&self.user_id(who)?)),
            None => {
                let name = which.trim_start_matches('#');
                self.channels.values().find(|c| c.name == name).map(|c| c.id.clone())
            }
        };
        id.filter(|id| self.channels.contains_key(id)).ok_or_else(|| format!("There is no channel {which}."))
    }

    fn dm_id(&self, user: &str) -> String {
        format!("D{}", user.get(1..).unwrap_or_default())
    }

    /// Opens (or finds) the DM channel between the bot and a user, by the user's id.
    pub fn open_dm(&mut self, user: &str) -> String {
        let id = self.dm_id(user);
        if !self.channels.contains_key(&id) {
            let members = vec![self.config.app.bot_user.clone(), user.to_owned()];
            let channel = Channel {
                id: id.clone(),
                name: String::new(),
                kind: ChannelKind::Im,
                members,
                archived: false,
                created: self.now().timestamp(),
            };
            self.channels.insert(id.clone(), channel);
        }
        id
    }

    #[must_use]
    pub fn is_member(&self, channel: &str, user: &str) -> bool {
        self.channels.get(channel).is_some_and(|c| c.members.iter().any(|m| m == user))
    }

    /// Returns a channel's messages, oldest first.
    #[must_use]
    pub fn messages(&self, channel: &str) -> &[Message] {
        self.messages.get(channel).map_or(&[], Vec::as_slice)
    }

    #[must_use]
    pub fn message(&self, channel: &str, ts: &str) -> Option<&Message> {
        self.messages(channel).iter().rev().find(|m| m.ts == ts)
    }

    pub(super) fn message_mut(&mut self, channel: &str, ts: &str) -> Option<&mut Message> {
        self.messages.get_mut(channel)?.iter_mut().rev().find(|m| m.ts == ts)
    }

    pub(super) fn insert_message(&mut self, message: Message) {
        self.messages.entry(message.channel.clone()).or_default().push(message);
    }

    /// Returns the parent and its replies, oldest first.
    #[must_use]
    pub fn thread(&self, channel: &str, ts: &str) -> Vec<&Message> {
        let within = |m: &&Message| m.ts == ts || m.thread_ts.as_deref() == Some(ts);
        self.messages(channel).iter().filter(within).collect()
    }

    /// Returns the time of the configured clock.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        (self.config.clock)()
    }

    /// Returns a new timestamp, later than all before: `seconds.micros`.
    pub(super) fn next_ts(&mut self) -> String {
        self.last_ts = self.now().timestamp_micros().max(self.last_ts + 1);
        format!("{}.{:06}", self.last_ts / 1_000_000, self.last_ts % 1_000_000)
    }

    /// Returns a new number, for ids that must be unique but not unguessable.
    pub(super) fn next_number(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    pub(super) fn trigger(&mut self, user: &str) -> String {
        let id = format!("{}.{}.{}", self.next_number(), self.now().timestamp(), secret());
        let trigger = Trigger { user: user.to_owned(), since: self.now(), is_used: false };
        self.triggers.insert(id.clone(), trigger);
        id
    }

    pub(super) fn response_url(&mut self, user: &str, channel: &str, message: Option<&str>) -> String {
        let key = secret();
        let url = ResponseUrl {
            user: user.to_owned(),
            channel: channel.to_owned(),
            message: message.map(str::to_owned),
            uses: 0,
            since: self.now(),
        };
        self.response_urls.insert(key.clone(), url);
        format!("{}/response/{}/{key}", self.base_url, self.config.team.id)
    }

    pub(super) fn violation(&mut self, sentence: impl Into<String>) {
        self.violations.push(sentence.into());
    }
}

/// Returns 32 unguessable hexadecimal digits.
pub(super) fn secret() -> String {
    hex::encode(rand::rng().random::<[u8; 16]>())
}
