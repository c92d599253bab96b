//! Which channel is what: Discord's events name a thread by its own id and seldom name its parent.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use nod_contract::chat::{ChannelRef, ChatError};
use serde_json::Value;

use super::web::ApiClient;

/// Kinds of channels, by Discord's numbers.
const DM_TYPES: [u64; 2] = [1, 3];
/// Channels in which people write: text, announcements, and the chat of voice and stage channels.
const TEXT_TYPES: [u64; 4] = [0, 5, 2, 13];
/// Channels in which people write only in threads: forums and media channels.
const FORUM_TYPES: [u64; 2] = [15, 16];

/// Who sees a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThreadKind {
    /// Whoever sees its channel.
    Public,
    /// Only the users who were added to it.
    Private,
}

impl ThreadKind {
    /// Returns `None` if the channel is no thread.
    pub(super) fn parse(channel: &Value) -> Option<Self> {
        match channel["type"].as_u64()? {
            10 | 11 => Some(Self::Public),
            12 => Some(Self::Private),
            _ => None,
        }
    }
}

/// What is known about a channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Channel {
    pub guild: Option<String>,
    /// The channel of a public thread, whose readers are the channel's. A private thread has no parent here.
    pub parent: Option<String>,
    pub direct: bool,
    /// A private thread.
    pub private: bool,
    /// People write in it, and it is not a thread.
    pub is_text: bool,
    /// People write only in its threads.
    pub posts: bool,
}

impl Channel {
    fn read(channel: &Value, guild: Option<&str>) -> Option<(String, Self)> {
        let text = |name: &str| channel[name].as_str().map(str::to_owned);
        let kind = channel["type"].as_u64()?;
        let thread = ThreadKind::parse(channel);
        Some((
            text("id")?,
            Self {
                guild: text("guild_id").or_else(|| guild.map(str::to_owned)),
                parent: text("parent_id").filter(|_| thread == Some(ThreadKind::Public)),
                private: thread == Some(ThreadKind::Private),
                direct: DM_TYPES.contains(&kind),
                is_text: TEXT_TYPES.contains(&kind),
                posts: FORUM_TYPES.contains(&kind),
            },
        ))
    }
}

/// The known channels, by their ids.
#[derive(Default)]
pub(super) struct ChannelIndex(Mutex<HashMap<String, Channel>>);

impl ChannelIndex {
    /// Learns from an event about a channel, a thread or a whole guild.
    pub(super) fn apply_event(&self, kind: &str, told: &Value) {
        match kind {
            "GUILD_CREATE" => {
                let guild = told["id"].as_str();
                for list in ["channels", "threads"] {
                    for channel in told[list].as_array().into_iter().flatten() {
                        self.note(channel, guild);
                    }
                }
            }
            "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE" => self.note(told, None),
            "CHANNEL_DELETE" | "THREAD_DELETE" => {
                if let Some(id) = told["id"].as_str() {
                    self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
                }
            }
            _ => {}
        }
    }

    pub(super) fn note(&self, channel: &Value, guild: Option<&str>) {
        let Some((id, mut read)) = Channel::read(channel, guild) else { return };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Some events contain only a part of a channel.
        if let Some(known) = all.get(&id) {
            read.parent = read.parent.or_else(|| known.parent.clone());
            read.guild = read.guild.or_else(|| known.guild.clone());
        }
        let orphan = read.parent.is_none() && ThreadKind::parse(channel) == Some(ThreadKind::Public);
        if !orphan {
            all.insert(id, read);
        }
    }

    /// Records a DM channel when a message arrives in it: bots do not get other events about DMs.
    pub(super) fn insert_dm(&self, id: &str) {
        let line = Channel { direct: true, ..Channel::default() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(id.to_owned()).or_insert(line);
    }

    pub(super) fn find(&self, id: &str) -> Option<Channel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Returns what a channel is; queries Discord if it is not known.
    pub(super) async fn load(&self, web: &ApiClient, id: &str) -> Result<Channel, ChatError> {
        if let Some(known) = self.find(id) {
            return Ok(known);
        }
        self.note(&web.get(&format!("channels/{id}"), &[]).await?, None);
        self.find(id).ok_or_else(|| ChatError::UnknownOutcome("a channel without a kind".to_owned()))
    }

    /// Returns the core's reference for a Discord channel.
    pub(super) async fn load_location(&self, web: &ApiClient, id: &str) -> Result<ChannelRef, ChatError> {
        let channel = self.load(web, id).await?;
        Ok(match channel.parent {
            // Messages in a private thread are not known in any other place.
            None if channel.private => {
                ChannelRef { channel: id.to_owned(), is_dm: false, thread: Some(id.to_owned()) }
            }
            Some(parent) => ChannelRef { channel: parent, is_dm: false, thread: Some(id.to_owned()) },
            None => ChannelRef { channel: id.to_owned(), is_dm: channel.direct, thread: None },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn guild_event_fills_the_channel_index() {
        let atlas = ChannelIndex::default();
        atlas.apply_event(
            "GUILD_CREATE",
            &json!({"id": "1", "channels": [{"id": "2", "type": 0, "name": "general"}],
                    "threads": [{"id": "3", "type": 11, "name": "late", "parent_id": "2", "guild_id": "1"}]}),
        );
        let thread = atlas.find("3").unwrap_or_default();
        assert_eq!((thread.guild.as_deref(), thread.parent.as_deref()), (Some("1"), Some("2")));
        assert!(atlas.find("2").unwrap_or_default().is_text && !thread.is_text);
        atlas
            .apply_event("THREAD_CREATE", &json!({"id": "4", "type": 12, "parent_id": "2", "guild_id": "1"}));
        let private = atlas.find("4").unwrap_or_default();
        assert!(private.private && private.parent.is_none());
        atlas.apply_event("THREAD_DELETE", &json!({"id": "3"}));
        assert_eq!(atlas.find("3"), None);
    }
}
