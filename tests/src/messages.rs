//! What people do with messages other than write them: edit, delete, attach files, pick a menu entry.

use nod_sandbox::{Fault, discord, slack};

use crate::World;
use crate::chat::Chat;
use crate::world::patience;

impl Chat {
    /// Returns the first message of a channel.
    #[must_use]
    pub fn first(&self, channel: &str) -> String {
        let first = match self {
            Self::Slack(fake) => fake.messages(channel).first().map(|m| m.ts.clone()),
            Self::Discord(fake) => fake.messages(channel).first().map(|m| m.id.clone()),
        };
        first.unwrap_or_else(|| panic!("nothing was said in {channel}"))
    }

    /// Edits the user's message.
    pub fn edit(&self, user: &str, channel: &str, message: &str, text: &str) {
        match self {
            Self::Slack(fake) => fake.edit(user, channel, message, text),
            Self::Discord(fake) => fake.edit(user, channel, message, text),
        }
    }

    /// Deletes the user's message.
    pub fn delete(&self, user: &str, channel: &str, message: &str) {
        match self {
            Self::Slack(fake) => fake.delete(user, channel, message),
            Self::Discord(fake) => fake.delete(user, channel, message),
        }
    }

    /// The platform adds link previews to a message.
    pub fn unfurl(&self, channel: &str, message: &str) {
        match self {
            Self::Slack(fake) => fake.unfurl(channel, message),
            Self::Discord(fake) => fake.unfurl(channel, message),
        }
    }

    /// Sends a message with a file, and returns the message's id.
    #[must_use]
    pub fn drop_file(&self, user: &str, channel: &str, text: &str, file: &Dropped) -> String {
        let (name, kind, bytes) = (file.name, file.kind, file.bytes.clone());
        let said = match self {
            Self::Slack(fake) => {
                let files = vec![fake.upload(name, kind, bytes)];
                let subtype = Some("file_share".to_owned());
                fake.say_with(slack::Say { files, subtype, ..slack::Say::new(user, channel, text) })
            }
            Self::Discord(fake) => {
                let files = vec![fake.upload(name, kind, bytes)];
                fake.say_with(discord::Say { files, ..discord::Say::new(user, channel, text) })
            }
        };
        said.unwrap_or_else(|e| panic!("{e}"))
    }

    /// Picks an entry in the menu of a message, and waits until it was acknowledged.
    pub async fn pick(&self, user: &str, channel: &str, message: &str, entry: Entry) {
        match self {
            Self::Slack(fake) => {
                let id = match entry {
                    Entry::Ask => "ask",
                    Entry::Draft => "draft",
                };
                let pending = fake.pick(user, channel, message, id).unwrap_or_else(|e| panic!("{e}"));
                pending.acknowledged(patience()).await;
            }
            Self::Discord(fake) => {
                let name = match entry {
                    Entry::Ask => "Ask Nod",
                    Entry::Draft => "Draft a reply",
                };
                let pending = fake.pick(user, channel, message, name).unwrap_or_else(|e| panic!("{e}"));
                pending.acknowledged(patience()).await;
            }
        }
    }

    /// Makes Nod's next post fail.
    pub fn next_post_meets(&self, fault: Fault) {
        let post = match self {
            Self::Slack(_) => "chat.postMessage",
            Self::Discord(_) => "create_message",
        };
        self.faults().next(post, fault);
    }

    /// Makes Nod's next file upload fail.
    pub fn next_file_meets(&self, fault: Fault) {
        let file = match self {
            Self::Slack(_) => "files.completeUploadExternal",
            Self::Discord(_) => "create_message",
        };
        self.faults().next(file, fault);
    }

    /// Makes Nod's next read of a thread fail.
    pub fn next_look_into_a_thread_meets(&self, fault: Fault) {
        let look = match self {
            Self::Slack(_) => "conversations.replies",
            Self::Discord(_) => "list_messages",
        };
        self.faults().next(look, fault);
    }

    /// Makes Nod's next read of a channel's history fail.
    pub fn next_look_into_a_channel_meets(&self, fault: Fault) {
        let look = match self {
            Self::Slack(_) => "conversations.history",
            Self::Discord(_) => "list_messages",
        };
        self.faults().next(look, fault);
    }

    /// The platform never redelivers events that it could not deliver. Discord never does.
    pub fn loses_events_while_away(&self) {
        if let Self::Slack(fake) = self {
            fake.lose_events_while_away(true);
        }
    }

    /// Cuts every connection without notice.
    pub fn cut(&self) {
        match self {
            Self::Slack(fake) => fake.drop_sockets(),
            Self::Discord(fake) => fake.cut(),
        }
    }

