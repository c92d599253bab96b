//! The contract with a chat platform: what arrives ([`Inbound`]), the synchronous answer ([`InteractionResponse`]),
//! and what an adapter does for the core ([`ChatAdapter`]). The core never names a platform.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::card::{Action, Card, FieldError, Form};
use crate::clock::Timestamp;
use crate::ids::DeliveryId;

/// Something that arrived: a message, a command, a click. All of them pass through the same ingest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inbound {
    /// The adapter that received it.
    pub platform: String,
    /// The platform's workspace. A user id means the same human anywhere in it.
    pub workspace: String,
    /// The same for every delivery of one event. A message is identified by its own id, not by its event's.
    pub dedup_key: String,
    /// The user who did it, by the platform's id.
    pub author: Author,
    /// When the platform says it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// The user who caused an inbound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The platform's id.
    pub user: String,
    /// As far as the event itself says.
    pub membership: Membership,
}

/// Whether a user belongs to the organisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Membership {
    /// The event does not say; the profile will.
    Unknown,
    /// A full member.
    Member,
    /// A guest of the workspace.
    Guest,
    /// A member of another organisation (Slack Connect).
    External,
    /// A bot, an app or a workflow.
    Bot,
    /// Deactivated.
    #[serde(alias = "gone")]
    Deactivated,
}

impl Membership {
    /// Returns the name stored in rows.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Member => "member",
            Self::Guest => "guest",
            Self::External => "external",
            Self::Bot => "bot",
            Self::Deactivated => "deactivated",
        }
    }

    /// Parses the name stored in rows; any other text is `Unknown`.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        [Self::Member, Self::Guest, Self::External, Self::Bot, Self::Deactivated]
            .into_iter()
            .find(|s| s.as_str() == name)
            .unwrap_or(Self::Unknown)
    }

    /// Returns whether this membership allows more than `other`.
    #[must_use]
    pub fn is_above(self, other: Self) -> bool {
        let rank = |standing| match standing {
            Self::Member => 3,
            Self::Guest => 2,
            Self::External => 1,
            Self::Unknown | Self::Bot | Self::Deactivated => 0,
        };
        rank(self) > rank(other)
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Event {
    /// A message that Nod can see.
    Message {
        /// Where it was posted.
        place: ChannelRef,
        /// The platform's id of the message.
        message: String,
        /// The text, without the mention of Nod.
        text: String,
        /// How it concerns Nod.
        addressing: Addressing,
        /// The files that came with it.
        #[serde(default)]
        attachments: Vec<Attachment>,
        /// The platform's id of the single message that it replies to; most platforms have threads instead.
        #[serde(default)]
        answers: Option<String>,
    },
    /// The text of a message was changed.
    MessageEdited {
        /// Where it is posted.
        place: ChannelRef,
        /// The platform's id of the message.
        message: String,
        /// The new text, without the mention of Nod.
        text: String,
    },
    /// A message was deleted.
    MessageDeleted {
        /// Where it was posted.
        place: ChannelRef,
        /// The platform's id of the message.
        message: String,
    },
    /// A command (`/nod ask …`): its first word and the rest.
    Command {
        /// Where it was typed; on some platforms also in threads.
        place: ChannelRef,
        /// `help`, `ask`, `connect`, `approvals`; empty for a bare command.
        name: String,
        /// The text after the name.
        text: String,
    },
    /// A user is typing a command's argument and can choose among stored values. Nothing of it is stored.
    Autocomplete {
        /// Where it is typed.
        place: ChannelRef,
        /// The command's name.
        command: String,
        /// What the user has typed so far.
        typed: String,
    },
    /// The user opened their home page, which only they can see.
    HomeOpened,
    /// Nod, the author, was added to a channel, when the inbound says. Platforms may report it long after.
    JoinedChannel {
        /// The channel.
        place: ChannelRef,
    },
    /// The assistant thread was opened, or the user switched channels while it is open.
    AssistantThreadOpened {
        /// The assistant thread itself.
        place: ChannelRef,
        /// The platform's id of the channel that the user is viewing.
        viewing: Option<String>,
    },
    /// One of Nod's entries in a message's menu was chosen. The user can see that message.
    MessageAction {
        /// Where the message is posted.
        place: ChannelRef,
        /// Which entry was chosen.
        wish: MessageActionKind,
        /// The platform's id of the message's author, if the platform reports it.
        author: Option<String>,
        /// The text of the message.
        text: String,
        /// The files of the message.
        #[serde(default)]
        attachments: Vec<Attachment>,
    },
    /// A button was clicked.
    ButtonClicked {
        /// Where the card is posted. A home page is in no channel, so its channel id is empty.
        place: ChannelRef,
        /// The action that the button carries; `None` if it is not one of ours.
        verb: Option<Action>,
        /// The message is shown to this user alone, so no job updates it.
        is_ephemeral: bool,
    },
    /// A form was submitted.
    FormSubmitted {
        /// Where it was opened; `None` if the form does not say.
        place: Option<ChannelRef>,
        /// The action that the form carries; `None` if it is not one of ours.
        verb: Option<Action>,
        /// The values of its fields, by field id.
        values: BTreeMap<String, String>,
    },
}

/// A channel or a thread in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChannelRef {
    /// The platform's channel id.
    pub channel: String,
    /// Whether it is a direct message channel between one person and Nod.
    #[serde(alias = "direct")]
    pub is_dm: bool,
    /// The platform's thread id; `None` at the top of a channel.
    pub thread: Option<String>,
}

