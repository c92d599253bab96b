//! The past, as Discord stores it: the messages of a place, who can read it, and which messages were missed.

use std::collections::{BTreeMap, HashMap};

use nod_contract::chat::{
    ChannelMembers, ChannelRef, ChatError, HistoryMessage, HistoryRange, Inbound, ListedChannel,
    MissedMessages,
};
use nod_contract::clock::Timestamp;
use serde_json::Value;

use super::adapter::{DiscordAdapter, strange};
use super::channel_index::ThreadKind;
use super::inbound::{ParseOutcome, first_id, id_time, parse_edit, parse_message};
use super::{incoming_text, permissions};

/// Discord's error for a channel that has only threads.
const NOT_A_TEXT_CHANNEL: &str = "50024";
/// The page size for messages.
const PAGE: usize = 100;
/// The maximum number of pages per query.
const PAGES: usize = 10;
/// The assumed clock difference, in seconds.
const SKEW: i64 = 5;

impl DiscordAdapter {
    /// Returns the newest messages of a place, oldest first.
    pub(super) async fn fetch_history(
        &self,
        place: &ChannelRef,
        bound: &HistoryRange,
    ) -> Result<Vec<HistoryMessage>, ChatError> {
        let channel = place.thread.as_ref().unwrap_or(&place.channel);
        if self.channel_index.find(channel).is_some_and(|known| known.posts) {
            return Err(ChatError::ChannelClosed { code: NOT_A_TEXT_CHANNEL.to_owned() });
        }
        let stands_in = |thread| format!("channels/{}/messages/{thread}", place.channel);
        let mut messages = match (self.list_before(channel, bound).await, &place.thread) {
            // The first answer to a mention opens its thread: until then only the mention exists.
            (Err(ChatError::ChannelClosed { .. }), Some(thread)) => {
                vec![self.web.get(&stands_in(thread), &[]).await?]
            }
            (read, Some(thread)) if bound.since.is_none() => {
                let mut messages = read?;
                // The message that a thread was opened on is in the parent channel.
                if messages.len() < bound.limit {
                    messages.extend(self.web.get(&stands_in(thread), &[]).await.ok());
                }
                messages
            }
            (read, _) => read?,
        };
        messages.reverse();
        Ok(messages.iter().filter_map(|message| self.utterance(message)).collect())
    }

    /// Returns the newest messages before one, newest first.
    async fn list_before(&self, channel: &str, bound: &HistoryRange) -> Result<Vec<Value>, ChatError> {
        let since = bound.since.map(first_id).unwrap_or_default();
        let mut all: Vec<Value> = Vec::new();
        let mut before = bound.before.clone();
        for _ in 0..PAGES {
            let limit = (bound.limit - all.len()).clamp(1, PAGE).to_string();
            let mut query = vec![("limit", limit.as_str())];
            query.extend(before.as_deref().map(|before| ("before", before)));
            let page = self.web.get(&format!("channels/{channel}/messages"), &query).await?;
            let page = page.as_array().ok_or_else(strange)?;
            all.extend(page.iter().filter(|m| later(m, &since)).cloned());
            let oldest = page.last().filter(|oldest| later(oldest, &since));
            before = oldest.and_then(|oldest| oldest["id"].as_str()).map(str::to_owned);
            if before.is_none() || page.len().to_string() != limit || all.len() >= bound.limit {
                break;
            }
        }
        Ok(all)
    }

    fn utterance(&self, message: &Value) -> Option<HistoryMessage> {
        let text = incoming_text::parse_message(message, &self.identity.user).text;
        let author = &message["author"];
        let name = |field: &str| author[field].as_str().map(str::to_owned);
        Some(HistoryMessage {
            user: name("id").filter(|_| !message["webhook_id"].is_string()),
            name: name("global_name").or_else(|| name("username")),
            is_from_bot: author["id"] == *self.identity.user,
            at: id_time(message["id"].as_str()?)?,
            text,
        })
        .filter(|said| !said.text.is_empty())
    }

