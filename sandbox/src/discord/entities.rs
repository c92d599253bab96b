//! The entities of a guild: users, channels, messages, forms. Plain values.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

/// A user or another app's bot. Discord does not expose email addresses.
#[derive(Debug, Clone, Serialize)]
pub struct User {
    /// A snowflake; empty until the fake assigns one.
    pub id: String,
    /// The username, without `@`.
    pub name: String,
    /// The global display name.
    pub global_name: Option<String>,
    /// The nickname in this guild.
    pub nick: Option<String>,
    /// Another app's bot.
    pub is_bot: bool,
    /// Whether this user is in the guild.
    pub is_member: bool,
    /// Direct messages to this user fail.
    pub refuses_dms: bool,
    /// The locale of this user's client.
    pub locale: String,
}

impl User {
    /// Returns a member of the guild: username `ana`, shown as `Ana Ruiz`.
    #[must_use]
    pub fn new(name: &str, global_name: &str) -> Self {
        Self {
            id: String::new(),
            name: name.to_owned(),
            global_name: Some(global_name.to_owned()).filter(|n| !n.is_empty()),
            nick: None,
            is_bot: false,
            is_member: true,
            refuses_dms: false,
            locale: "en-US".to_owned(),
        }
    }

    /// Sets a nickname in this guild.
    #[must_use]
    pub fn nick(mut self, nick: &str) -> Self {
        self.nick = Some(nick.to_owned());
        self
    }

    /// Makes the user another app's bot.
    #[must_use]
    pub fn bot(mut self) -> Self {
        self.is_bot = true;
        self
    }

    /// Makes the user a non-member of the guild.
    #[must_use]
    pub fn outside_guild(mut self) -> Self {
        self.is_member = false;
        self
    }
}

/// The type of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKind {
    /// A text channel of the guild.
    Text,
    /// A channel that contains only threads: posts.
    Forum,
    /// The DM channel of the bot and one user.
    Dm,
    /// A public thread; its id is that of the message from which it was opened.
    Thread,
    /// A thread that only those see who were added to it.
    #[serde(rename = "private-thread")]
    PrivateThread,
}

impl ChannelKind {
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Text => 0,
            Self::Forum => 15,
            Self::Dm => 1,
            Self::Thread => 11,
            Self::PrivateThread => 12,
        }
    }

    /// Returns whether it is a thread of either kind.
    #[must_use]
    pub fn is_thread(self) -> bool {
        matches!(self, Self::Thread | Self::PrivateThread)
    }
}

/// A text channel, a forum, a DM channel or a thread.
#[derive(Debug, Clone, Serialize)]
pub struct Channel {
    /// A snowflake; empty until the fake assigns one.
    pub id: String,
    /// Empty for a DM channel.
    pub name: String,
    /// The channel's type.
    pub kind: ChannelKind,
    /// Ids of the users who see it (handles in [`Channel::new`]); if empty, all members of the guild. A thread is
    /// visible to those who see its parent; a private one only to those among them who are listed here.
    pub members: Vec<String>,
    /// Whether the bot sees it.
    pub bot_views: bool,
    /// Whether the bot can write there.
    pub bot_sends: bool,
    /// The parent channel of a thread.
    pub parent: Option<String>,
    /// The user who opened a thread.
    pub owner: Option<String>,
    /// Whether a thread is archived.
    pub archived: bool,
    /// Whether a thread is locked, so users can no longer write in it.
    pub locked: bool,
}

impl Channel {
    /// Returns a text channel that these users see, or all members if none is named. The bot sees it too.
    #[must_use]
    pub fn new(name: &str, members: &[&str]) -> Self {
        Self {
            id: String::new(),
            name: name.to_owned(),
            kind: ChannelKind::Text,
            members: members.iter().map(|m| (*m).to_owned()).collect(),
            bot_views: true,
            bot_sends: true,
            parent: None,
            owner: None,
            archived: false,
            locked: false,
        }
    }

