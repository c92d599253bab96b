//! What the core calls on Slack: posting, updating and finding messages, and loading profiles.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use nod_contract::card::{Card, Form};
use nod_contract::chat::{
    AssistantThreadUpdate, ChannelMembers, ChannelRef, ChatAdapter, ChatError, DeliveryTarget, DownloadError,
    HistoryMessage, HistoryRange, ListedChannel, MessageLookup, MissedMessages, OutgoingFile, PostedMessage,
    Profile, Shown,
};
use nod_contract::clock::Timestamp;
use nod_contract::ids::DeliveryId;
use serde_json::{Value, json};
use url::Url;

use super::files::FileDownloader;
use super::inbound::{Identity, instant};
use super::scopes::{
    COMPLETE_UPLOAD, CONVERSATION_HISTORY, DELETE, OPEN, OPEN_VIEW, POST, POST_EPHEMERAL, PUBLISH, REPLIES,
    SET_SUGGESTED_PROMPTS, STATUS, TITLE, UPLOAD, USER, USERS,
};
use super::stream::{Streams, is_untagged};
use super::text::truncate_label;
use super::web::WebApiClient;
use super::{PLATFORM, form, home, limits, profile, render};

/// The metadata type by which our own messages are found again.
const METADATA: &str = "nod_delivery";
/// Slack's error for a message that does not exist.
pub(super) const NO_MESSAGE: &str = "message_not_found";
/// The assumed difference between our clock and Slack's when a message is searched, in seconds.
const SKEW: i64 = 120;
/// The page size, and the number of pages, when a message is searched.
const PAGE: &str = "200";
const PAGES: usize = 5;

/// The adapter of one workspace.
pub struct SlackAdapter {
    pub(super) web: WebApiClient,
    files: FileDownloader,
    pub(super) identity: Identity,
    pub(super) streams: Streams,
    /// The workspace's URL, the base of its permalinks.
    home: Option<Url>,
    /// The DM channel of each user; it never changes.
    dm_channels: Mutex<HashMap<String, String>>,
}

impl SlackAdapter {
    pub(super) fn new(
        web: WebApiClient,
        files: FileDownloader,
        identity: Identity,
        home: Option<Url>,
    ) -> Self {
        Self { web, files, identity, streams: Streams::default(), home, dm_channels: Mutex::default() }
    }

