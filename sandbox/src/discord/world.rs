//! The state of the guild: users, channels, messages, and who can see what. It never talks to a network.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use rand::Rng;
use serde::Serialize;
use serde_json::Value;

use super::config::DiscordConfig;
use super::entities::{Channel, ChannelKind, Form, Message, Notification, Unfurl, User};
use super::gateway::Gateway;
use super::interactions::Interaction;
use super::oauth::Grants;

/// The first millisecond of Discord's ids.
const EPOCH: i64 = 1_420_070_400_000;

/// One request to the REST interface.
#[derive(Debug, Clone, Serialize)]
pub struct ApiCall {
    /// The vendor's operation id; the verb and path if there is none.
    pub method: String,
    /// `POST /channels/1/messages`
    pub path: String,
    /// Body and query together.
    pub args: Value,
    /// The time by the fake's clock.
    pub at: DateTime<Utc>,
    /// The error it was rejected with; `None` if it succeeded or met a fault.
    pub error: Option<String>,
}

/// A nonce, whose message must not be created twice.
#[derive(Debug, Clone)]
pub(super) struct UsedNonce {
    pub channel: String,
    pub nonce: String,
    pub message: String,
    pub at: DateTime<Utc>,
}

/// The whole guild. Read it in [`super::Discord::wait_for`]; change it through [`super::Discord`].
pub struct World {
    /// The configuration it was started with, and its settings.
    pub config: DiscordConfig,
    /// By id.
    pub users: BTreeMap<String, User>,
    /// By id; threads and DM channels included.
    pub channels: BTreeMap<String, Channel>,
    pub(super) messages: BTreeMap<String, Vec<Message>>,
    /// Ephemeral messages, oldest first.
    pub ephemerals: Vec<Message>,
    /// Every modal that was opened.
    pub forms: Vec<Form>,
    /// The app's registered commands.
    pub commands: Vec<Value>,
    /// Every interaction, oldest first.
    pub interactions: Vec<Interaction>,
    /// Every request.
    pub calls: Vec<ApiCall>,
    /// What no real client should ever send.
    pub violations: Vec<String>,
    /// Mentions that sent a notification.
    pub notifications: Vec<Notification>,
    /// Links for which Discord would fetch a preview.
    pub unfurls: Vec<Unfurl>,
    /// Channels in which the bot was typing, and when.
    pub typing: Vec<(String, DateTime<Utc>)>,
    /// Answers with 401, 403 or 429.
    pub invalid_requests: usize,
    pub(super) files: HashMap<String, Vec<u8>>,
    pub(super) nonces: Vec<UsedNonce>,
    pub(super) buckets: HashMap<String, (DateTime<Utc>, u32)>,
    pub(super) grants: Grants,
    pub(super) gateway: Gateway,
    pub(super) base_url: String,
    last_id: u64,
}

impl World {
    pub(super) fn new(config: DiscordConfig) -> Self {
        let mut world = Self {
            users: BTreeMap::new(),
            channels: BTreeMap::new(),
            messages: BTreeMap::new(),
            ephemerals: Vec::new(),
            forms: Vec::new(),
            commands: Vec::new(),
            interactions: Vec::new(),
            calls: Vec::new(),
            violations: Vec::new(),
            notifications: Vec::new(),
            unfurls: Vec::new(),
            typing: Vec::new(),
            invalid_requests: 0,
            files: HashMap::new(),
            nonces: Vec::new(),
            buckets: HashMap::new(),
            grants: Grants::default(),
            gateway: Gateway::default(),
            base_url: String::new(),
            last_id: 0,
            config,
        };
        let mut bot = User::new(&world.config.app.name, "").bot();
        bot.id.clone_from(&world.config.app.id);
        world.users.insert(bot.id.clone(), bot);
        for user in world.config.users.clone() {
            world.insert_user(user);
        }
        for channel in world.config.channels.clone() {
            world.insert_channel(channel);
        }
        world
    }

    pub(super) fn insert_user(&mut self, mut user: User) -> String {
        if user.id.is_empty() {
            user.id = self.user_id(&user.name).unwrap_or_else(|_| self.next_id());
        }
        let id = user.id.clone();
        self.users.insert(id.clone(), user);
        id
    }

    pub(super) fn insert_channel(&mut self, mut channel: Channel) -> String {
        if channel.id.is_empty() {
            channel.id = self.channel_id(&channel.name).unwrap_or_else(|_| self.next_id());
        }
        for member in &mut channel.members {
            if let Ok(id) = self.user_id(member) {
                *member = id;
            }
        }
        let id = channel.id.clone();
        self.channels.insert(id.clone(), channel);
        id
    }

    /// Returns the bot's own id.
    #[must_use]
    pub fn bot(&self) -> &str {
        &self.config.app.id
    }

    /// Returns whether the bot is a member of the guild.
    #[must_use]
    pub fn is_bot_in_guild(&self) -> bool {
        self.users.get(self.bot()).is_some_and(|bot| bot.is_member)
    }

    pub(super) fn set_bot_in_guild(&mut self, joined: bool) {
        if let Some(bot) = self.users.get_mut(&self.config.app.id) {
            bot.is_member = joined;
        }
    }

