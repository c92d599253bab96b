//! The things of a guild: people, channels, messages, forms. Plain values.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

/// A person (or a foreign bot). Discord tells no mail address.
#[derive(Debug, Clone, Serialize)]
pub struct User {
    /// A snowflake; empty until the fake gives one.
    pub id: String,
    /// The username, without `@`.
    pub name: String,
    /// The name that most people see.
    pub global_name: Option<String>,
    /// The name in this guild.
    pub nick: Option<String>,
    /// Another app's bot.
    pub is_bot: bool,
    /// Whether this person is in the guild.
    pub is_member: bool,
    /// Writing to this person directly fails.
    pub refuses_dms: bool,
    /// The language of this person's client.
    pub locale: String,
}

impl User {
    /// A member of the guild: username `ana`, shown as `Ana Ruiz`.
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

    /// The same with a name in this guild.
    #[must_use]
    pub fn nick(mut self, nick: &str) -> Self {
        self.nick = Some(nick.to_owned());
        self
    }

    /// The same as another app's bot.
    #[must_use]
    pub fn bot(mut self) -> Self {
        self.is_bot = true;
        self
    }

    /// The same outside of the guild.
    #[must_use]
    pub fn stranger(mut self) -> Self {
        self.is_member = false;
        self
    }
}

/// What a channel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKind {
    /// A text channel of the guild.
    Text,
    /// A channel that holds nothing but threads: posts.
    Forum,
    /// The direct line between the bot and one person.
    Dm,
    /// A public thread; its id is that of the message on which it was opened.
    Thread,
}

impl ChannelKind {
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Text => 0,
            Self::Forum => 15,
            Self::Dm => 1,
            Self::Thread => 11,
        }
    }
}

/// A text channel, a direct line, or a thread.
#[derive(Debug, Clone, Serialize)]
pub struct Channel {
    /// A snowflake; empty until the fake gives one.
    pub id: String,
    /// Empty for a direct line.
    pub name: String,
    /// What it is.
    pub kind: ChannelKind,
    /// Who sees it, by id (in [`Channel::new`] by handle); nobody named: everybody in the guild. A thread is
    /// seen by those who see its parent.
    pub members: Vec<String>,
    /// Whether the bot sees it.
    pub bot_views: bool,
    /// Whether the bot may write there.
    pub bot_sends: bool,
    /// Where a thread hangs.
    pub parent: Option<String>,
    /// Who opened a thread.
    pub owner: Option<String>,
    /// A thread that was put away.
    pub archived: bool,
    /// A thread in which nobody writes any more.
    pub locked: bool,
}

impl Channel {
    /// A text channel that these people see; everybody where none is named. The bot sees it too.
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

    /// Whether it stands in the guild's list: no thread and no direct line.
    pub(super) fn is_of_guild(&self) -> bool {
        matches!(self.kind, ChannelKind::Text | ChannelKind::Forum)
    }

    /// The same as a forum.
    #[must_use]
    pub fn forum(mut self) -> Self {
        self.kind = ChannelKind::Forum;
        self
    }

    /// The same without `VIEW_CHANNEL` for the bot.
    #[must_use]
    pub fn hidden_from_bot(mut self) -> Self {
        self.bot_views = false;
        self
    }

    /// The same without `SEND_MESSAGES` for the bot.
    #[must_use]
    pub fn bot_reads_only(mut self) -> Self {
        self.bot_sends = false;
        self
    }
}

/// One message as it stands; a whisper where `only` is set.
#[derive(Debug, Clone, Serialize)]
pub struct Message {
    /// A snowflake.
    pub id: String,
    /// Where it stands: for a message in a thread, the thread.
    pub channel: String,
    /// The thread's id, for messages in a thread.
    pub thread: Option<String>,
    /// Its author's id.
    pub user: String,
    /// Posted by the app under test.
    pub by_bot: bool,
    /// The one person who sees it.
    pub only: Option<String>,
    /// Discord's `type`: 0, 19 for a reply, 20 and 23 for answers to commands, 21 at a thread's head.
    pub kind: u8,
    /// As Discord keeps it.
    pub content: String,
    /// As given, with the ids that were missing.
    pub components: Vec<Value>,
    /// Attachment objects.
    pub attachments: Vec<Value>,
    /// Discord's bits.
    pub flags: u64,
    /// As given; history does not show it.
    pub nonce: Option<String>,
    /// When it was made.
    pub at: DateTime<Utc>,
    /// When it was changed last.
    pub edited: Option<DateTime<Utc>>,
    /// The message that it replies to.
    pub reply_to: Option<String>,
    /// The interaction that it answers.
    pub interaction: Option<String>,
    /// Laid over what events and history show.
    pub extra: Value,
}

/// The answer is still being made ("… is thinking").
pub(super) const LOADING: u64 = 1 << 7;
/// One person sees it.
pub(super) const EPHEMERAL: u64 = 1 << 6;
/// A thread hangs on it.
pub(super) const HAS_THREAD: u64 = 1 << 5;
/// Links show no previews.
pub(super) const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// Nobody's phone rings.
pub(super) const SUPPRESS_NOTIFICATIONS: u64 = 1 << 12;
/// Made of components alone.
pub(super) const COMPONENTS_V2: u64 = 1 << 15;

impl Message {
    /// Whether it is made of components alone.
    #[must_use]
    pub fn is_v2(&self) -> bool {
        self.flags & COMPONENTS_V2 != 0
    }
}

/// A modal that was opened for one person.
#[derive(Debug, Clone, Serialize)]
pub struct Form {
    /// The interaction that opened it.
    pub id: String,
    /// For whom.
    pub user: String,
    /// Where it was opened.
    pub channel: String,
    /// The message whose button opened it.
    pub message: Option<String>,
    /// As the app gave it: `custom_id`, `title`, `components`.
    pub modal: Value,
    /// What stands in its fields in the place of their first values, by custom id.
    pub typed: BTreeMap<String, String>,
    /// Whether the person still sees it.
    pub open: bool,
}

/// Somebody's phone rang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ping {
    /// The message's channel.
    pub channel: String,
    /// The message.
    pub message: String,
    /// `@everyone`, `@here`, `<@id>` or `<@&id>`.
    pub mention: String,
}

/// A link that Discord would have looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unfurl {
    /// The message's channel.
    pub channel: String,
    /// The message.
    pub message: String,
    /// The link.
    pub url: String,
}