/// What the user wants Nod to do with the message that they picked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageActionKind {
    /// Explain what it is about.
    Explain,
    /// Draft a reply to it.
    Draft,
    /// What the entry with this name does, which an ability brings.
    Entry(String),
}

/// Whether and how a message addresses Nod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addressing {
    /// It mentions Nod.
    Mention,
    /// It was sent in a direct message channel with Nod.
    DirectMessage,
    /// Neither: it counts only in a thread that Nod follows.
    Unaddressed,
}

/// The synchronous answer that the platform expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InteractionResponse {
    /// No text: anything there is to say is already stored as a row.
    Ack,
    /// A short note that only the author sees. In answer to a form it is shown inside the form, and the input stays.
    Ephemeral(Card),
    /// What the clicked message becomes, which only the author sees. In answer to anything else it is a note.
    Replacement(Card),
    /// A form to fill in or to read.
    Form(Box<Form>),
    /// The form is accepted and closes; the author then reads a short note that only they see.
    FormAccepted(Card),
    /// Validation errors of the submitted form. The form stays open with all of its input.
    FormErrors(Vec<FieldError>),
    /// The suggestions: the text that the person reads, and the value that the command then receives.
    Autocomplete(Vec<(String, String)>),
}

impl InteractionResponse {
    /// Creates an ephemeral note from Markdown.
    pub fn ephemeral(words: impl Into<String>) -> Self {
        Self::Ephemeral(Card::from_markdown(words))
    }
}

/// Where a message goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum DeliveryTarget {
    /// All readers of a channel or thread.
    #[serde(alias = "place")]
    Channel { workspace: String, place: ChannelRef },
    /// One person, in their DM channel.
    #[serde(alias = "direct")]
    DirectMessage { workspace: String, user: String },
    /// One person, in a channel; it disappears on reload. For short notes only: it cannot be found or replaced.
    #[serde(alias = "whisper")]
    Ephemeral { workspace: String, place: ChannelRef, user: String },
}

impl DeliveryTarget {
    /// Returns the platform's workspace.
    #[must_use]
    pub fn workspace(&self) -> &str {
        match self {
            Self::Channel { workspace, .. }
            | Self::DirectMessage { workspace, .. }
            | Self::Ephemeral { workspace, .. } => workspace,
        }
    }
}

/// Where a message is posted on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostedMessage {
    /// The platform's channel id: the DM channel's for a direct message, the thread's if threads are channels.
    pub channel: String,
    /// The platform's message id.
    pub message: String,
}

impl PostedMessage {
    /// Returns whether the message is in this channel or thread.
    #[must_use]
    pub fn is_in_channel(&self, place: &ChannelRef) -> bool {
        self.channel == place.channel || place.thread.as_ref() == Some(&self.channel)
    }
}

