//! The chat adapter of the terminal, in which the row is the message.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use nod_contract::card::Card;
use nod_contract::chat::{
    AssistantThreadUpdate, ChannelMembers, ChannelRef, ChatAdapter, ChatError, DeliveryTarget, DownloadError,
    HistoryMessage, HistoryRange, ListedChannel, Membership, MessageLookup, MissedMessages, OutgoingFile,
    PostedMessage, Profile, Shown,
};
use nod_contract::clock::{Clock, Timestamp};
use nod_contract::ids::DeliveryId;
use tokio::sync::Notify;

use super::PLATFORM;

/// More than a person reads at once.
const MAX_MESSAGE_CHARS: usize = 60_000;
/// A request longer than about two screens is shown on demand.
const REQUEST_CHARS: usize = 9_000;
/// How often an unfinished answer is shown: never, because its row is written when it is finished.
const NEVER_STREAM: Duration = Duration::from_secs(3600);

/// The adapter; it exists in every replica, so that each can post to a user at a terminal.
pub struct TerminalAdapter {
    clock: Arc<dyn Clock>,
    /// Notified when rows changed.
    changed: Arc<Notify>,
    /// Where files are written; only the replica at the terminal has it.
    folder: Option<PathBuf>,
}

impl TerminalAdapter {
    /// Creates the adapter of a replica without a terminal.
    #[must_use]
    pub fn elsewhere(clock: Arc<dyn Clock>) -> Self {
        Self { clock, changed: Arc::default(), folder: None }
    }

    /// Creates the adapter of the replica at the terminal: files are written to this folder.
    #[must_use]
    pub fn with_terminal(clock: Arc<dyn Clock>, folder: PathBuf) -> Self {
        Self { clock, changed: Arc::default(), folder: Some(folder) }
    }

    /// Returns the handle that is notified when rows may have changed.
    #[must_use]
    pub fn change_notifier(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    fn notify_screen(&self, key: DeliveryId) -> Shown {
        let at = PostedMessage { channel: PLATFORM.to_owned(), message: key.to_string() };
        let shown = Shown { at, since: Some(self.clock.now()) };
        // The row is updated a moment later; the screen reads it again by itself, and a typed line counts from the time
        // of its last read, which this one makes later than the post.
        self.changed.notify_one();
        shown
    }
}

#[async_trait]
impl ChatAdapter for TerminalAdapter {
    fn platform(&self) -> &'static str {
        PLATFORM
    }

    fn display_name(&self) -> &'static str {
        "the terminal"
    }

    fn format_command(&self, command: &str, given: Option<(&str, &str)>) -> String {
        match given {
            Some((_, value)) => format!("/{command} {value}"),
            None => format!("/{command}"),
        }
    }

    async fn post_message(
        &self,
        _target: &DeliveryTarget,
        _card: &Card,
        key: DeliveryId,
    ) -> Result<Shown, ChatError> {
        Ok(self.notify_screen(key))
    }

    fn fits_in_one_message(&self, _card: &Card) -> bool {
        true
    }

    fn max_message_chars(&self) -> usize {
        MAX_MESSAGE_CHARS
    }

    fn display_limit(&self) -> usize {
        REQUEST_CHARS
    }

    fn post_interval(&self) -> TimeDelta {
        TimeDelta::zero()
    }

    async fn update_message(
        &self,
        _at: &PostedMessage,
        _card: &Card,
        key: DeliveryId,
    ) -> Result<Option<Timestamp>, ChatError> {
        Ok(self.notify_screen(key).since)
    }

    async fn delete_message(&self, _at: &PostedMessage) -> Result<(), ChatError> {
        Ok(())
    }

    async fn update_assistant_thread(
        &self,
        _place: &ChannelRef,
        _ornament: &AssistantThreadUpdate,
    ) -> Result<(), ChatError> {
        Ok(())
    }

    async fn publish_home(&self, _workspace: &str, _user: &str, _page: &[Card]) -> Result<(), ChatError> {
        Ok(())
    }

    async fn download_attachment(&self, _address: &str, _most: usize) -> Result<Vec<u8>, DownloadError> {
        Err(DownloadError::Forbidden("I can't take files in a terminal".to_owned()))
    }

    async fn upload_file(
        &self,
        _target: &DeliveryTarget,
        file: &OutgoingFile,
        _card: &Card,
        key: DeliveryId,
    ) -> Result<Shown, ChatError> {
        let Some(folder) = &self.folder else {
            return Err(ChatError::UnknownOutcome("the terminal is with another replica".to_owned()));
        };
        let name = file.name.replace(['/', '\\'], "_");
        let written = tokio::fs::write(folder.join(name), &file.text).await;
        written
            .map(|()| self.notify_screen(key))
            .map_err(|error| ChatError::Rejected { code: error.to_string() })
    }

    fn permalink(&self, _place: &ChannelRef, _message: &str) -> Option<String> {
        None
    }

    async fn start_stream(
        &self,
        _target: &DeliveryTarget,
        _reader: &str,
        key: DeliveryId,
    ) -> Result<Shown, ChatError> {
        Ok(self.notify_screen(key))
    }

    async fn append_stream(
        &self,
        _at: &PostedMessage,
        _words: &str,
        _key: DeliveryId,
    ) -> Result<Duration, ChatError> {
        Ok(NEVER_STREAM)
    }

    async fn find_message(
        &self,
        _target: &DeliveryTarget,
        _key: DeliveryId,
        _since: Timestamp,
        _opened: bool,
    ) -> Result<MessageLookup, ChatError> {
        // Posting again changes nothing, and a file may not be written yet.
        Ok(MessageLookup::Unknown)
    }

    async fn fetch_profile(&self, _workspace: &str, user: &str) -> Result<Profile, ChatError> {
        let address = user.contains('@').then(|| user.to_owned());
        Ok(Profile {
            user: user.to_owned(),
            name: user.split('@').next().unwrap_or(user).to_owned(),
            full_name: String::new(),
            title: None,
            email: address,
            zone: jiff::tz::TimeZone::system().iana_name().map(str::to_owned),
            membership: Membership::Member,
        })
    }

    async fn list_members(
        &self,
        _workspace: &str,
        _cursor: Option<String>,
    ) -> Result<(Vec<Profile>, Option<String>), ChatError> {
        Ok((Vec::new(), None))
    }

    async fn list_messages(
        &self,
        _workspace: &str,
        _place: &ChannelRef,
        _bound: &HistoryRange,
    ) -> Result<Vec<HistoryMessage>, ChatError> {
        Ok(Vec::new())
    }

    async fn is_channel_member(
        &self,
        _workspace: &str,
        channel: &str,
        user: &str,
    ) -> Result<bool, ChatError> {
        Ok(channel == user)
    }

    async fn list_channel_members(
        &self,
        _workspace: &str,
        channel: &str,
    ) -> Result<ChannelMembers, ChatError> {
        Ok(ChannelMembers::Users(vec![channel.to_owned()]))
    }

    async fn list_channels(&self, _workspace: &str) -> Result<Vec<(String, String)>, ChatError> {
        Ok(Vec::new())
    }

    async fn list_channels_since(
        &self,
        _workspace: &str,
        _since: Timestamp,
    ) -> Result<Vec<ListedChannel>, ChatError> {
        Ok(Vec::new())
    }

    async fn list_missed_messages(
        &self,
        _workspace: &str,
        _channel: &str,
        _threads: &[String],
        _since: Timestamp,
        _from: Option<&str>,
    ) -> Result<MissedMessages, ChatError> {
        Ok(MissedMessages::default())
    }
}
