//! What people do with messages other than write them: edit, delete, attach files, pick a menu entry.

use nod_sandbox::{Fault, discord, slack};

use crate::World;
use crate::chat::FakeChat;

impl FakeChat {
    /// Returns the first message of a channel.
    #[must_use]
    pub fn first_message(&self, channel: &str) -> String {
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

    /// Sends a message with files, and returns the message's id.
    #[must_use]
    pub fn share_files(&self, user: &str, channel: &str, text: &str, files: &[&SharedFile]) -> String {
        let said = match self {
            Self::Slack(fake) => {
                let upload =
                    |file: &&SharedFile| fake.upload(&file.name, file.media_type, file.bytes.clone());
                let files = files.iter().map(upload).collect();
                let subtype = Some("file_share".to_owned());
                fake.post_message_with(slack::NewMessage {
                    files,
                    subtype,
                    ..slack::NewMessage::new(user, channel, text)
                })
            }
            Self::Discord(fake) => {
                let upload =
                    |file: &&SharedFile| fake.upload(&file.name, file.media_type, file.bytes.clone());
                let files = files.iter().map(upload).collect();
                fake.post_message_with(discord::NewMessage {
                    files,
                    ..discord::NewMessage::new(user, channel, text)
                })
            }
        };
        said.unwrap_or_else(|e| panic!("{e}"))
    }

    /// Picks an entry in the menu of a message, and waits until it was acknowledged.
    pub async fn use_shortcut(&self, user: &str, channel: &str, message: &str, entry: MessageShortcut) {
        let id = match (self, entry) {
            (Self::Slack(_), MessageShortcut::AskNod) => "ask",
            (Self::Slack(_), MessageShortcut::DraftReply) => "draft",
            (Self::Discord(_), MessageShortcut::AskNod) => "Ask Nod",
            (Self::Discord(_), MessageShortcut::DraftReply) => "Draft a reply",
            (_, MessageShortcut::KeepFiles) => "Keep in knowledge",
            (_, MessageShortcut::MakeTask) => "Make a task",
        };
        self.use_menu_entry(user, channel, message, id).await;
    }

    /// Makes Nod's next post fail.
    pub fn fail_next_post(&self, fault: Fault) {
        let post = match self {
            Self::Slack(_) => "chat.postMessage",
            Self::Discord(_) => "create_message",
        };
        self.faults().next(post, fault);
    }

    /// Makes Nod's next file upload fail.
    pub fn fail_next_upload(&self, fault: Fault) {
        let file = match self {
            Self::Slack(_) => "files.completeUploadExternal",
            Self::Discord(_) => "create_message",
        };
        self.faults().next(file, fault);
    }

    /// Makes Nod's next read of a thread fail.
    pub fn fail_next_thread_history(&self, fault: Fault) {
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
    pub fn drop_undelivered_events(&self) {
        if let Self::Slack(fake) = self {
            fake.set_drop_events_while_disconnected(true);
        }
    }

    /// Cuts every connection without notice.
    pub fn cut_connections(&self) {
        match self {
            Self::Slack(fake) => fake.drop_sockets(),
            Self::Discord(fake) => fake.drop_connections(),
        }
    }

    /// Asks every connection to reconnect.
    pub fn request_reconnect(&self) {
        match self {
            Self::Slack(fake) => fake.disconnect_sockets("refresh_requested"),
            Self::Discord(fake) => fake.reconnect(),
        }
    }

    /// Disturbs every connection: Slack sends a warning, Discord invalidates the session.
    pub fn disrupt_connections(&self) {
        match self {
            Self::Slack(fake) => fake.disconnect_sockets("warning"),
            Self::Discord(fake) => fake.invalidate(false),
        }
    }

    /// Counts how often Nod has read a channel's history.
    #[must_use]
    pub fn history_call_count(&self) -> usize {
        match self {
            Self::Slack(fake) => fake.list_calls_of("conversations.history").len(),
            Self::Discord(fake) => fake.list_calls_of("list_messages").len(),
        }
    }

    /// Sends a message without an event to Nod.
    pub fn say_without_event(&self, user: &str, channel: &str, text: &str) {
        match self {
            Self::Slack(fake) => {
                let deliver = slack::EventDelivery::Never;
                let say = slack::NewMessage { deliver, ..slack::NewMessage::new(user, channel, text) };
                drop(fake.post_message_with(say).unwrap_or_else(|e| panic!("{e}")));
            }
            // Discord sends events only to open connections, and never later.
            Self::Discord(fake) => {
                assert_eq!(fake.connections(), 0, "Nod would be told");
                drop(fake.post_message(user, channel, None, text));
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
                drop(fake.add_channel(discord::Channel::new(name, members).without_bot_access()));
            }
        }
    }

    /// Returns the content of the newest file with this name.
    #[must_use]
    pub fn uploaded_file_text(&self, name: &str) -> Option<String> {
        match self {
            Self::Slack(fake) => fake.file(name),
            Self::Discord(fake) => fake.file(name),
        }
    }

    /// Returns the permalink of a message.
    #[must_use]
    pub fn permalink(&self, channel: &str, message: &str) -> String {
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
pub struct SharedFile {
    name: String,
    media_type: &'static str,
    bytes: Vec<u8>,
}

impl SharedFile {
    /// Creates a file with this name, media type and content.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), media_type: kind, bytes: bytes.into() }
    }
}

/// An entry in the menu of a message.
#[derive(Debug, Clone, Copy)]
pub enum MessageShortcut {
    /// "Ask Nod".
    AskNod,
    /// "Draft a reply".
    DraftReply,
    /// "Keep in knowledge".
    KeepFiles,
    /// "Make a task".
    MakeTask,
}

impl World {
    /// Sends a message with a file.
    pub async fn share_file(&self, user: &str, channel: &str, text: &str, file: &SharedFile) -> String {
        self.share_files(user, channel, text, &[file]).await
    }

    /// Sends a message with files, waits until Nod is done, and returns the message's id.
    pub async fn share_files(&self, user: &str, channel: &str, text: &str, files: &[&SharedFile]) -> String {
        let message = self.chat.share_files(user, channel, text, files);
        self.wait_until_idle().await;
        message
    }

    /// Returns the part of a channel that was not read before, as people read it.
    pub fn read_rest(&mut self, channel: &str) -> String {
        let before = self.read_so_far(channel);
        let now = self.read_new(channel);
        let known = before.lines().zip(now.lines()).take_while(|(old, new)| old == new).count();
        now.lines().skip(known).collect::<Vec<_>>().join("\n")
    }
}