/// A posted message, and since when it has its current content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Where it is posted.
    pub at: PostedMessage,
    /// By the platform's clock, never too early; `None` if the platform does not report it.
    pub since: Option<Timestamp>,
}

/// A file to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingFile {
    /// With its extension. It contains the tail of the delivery's id ([`DeliveryId::short`]), by which Slack's message with
    /// it can be found.
    pub name: String,
    /// The content.
    pub text: String,
}

impl OutgoingFile {
    /// Returns the name as people read it, without the tail of the delivery's id.
    #[must_use]
    pub fn title(&self, key: DeliveryId) -> String {
        self.name.replace(&format!("-{}", key.short()), "")
    }
}

/// Whether a message was already posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageLookup {
    /// It was posted.
    Found(Shown),
    /// It was certainly not posted.
    NotFound,
    /// The platform does not let us look it up.
    Unknown,
}

/// What the platform reports about a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The platform's id.
    pub user: String,
    /// As shown in chat.
    pub name: String,
    /// The full name.
    pub full_name: String,
    /// The job title ("Sales"), if the platform reports it.
    pub title: Option<String>,
    /// The email address, if the platform reports it.
    #[serde(alias = "address")]
    pub email: Option<String>,
    /// The IANA zone name, if the platform reports it.
    pub zone: Option<String>,
    /// Whether they belong to the organisation.
    #[serde(alias = "standing")]
    pub membership: Membership,
}

/// Status, title and prompts of an assistant thread. Best effort: they can be missing or late; nothing depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssistantThreadUpdate {
    /// What Nod is doing now, in neutral words ("is searching your mail…"). The next message clears it.
    Status(String),
    /// The title of the conversation.
    Title(String),
    /// Suggested questions: what the person reads, and what is then sent in their name.
    SuggestedPrompts(Vec<(String, String)>),
}

/// Why a file was not downloaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DownloadError {
    /// It has more bytes than the caller allows.
    #[error("too large")]
    TooLarge,
    /// The platform refuses access, or the file is not hosted by the platform.
    #[error("refused: {0}")]
    Forbidden(String),
    /// No answer, or the transfer broke off. A retry might succeed.
    #[error("no answer: {0}")]
    NoResponse(String),
}

/// Who can read a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelMembers {
    /// Only members of the organisation can be there.
    OnlyMembers,
    /// These users, by the platform's ids.
    Users(Vec<String>),
    /// More users than are listed.
    TooMany,
}

/// A file that came with a message, as the platform describes it. None of this can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// Its media type.
    #[serde(alias = "kind")]
    pub media_type: String,
    /// Its size in bytes.
    pub size: i64,
    /// Where the platform serves it to us; `None` if it does not.
    #[serde(alias = "address")]
    pub url: Option<String>,
}

/// Why a platform call failed, classified by what the caller does next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// The platform asks to wait; nothing was done.
    #[error("asked to wait {retry_after_secs} s")]
    RateLimited { retry_after_secs: u64 },
    /// No answer. It might have been done, so look it up before a retry.
    #[error("no answer: {0}")]
    UnknownOutcome(String),
    /// The channel accepts nothing from us (channel deleted, not a member, direct messages closed). `code` is the
    /// platform's.
    #[error("closed: {code}")]
    ChannelClosed { code: String },
    /// The message to change no longer exists.
    #[error("gone")]
    Gone,
    /// The platform will never accept this message, whatever its target.
    #[error("refused: {code}")]
    Rejected { code: String },
}

/// A message in a channel's or thread's history, as the platform stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryMessage {
    /// The platform's id of the author; `None` if it was not a user.
    pub user: Option<String>,
    /// The name that a bot or workflow uses.
    pub name: Option<String>,
    /// Whether Nod itself posted it.
    pub is_from_bot: bool,
    /// When it was posted.
    pub at: Timestamp,
    /// The text, with mentions as `<@U1>`.
    pub text: String,
}

/// Which part of a history to return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRange {
    /// No message posted earlier.
    pub since: Option<Timestamp>,
    /// No message posted at or after the message with this platform id.
    pub before: Option<String>,
    /// The maximum number; the newest are returned.
    pub limit: usize,
}