    /// Returns the messages posted in a channel since then, oldest first.
    pub(super) async fn list_after(&self, channel: &str, since: Timestamp) -> Result<Vec<Value>, ChatError> {
        let mut after = earliest(since);
        let mut all: Vec<Value> = Vec::new();
        for _ in 0..PAGES {
            let mut page = self.fetch_page_after(channel, &after).await?;
            let full = page.len() == PAGE;
            all.append(&mut page);
            match all.last().and_then(|newest| newest["id"].as_str()).filter(|_| full) {
                Some(newest) => newest.clone_into(&mut after),
                None => break,
            }
        }
        Ok(all)
    }

    /// Returns the next messages after one, oldest first.
    async fn fetch_page_after(&self, channel: &str, after: &str) -> Result<Vec<Value>, ChatError> {
        let limit = PAGE.to_string();
        let query = [("limit", limit.as_str()), ("after", after)];
        let page = self.web.get(&format!("channels/{channel}/messages"), &query).await?;
        let mut page = page.as_array().cloned().ok_or_else(strange)?;
        page.reverse();
        Ok(page)
    }

    /// Returns whether a user can see a channel; a DM has its two people.
    pub(super) async fn can_read(&self, channel: &str, user: &str) -> Result<bool, ChatError> {
        let told = self.web.get(&format!("channels/{channel}"), &[]).await?;
        let Some(guild) = told["guild_id"].as_str() else {
            let people = told["recipients"].as_array().into_iter().flatten();
            return Ok(people.into_iter().any(|person| person["id"] == *user));
        };
        let kind = ThreadKind::parse(&told);
        if kind == Some(ThreadKind::Private) && !self.is_in_thread(channel, user).await? {
            return Ok(false);
        }
        let Some(member) = self.guilds.find_member(guild, user).await? else { return Ok(false) };
        let Some(guild) = self.guilds.find_guild(guild).await? else { return Ok(false) };
        // A thread has no permissions of its own.
        let judged = match (kind, told["parent_id"].as_str()) {
            (None, _) => told,
            (Some(_), Some(parent)) => self.web.get(&format!("channels/{parent}"), &[]).await?,
            (Some(_), None) => return Ok(false),
        };
        Ok(permissions::may_read(&guild, &judged, &member))
    }

