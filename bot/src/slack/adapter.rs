//! What Nod does in Slack: posts cards, replaces them, looks for them, and asks who somebody is.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use nod_core::card::{Card, Press};
use nod_core::chat::{ChatAdapter, ChatError, Place, Posted, Profile, Sighting, Target};
use nod_core::clock::Timestamp;
use nod_core::ids::DeliveryId;
use serde_json::{Value, json};

use super::inbound::Identity;
use super::scopes::{HISTORY_OF, OPEN, POST, REPLIES, UPDATE, USER, USERS, WHISPER};
use super::web::Web;
use super::{PLATFORM, limits, profile, render};

/// By which our own messages are found again.
const METADATA: &str = "nod_delivery";
/// How much our clock and Slack's may differ when looking for a message, in seconds.
const SKEW: i64 = 120;
/// Messages a page, and pages, when looking for one.
const PAGE: &str = "200";
const PAGES: usize = 5;

/// The adapter of one workspace.
pub struct SlackAdapter {
    web: Web,
    identity: Identity,
    /// The direct line to each user; it never changes.
    lines: Mutex<HashMap<String, String>>,
}

impl SlackAdapter {
    pub(super) fn new(web: Web, identity: Identity) -> Self {
        Self { web, identity, lines: Mutex::default() }
    }

    /// Shows a note to one person, in the place where they are.
    ///
    /// # Errors
    /// As the platform answers.
    pub async fn whisper(&self, place: &Place, user: &str, card: &Card) -> Result<Posted, ChatError> {
        let mut body = json!({"channel": place.channel, "user": user});
        if let Some(thread) = &place.thread {
            body["thread_ts"] = thread.as_str().into();
        }
        let answer = self.send(&WHISPER, body, card).await?;
        posted(Some(&place.channel), &answer["message_ts"])
    }

    async fn say(
        &self,
        channel: &str,
        thread: Option<&str>,
        card: &Card,
        key: DeliveryId,
    ) -> Result<Posted, ChatError> {
        let mut body = json!({
            "channel": channel, "unfurl_links": false, "unfurl_media": false, "metadata": metadata(key),
        });
        if let Some(thread) = thread {
            body["thread_ts"] = thread.into();
        }
        let answer = self.send(&POST, body, card).await?;
        posted(answer["channel"].as_str(), &answer["ts"])
    }

    /// Sends a card; a shorter one where Slack finds it too long, since its measure is not documented.
    async fn send(
        &self,
        method: &super::scopes::Method,
        mut body: Value,
        card: &Card,
    ) -> Result<Value, ChatError> {
        body["text"] = render::fallback(card).into();
        body["blocks"] = render::blocks(card).into();
        match self.web.call(method, &body).await {
            // What asks for a nod is shown whole or not at all.
            Err(ChatError::Refused { code }) if code == "msg_blocks_too_long" && !asks(card) => {
                body["blocks"] = render::within(card, limits::BLOCKS_JSON / 2).into();
                self.web.call(method, &body).await
            }
            answer => answer,
        }
    }

