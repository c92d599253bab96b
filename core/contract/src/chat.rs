//! The contract with a chat platform: what comes in ([`Inbound`]), the answer in the same breath
//! ([`InteractionResponse`]), and what an adapter does for the core ([`ChatAdapter`]). The core never names a platform.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::card::{Action, Card, FieldError, Form};
use crate::clock::Timestamp;
use crate::ids::DeliveryId;

/// Something that arrived: a sentence, a command, a press. They all take the same door.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inbound {
    /// Which adapter brought it.
    pub platform: String,
    /// The platform's workspace: a user is the same human anywhere in it.
    pub workspace: String,
    /// The same for every delivery of the same thing: a message's own identity, not its event's.
    pub dedup_key: String,
    /// Who did it, by the platform's id.
    pub author: Author,
    /// When the platform says it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The platform's id.
    pub user: String,
    /// As far as the event itself tells.
    pub membership: Membership,
}

/// Whether the organisation counts somebody as its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Membership {
    /// The event does not tell; the profile will.
    Unknown,
    /// A full member.
    Member,
    /// A guest of the workspace.
    Guest,
    /// Of another organisation (Slack Connect).
    External,
    /// A bot, an app or a workflow.
    Bot,
    /// Deactivated.
    #[serde(alias = "gone")]
    Deactivated,
}

impl Membership {
    /// The name in rows.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Member => "member",
            Self::Guest => "guest",
            Self::External => "external",
            Self::Bot => "bot",
            Self::Deactivated => "gone",
        }
    }

    /// From the name in rows; anything else is unknown.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        [Self::Member, Self::Guest, Self::External, Self::Bot, Self::Deactivated]
            .into_iter()
            .find(|s| s.as_str() == name)
            .unwrap_or(Self::Unknown)
    }

    /// Whether this lets somebody do more than that may.
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
        /// Where.
        place: ChannelRef,
        /// The platform's id of the message.
        message: String,
        /// The words, without the mention of Nod.
        text: String,
        /// How it concerns Nod.
        addressing: Addressing,
        /// What came with it.
        #[serde(default)]
        attachments: Vec<Attachment>,
        /// The platform's id of the one message that it replies to; most platforms have threads instead.
        #[serde(default)]
        answers: Option<String>,
    },
    /// The words of a message were changed.
    MessageEdited {
        /// Where it stands.
        place: ChannelRef,
        /// The platform's id of the message.
        message: String,
        /// The new words, without the mention of Nod.
        text: String,
    },
    /// A message was deleted.
    MessageDeleted {
        /// Where it stood.
        place: ChannelRef,
        /// The platform's id of the message.
        message: String,
    },
    /// A command (`/nod ask …`): its first word and the rest.
    Command {
        /// Where; on some platforms in threads, too.
        place: ChannelRef,
        /// `help`, `ask`, `connect`, `approvals`; empty for a bare command.
        name: String,
        /// What follows.
        text: String,
    },
    /// Somebody types what a command is about, and may choose among what is stored. Nothing is kept of it.
    Autocomplete {
        /// Where.
        place: ChannelRef,
        /// The command's name.
        command: String,
        /// What they have typed so far.
        typed: String,
    },
    /// Somebody opened the page that is theirs alone.
    HomeOpened,
    /// The assistant's pane: it was opened, or the person looks at another channel meanwhile.
    AssistantThreadOpened {
        /// The pane's own thread.
        place: ChannelRef,
        /// The platform's id of the channel that the person looks at.
        viewing: Option<String>,
    },
    /// One of our entries in the menu of a message; the person saw that message.
    MessageAction {
        /// Where the message stands.
        place: ChannelRef,
        /// Which entry.
        wish: MessageActionKind,
        /// Whose message it is, by the platform's id, where it tells.
        author: Option<String>,
        /// Its words.
        text: String,
    },
    /// A button.
    ButtonClicked {
        /// Where the card stands; on a person's own page no channel at all, so its id is empty.
        place: ChannelRef,
        /// What the button carries; `None` where it is not one of ours.
        verb: Option<Action>,
    },
    /// A form, filled in.
    FormSubmitted {
        /// Where it was opened; `None` where the form does not say.
        place: Option<ChannelRef>,
        /// What the form carries; `None` where it is not one of ours.
        verb: Option<Action>,
        /// What stands in its fields, by their ids.
        values: BTreeMap<String, String>,
    },
}

