//! The past, as Discord keeps it: what was said in a place, who may read it, and what was missed.

use std::collections::BTreeSet;

use nod_core::chat::{Bound, ChatError, Inbound, Place, Utterance};
use nod_core::clock::Timestamp;
use serde_json::Value;

use super::adapter::{DiscordAdapter, strange};
use super::inbound::{Heard, edited, first_id, said, time_of};
use super::{permissions, words};

/// The most messages of one page.
const PAGE: usize = 100;
/// The most pages that are turned for one question.
const PAGES: usize = 10;
/// Threads that are looked into for what was missed, in one channel.
const MOST_THREADS: usize = 50;
/// The two clocks may differ so much, in seconds.
const SKEW: i64 = 5;

impl DiscordAdapter {
    /// The newest of what was said, oldest first.
    pub(super) async fn said(&self, place: &Place, bound: &Bound) -> Result<Vec<Utterance>, ChatError> {
        let channel = place.thread.as_ref().unwrap_or(&place.channel);
        let mut messages = self.before(channel, bound).await?;
        // The message that a thread was opened on stands in its channel.
        if let Some(thread) = &place.thread
            && bound.since.is_none()
            && messages.len() < bound.most
        {
            let first = self.web.get(&format!("channels/{}/messages/{thread}", place.channel), &[]).await;
            messages.extend(first.ok());
        }
        messages.reverse();
        Ok(messages.iter().filter_map(|message| self.utterance(message)).collect())
    }

    /// The newest before a message, newest first.
    async fn before(&self, channel: &str, bound: &Bound) -> Result<Vec<Value>, ChatError> {
        let since = bound.since.map(first_id).unwrap_or_default();
        let mut all: Vec<Value> = Vec::new();
        let mut before = bound.before.clone();
        for _ in 0..PAGES {
            let limit = (bound.most - all.len()).clamp(1, PAGE).to_string();
            let mut query = vec![("limit", limit.as_str())];
            query.extend(before.as_deref().map(|before| ("before", before)));
            let page = self.web.get(&format!("channels/{channel}/messages"), &query).await?;
            let page = page.as_array().ok_or_else(strange)?;
            all.extend(page.iter().filter(|m| later(m, &since)).cloned());
            let oldest = page.last().filter(|oldest| later(oldest, &since));
            before = oldest.and_then(|oldest| oldest["id"].as_str()).map(str::to_owned);
            if before.is_none() || page.len().to_string() != limit || all.len() >= bound.most {
                break;
            }
        }
        Ok(all)
    }

    fn utterance(&self, message: &Value) -> Option<Utterance> {
        let text = words::of_message(message, &self.identity.user).text;
        let author = &message["author"];
        let name = |field: &str| author[field].as_str().map(str::to_owned);
        Some(Utterance {
            user: name("id").filter(|_| !message["webhook_id"].is_string()),
            name: name("global_name").or_else(|| name("username")),
            by_nod: author["id"] == *self.identity.user,
            at: time_of(message["id"].as_str()?)?,
            text,
        })
        .filter(|said| !said.text.is_empty())
    }

    /// All that was posted in a channel since then, oldest first.
    pub(super) async fn after(&self, channel: &str, since: Timestamp) -> Result<Vec<Value>, ChatError> {
        let mut after = first_id(since - chrono::TimeDelta::seconds(SKEW));
        let mut all: Vec<Value> = Vec::new();
        for _ in 0..PAGES {
            let limit = PAGE.to_string();
            let query = [("limit", limit.as_str()), ("after", after.as_str())];
            let page = self.web.get(&format!("channels/{channel}/messages"), &query).await?;
            let mut page = page.as_array().cloned().ok_or_else(strange)?;
            let full = page.len() == PAGE;
            page.reverse();
            all.append(&mut page);
            match all.last().and_then(|newest| newest["id"].as_str()).filter(|_| full) {
                Some(newest) => newest.clone_into(&mut after),
                None => break,
            }
        }
        Ok(all)
    }

    /// Whether somebody sees a channel; a direct line has its two people.
    pub(super) async fn may_read(&self, channel: &str, user: &str) -> Result<bool, ChatError> {
        let told = self.web.get(&format!("channels/{channel}"), &[]).await?;
        let Some(guild) = told["guild_id"].as_str() else {
            let people = told["recipients"].as_array().into_iter().flatten();
            return Ok(people.into_iter().any(|person| person["id"] == *user));
        };
        let Some(member) = self.guilds.member(guild, user).await? else { return Ok(false) };
        let guild = self.web.get(&format!("guilds/{guild}"), &[]).await?;
        Ok(permissions::may_read(&guild, &told, &member))
    }

