//! The past, as Slack stores it: the messages of a place, who is in a channel, and which messages were missed. Bounded
//! everywhere, because each page costs a call and calls are rate-limited.

use std::collections::BTreeSet;

use nod_contract::chat::{
    ChannelMembers, ChannelRef, ChatError, HistoryMessage, HistoryRange, Inbound, ListedChannel,
};
use nod_contract::clock::Timestamp;
use serde_json::{Value, json};

use super::adapter::{SlackAdapter, strange};
use super::inbound::{ParseOutcome, PayloadKind, instant, parse_payload};
use super::incoming_text;
use super::scopes::{CONVERSATION_HISTORY, MEMBERS, Method, REPLIES, USER_CONVERSATIONS};

/// The page size for messages.
const PAGE: usize = 200;
/// The maximum number of pages per query.
const PAGES: usize = 10;
/// How old a thread can be, in seconds, to be searched for missed answers.
const THREAD_LOOKBACK_SECS: i64 = 3 * 24 * 60 * 60;
/// The maximum number of threads in one channel that are searched for missed messages.
const MAX_THREADS: usize = 50;

impl SlackAdapter {
    /// Returns the newest messages of a place, oldest first.
    pub(super) async fn fetch_history(
        &self,
        place: &ChannelRef,
        bound: &HistoryRange,
    ) -> Result<Vec<HistoryMessage>, ChatError> {
        let oldest = bound.since.map(to_ts).unwrap_or_default();
        let mut query = vec![("channel", place.channel.as_str())];
        if !oldest.is_empty() {
            query.push(("oldest", &oldest));
        }
        if let Some(before) = &bound.before {
            query.push(("latest", before));
        }
        let mut messages = match &place.thread {
            Some(thread) => {
                query.push(("ts", thread));
                // A thread is returned from its beginning, each page with its first message.
                self.fetch_pages(&REPLIES, &query, usize::MAX).await?
            }
            None => {
                let mut newest_first = self.fetch_pages(&CONVERSATION_HISTORY, &query, bound.limit).await?;
                newest_first.reverse();
                newest_first
            }
        };
        let before = bound.before.as_deref().unwrap_or("~");
        messages.retain(|message| message["ts"].as_str().is_some_and(|ts| ts < before));
        let mut said: Vec<HistoryMessage> = messages.iter().filter_map(|m| self.utterance(m)).collect();
        said.drain(..said.len().saturating_sub(bound.limit));
        Ok(said)
    }

    /// Parses a message; `None` for joins, deletions and other non-messages.
    fn utterance(&self, message: &Value) -> Option<HistoryMessage> {
        let text = |field: &str| message[field].as_str().filter(|t| !t.is_empty()).map(str::to_owned);
        let spoken =
            [None, Some("file_share"), Some("thread_broadcast"), Some("me_message"), Some("bot_message")];
        if !spoken.contains(&message["subtype"].as_str()) {
            return None;
        }
        let identity = self.identity();
        let words = incoming_text::parse_message(message, &identity.bot_user).text;
        Some(HistoryMessage {
            is_from_bot: message["user"] == identity.bot_user.as_str(),
            user: text("user"),
            name: text("username").or_else(|| message["bot_profile"]["name"].as_str().map(str::to_owned)),
            at: instant(message["ts"].as_str()?)?,
            text: words,
        })
        .filter(|said| !said.text.is_empty())
    }

    /// Returns whether a user is in a channel.
    pub(super) async fn has_member(&self, channel: &str, user: &str) -> Result<bool, ChatError> {
        let mut is_there = false;
        self.read_members(channel, |page| {
            is_there = page.iter().any(|member| member == user);
            !is_there
        })
        .await?;
        Ok(is_there)
    }

    pub(super) async fn fetch_members(&self, channel: &str) -> Result<ChannelMembers, ChatError> {
        let mut users = Vec::new();
        let are_all = self.read_members(channel, |page| {
            users.extend(page.iter().filter_map(Value::as_str).map(str::to_owned));
            true
        });
        Ok(if are_all.await? { ChannelMembers::Users(users) } else { ChannelMembers::TooMany })
    }