/// A channel or a thread in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChannelRef {
    /// The platform's channel id.
    pub channel: String,
    /// Between one person and Nod alone.
    #[serde(alias = "direct")]
    pub is_dm: bool,
    /// The platform's thread id; `None` at the top of a channel.
    pub thread: Option<String>,
}

/// What somebody wants of a message that they picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageActionKind {
    /// To know what it is about.
    Explain,
    /// A reply to it.
    Draft,
}

/// How a message concerns Nod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addressing {
    /// It names Nod.
    Mention,
    /// It stands in a direct line to Nod.
    DirectMessage,
    /// Neither: it counts only in a thread that Nod follows.
    Unaddressed,
}

/// The answer that the platform wants in the same breath.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InteractionResponse {
    /// Nothing to say now; what there is to say is a row already.
    Ack,
    /// A short note that only the author sees; in answer to a form it stands in the form, and what was typed
    /// stays.
    Ephemeral(Card),
    /// A form to fill in, or to read.
    Form(Box<Form>),
    /// What is wrong with what was filled in; the form stays open with all that was typed.
    FormErrors(Vec<FieldError>),
    /// What could be meant: what the person reads, and what the command is then about.
    Autocomplete(Vec<(String, String)>),
}

impl InteractionResponse {
    /// A note in these words.
    pub fn ephemeral(words: impl Into<String>) -> Self {
        Self::Ephemeral(Card::from_markdown(words))
    }
}

/// Where a message goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum DeliveryTarget {
    /// Everybody in a channel or thread.
    #[serde(alias = "place")]
    Channel { workspace: String, place: ChannelRef },
    /// One person, in their direct line.
    #[serde(alias = "direct")]
    DirectMessage { workspace: String, user: String },
    /// One person, in a channel, gone on reload. For short notes only: it cannot be found or replaced.
    #[serde(alias = "whisper")]
    Ephemeral { workspace: String, place: ChannelRef, user: String },
}

impl DeliveryTarget {
    /// The platform's workspace.
    #[must_use]
    pub fn workspace(&self) -> &str {
        match self {
            Self::Channel { workspace, .. }
            | Self::DirectMessage { workspace, .. }
            | Self::Ephemeral { workspace, .. } => workspace,
        }
    }
}

/// Where a message stands on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostedMessage {
    /// The platform's channel id (of the direct line, where it went there; of the thread, where threads are
    /// channels).
    pub channel: String,
    /// The platform's message id.
    pub message: String,
}

impl PostedMessage {
    /// Whether that is this place.
    #[must_use]
    pub fn is_in_channel(&self, place: &ChannelRef) -> bool {
        self.channel == place.channel || place.thread.as_ref() == Some(&self.channel)
    }
}

/// A message on the platform, and since when it reads as it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Where it stands.
    pub at: PostedMessage,
    /// By the platform's clock, never too early; `None` where the platform does not tell.
    pub since: Option<Timestamp>,
}

/// A file to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingFile {
    /// With its ending. Holds the tail of its delivery's id ([`DeliveryId::short`]), by which it is found again.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

/// Whether a message is already there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageLookup {
    /// Here.
    Found(Shown),
    /// Surely not.
    NotFound,
    /// The platform does not let us look.
    Unknown,
}

/// What the platform tells of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The platform's id.
    pub user: String,
    /// As shown in chat.
    pub name: String,
    /// In full.
    pub full_name: String,
    /// "Sales", where the platform tells it.
    pub title: Option<String>,
    /// Their address, where the platform tells it.
    #[serde(alias = "address")]
    pub email: Option<String>,
    /// IANA zone name, where the platform tells it.
    pub zone: Option<String>,
    /// Whether they belong.
    #[serde(alias = "standing")]
    pub membership: Membership,
}

/// What stands beside messages. It may be missing or late, and nothing depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssistantThreadUpdate {
    /// What Nod is doing now, in neutral words ("is searching your mail…"); ends with the next message.
    Status(String),
    /// What the conversation is called.
    Title(String),
    /// What could be asked: what the person reads, and what is then said in their name.
    SuggestedPrompts(Vec<(String, String)>),
}