    /// Returns whether a user was added to a thread. Moderators see private threads without that; they are not read for
    /// them.
    async fn is_in_thread(&self, thread: &str, user: &str) -> Result<bool, ChatError> {
        match self.web.get(&format!("channels/{thread}/thread-members/{user}"), &[]).await {
            Ok(member) => Ok(member["user_id"] == *user),
            // Discord documents a 404 and no code for it; no refusal shows that they are in the thread.
            Err(ChatError::ChannelClosed { .. } | ChatError::Rejected { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns who can read a channel. Everybody in a served guild is a member of the organisation.
    pub(super) async fn fetch_readers(&self, channel: &str) -> Result<ChannelMembers, ChatError> {
        let told = self.web.get(&format!("channels/{channel}"), &[]).await?;
        if told["guild_id"].as_str().is_some_and(|guild| self.guilds.is_served(guild)) {
            return Ok(ChannelMembers::OnlyMembers);
        }
        let people = told["recipients"].as_array().into_iter().flatten();
        let users = people.filter_map(|person| person["id"].as_str()).map(str::to_owned);
        Ok(ChannelMembers::Users(users.collect()))
    }

    /// Returns the channels that Nod can see, by id and name.
    pub(super) async fn list_own_channels(&self) -> Result<Vec<(String, String)>, ChatError> {
        let name = |channel: &Value| channel["name"].as_str().unwrap_or_default().to_owned();
        let guilds = self.fetch_own_channels().await?;
        let channels = guilds.iter().flat_map(|(_, channels)| channels);
        Ok(channels.filter_map(|c| Some((c["id"].as_str()?.to_owned(), name(c)))).collect())
    }

    /// Returns the same with the threads in which somebody has posted since then. Two lists of a guild show it for all of
    /// its channels.
    pub(super) async fn list_channels_with_posts(
        &self,
        since: Timestamp,
    ) -> Result<Vec<ListedChannel>, ChatError> {
        let since = earliest(since);
        let mut all = Vec::new();
        for (guild, channels) in self.fetch_own_channels().await? {
            let mut threads = match self.list_active_threads(&guild, &since).await {
                Ok(threads) => threads,
                // Nod was removed from it a moment ago.
                Err(ChatError::ChannelClosed { .. } | ChatError::Rejected { .. }) => continue,
                Err(error) => return Err(error),
            };
            all.extend(channels.iter().filter_map(|channel| {
                let id = channel["id"].as_str()?;
                let threads = threads.remove(id).unwrap_or_default();
                let may_have_posts = !threads.is_empty() || may_have_posts(channel, &since);
                Some(ListedChannel { channel: id.to_owned(), is_dm: false, may_have_posts, threads })
            }));
        }
        Ok(all)
    }

    /// Returns the channels that Nod can see, by guild.
    async fn fetch_own_channels(&self) -> Result<Vec<(String, Vec<Value>)>, ChatError> {
        let mut all = Vec::new();
        for id in self.guilds.list_guilds().await? {
            let guild = match self.web.get(&format!("guilds/{id}"), &[]).await {
                Ok(guild) => guild,
                // Nod was removed from it a moment ago.
                Err(ChatError::ChannelClosed { .. } | ChatError::Rejected { .. }) => continue,
                Err(error) => return Err(error),
            };
            let told = async {
                let member = self.guilds.fetch_member(&id, &self.identity.user).await?;
                Ok((member, self.web.get(&format!("guilds/{id}/channels"), &[]).await?))
            };
            let (member, channels) = match told.await {
                Ok((Some(member), channels)) => (member, channels),
                Ok((None, _)) | Err(ChatError::ChannelClosed { .. } | ChatError::Rejected { .. }) => continue,
                Err(error) => return Err(error),
            };
            let mut own = channels.as_array().ok_or_else(strange)?.clone();
            own.retain(|channel| {
                self.channel_index.note(channel, Some(&id));
                let known = channel["id"].as_str().and_then(|channel| self.channel_index.find(channel));
                known.is_some_and(|known| known.is_text || known.posts)
                    && permissions::may_read(&guild, channel, &member)
            });
            all.push((id, own));
        }
        Ok(all)
    }

    /// Returns the messages in a channel and its threads since then, as their events would have delivered them, oldest
    /// first: a few pages and a cursor. It also stops if Discord rate-limits, so that no page is read again after that.
    pub(super) async fn fetch_missed(
        &self,
        channel: &str,
        threads: &[String],
        since: Timestamp,
        from: Option<&str>,
    ) -> Result<MissedMessages, ChatError> {
        let begins = from.and_then(|from| from.split_once(':'));
        let first = begins.map_or(0, |(place, _)| number(place));
        let (mut found, mut turns) = (Vec::new(), PAGES);
        for place in self.list_places(channel, threads).await? {
            let mut after = match begins {
                _ if number(&place) < first => continue,
                Some((begun, after)) if begun == place => after.to_owned(),
                _ => earliest(since),
            };
            let read = self.read_pages_after(&place, since, &mut after, &mut turns, &mut found).await;
            let next = Some(format!("{place}:{after}"));
            match read {
                Ok(true) => continue,
                // The thread was deleted meanwhile, or never opened.
                Err(ChatError::ChannelClosed { .. }) if place != channel => continue,
                Err(ChatError::RateLimited { .. } | ChatError::UnknownOutcome(_))
                    if next.as_deref() != from => {}
                Ok(false) => {}
                Err(error) => return Err(error),
            }
            found.sort_by_key(|inbound: &Inbound| inbound.at);
            return Ok(MissedMessages { messages: found, cursor: next });
        }
        found.sort_by_key(|inbound| inbound.at);
        Ok(MissedMessages { messages: found, cursor: None })
    }

    /// Returns where people could have written: the channel, unless it has only threads, and its threads. Their ids are
    /// greater than the channel's, so the order stays stable when more are opened.
    async fn list_places(&self, channel: &str, threads: &[String]) -> Result<Vec<String>, ChatError> {
        let mut all: BTreeMap<u64, String> = threads.iter().map(|id| (number(id), id.clone())).collect();
        if !self.channel_index.load(&self.web, channel).await?.posts {
            all.insert(number(channel), channel.to_owned());
        }
        Ok(all.into_values().collect())
    }

    /// Reads one place on from `after`; returns false if more remains than is read at a time.
    async fn read_pages_after(
        &self,
        channel: &str,
        since: Timestamp,
        after: &mut String,
        turns: &mut usize,
        found: &mut Vec<Inbound>,
    ) -> Result<bool, ChatError> {
        let place = self.channel_index.load_location(&self.web, channel).await?;
        while *turns > 0 {
            *turns -= 1;
            let page = self.fetch_page_after(channel, after).await?;
            found.extend(
                page.iter().filter_map(|m| into_inbound(parse_message(m, place.clone(), &self.identity))),
            );
            if let Some(newest) = page.last().and_then(|newest| newest["id"].as_str()) {
                newest.clone_into(after);
            }
            if page.len() < PAGE {
                found.extend(self.list_edited(channel, &place, since).await?);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the messages among the newest that were edited since then.
    async fn list_edited(
        &self,
        channel: &str,
        place: &ChannelRef,
        since: Timestamp,
    ) -> Result<Vec<Inbound>, ChatError> {
        let newest = HistoryRange { since: None, before: None, limit: PAGE };
        let recent = self.list_before(channel, &newest).await?;
        let changed = recent.iter().filter(|message| {
            let when = message["edited_timestamp"].as_str().unwrap_or_default();
            chrono::DateTime::parse_from_rfc3339(when).is_ok_and(|when| when >= since)
        });
        Ok(changed.filter_map(|m| into_inbound(parse_edit(m, place.clone(), &self.identity))).collect())
    }

    /// Returns the open threads of a guild in which somebody has posted since then, by channel.
    async fn list_active_threads(
        &self,
        guild: &str,
        since: &str,
    ) -> Result<HashMap<String, Vec<String>>, ChatError> {
        let active = self.web.get(&format!("guilds/{guild}/threads/active"), &[]).await?;
        let mut open = HashMap::<String, Vec<String>>::new();
        for thread in active["threads"].as_array().into_iter().flatten() {
            self.channel_index.note(thread, Some(guild));
            let (Some(id), Some(parent)) = (thread["id"].as_str(), thread["parent_id"].as_str()) else {
                continue;
            };
            if may_have_posts(thread, since) {
                open.entry(parent.to_owned()).or_default().push(id.to_owned());
            }
        }
        Ok(open)
    }
}

/// Returns whether a listed channel or thread can have a message from `since` on. The id of its last message stays where
/// that was deleted, and is null where there never was one.
fn may_have_posts(channel: &Value, since: &str) -> bool {
    match &channel["last_message_id"] {
        Value::String(last) => newer(last, since),
        Value::Null => channel.get("last_message_id").is_none(),
        _ => true,
    }
}

fn into_inbound(heard: ParseOutcome) -> Option<Inbound> {
    match heard {
        ParseOutcome::Inbound(inbound) => Some(*inbound),
        ParseOutcome::Ignored(_) | ParseOutcome::Unreadable(_) => None,
    }
}

/// Returns an id before the first one created since then.
fn earliest(since: Timestamp) -> String {
    first_id(since - chrono::TimeDelta::seconds(SKEW))
}

fn later(message: &Value, since: &str) -> bool {
    message["id"].as_str().is_some_and(|id| newer(id, since))
}

fn newer(id: &str, since: &str) -> bool {
    number(id) >= number(since)
}

/// Parses an id; ids are numbers that grow with time.
fn number(id: &str) -> u64 {
    id.parse().unwrap_or_default()
}