    /// The channels that Nod sees, by id and name.
    pub(super) async fn mine(&self) -> Result<Vec<(String, String)>, ChatError> {
        let mut all = Vec::new();
        for id in self.guilds.all().await? {
            let guild = match self.web.get(&format!("guilds/{id}"), &[]).await {
                Ok(guild) => guild,
                // We were removed from it a moment ago.
                Err(ChatError::Closed { .. } | ChatError::Refused { .. }) => continue,
                Err(error) => return Err(error),
            };
            let Some(member) = self.guilds.member(&id, &self.identity.user).await? else { continue };
            let channels = self.web.get(&format!("guilds/{id}/channels"), &[]).await?;
            for channel in channels.as_array().ok_or_else(strange)? {
                self.atlas.note(channel, Some(&id));
                let Some(channel_id) = channel["id"].as_str() else { continue };
                let spoken = self.atlas.known(channel_id).is_some_and(|known| known.spoken);
                if spoken && permissions::may_read(&guild, channel, &member) {
                    let name = channel["name"].as_str().unwrap_or_default();
                    all.push((channel_id.to_owned(), name.to_owned()));
                }
            }
        }
        Ok(all)
    }

    /// What was said since then in a channel and its threads, as its event would have brought it, oldest first.
    pub(super) async fn unheard(
        &self,
        channel: &str,
        threads: &[String],
        since: Timestamp,
    ) -> Result<Vec<Inbound>, ChatError> {
        let mut missed = self.arrived(channel, since).await?;
        let mut open: BTreeSet<String> = threads.iter().cloned().collect();
        open.extend(self.active_threads(channel, since).await?);
        for thread in open.into_iter().rev().take(MOST_THREADS) {
            match self.arrived(&thread, since).await {
                Ok(found) => missed.extend(found),
                // One that was deleted meanwhile, or was never opened.
                Err(ChatError::Closed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        missed.sort_by_key(|inbound| inbound.at);
        Ok(missed)
    }

    async fn arrived(&self, channel: &str, since: Timestamp) -> Result<Vec<Inbound>, ChatError> {
        let place = self.atlas.place(&self.web, channel).await?;
        let fresh = self.after(channel, since).await?;
        // What has other words since, among the newest.
        let newest = Bound { since: None, before: None, most: PAGE };
        let recent = self.before(channel, &newest).await?;
        let changed = recent.iter().filter(|message| {
            let when = message["edited_timestamp"].as_str().unwrap_or_default();
            chrono::DateTime::parse_from_rfc3339(when).is_ok_and(|when| when >= since)
        });
        let news = fresh.iter().map(|message| said(message, place.clone(), &self.identity));
        let news = news.chain(changed.map(|message| edited(message, place.clone(), &self.identity)));
        let inbound = |heard| match heard {
            Heard::Inbound(inbound) => Some(*inbound),
            Heard::Ignored(_) | Heard::Unreadable(_) => None,
        };
        Ok(news.filter_map(inbound).collect())
    }

    async fn active_threads(&self, channel: &str, since: Timestamp) -> Result<Vec<String>, ChatError> {
        let Some(guild) = self.atlas.of(&self.web, channel).await?.guild else { return Ok(Vec::new()) };
        let active = self.web.get(&format!("guilds/{guild}/threads/active"), &[]).await?;
        let since = first_id(since);
        let mut open = Vec::new();
        for thread in active["threads"].as_array().into_iter().flatten() {
            self.atlas.note(thread, Some(&guild));
            let spoken = thread["last_message_id"].as_str().is_some_and(|last| newer(last, &since));
            if thread["parent_id"] == *channel && spoken {
                open.extend(thread["id"].as_str().map(str::to_owned));
            }
        }
        Ok(open)
    }
}

fn later(message: &Value, since: &str) -> bool {
    message["id"].as_str().is_some_and(|id| newer(id, since))
}

/// Ids are numbers that grow with time.
fn newer(id: &str, since: &str) -> bool {
    let number = |id: &str| id.parse::<u64>().unwrap_or_default();
    number(id) >= number(since)
}