/// Why a file was not fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DownloadError {
    /// More bytes than were asked for.
    #[error("too large")]
    TooLarge,
    /// The platform does not give it to us, or it does not lie with the platform.
    #[error("refused: {0}")]
    Forbidden(String),
    /// No answer, or it broke off: time may mend it.
    #[error("no answer: {0}")]
    NoResponse(String),
}

/// A file that came with a message, as the platform tells of it; none of this can be relied on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// Its media type.
    #[serde(alias = "kind")]
    pub media_type: String,
    /// Its bytes.
    pub size: i64,
    /// Where the platform gives it to us; `None` where it does not.
    #[serde(alias = "address")]
    pub url: Option<String>,
}

/// Why the platform did not do it, sorted by what follows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// It asks to wait; nothing was done.
    #[error("asked to wait {retry_after_secs} s")]
    RateLimited { retry_after_secs: u64 },
    /// No answer: it may or may not have been done, so look before doing it again.
    #[error("no answer: {0}")]
    UnknownOutcome(String),
    /// The place takes nothing from us (channel gone, no member, direct messages closed): `code` is the
    /// platform's.
    #[error("closed: {code}")]
    ChannelClosed { code: String },
    /// The message that was to be changed is not there any more.
    #[error("gone")]
    Gone,
    /// It will never take this message, wherever it goes.
    #[error("refused: {code}")]
    Rejected { code: String },
}

/// Something that was said in a place, as the platform remembers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryMessage {
    /// The platform's id of whoever said it; `None` where it was no user.
    pub user: Option<String>,
    /// What a bot or workflow calls itself.
    pub name: Option<String>,
    /// Nod itself said it.
    pub is_from_bot: bool,
    /// When.
    pub at: Timestamp,
    /// The words, with mentions as `<@U1>`.
    pub text: String,
}

/// How much of what was said is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRange {
    /// Nothing said earlier.
    pub since: Option<Timestamp>,
    /// Nothing said at or after the message of this platform's id.
    pub before: Option<String>,
    /// The newest so many.
    pub limit: usize,
}