    /// Asks every connection to reconnect.
    pub fn ask_to_reconnect(&self) {
        match self {
            Self::Slack(fake) => fake.disconnect_sockets("refresh_requested"),
            Self::Discord(fake) => fake.reconnect(),
        }
    }

    /// Disturbs every connection: Slack sends a warning, Discord invalidates the session.
    pub fn disturb(&self) {
        match self {
            Self::Slack(fake) => fake.disconnect_sockets("warning"),
            Self::Discord(fake) => fake.invalidate(false),
        }
    }

    /// Counts how often Nod has read a channel's history.
    #[must_use]
    pub fn looks_into_channels(&self) -> usize {
        match self {
            Self::Slack(fake) => fake.calls_of("conversations.history").len(),
            Self::Discord(fake) => fake.calls_of("list_messages").len(),
        }
    }

    /// Sends a message without an event to Nod.
    pub fn say_untold(&self, user: &str, channel: &str, text: &str) {
        match self {
            Self::Slack(fake) => {
                let deliver = slack::Deliver::Never;
                let say = slack::Say { deliver, ..slack::Say::new(user, channel, text) };
                drop(fake.say_with(say).unwrap_or_else(|e| panic!("{e}")));
            }
            // Discord sends events only to open connections, and never later.
            Self::Discord(fake) => {
                assert_eq!(fake.connections(), 0, "Nod would be told");
                drop(fake.say(user, channel, None, text));
            }
        }
    }

    /// Adds a channel with these people and Nod.
    pub fn add_channel(&self, name: &str, members: &[&str]) {
        match self {
            Self::Slack(fake) => {
                fake.add_channel(slack::Channel::new(name, &[members, &["nod"]].concat()).private());
            }
            Self::Discord(fake) => drop(fake.add_channel(discord::Channel::new(name, members))),
        }
    }

    /// Adds a channel without Nod.
    pub fn add_channel_without_nod(&self, name: &str, members: &[&str]) {
        match self {
            Self::Slack(fake) => fake.add_channel(slack::Channel::new(name, members)),
            Self::Discord(fake) => {
                drop(fake.add_channel(discord::Channel::new(name, members).hidden_from_bot()));
            }
        }
    }

    /// Returns the content of the newest file with this name.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<String> {
        match self {
            Self::Slack(fake) => fake.file(name),
            Self::Discord(fake) => fake.file(name),
        }
    }

    /// Returns the permalink of a message.
    #[must_use]
    pub fn link_to(&self, channel: &str, message: &str) -> String {
        match self {
            Self::Slack(fake) => {
                let found = fake.messages(channel).into_iter().find(|m| m.ts == message);
                let found = found.unwrap_or_else(|| panic!("no such message in {channel}"));
                let place = format!("{}/p{}", found.channel, message.replace('.', ""));
                let thread = found.thread_ts.filter(|thread| thread != message);
                let thread = thread
                    .map_or_else(String::new, |thread| format!("?thread_ts={thread}&cid={}", found.channel));
                format!("https://acme.slack.com/archives/{place}{thread}")
            }
            Self::Discord(fake) => {
                let found = fake.messages(channel).into_iter().find(|m| m.id == message);
                let found = found.unwrap_or_else(|| panic!("no such message in {channel}"));
                let guild = fake.read(|w| w.config.guild.id.clone());
                let guild = if channel.starts_with("dm:") { "@me".to_owned() } else { guild };
                format!("https://discord.com/channels/{guild}/{}/{message}", found.channel)
            }
        }
    }
}

/// A file that a user attaches.
#[derive(Debug, Clone)]
pub struct Dropped {
    name: &'static str,
    kind: &'static str,
    bytes: Vec<u8>,
}

impl Dropped {
    /// Creates a file with this name, media type and content.
    #[must_use]
    pub fn new(name: &'static str, kind: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name, kind, bytes: bytes.into() }
    }
}

/// An entry in the menu of a message.
#[derive(Debug, Clone, Copy)]
pub enum Entry {
    /// "Ask Nod".
    Ask,
    /// "Draft a reply".
    Draft,
}

impl World {
    /// Sends a message with a file.
    pub async fn drops_file(&self, user: &str, channel: &str, text: &str, file: &Dropped) -> String {
        let message = self.chat.drop_file(user, channel, text, file);
        self.settles().await;
        message
    }

    /// Returns the part of a channel that was not read before, as people read it.
    pub fn reads_on(&mut self, channel: &str) -> String {
        let before = self.was_read(channel);
        let now = self.reads(channel);
        let known = before.lines().zip(now.lines()).take_while(|(old, new)| old == new).count();
        now.lines().skip(known).collect::<Vec<_>>().join("\n")
    }
}