/// What an adapter does for the core. Every method is required.
#[async_trait]
pub trait ChatAdapter: Send + Sync {
    /// Returns the platform's name in rows.
    fn platform(&self) -> &'static str;
    /// Returns the name that people use, as it follows "in".
    fn display_name(&self) -> &'static str;
    /// Formats a command as it is typed on the platform, with an option and its value.
    fn format_command(&self, command: &str, given: Option<(&str, &str)>) -> String;
    /// Posts a card under a key by which it can be found later.
    async fn post_message(
        &self,
        target: &DeliveryTarget,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Shown, ChatError>;
    /// Returns whether one message can show the whole card.
    fn fits_in_one_message(&self, card: &Card) -> bool;
    /// Returns an upper bound for the characters of a message. Less might fit.
    fn max_message_chars(&self) -> usize;
    /// Returns how much of a request its card can show: fields, risks and body together, counted as in
    /// `approval::display_limits`. Its frame, buttons and receipt are not included.
    fn display_limit(&self) -> usize;
    /// Returns the minimum interval between two posts in one place that the platform requires.
    fn post_interval(&self) -> TimeDelta;
    /// Replaces a posted card; returns since when the new one is shown, as in [`Shown::since`].
    async fn update_message(
        &self,
        at: &PostedMessage,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Option<Timestamp>, ChatError>;
    /// Deletes a posted card. An already deleted card is not an error.
    async fn delete_message(&self, at: &PostedMessage) -> Result<(), ChatError>;
    /// Updates the status, title or prompts of a thread. A platform without them does nothing.
    async fn update_assistant_thread(
        &self,
        place: &ChannelRef,
        ornament: &AssistantThreadUpdate,
    ) -> Result<(), ChatError>;
    /// Publishes a person's home page, which only they can see, with the cards one below the other.
    async fn publish_home(&self, workspace: &str, user: &str, page: &[Card]) -> Result<(), ChatError>;
    /// Downloads a file that came with a message. More than `most` bytes are [`DownloadError::TooLarge`].
    async fn download_attachment(&self, address: &str, most: usize) -> Result<Vec<u8>, DownloadError>;
    /// Sends a file with a card's text. [`ChatAdapter::find_message`] finds it by the key's tail in its name.
    async fn upload_file(
        &self,
        target: &DeliveryTarget,
        file: &OutgoingFile,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Shown, ChatError>;
    /// Returns a link to a message, for readers who can see it; `None` if the platform has no such links.
    fn permalink(&self, place: &ChannelRef, message: &str) -> Option<String>;
    /// Posts a message whose text will be streamed, for the person whom it answers. [`Self::update_message`] ends it
    /// and sets its final content.
    async fn start_stream(
        &self,
        target: &DeliveryTarget,
        reader: &str,
        key: DeliveryId,
    ) -> Result<Shown, ChatError>;
    /// Shows the text so far in a streaming message: Markdown, only whole words, usually a continuation of what was
    /// shown before. Returns how long to wait before the next call. Whatever is lost here, [`Self::update_message`]
    /// restores.
    async fn append_stream(
        &self,
        at: &PostedMessage,
        words: &str,
        key: DeliveryId,
    ) -> Result<Duration, ChatError>;
    /// Looks for the card with this key among the messages posted since then. One that was `opened` (streamed) might
    /// not have its key yet.
    async fn find_message(
        &self,
        target: &DeliveryTarget,
        key: DeliveryId,
        since: Timestamp,
        opened: bool,
    ) -> Result<MessageLookup, ChatError>;
    /// Fetches a user's profile.
    async fn fetch_profile(&self, workspace: &str, user: &str) -> Result<Profile, ChatError>;
    /// Returns one page of the workspace's members, and the cursor of the next.
    async fn list_members(
        &self,
        workspace: &str,
        cursor: Option<String>,
    ) -> Result<(Vec<Profile>, Option<String>), ChatError>;
    /// Returns the messages of a channel (without its threads) or of a thread, oldest first.
    async fn list_messages(
        &self,
        workspace: &str,
        place: &ChannelRef,
        bound: &HistoryRange,
    ) -> Result<Vec<HistoryMessage>, ChatError>;
    /// Returns whether a user is in a channel, and so can read it.
    async fn is_channel_member(&self, workspace: &str, channel: &str, user: &str) -> Result<bool, ChatError>;
    /// Returns who can read a channel.
    async fn list_channel_members(&self, workspace: &str, channel: &str)
    -> Result<ChannelMembers, ChatError>;
    /// Lists the channels and DM channels whose messages Nod receives, each with its id and name.
    async fn list_channels(&self, workspace: &str) -> Result<Vec<(String, String)>, ChatError>;
    /// Lists the same channels, with what the list shows of the messages since then.
    async fn list_channels_since(
        &self,
        workspace: &str,
        since: Timestamp,
    ) -> Result<Vec<ListedChannel>, ChatError>;
    /// Returns the messages since then in a channel and its threads (`threads` among them, with those that
    /// `list_channels_since` returned), as they would have arrived, oldest first. Returns all of them or one batch;
    /// `from` is the cursor of the previous batch.
    async fn list_missed_messages(
        &self,
        workspace: &str,
        channel: &str,
        threads: &[String],
        since: Timestamp,
        from: Option<&str>,
    ) -> Result<MissedMessages, ChatError>;
}

/// A channel or DM channel in the list of those whose messages Nod receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedChannel {
    /// The platform's id.
    pub channel: String,
    /// It is a DM channel.
    pub is_dm: bool,
    /// False if the list shows that nobody has posted in it or in its threads.
    pub may_have_posts: bool,
    /// Its threads that have posts, if the platform lists threads by themselves.
    pub threads: Vec<String>,
}

/// The messages that Nod missed in a channel, or one batch of them.
#[derive(Debug, Default)]
pub struct MissedMessages {
    /// As they would have arrived.
    pub messages: Vec<Inbound>,
    /// Where the next batch begins, in the adapter's own format; `None` at the end.
    pub cursor: Option<String>,
}

/// Formats commands as they are typed on a platform. It exposes nothing else of the adapter.
#[derive(Clone, Copy)]
pub struct CommandSyntax<'a>(Option<&'a dyn ChatAdapter>);

impl CommandSyntax<'_> {
    /// Formats `memory` as it is typed there.
    pub fn format_command(self, command: &str) -> String {
        self.0.map_or_else(|| command.to_owned(), |adapter| adapter.format_command(command, None))
    }