    /// Returns whether the channel is in the guild's channel list: neither a thread nor a DM channel.
    pub(super) fn is_guild_channel(&self) -> bool {
        matches!(self.kind, ChannelKind::Text | ChannelKind::Forum)
    }

    /// Makes the channel a forum.
    #[must_use]
    pub fn forum(mut self) -> Self {
        self.kind = ChannelKind::Forum;
        self
    }

    /// Removes the bot's `VIEW_CHANNEL` permission.
    #[must_use]
    pub fn without_bot_access(mut self) -> Self {
        self.bot_views = false;
        self
    }

    /// Removes the bot's `SEND_MESSAGES` permission.
    #[must_use]
    pub fn read_only_for_bot(mut self) -> Self {
        self.bot_sends = false;
        self
    }
}

/// The current state of a message; it is ephemeral if `only` is set.
#[derive(Debug, Clone, Serialize)]
pub struct Message {
    /// A snowflake.
    pub id: String,
    /// Its channel; for a message in a thread, the thread.
    pub channel: String,
    /// The thread's id, for messages in a thread.
    pub thread: Option<String>,
    /// Its author's id.
    pub user: String,
    /// Posted by the app under test.
    #[serde(rename = "by_bot")]
    pub is_from_bot: bool,
    /// The only user who sees it, if it is ephemeral.
    pub only: Option<String>,
    /// Discord's `type`: 0, 19 for a reply, 20 and 23 for responses to commands, 21 for a thread's starter message.
    pub kind: u8,
    /// The text as Discord stores it.
    pub content: String,
    /// As sent, with missing ids added.
    pub components: Vec<Value>,
    /// Attachment objects.
    pub attachments: Vec<Value>,
    /// Discord's message flags.
    pub flags: u64,
    /// As sent; history does not show it.
    pub nonce: Option<String>,
    /// When it was created.
    #[serde(rename = "at")]
    pub created_at: DateTime<Utc>,
    /// When it was last edited.
    #[serde(rename = "edited")]
    pub edited_at: Option<DateTime<Utc>>,
    /// The message that it replies to.
    pub reply_to: Option<String>,
    /// The interaction that it responds to.
    pub interaction: Option<String>,
    /// Merged over what events and history show.
    pub extra: Value,
}

/// The response is still pending ("… is thinking").
pub(super) const LOADING: u64 = 1 << 7;
/// Only one user sees it.
pub(super) const EPHEMERAL: u64 = 1 << 6;
/// A thread was opened from it.
pub(super) const HAS_THREAD: u64 = 1 << 5;
/// Links show no previews.
pub(super) const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// It sends no push notifications.
pub(super) const SUPPRESS_NOTIFICATIONS: u64 = 1 << 12;
/// It consists only of components.
pub(super) const COMPONENTS_V2: u64 = 1 << 15;

impl Message {
    /// Returns whether it consists only of components.
    #[must_use]
    pub fn is_v2(&self) -> bool {
        self.flags & COMPONENTS_V2 != 0
    }
}

/// A modal that was opened for one user.
#[derive(Debug, Clone, Serialize)]
pub struct Form {
    /// The interaction that opened it.
    pub id: String,
    /// The user who sees it.
    pub user: String,
    /// Where it was opened.
    pub channel: String,
    /// The message whose button opened it.
    pub message: Option<String>,
    /// As the app gave it: `custom_id`, `title`, `components`.
    pub modal: Value,
    /// Values that replace the initial values of its fields, by custom id.
    #[serde(rename = "typed")]
    pub values: BTreeMap<String, String>,
    /// Whether the user still sees it.
    pub open: bool,
}

/// A mention that sent a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notification {
    /// The message's channel.
    pub channel: String,
    /// The message.
    pub message: String,
    /// `@everyone`, `@here`, `<@id>` or `<@&id>`.
    pub mention: String,
}

/// A link for which Discord would fetch a preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unfurl {
    /// The message's channel.
    pub channel: String,
    /// The message.
    pub message: String,
    /// The link.
    pub url: String,
}