    pub(super) fn web(&self) -> &WebApiClient {
        &self.web
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Posts an ephemeral message to one user, in the place where they are.
    ///
    /// # Errors
    /// As the platform answers.
    pub async fn post_ephemeral(
        &self,
        place: &ChannelRef,
        user: &str,
        card: &Card,
    ) -> Result<Shown, ChatError> {
        // A click on the home page is in no channel.
        let channel =
            if place.channel.is_empty() { self.open_dm(user).await? } else { place.channel.clone() };
        let mut body = json!({"channel": channel, "user": user});
        if let Some(thread) = &place.thread {
            body["thread_ts"] = thread.as_str().into();
        }
        let answer = self.call_with_card(&POST_EPHEMERAL, body, card).await?;
        parse_posted(Some(&channel), &answer["message_ts"], &Value::Null)
    }

    /// Opens a form in response to a click or a command.
    ///
    /// # Errors
    /// As the platform answers; a trigger that has expired or was used is rejected.
    pub(super) async fn open(&self, trigger: &str, form: &Form, place: &ChannelRef) -> Result<(), ChatError> {
        let body = json!({"trigger_id": trigger, "view": form::view(form, place)});
        self.web.call(&OPEN_VIEW, &body).await.map(|_| ())
    }

    pub(super) async fn post_card(
        &self,
        channel: &str,
        thread: Option<&str>,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Shown, ChatError> {
        let mut body = json!({
            "channel": channel, "unfurl_links": false, "unfurl_media": false, "metadata": metadata(key),
        });
        if let Some(thread) = thread {
            body["thread_ts"] = thread.into();
        }
        let answer = self.call_with_card(&POST, body, card).await?;
        parse_posted(answer["channel"].as_str(), &answer["ts"], &Value::Null)
    }

    /// Sends a card; retries with a shorter one if Slack finds it too long, because its measure is not documented.
    pub(super) async fn call_with_card(
        &self,
        method: &super::scopes::Method,
        mut body: Value,
        card: &Card,
    ) -> Result<Value, ChatError> {
        body["text"] = render::fallback(card).into();
        body["blocks"] = render::blocks(card).into();
        match self.web.call(method, &body).await {
            // An approval card is shown in full or not at all.
            Err(ChatError::Rejected { code })
                if code == "msg_blocks_too_long" && !card.is_approval_request() =>
            {
                body["blocks"] = render::blocks_within(card, limits::BLOCKS_JSON / 2).into();
                self.web.call(method, &body).await
            }
            answer => answer,
        }
    }

    /// Returns a user's DM channel, opening it if necessary.
    async fn open_dm(&self, user: &str) -> Result<String, ChatError> {
        let known = self.dm_channels.lock().unwrap_or_else(PoisonError::into_inner).get(user).cloned();
        if let Some(line) = known {
            return Ok(line);
        }
        let answer = self.web.call(&OPEN, &json!({"users": user})).await?;
        let line = answer["channel"]["id"].as_str().ok_or_else(strange)?.to_owned();
        self.dm_channels.lock().unwrap_or_else(PoisonError::into_inner).insert(user.to_owned(), line.clone());
        Ok(line)
    }

    async fn find_posted(
        &self,
        channel: &str,
        thread: Option<&str>,
        key: DeliveryId,
        since: Timestamp,
        opened: bool,
    ) -> Result<MessageLookup, ChatError> {
        let oldest = format!("{}.000000", since.timestamp() - SKEW);
        let mut cursor = String::new();
        for _ in 0..PAGES {
            let page = self.fetch_page(channel, thread, &oldest, &cursor).await?;
            let messages = page["messages"].as_array().ok_or_else(strange)?;
            let perhaps = |message: &&Value| {
                opened && self.is_from_bot(message) && is_untagged(message) && message["files"].is_null()
            };
            let found = messages.iter().find(|message| self.is_ours(message, key));
            if let Some(found) = found.or_else(|| messages.iter().find(perhaps)) {
                return parse_posted(Some(channel), &found["ts"], found).map(MessageLookup::Found);
            }
            cursor = page["response_metadata"]["next_cursor"].as_str().unwrap_or_default().to_owned();
            if cursor.is_empty() {
                let more = page["has_more"] == true;
                return Ok(if more { MessageLookup::Unknown } else { MessageLookup::NotFound });
            }
        }
        Ok(MessageLookup::Unknown)
    }

    async fn fetch_page(
        &self,
        channel: &str,
        thread: Option<&str>,
        oldest: &str,
        cursor: &str,
    ) -> Result<Value, ChatError> {
        let mut query =
            vec![("channel", channel), ("oldest", oldest), ("limit", PAGE), ("include_all_metadata", "true")];
        if !cursor.is_empty() {
            query.push(("cursor", cursor));
        }
        match thread {
            Some(thread) => {
                query.push(("ts", thread));
                self.web.read(&REPLIES, &query).await
            }
            None => self.web.read(&CONVERSATION_HISTORY, &query).await,
        }
    }

    /// Returns whether it has our key and is by our own bot: any app can write metadata. A file's message can carry
    /// none, so its file name contains the key's tail.
    fn is_ours(&self, message: &Value, key: DeliveryId) -> bool {
        let metadata = &message["metadata"];
        let keyed = metadata["event_type"] == METADATA && metadata["event_payload"]["key"] == key.to_string();
        let files = message["files"].as_array().map(Vec::as_slice).unwrap_or_default();
        let named = |file: &Value| file["name"].as_str().is_some_and(|name| name.contains(&key.short()));
        self.is_from_bot(message) && (keyed || files.iter().any(named))
    }

    fn is_from_bot(&self, message: &Value) -> bool {
        message["bot_id"] == self.identity.bot_id.as_str()
            || message["user"] == self.identity.bot_user.as_str()
    }
}

#[async_trait]
impl ChatAdapter for SlackAdapter {
    fn platform(&self) -> &'static str {
        PLATFORM
    }

    fn display_name(&self) -> &'static str {
        "Slack"
    }

    fn format_command(&self, command: &str, given: Option<(&str, &str)>) -> String {
        match given {
            Some((_, value)) => format!("/nod {command} {value}"),
            None => format!("/nod {command}"),
        }
    }