/// What an adapter does for the core; nothing optional.
#[async_trait]
pub trait ChatAdapter: Send + Sync {
    /// The platform's name in rows.
    fn platform(&self) -> &'static str;
    /// What people call it, behind "in".
    fn display_name(&self) -> &'static str;
    /// How a command is typed there, with an option and its value.
    fn format_command(&self, command: &str, given: Option<(&str, &str)>) -> String;
    /// Posts a card under a key by which it can be found again.
    async fn post_message(
        &self,
        target: &DeliveryTarget,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Shown, ChatError>;
    /// Whether one message shows the card whole.
    fn fits_in_one_message(&self, card: &Card) -> bool;
    /// No message holds more characters than this; it may hold fewer.
    fn most(&self) -> usize;
    /// How much of a request its card shows beside its frame, the risks, the buttons and the receipt: its fields and
    /// its body together, counted as `approval::whole` does.
    fn display_limit(&self) -> usize;
    /// How long the platform wants between two posts in one place.
    fn post_interval(&self) -> TimeDelta;
    /// Puts another card in the place of a posted one; gives since when it stands there, as [`Shown::since`].
    async fn update_message(
        &self,
        at: &PostedMessage,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Option<Timestamp>, ChatError>;
    /// Takes a posted card away; one that is gone already is no error.
    async fn delete_message(&self, at: &PostedMessage) -> Result<(), ChatError>;
    /// Shows what stands beside the messages of a place. A platform that has no room for it does nothing.
    async fn update_assistant_thread(
        &self,
        place: &ChannelRef,
        ornament: &AssistantThreadUpdate,
    ) -> Result<(), ChatError>;
    /// Shows a person the page that is theirs alone, the parts one below the other.
    async fn publish_home(&self, workspace: &str, user: &str, page: &[Card]) -> Result<(), ChatError>;
    /// Reads a file that came with a message; at most so many bytes, else it is [`FetchError::TooLarge`].
    async fn download_attachment(&self, address: &str, most: usize) -> Result<Vec<u8>, DownloadError>;
    /// Sends a file, with a card's words beside it. [`ChatAdapter::find`] finds it by the key's tail in its name.
    async fn upload_file(
        &self,
        target: &DeliveryTarget,
        file: &OutgoingFile,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Shown, ChatError>;
    /// Where a message can be opened, for whom may see it; none where the platform has no such addresses.
    fn permalink(&self, place: &ChannelRef, message: &str) -> Option<String>;
    /// Opens a message whose words are still to come, for the person whom it answers. It ends with
    /// [`Self::update_message`], which says what stands there for good.
    async fn start_stream(
        &self,
        target: &DeliveryTarget,
        reader: &str,
        key: DeliveryId,
    ) -> Result<Shown, ChatError>;
    /// Shows the words so far in an open message: Markdown, whole words only, mostly more of what was shown
    /// before. Gives how long to wait before the next time. What is lost here is made good by
    /// [`Self::update_message`].
    async fn append_stream(
        &self,
        at: &PostedMessage,
        words: &str,
        key: DeliveryId,
    ) -> Result<Duration, ChatError>;
    /// Looks for a card under its key among what was posted since then. One that was `opened` may stand there
    /// with no key yet.
    async fn find_message(
        &self,
        target: &DeliveryTarget,
        key: DeliveryId,
        since: Timestamp,
        opened: bool,
    ) -> Result<MessageLookup, ChatError>;
    /// Who that is.
    async fn fetch_profile(&self, workspace: &str, user: &str) -> Result<Profile, ChatError>;
    /// A page of everybody in the workspace, and the cursor of the next.
    async fn list_members(
        &self,
        workspace: &str,
        cursor: Option<String>,
    ) -> Result<(Vec<Profile>, Option<String>), ChatError>;
    /// What was said in a channel (without its threads) or in a thread, oldest first.
    async fn list_messages(
        &self,
        workspace: &str,
        place: &ChannelRef,
        bound: &HistoryRange,
    ) -> Result<Vec<HistoryMessage>, ChatError>;
    /// Whether somebody is in a channel, and so may read it.
    async fn is_channel_member(&self, workspace: &str, channel: &str, user: &str) -> Result<bool, ChatError>;
    /// The channels and direct lines in which Nod hears what is said, each by its id and its name.
    async fn list_channels(&self, workspace: &str) -> Result<Vec<(String, String)>, ChatError>;
    /// What was said since then in a channel and in its threads, these among them, as it would have arrived;
    /// oldest first. All of it, or so much as is read at a time, `from` where the last time ended.
    async fn list_missed_messages(
        &self,
        workspace: &str,
        channel: &str,
        threads: &[String],
        since: Timestamp,
        from: Option<&str>,
    ) -> Result<MissedMessages, ChatError>;
}

/// What was said in a channel while nothing of it arrived, or the next piece of it.
#[derive(Debug, Default)]
pub struct MissedMessages {
    /// As it would have arrived.
    pub messages: Vec<Inbound>,
    /// Where it goes on, in the adapter's words; `None` at its end.
    pub cursor: Option<String>,
}

/// How commands are typed on a platform; it lends nothing else of its adapter.
#[derive(Clone, Copy)]
pub struct CommandSyntax<'a>(Option<&'a dyn ChatAdapter>);

impl CommandSyntax<'_> {
    /// `memory` as one types it there.
    pub fn format_command(self, command: &str) -> String {
        self.0.map_or_else(|| command.to_owned(), |adapter| adapter.format_command(command, None))
    }

    /// `connect google` as one types it there, where `google` is one of what its option `account` takes.
    pub fn with(self, command: &str, option: &str, value: &str) -> String {
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
    /// From a list.
    #[must_use]
    pub fn new(adapters: impl IntoIterator<Item = Arc<dyn ChatAdapter>>) -> Self {
        Self(adapters.into_iter().map(|adapter| (adapter.platform(), adapter)).collect())
    }

    /// How commands are typed on a platform.
    pub fn command_syntax(&self, platform: &str) -> CommandSyntax<'_> {
        CommandSyntax(self.get(platform).map(AsRef::as_ref))
    }

    /// The platforms that are served.
    pub fn platforms(&self) -> impl Iterator<Item = &str> {
        self.0.keys().copied()
    }

    /// The adapter of a platform.
    #[must_use]
    pub fn get(&self, platform: &str) -> Option<&Arc<dyn ChatAdapter>> {
        self.0.get(platform)
    }
}