    /// Resolves a user's id from an id or handle.
    ///
    /// # Errors
    /// A sentence if there is no such user.
    pub fn user_id(&self, who: &str) -> Result<String, String> {
        let handle = who.trim_start_matches('@');
        let by_name = || self.users.values().find(|u| u.name == handle).map(|u| u.id.clone());
        let found = self.users.get(who).map(|u| u.id.clone()).or_else(by_name);
        found.ok_or_else(|| format!("There is no user {who}."))
    }

    /// Resolves a channel's id from an id, name (`general`, `#general`) or user (`dm:ana`; must be open already).
    ///
    /// # Errors
    /// A sentence if there is no such channel.
    pub fn channel_id(&self, which: &str) -> Result<String, String> {
        if self.channels.contains_key(which) {
            return Ok(which.to_owned());
        }
        let found = match which.strip_prefix("dm:") {
            Some(who) => self.dm_of(&self.user_id(who)?),
            None => {
                let name = which.trim_start_matches('#');
                let named = |c: &&Channel| c.is_guild_channel() && c.name == name;
                self.channels.values().find(named).map(|c| c.id.clone())
            }
        };
        found.ok_or_else(|| format!("There is no channel {which}."))
    }

    fn dm_of(&self, user: &str) -> Option<String> {
        let with = |c: &&Channel| c.kind == ChannelKind::Dm && c.members.iter().any(|m| m == user);
        self.channels.values().find(with).map(|c| c.id.clone())
    }

    /// Opens (or finds) the DM channel of the bot and a user, by the user's id.
    pub fn open_dm(&mut self, user: &str) -> String {
        if let Some(open) = self.dm_of(user) {
            return open;
        }
        let mut channel = Channel::new("", &[]);
        channel.id = self.next_id();
        channel.kind = ChannelKind::Dm;
        channel.members = vec![user.to_owned()];
        self.insert_channel(channel)
    }

    /// Returns the channel itself, or a thread's parent.
    pub(super) fn root(&self, channel: &str) -> Option<&Channel> {
        let channel = self.channels.get(channel)?;
        match &channel.parent {
            Some(parent) => self.channels.get(parent),
            None => Some(channel),
        }
    }

    /// Returns whether a user sees a channel.
    #[must_use]
    pub fn can_see(&self, channel: &str, user: &str) -> bool {
        let Some(root) = self.root(channel) else { return false };
        if self.is_shut_out(channel, user) {
            return false;
        }
        if user == self.bot() {
            return root.bot_views && (root.kind == ChannelKind::Dm || self.is_bot_in_guild());
        }
        let listed = root.members.iter().any(|m| m == user);
        match root.kind {
            ChannelKind::Dm => listed,
            _ => {
                let member = self.users.get(user).is_some_and(|u| u.is_member);
                member && (root.members.is_empty() || listed)
            }
        }
    }

    /// Returns whether it is a private thread to which this user was not added.
    fn is_shut_out(&self, channel: &str, user: &str) -> bool {
        let thread = self.channels.get(channel).filter(|c| c.kind == ChannelKind::PrivateThread);
        thread.is_some_and(|thread| !thread.members.iter().any(|m| m == user))
    }

    /// Returns the messages of a channel or thread itself, oldest first.
    #[must_use]
    pub fn messages_in(&self, channel: &str) -> &[Message] {
        self.messages.get(channel).map_or(&[], Vec::as_slice)
    }

    /// Returns a channel's messages and those of its public threads, oldest first, without thread starter messages.
    #[must_use]
    pub fn messages(&self, channel: &str) -> Vec<&Message> {
        let is_in = |c: &Channel| c.kind == ChannelKind::Thread && c.parent.as_deref() == Some(channel);
        let hangs = |id: &&String| *id == channel || self.channels.get(*id).is_some_and(is_in);
        let places: Vec<&String> = self.messages.keys().filter(hangs).collect();
        let mut all: Vec<&Message> = places.into_iter().flat_map(|id| self.messages_in(id)).collect();
        all.retain(|m| m.kind != 21);
        all.sort_by_key(|m| number(&m.id));
        all
    }

    /// Returns a message by its id, from any channel; ephemeral ones too.
    #[must_use]
    pub fn message(&self, id: &str) -> Option<&Message> {
        self.messages.values().flatten().chain(&self.ephemerals).find(|m| m.id == id)
    }

    pub(super) fn message_mut(&mut self, id: &str) -> Option<&mut Message> {
        self.messages.values_mut().flatten().chain(&mut self.ephemerals).find(|m| m.id == id)
    }

    /// Returns the time of the injected clock.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        (self.config.clock)()
    }

    /// Returns a new id, higher than all before, that encodes its time.
    pub(super) fn next_id(&mut self) -> String {
        let millis = u64::try_from(self.now().timestamp_millis() - EPOCH).unwrap_or_default();
        self.last_id = (millis << 22).max(self.last_id + 1);
        self.last_id.to_string()
    }

    pub(super) fn violation(&mut self, sentence: impl Into<String>) {
        self.violations.push(sentence.into());
    }
}

/// Returns an id as the number by which it is ordered.
pub(super) fn number(id: &str) -> u64 {
    id.parse().unwrap_or_default()
}

/// Returns a random string that cannot be guessed.
pub(super) fn secret(bytes: usize) -> String {
    let mut all = vec![0; bytes];
    rand::rng().fill(all.as_mut_slice());
    hex::encode(all)
}
