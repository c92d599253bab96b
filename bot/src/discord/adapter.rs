//! What the core calls on Discord: the [`ChatAdapter`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use nod_contract::card::Card;
use nod_contract::chat::{
    AssistantThreadUpdate, ChannelMembers, ChannelRef, ChatAdapter, ChatError, DeliveryTarget, DownloadError,
    HistoryMessage, HistoryRange, ListedChannel, MessageLookup, MissedMessages, OutgoingFile, PostedMessage,
    Profile, Shown,
};
use nod_contract::clock::Timestamp;
use nod_contract::ids::DeliveryId;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::channel_index::ChannelIndex;
use super::files::FileDownloader;
use super::guilds::Guilds;
use super::inbound::{Identity, id_time};
use super::interaction_tokens::InteractionTokens;
use super::web::ApiClient;
use super::{PLATFORM, limits, render};

/// The delay between two edits of a growing message: Discord allows five edits in five seconds.
const EDIT: Duration = Duration::from_millis(1_200);
/// The text of a growing message before its first words.
const STREAM_PLACEHOLDER: &str = "…";
/// The name of a thread whose first message cannot be read.
const DEFAULT_THREAD_NAME: &str = "Nod";
/// The longest name that is still readable in a list of threads.
const NAME: usize = 60;
/// Unknown channel; unknown message; the message already has a thread; the thread is archived and cannot be changed.
const NO_CHANNEL: &str = "10003";
const NO_MESSAGE: &str = "10008";
const HAS_THREAD: &str = "160004";
const ARCHIVED: &str = "50083";

/// One application, as the core sees it.
pub struct DiscordAdapter {
    pub(super) web: Arc<ApiClient>,
    pub(super) identity: Identity,
    pub(super) channel_index: Arc<ChannelIndex>,
    pub(super) guilds: Guilds,
    pub(super) tokens: InteractionTokens,
    files: FileDownloader,
    /// The DM channel of each user; it never changes.
    dm_channels: Mutex<HashMap<String, String>>,
}

impl DiscordAdapter {
    pub(super) fn new(
        web: Arc<ApiClient>,
        identity: Identity,
        atlas: Arc<ChannelIndex>,
        guilds: Guilds,
        files: FileDownloader,
    ) -> Self {
        Self {
            web,
            identity,
            channel_index: atlas,
            guilds,
            tokens: InteractionTokens::default(),
            files,
            dm_channels: Mutex::default(),
        }
    }

    /// Returns a user's DM channel, opening it if necessary.
    async fn open_dm(&self, user: &str) -> Result<String, ChatError> {
        let known = self.dm_channels.lock().unwrap_or_else(PoisonError::into_inner).get(user).cloned();
        if let Some(line) = known {
            return Ok(line);
        }
        let channel = self.web.post("users/@me/channels", &json!({"recipient_id": user})).await?;
        self.channel_index.note(&channel, None);
        let line = channel["id"].as_str().ok_or_else(strange)?.to_owned();
        self.dm_channels.lock().unwrap_or_else(PoisonError::into_inner).insert(user.to_owned(), line.clone());
        Ok(line)
    }

    /// Returns the channel in which a message to this target is posted.
    async fn target_channel(&self, target: &DeliveryTarget) -> Result<String, ChatError> {
        match target {
            DeliveryTarget::Channel { place, .. } => {
                Ok(place.thread.as_ref().unwrap_or(&place.channel).clone())
            }
            DeliveryTarget::DirectMessage { user, .. } | DeliveryTarget::Ephemeral { user, .. } => {
                self.open_dm(user).await
            }
        }
    }

    /// Returns the channel in which a message to this target is posted. If the thread is not known, it is opened first,
    /// on the message that it is named after.
    async fn open_target_channel(&self, target: &DeliveryTarget) -> Result<String, ChatError> {
        if let DeliveryTarget::Channel { place: ChannelRef { channel, thread: Some(thread), .. }, .. } =
            target
            && self.channel_index.find(thread).is_none()
        {
            self.open_thread(channel, thread).await?;
        }
        self.target_channel(target).await
    }

    async fn send(&self, target: &DeliveryTarget, body: &Value) -> Result<Shown, ChatError> {
        let channel = self.open_target_channel(target).await?;
        let answer = self.web.post(&format!("channels/{channel}/messages"), body).await?;
        parse_posted(&channel, &answer)
    }