    /// The direct line to a user, opened if need be.
    async fn line(&self, user: &str) -> Result<String, ChatError> {
        let known = self.lines.lock().unwrap_or_else(PoisonError::into_inner).get(user).cloned();
        if let Some(line) = known {
            return Ok(line);
        }
        let answer = self.web.call(&OPEN, &json!({"users": user})).await?;
        let line = answer["channel"]["id"].as_str().ok_or_else(strange)?.to_owned();
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).insert(user.to_owned(), line.clone());
        Ok(line)
    }

    async fn look(
        &self,
        channel: &str,
        thread: Option<&str>,
        key: DeliveryId,
        since: Timestamp,
    ) -> Result<Sighting, ChatError> {
        let oldest = format!("{}.000000", since.timestamp() - SKEW);
        let wanted = key.to_string();
        let mut cursor = String::new();
        for _ in 0..PAGES {
            let page = self.page(channel, thread, &oldest, &cursor).await?;
            let messages = page["messages"].as_array().ok_or_else(strange)?;
            if let Some(found) = messages.iter().find(|message| self.is_ours(message, &wanted)) {
                return posted(Some(channel), &found["ts"]).map(Sighting::Yes);
            }
            cursor = page["response_metadata"]["next_cursor"].as_str().unwrap_or_default().to_owned();
            if cursor.is_empty() {
                let more = page["has_more"] == true;
                return Ok(if more { Sighting::CannotTell } else { Sighting::No });
            }
        }
        Ok(Sighting::CannotTell)
    }

    async fn page(
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
            None => self.web.read(&HISTORY_OF, &query).await,
        }
    }

    /// Under our key and by our own bot: anybody's app may write metadata.
    fn is_ours(&self, message: &Value, key: &str) -> bool {
        let metadata = &message["metadata"];
        let by_us = message["bot_id"] == self.identity.bot_id.as_str()
            || message["user"] == self.identity.bot_user.as_str();
        by_us && metadata["event_type"] == METADATA && metadata["event_payload"]["key"] == key
    }
}

#[async_trait]
impl ChatAdapter for SlackAdapter {
    fn platform(&self) -> &'static str {
        PLATFORM
    }

    async fn post(&self, target: &Target, card: &Card, key: DeliveryId) -> Result<Posted, ChatError> {
        match target {
            Target::Place { place, .. } => self.say(&place.channel, place.thread.as_deref(), card, key).await,
            Target::Direct { user, .. } => {
                let line = self.line(user).await?;
                self.say(&line, None, card, key).await
            }
            Target::Whisper { place, user, .. } => self.whisper(place, user, card).await,
        }
    }

    async fn replace(&self, at: &Posted, card: &Card, key: DeliveryId) -> Result<(), ChatError> {
        let body = json!({"channel": at.channel, "ts": at.message, "metadata": metadata(key)});
        self.send(&UPDATE, body, card).await.map(|_| ())
    }

    async fn find(&self, target: &Target, key: DeliveryId, since: Timestamp) -> Result<Sighting, ChatError> {
        let looked = match target {
            Target::Place { place, .. } => {
                self.look(&place.channel, place.thread.as_deref(), key, since).await
            }
            Target::Direct { user, .. } => match self.line(user).await {
                Ok(line) => self.look(&line, None, key, since).await,
                Err(error) => Err(error),
            },
            Target::Whisper { .. } => return Ok(Sighting::CannotTell),
        };
        match looked {
            // A missing scope, a channel we were removed from: Slack does not let us look.
            Err(ChatError::Refused { .. } | ChatError::Closed { .. }) => Ok(Sighting::CannotTell),
            looked => looked,
        }
    }

    async fn profile(&self, _workspace: &str, user: &str) -> Result<Profile, ChatError> {
        let answer = self.web.read(&USER, &[("user", user)]).await?;
        profile::read(&answer["user"], &self.identity.team).ok_or_else(strange)
    }

    async fn members(
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
}

fn metadata(key: DeliveryId) -> Value {
    json!({"event_type": METADATA, "event_payload": {"key": key.to_string()}})
}

fn posted(channel: Option<&str>, ts: &Value) -> Result<Posted, ChatError> {
    let channel = channel.ok_or_else(strange)?.to_owned();
    Ok(Posted { channel, message: ts.as_str().ok_or_else(strange)?.to_owned() })
}

/// The call was done, but the answer does not say what we need.
fn strange() -> ChatError {
    ChatError::Lost("an answer without what it should hold".into())
}

#[cfg(test)]
#[path = "adapter_tests.rs"]
mod tests;

/// Whether somebody could approve what the card shows.
fn asks(card: &Card) -> bool {
    card.buttons.iter().any(|button| matches!(&button.does, Press::Verb(verb) if verb.verb == "approve"))
}