    /// Reads the members of a channel page by page, as long as `go_on` wants more. Returns whether that was all of them.
    async fn read_members(
        &self,
        channel: &str,
        mut go_on: impl FnMut(&[Value]) -> bool,
    ) -> Result<bool, ChatError> {
        let mut cursor = String::new();
        for _ in 0..PAGES {
            let mut query = vec![("channel", channel), ("limit", "1000")];
            if !cursor.is_empty() {
                query.push(("cursor", &cursor));
            }
            let page = self.web().read(&MEMBERS, &query).await?;
            if !go_on(page["members"].as_array().ok_or_else(strange)?) {
                return Ok(false);
            }
            cursor = next(&page);
            if cursor.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the channels and DMs of which Nod is a member, by id and name.
    pub(super) async fn list_own_channels(&self) -> Result<Vec<(String, String)>, ChatError> {
        let name = |channel: &Value| channel["name"].as_str().unwrap_or_default().to_owned();
        let channels = self.fetch_own_channels().await?;
        Ok(channels.iter().filter_map(|c| Some((c["id"].as_str()?.to_owned(), name(c)))).collect())
    }

    /// Returns the same as they are looked up. Slack's list does not show when somebody wrote last.
    pub(super) async fn list_channels_to_read(&self) -> Result<Vec<ListedChannel>, ChatError> {
        let listed = |channel: &Value| {
            Some(ListedChannel {
                channel: channel["id"].as_str()?.to_owned(),
                is_dm: channel["is_im"] == true,
                may_have_posts: true,
                threads: Vec::new(),
            })
        };
        Ok(self.fetch_own_channels().await?.iter().filter_map(listed).collect())
    }

    async fn fetch_own_channels(&self) -> Result<Vec<Value>, ChatError> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        for _ in 0..PAGES {
            let kinds = "public_channel,private_channel,mpim,im";
            let mut query = vec![("types", kinds), ("exclude_archived", "true"), ("limit", "200")];
            if !cursor.is_empty() {
                query.push(("cursor", &cursor));
            }
            let page = self.web().read(&USER_CONVERSATIONS, &query).await?;
            all.extend(page["channels"].as_array().ok_or_else(strange)?.iter().cloned());
            cursor = next(&page);
            if cursor.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    /// Returns the messages sent or edited since then in a channel, and sent in the given threads and in those with a
    /// reply since then; each as its event would have delivered it, oldest first.
    pub(super) async fn fetch_missed(
        &self,
        channel: &str,
        threads: &[String],
        since: Timestamp,
    ) -> Result<Vec<Inbound>, ChatError> {
        let since = to_ts(since);
        let begun =
            to_ts(instant(&since).ok_or_else(strange)? - chrono::TimeDelta::seconds(THREAD_LOOKBACK_SECS));
        let query = [("channel", channel), ("oldest", begun.as_str())];
        let recent = self.fetch_pages(&CONVERSATION_HISTORY, &query, PAGE * PAGES).await?;
        let later = |value: &Value| value.as_str().is_some_and(|ts| ts >= since.as_str());
        let answered = recent.iter().filter(|message| later(&message["latest_reply"]));
        let mut open: BTreeSet<&str> = answered.filter_map(|message| message["ts"].as_str()).collect();
        open.extend(threads.iter().map(String::as_str));
        let mut missed: Vec<Value> = recent.iter().filter(|message| later(&message["ts"])).cloned().collect();
        // The newest threads first, in case there are more than the maximum.
        for thread in open.into_iter().rev().take(MAX_THREADS) {
            let query = [("channel", channel), ("ts", thread), ("oldest", since.as_str())];
            match self.fetch_pages(&REPLIES, &query, usize::MAX).await {
                Ok(replies) => missed.extend(replies.into_iter().filter(|message| later(&message["ts"]))),
                // The thread was deleted meanwhile.
                Err(ChatError::ChannelClosed { code }) if code == "thread_not_found" => {}
                Err(error) => return Err(error),
            }
        }
        // The edited messages. A deletion leaves no trace to be found.
        let changed = recent.iter().filter(|message| later(&message["edited"]["ts"]));
        missed.extend(changed.map(|message| {
            let when = &message["edited"]["ts"];
            json!({"type": "message", "subtype": "message_changed", "ts": when, "message": message})
        }));
        Ok(self.as_events(channel, missed))
    }

    fn as_events(&self, channel: &str, mut messages: Vec<Value>) -> Vec<Inbound> {
        let ts = |message: &Value| message["ts"].as_str().unwrap_or_default().to_owned();
        messages.sort_by_key(ts);
        messages.dedup_by_key(|message| ts(message));
        let direct = channel.starts_with('D');
        let event = |mut message: Value| {
            let at = instant(message["ts"].as_str()?)?;
            message["channel"] = channel.into();
            message["channel_type"] = if direct { "im" } else { "channel" }.into();
            match parse_payload(PayloadKind::Event, &json!({"event": message}), self.identity(), at) {
                ParseOutcome::Inbound(inbound) => Some(*inbound),
                ParseOutcome::Person(_) | ParseOutcome::Ignored(_) | ParseOutcome::Unreadable(_) => None,
            }
        };
        messages.into_iter().filter_map(event).collect()
    }

    async fn fetch_pages(
        &self,
        method: &Method,
        query: &[(&str, &str)],
        most: usize,
    ) -> Result<Vec<Value>, ChatError> {
        let limit = most.clamp(1, PAGE).to_string();
        let mut all: Vec<Value> = Vec::new();
        let mut cursor = String::new();
        for _ in 0..PAGES {
            let mut query = query.to_vec();
            query.push(("limit", &limit));
            if !cursor.is_empty() {
                query.push(("cursor", &cursor));
            }
            let page = self.web().read(method, &query).await?;
            let messages = page["messages"].as_array().ok_or_else(strange)?;
            // The first message of a thread is repeated on every page.
            let known = |message: &&Value| all.first().is_none_or(|first| first["ts"] != message["ts"]);
            let fresh: Vec<Value> = messages.iter().filter(known).cloned().collect();
            all.extend(fresh);
            cursor = next(&page);
            if cursor.is_empty() || all.len() >= most {
                break;
            }
        }
        Ok(all)
    }
}

fn next(page: &Value) -> String {
    page["response_metadata"]["next_cursor"].as_str().unwrap_or_default().to_owned()
}

/// Slack's `seconds.micros`.
fn to_ts(at: Timestamp) -> String {
    format!("{}.{:06}", at.timestamp(), at.timestamp_subsec_micros())
}