    async fn post_message(
        &self,
        target: &DeliveryTarget,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Shown, ChatError> {
        match target {
            DeliveryTarget::Channel { place, .. } => {
                self.post_card(&place.channel, place.thread.as_deref(), card, key).await
            }
            DeliveryTarget::DirectMessage { user, .. } => {
                let line = self.open_dm(user).await?;
                self.post_card(&line, None, card, key).await
            }
            DeliveryTarget::Ephemeral { place, user, .. } => self.post_ephemeral(place, user, card).await,
        }
    }

    fn fits_in_one_message(&self, card: &Card) -> bool {
        render::fits_in_one_message(card)
    }

    fn max_message_chars(&self) -> usize {
        limits::BLOCKS_JSON
    }

    fn display_limit(&self) -> usize {
        limits::REQUEST
    }

    fn post_interval(&self) -> TimeDelta {
        limits::PAUSE
    }

    async fn delete_message(&self, at: &PostedMessage) -> Result<(), ChatError> {
        let body = json!({"channel": at.channel, "ts": at.message});
        match self.web.call(&DELETE, &body).await {
            Err(ChatError::Rejected { code }) if code == NO_MESSAGE => Ok(()),
            answer => answer.map(|_| ()),
        }
    }

    async fn update_assistant_thread(
        &self,
        place: &ChannelRef,
        ornament: &AssistantThreadUpdate,
    ) -> Result<(), ChatError> {
        // Slack shows these only in threads.
        let Some(thread) = &place.thread else { return Ok(()) };
        let mut body = json!({"channel_id": place.channel, "thread_ts": thread});
        let method = match ornament {
            AssistantThreadUpdate::Status(words) => {
                body["status"] = truncate_label(words, limits::STATUS).into();
                &STATUS
            }
            AssistantThreadUpdate::Title(words) => {
                body["title"] = truncate_label(words, limits::TITLE).into();
                &TITLE
            }
            AssistantThreadUpdate::SuggestedPrompts(prompts) => {
                let prompt =
                    |(title, message): &(String, String)| json!({"title": title, "message": message});
                body["prompts"] = prompts.iter().take(limits::PROMPTS).map(prompt).collect();
                &SET_SUGGESTED_PROMPTS
            }
        };
        self.web.call(method, &body).await.map(|_| ())
    }

    async fn publish_home(&self, _workspace: &str, user: &str, page: &[Card]) -> Result<(), ChatError> {
        let body = json!({"user_id": user, "view": home::view(page)});
        self.web.call(&PUBLISH, &body).await.map(|_| ())
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
        let (channel, thread) = match target {
            DeliveryTarget::Channel { place, .. } => (place.channel.clone(), place.thread.as_deref()),
            // An ephemeral message cannot carry a file: it goes to the user's DM.
            DeliveryTarget::DirectMessage { user, .. } | DeliveryTarget::Ephemeral { user, .. } => {
                (self.open_dm(user).await?, None)
            }
        };
        let length = file.text.len().to_string();
        let slot = self.web.read(&UPLOAD, &[("filename", &file.name), ("length", &length)]).await?;
        let id = slot["file_id"].as_str().ok_or_else(strange)?.to_owned();
        let url = slot["upload_url"].as_str().and_then(|url| Url::parse(url).ok()).ok_or_else(strange)?;
        self.web.upload(url, &file.text).await?;
        let mut body = json!({
            "files": [{"id": id, "title": file.title(key)}],
            "channel_id": channel,
            "initial_comment": render::fallback(card),
        });
        if let Some(thread) = thread {
            body["thread_ts"] = thread.into();
        }
        self.web.call(&COMPLETE_UPLOAD, &body).await?;
        // Slack shares it a moment later and does not say in which message, so the file's id is returned.
        Ok(Shown { at: PostedMessage { channel, message: id }, since: None })
    }

    fn permalink(&self, place: &ChannelRef, message: &str) -> Option<String> {
        let path = format!("archives/{}/p{}", place.channel, message.replace('.', ""));
        let mut link = self.home.as_ref()?.join(&path).ok()?;
        if let Some(thread) = place.thread.as_deref().filter(|thread| *thread != message) {
            link.query_pairs_mut().append_pair("thread_ts", thread).append_pair("cid", &place.channel);
        }
        Some(link.into())
    }

    async fn update_message(
        &self,
        at: &PostedMessage,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Option<Timestamp>, ChatError> {
        self.finish_stream(at, card, key).await
    }

    async fn start_stream(
        &self,
        target: &DeliveryTarget,
        reader: &str,
        key: DeliveryId,
    ) -> Result<Shown, ChatError> {
        match target {
            DeliveryTarget::Channel { place, .. } => self.begin_stream(place, reader, key).await,
            DeliveryTarget::DirectMessage { user, .. } => {
                let channel = self.open_dm(user).await?;
                self.begin_stream(&ChannelRef { channel, is_dm: true, thread: None }, reader, key).await
            }
            // It disappears on reload, and nothing can replace it.
            DeliveryTarget::Ephemeral { .. } => {
                Err(ChatError::Rejected { code: "whispers_do_not_grow".to_owned() })
            }
        }
    }

    async fn append_stream(
        &self,
        at: &PostedMessage,
        words: &str,
        key: DeliveryId,
    ) -> Result<Duration, ChatError> {
        self.update_stream(at, words, key).await
    }

    async fn find_message(
        &self,
        target: &DeliveryTarget,
        key: DeliveryId,
        since: Timestamp,
        opened: bool,
    ) -> Result<MessageLookup, ChatError> {
        let looked = match target {
            DeliveryTarget::Channel { place, .. } => {
                self.find_posted(&place.channel, place.thread.as_deref(), key, since, opened).await
            }
            DeliveryTarget::DirectMessage { user, .. } => match self.open_dm(user).await {
                Ok(line) => self.find_posted(&line, None, key, since, opened).await,
                Err(error) => Err(error),
            },
            DeliveryTarget::Ephemeral { .. } => return Ok(MessageLookup::Unknown),
        };
        match looked {
            // A missing scope, or a channel we were removed from: Slack does not let us look.
            Err(ChatError::Rejected { .. } | ChatError::ChannelClosed { .. }) => Ok(MessageLookup::Unknown),
            looked => looked,
        }
    }

    async fn fetch_profile(&self, _workspace: &str, user: &str) -> Result<Profile, ChatError> {
        let answer = self.web.read(&USER, &[("user", user)]).await?;
        profile::read(&answer["user"], &self.identity.team).ok_or_else(strange)
    }

    async fn list_members(
        &self,
        _workspace: &str,
        cursor: Option<String>,
    ) -> Result<(Vec<Profile>, Option<String>), ChatError> {
        let mut query = vec![("limit", PAGE)];
        if let Some(cursor) = cursor.as_deref() {
            query.push(("cursor", cursor));
        }
        let answer = self.web.read(&USERS, &query).await?;
        let members = answer["members"].as_array().ok_or_else(strange)?;
        let members = members.iter().filter_map(|user| profile::read(user, &self.identity.team)).collect();
        let next = answer["response_metadata"]["next_cursor"].as_str().filter(|next| !next.is_empty());
        Ok((members, next.map(str::to_owned)))
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
        self.has_member(channel, user).await
    }

    async fn list_channel_members(
        &self,
        _workspace: &str,
        channel: &str,
    ) -> Result<ChannelMembers, ChatError> {
        self.fetch_members(channel).await
    }

    async fn list_channels(&self, _workspace: &str) -> Result<Vec<(String, String)>, ChatError> {
        self.list_own_channels().await
    }

    async fn list_channels_since(
        &self,
        _workspace: &str,
        _since: Timestamp,
    ) -> Result<Vec<ListedChannel>, ChatError> {
        self.list_channels_to_read().await
    }

    async fn list_missed_messages(
        &self,
        _workspace: &str,
        channel: &str,
        threads: &[String],
        since: Timestamp,
        _from: Option<&str>,
    ) -> Result<MissedMessages, ChatError> {
        Ok(MissedMessages { messages: self.fetch_missed(channel, threads, since).await?, cursor: None })
    }
}

pub(super) fn metadata(key: DeliveryId) -> Value {
    json!({"event_type": METADATA, "event_payload": {"key": key.to_string()}})
}

/// Returns one of our messages by its timestamp. `message` is what Slack shows of it; null for a new post.
pub(super) fn parse_posted(channel: Option<&str>, ts: &Value, message: &Value) -> Result<Shown, ChatError> {
    let channel = channel.ok_or_else(strange)?.to_owned();
    let ts = ts.as_str().ok_or_else(strange)?;
    let since = if message["edited"].is_object() { edited(message) } else { instant(ts) };
    Ok(Shown { at: PostedMessage { channel, message: ts.to_owned() }, since })
}

/// Returns when a message was last edited. Slack sometimes reports only the second; then it is the end of that second.
pub(super) fn edited(message: &Value) -> Option<Timestamp> {
    let at = instant(message["edited"]["ts"].as_str()?)?;
    Some(if at.timestamp_subsec_nanos() == 0 { at + TimeDelta::seconds(1) } else { at })
}

/// The call succeeded, but the answer lacks a value that we need.
pub(super) fn strange() -> ChatError {
    ChatError::UnknownOutcome("an answer without what it should hold".into())
}

#[cfg(test)]
#[path = "adapter_tests.rs"]
mod tests;