    async fn open_thread(&self, parent: &str, message: &str) -> Result<(), ChatError> {
        let first = match self.web.get(&format!("channels/{parent}/messages/{message}"), &[]).await {
            // The thread started without a message, or its message was deleted: it exists already or never will.
            Err(ChatError::ChannelClosed { .. } | ChatError::Rejected { .. }) => return Ok(()),
            first => first?,
        };
        let name = self.thread_name(&first);
        let path = format!("channels/{parent}/messages/{message}/threads");
        match self.web.post(&path, &json!({"name": name})).await {
            Ok(thread) => {
                self.channel_index.note(&thread, None);
                Ok(())
            }
            Err(ChatError::Rejected { code }) if code == HAS_THREAD => {
                let thread = json!({"id": message, "type": 11, "parent_id": parent});
                let guild = self.channel_index.find(parent).and_then(|channel| channel.guild);
                self.channel_index.note(&thread, guild.as_deref());
                Ok(())
            }
            // Whether it exists or Nod is not allowed to open it shows when the message is posted there.
            Err(ChatError::ChannelClosed { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Unarchives a thread, as a new message in it would. A locked one stays closed to us.
    async fn unarchive_thread(&self, thread: &str) -> Result<(), ChatError> {
        match self.web.patch(&format!("channels/{thread}"), &json!({"archived": false})).await {
            Err(ChatError::ChannelClosed { .. } | ChatError::Rejected { .. }) => {
                Err(ChatError::ChannelClosed { code: ARCHIVED.to_owned() })
            }
            answer => answer.map(|_| ()),
        }
    }

    /// Names a thread after the message that started it.
    fn thread_name(&self, first: &Value) -> String {
        let words = super::incoming_text::parse_message(first, &self.identity.user).text;
        let plain: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let plain = plain.replace("**", "").replace("```", "").replace('#', "");
        let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        let name: String = line.chars().take(NAME).collect();
        if name.is_empty() { DEFAULT_THREAD_NAME.to_owned() } else { name }
    }

    async fn find_posted(
        &self,
        channel: &str,
        key: DeliveryId,
        since: Timestamp,
    ) -> Result<MessageLookup, ChatError> {
        for message in self.list_after(channel, since).await? {
            let by_us = message["author"]["id"] == *self.identity.user;
            if by_us && render::has_delivery_tags(&message, key) {
                return parse_posted(channel, &message).map(MessageLookup::Found);
            }
        }
        Ok(MessageLookup::NotFound)
    }
}

#[async_trait]
impl ChatAdapter for DiscordAdapter {
    fn platform(&self) -> &'static str {
        PLATFORM
    }

    fn display_name(&self) -> &'static str {
        "Discord"
    }

    fn format_command(&self, command: &str, given: Option<(&str, &str)>) -> String {
        match given {
            Some((option, value)) => format!("/{command} {option}:{value}"),
            None => format!("/{command}"),
        }
    }

    async fn post_message(
        &self,
        target: &DeliveryTarget,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Shown, ChatError> {
        shown_whole(card)?;
        if let DeliveryTarget::Ephemeral { user, place, .. } = target
            && let Some(token) = self.tokens.find(user, place)
        {
            let path = format!("webhooks/{}/{token}", self.identity.application);
            match self.web.respond_to_interaction(&path, &render::ephemeral(card)).await {
                // Its interaction was never answered, or is too old: post to the person's DM.
                Err(ChatError::Rejected { .. } | ChatError::ChannelClosed { .. }) => {}
                answer => return parse_posted(&place.channel, &answer?),
            }
        }
        self.send(target, &with_nonce(render::message(card, Some(key)), key)).await
    }

    fn fits_in_one_message(&self, card: &Card) -> bool {
        render::fits_in_one_message(card)
    }

    fn max_message_chars(&self) -> usize {
        limits::TEXT
    }

    fn display_limit(&self) -> usize {
        limits::REQUEST_TEXT
    }

    fn post_interval(&self) -> TimeDelta {
        // Discord reports in its headers when a channel's limit is reached.
        TimeDelta::zero()
    }

    async fn update_message(
        &self,
        at: &PostedMessage,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Option<Timestamp>, ChatError> {
        shown_whole(card)?;
        let (path, body) = (message_path(at), render::message(card, Some(key)));
        let answer = match self.web.patch(&path, &body).await {
            Err(ChatError::ChannelClosed { code }) if code == ARCHIVED => {
                self.unarchive_thread(&at.channel).await?;
                self.web.patch(&path, &body).await
            }
            answer => answer,
        };
        match answer {
            Err(ChatError::ChannelClosed { code }) if code == NO_MESSAGE => Err(ChatError::Gone),
            answer => Ok(edited(&answer?)),
        }
    }

    async fn delete_message(&self, at: &PostedMessage) -> Result<(), ChatError> {
        let path = message_path(at);
        let answer = match self.web.delete(&path).await {
            Err(ChatError::ChannelClosed { code }) if code == ARCHIVED => {
                self.unarchive_thread(&at.channel).await?;
                self.web.delete(&path).await
            }
            answer => answer,
        };
        match answer {
            Err(ChatError::ChannelClosed { code }) if code == NO_MESSAGE => Ok(()),
            answer => answer.map(|_| ()),
        }
    }

    async fn update_assistant_thread(
        &self,
        place: &ChannelRef,
        ornament: &AssistantThreadUpdate,
    ) -> Result<(), ChatError> {
        // "Nod is typing…" is all that Discord shows outside messages.
        let AssistantThreadUpdate::Status(_) = ornament else { return Ok(()) };
        let channel = place.thread.as_ref().filter(|thread| self.channel_index.find(thread).is_some());
        let channel = channel.unwrap_or(&place.channel);
        self.web.post_empty(&format!("channels/{channel}/typing")).await.map(|_| ())
    }

    async fn publish_home(&self, _workspace: &str, _user: &str, _page: &[Card]) -> Result<(), ChatError> {
        // Discord has no home page.
        Ok(())
    }

    async fn download_attachment(&self, address: &str, most: usize) -> Result<Vec<u8>, DownloadError> {
        self.files.fetch(address, most).await
    }

    async fn upload_file(
        &self,
        target: &DeliveryTarget,
        file: &OutgoingFile,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Shown, ChatError> {
        let channel = self.open_target_channel(target).await?;
        let name = file.title(key);
        let body = with_nonce(render::message_with_file(card, &name, key), key);
        let path = format!("channels/{channel}/messages");
        let answer = self.web.upload(&path, &body, &name, &file.text).await?;
        parse_posted(&channel, &answer)
    }

    fn permalink(&self, place: &ChannelRef, message: &str) -> Option<String> {
        let guild = match self.channel_index.find(&place.channel) {
            Some(channel) if channel.direct => "@me".to_owned(),
            Some(channel) => channel.guild?,
            None => return None,
        };
        let channel = place.thread.as_deref().filter(|thread| *thread != message).unwrap_or(&place.channel);
        Some(format!("https://discord.com/channels/{guild}/{channel}/{message}"))
    }

    async fn start_stream(
        &self,
        target: &DeliveryTarget,
        _reader: &str,
        key: DeliveryId,
    ) -> Result<Shown, ChatError> {
        if matches!(target, DeliveryTarget::Ephemeral { .. }) {
            return Err(ChatError::Rejected { code: "whispers_do_not_grow".to_owned() });
        }
        self.send(
            target,
            &with_nonce(render::message(&Card::from_markdown(STREAM_PLACEHOLDER), Some(key)), key),
        )
        .await
    }

    async fn append_stream(
        &self,
        at: &PostedMessage,
        words: &str,
        key: DeliveryId,
    ) -> Result<Duration, ChatError> {
        self.update_message(at, &Card::from_markdown(words), key).await.map(|_| EDIT)
    }

    async fn find_message(
        &self,
        target: &DeliveryTarget,
        key: DeliveryId,
        since: Timestamp,
        _opened: bool,
    ) -> Result<MessageLookup, ChatError> {
        if matches!(target, DeliveryTarget::Ephemeral { .. }) {
            return Ok(MessageLookup::Unknown);
        }
        let looked = match self.target_channel(target).await {
            Ok(channel) => self.find_posted(&channel, key, since).await,
            Err(error) => Err(error),
        };
        match looked {
            // A thread that was never opened has no messages.
            Err(ChatError::ChannelClosed { code }) if code == NO_CHANNEL => Ok(MessageLookup::NotFound),
            Err(ChatError::Rejected { .. } | ChatError::ChannelClosed { .. }) => Ok(MessageLookup::Unknown),
            looked => looked,
        }
    }

    async fn fetch_profile(&self, _workspace: &str, user: &str) -> Result<Profile, ChatError> {
        self.guilds.fetch_profile(user).await
    }

    async fn list_members(
        &self,
        _workspace: &str,
        cursor: Option<String>,
    ) -> Result<(Vec<Profile>, Option<String>), ChatError> {
        self.guilds.list_members(cursor).await
    }

    async fn list_messages(
        &self,
        _workspace: &str,
        place: &ChannelRef,
        bound: &HistoryRange,
    ) -> Result<Vec<HistoryMessage>, ChatError> {
        self.fetch_history(place, bound).await
    }

    async fn is_channel_member(
        &self,
        _workspace: &str,
        channel: &str,
        user: &str,
    ) -> Result<bool, ChatError> {
        self.can_read(channel, user).await
    }

    async fn list_channel_members(
        &self,
        _workspace: &str,
        channel: &str,
    ) -> Result<ChannelMembers, ChatError> {
        self.fetch_readers(channel).await
    }

    async fn list_channels(&self, _workspace: &str) -> Result<Vec<(String, String)>, ChatError> {
        self.list_own_channels().await
    }

    async fn list_channels_since(
        &self,
        _workspace: &str,
        since: Timestamp,
    ) -> Result<Vec<ListedChannel>, ChatError> {
        self.list_channels_with_posts(since).await
    }

    async fn list_missed_messages(
        &self,
        _workspace: &str,
        channel: &str,
        threads: &[String],
        since: Timestamp,
        from: Option<&str>,
    ) -> Result<MissedMessages, ChatError> {
        self.fetch_missed(channel, threads, since, from).await
    }
}

/// Adds Discord's nonce: for some minutes Discord creates no second message with the same nonce. A card that is posted
/// again because its message is gone has changed since, so its nonce differs.
fn with_nonce(mut body: Value, key: DeliveryId) -> Value {
    let digest = Sha256::new().chain_update(key.0).chain_update(body.to_string()).finalize();
    body["nonce"] = URL_SAFE_NO_PAD.encode(&digest[..16]).into();
    body["enforce_nonce"] = true.into();
    body
}

/// Rejects an approval card that cannot be shown in full.
fn shown_whole(card: &Card) -> Result<(), ChatError> {
    if card.is_approval_request() && !render::fits_in_one_message(card) {
        return Err(ChatError::Rejected { code: "too_long".to_owned() });
    }
    Ok(())
}

fn message_path(at: &PostedMessage) -> String {
    format!("channels/{}/messages/{}", at.channel, at.message)
}

fn parse_posted(channel: &str, message: &Value) -> Result<Shown, ChatError> {
    let id = message["id"].as_str().ok_or_else(strange)?;
    let channel = message["channel_id"].as_str().unwrap_or(channel);
    let since = if message["edited_timestamp"].is_null() { id_time(id) } else { edited(message) };
    Ok(Shown { at: PostedMessage { channel: channel.to_owned(), message: id.to_owned() }, since })
}

/// Returns when a message was last edited.
fn edited(message: &Value) -> Option<Timestamp> {
    let at = chrono::DateTime::parse_from_rfc3339(message["edited_timestamp"].as_str()?).ok()?;
    Some(at.into())
}

/// The call succeeded, but the answer lacks a value that we need.
pub(super) fn strange() -> ChatError {
    ChatError::UnknownOutcome("an answer without what it should hold".into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn since_when_a_message_reads_as_it_does_is_discords_to_say() {
        let since = |edited: Value| {
            let message = json!({"id": "1479058020868423680", "edited_timestamp": edited});
            parse_posted("1", &message).unwrap().since
        };
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        assert_eq!(since(Value::Null), id_time("1479058020868423680"));
        let edited = "2026-03-06T09:30:05.000200+00:00";
        assert_eq!(since(edited.into()), at("2026-03-06T09:30:05.000200Z"));
        assert_eq!(since("soon".into()), None);
    }
}