    /// Formats `connect google` as it is typed there, where `google` is a value of its option `account`.
    pub fn format_with_option(self, command: &str, option: &str, value: &str) -> String {
        self.0.map_or_else(
            || format!("{command} {value}"),
            |adapter| adapter.format_command(command, Some((option, value))),
        )
    }
}

/// The adapters of this installation, by platform.
#[derive(Clone, Default)]
pub struct Adapters(HashMap<&'static str, Arc<dyn ChatAdapter>>);

impl Adapters {
    /// Creates the map from a list.
    #[must_use]
    pub fn new(adapters: impl IntoIterator<Item = Arc<dyn ChatAdapter>>) -> Self {
        Self(adapters.into_iter().map(|adapter| (adapter.platform(), adapter)).collect())
    }

    /// Returns how commands are typed on a platform.
    pub fn command_syntax(&self, platform: &str) -> CommandSyntax<'_> {
        CommandSyntax(self.get(platform).map(AsRef::as_ref))
    }

    /// Returns the names of the platforms that are served.
    pub fn platforms(&self) -> impl Iterator<Item = &str> {
        self.0.keys().copied()
    }

    /// Returns how many seconds each platform asks for between two posts in one channel.
    #[must_use]
    pub fn post_intervals(&self) -> BTreeMap<String, f64> {
        let seconds = |adapter: &Arc<dyn ChatAdapter>| adapter.post_interval().as_seconds_f64();
        self.0.iter().map(|(platform, adapter)| ((*platform).to_owned(), seconds(adapter))).collect()
    }

    /// Returns the adapter of a platform.
    #[must_use]
    pub fn get(&self, platform: &str) -> Option<&Arc<dyn ChatAdapter>> {
        self.0.get(platform)
    }
}
