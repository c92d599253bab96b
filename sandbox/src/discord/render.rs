//! Discord's objects as the app reads them.

use serde_json::{Map, Value, json};

use super::entities::{Channel, ChannelKind, HAS_THREAD, Message, User};
use super::notifications;
use super::world::{World, number};

/// The permissions that every member has in a channel that hides nothing.
const EVERYBODY: u64 = VIEW | SEND | ADD_REACTIONS | EMBED | ATTACH | HISTORY | COMMANDS | THREADS;
const ADD_REACTIONS: u64 = 1 << 6;
const VIEW: u64 = 1 << 10;
const SEND: u64 = 1 << 11;
const EMBED: u64 = 1 << 14;
const ATTACH: u64 = 1 << 15;
const HISTORY: u64 = 1 << 16;
const COMMANDS: u64 = 1 << 31;
/// `CREATE_PUBLIC_THREADS` and `SEND_MESSAGES_IN_THREADS`.
const THREADS: u64 = (1 << 35) | (1 << 38);
/// The creator of the guild, who sees all of it; no user acts as this one.
const OWNER: &str = "1100000000000000099";
/// `SUPPRESS_JOIN_NOTIFICATIONS`: the system channel does not show who joined.
const JOINS_UNTOLD: u64 = 1;
const JOINED: &str = "2024-01-05T10:00:00.000000+00:00";

/// Merges `over` into `base`, object by object.
pub(super) fn merge(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (base, over) => *base = over.clone(),
    }
}

impl World {
    pub(super) fn user_json(&self, id: &str) -> Value {
        let unknown = User { id: id.to_owned(), ..User::new("deleted-user", "") };
        let user = self.users.get(id).unwrap_or(&unknown);
        json!({
            "id": id, "username": user.name, "global_name": user.global_name,
            "discriminator": if user.is_bot { "0001" } else { "0" },
            "avatar": null, "bot": user.is_bot, "public_flags": 0, "flags": 0,
            "avatar_decoration_data": null, "banner": null, "accent_color": null,
            "collectibles": null, "primary_guild": null,
        })
    }

    /// Returns a guild member without the `user`, as included in messages.
    fn bare_member(&self, id: &str) -> Value {
        json!({
            "nick": self.users.get(id).and_then(|u| u.nick.clone()), "avatar": null, "banner": null,
            "roles": [], "joined_at": JOINED, "premium_since": null, "deaf": false, "mute": false,
            "pending": false, "flags": 0, "communication_disabled_until": null,
        })
    }

    pub(super) fn member_json(&self, id: &str) -> Value {
        let mut member = self.bare_member(id);
        member["user"] = self.user_json(id);
        member
    }

    /// Returns a user's permissions in a channel, as Discord's number.
    pub(super) fn permissions(&self, channel: &str, user: &str) -> u64 {
        let sends = user != self.bot() || self.root(channel).is_some_and(|c| c.bot_sends);
        match self.can_see(channel, user) {
            false => 0,
            true if sends => EVERYBODY,
            true => EVERYBODY & !(SEND | THREADS),
        }
    }

    fn overwrites(&self, channel: &Channel) -> Vec<Value> {
        let rule = |id: &str, kind: u8, allow: u64, deny: u64| json!({"id": id, "type": kind, "allow": allow.to_string(), "deny": deny.to_string()});
        let mut rules = Vec::new();
        if !channel.members.is_empty() {
            rules.push(rule(&self.config.guild.id, 0, 0, VIEW));
            rules.extend(channel.members.iter().map(|m| rule(m, 1, VIEW, 0)));
        }
        let (allow, deny) = match (channel.bot_views, channel.bot_sends) {
            (false, _) => (0, VIEW | SEND),
            (true, false) => (VIEW, SEND | THREADS),
            (true, true) => (VIEW | SEND, 0),
        };
        rules.push(rule(self.bot(), 1, allow, deny));
        rules
    }

    pub(super) fn channel_json(&self, channel: &Channel) -> Value {
        let last = self.messages_in(&channel.id).last().map(|m| m.id.clone());
        let mut shown = json!({
            "id": channel.id, "type": channel.kind.number(), "last_message_id": last, "flags": 0,
        });
        let more = match channel.kind {
            ChannelKind::Dm => {
                let recipients: Vec<Value> = channel.members.iter().map(|m| self.user_json(m)).collect();
                json!({"recipients": recipients})
            }
            ChannelKind::Text | ChannelKind::Forum => json!({
                "guild_id": self.config.guild.id, "name": channel.name, "position": 0,
                "permission_overwrites": self.overwrites(channel), "topic": null, "nsfw": false,
                "rate_limit_per_user": 0, "parent_id": null,
            }),
            ChannelKind::Thread | ChannelKind::PrivateThread => self.thread_json(channel),
        };
        merge_all(&mut shown, more);
        shown
    }

    fn thread_json(&self, thread: &Channel) -> Value {
        let at = self.message(&thread.id).map_or_else(|| self.now(), |m| m.created_at).to_rfc3339();
        let count = self.messages_in(&thread.id).iter().filter(|m| m.kind != 21).count();
        let mut shown = json!({
            "guild_id": self.config.guild.id, "parent_id": thread.parent, "owner_id": thread.owner,
            "name": thread.name, "rate_limit_per_user": 0, "message_count": count,
            "member_count": self.thread_members(thread).len(),
            "total_message_sent": count,
            "thread_metadata": {
                "archived": thread.archived, "auto_archive_duration": 1440, "archive_timestamp": at,
                "locked": thread.locked, "create_timestamp": at,
            },
        });
        if thread.kind == ChannelKind::PrivateThread {
            shown["thread_metadata"]["invitable"] = json!(true);
        }
        shown
    }

    /// Returns who is in a thread: those who were added to a private one, and who opened a public one or wrote in it.
    pub(super) fn thread_members(&self, thread: &Channel) -> Vec<String> {
        let mut all = thread.members.clone();
        if thread.kind == ChannelKind::Thread {
            let spoke = self.messages_in(&thread.id).iter().filter(|m| m.kind != 21).map(|m| &m.user);
            all.extend(thread.owner.iter().chain(spoke).cloned());
        }
        all.retain(|user| self.users.get(user).is_some_and(|u| u.is_member || u.id == self.bot()));
        all.sort_by_key(|user| number(user));
        all.dedup();
        all
    }

    pub(super) fn thread_member_json(&self, thread: &Channel, user: &str) -> Value {
        json!({"id": thread.id, "user_id": user, "join_timestamp": self.now().to_rfc3339(), "flags": 0})
    }

    pub(super) fn guild_json(&self) -> Value {
        let guild = &self.config.guild;
        let system = guild.system_channel.as_ref().and_then(|channel| self.channel_id(channel).ok());
        let role = json!({
            "id": guild.id, "name": "@everyone", "color": 0, "hoist": false, "icon": null,
            "colors": {"primary_color": 0, "secondary_color": null, "tertiary_color": null},
            "unicode_emoji": null, "position": 0, "permissions": EVERYBODY.to_string(),
            "managed": false, "mentionable": false, "flags": 0,
        });
        json!({
            "id": guild.id, "name": guild.name, "icon": null, "splash": null, "discovery_splash": null,
            "owner_id": OWNER,
            "afk_channel_id": null, "afk_timeout": 300, "verification_level": 1,
            "default_message_notifications": 1, "explicit_content_filter": 0, "roles": [role],
            "emojis": [], "features": [], "mfa_level": 0, "application_id": null,
            "system_channel_id": system, "system_channel_flags": JOINS_UNTOLD, "rules_channel_id": null,
            "max_presences": null, "max_members": 500_000, "vanity_url_code": null,
            "description": null, "banner": null, "premium_tier": 0, "premium_subscription_count": 0,
            "preferred_locale": "en-US", "public_updates_channel_id": null, "nsfw_level": 0,
            "max_video_channel_users": 25, "max_stage_video_channel_users": 50, "stickers": [],
            "premium_progress_bar_enabled": false, "safety_alerts_channel_id": null,
            "incidents_data": null, "home_header": null, "nsfw": false, "region": "deprecated",
            "widget_enabled": false, "widget_channel_id": null, "hub_type": null,
        })
    }

    /// Returns the guild as sent in `GUILD_CREATE`.
    pub(super) fn whole_guild(&self) -> Value {
        let of = |wanted: fn(&Channel) -> bool| {
            let all = self.channels.values().filter(move |c| wanted(c) && !c.archived);
            all.filter(|c| self.can_see(&c.id, self.bot())).map(|c| self.channel_json(c)).collect::<Vec<_>>()
        };
        let members: Vec<Value> = self.members().map(|u| self.member_json(&u.id)).collect();
        let mut guild = self.guild_json();
        let more = json!({
            "joined_at": self.config.guild.joined_at.to_rfc3339(), "large": false, "unavailable": false, "member_count": members.len(),
            "voice_states": [], "members": members, "channels": of(Channel::is_guild_channel),
            "threads": of(|c| c.kind.is_thread()), "presences": [], "stage_instances": [],
            "guild_scheduled_events": [], "soundboard_sounds": [],
        });
        merge_all(&mut guild, more);
        guild
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &User> {
        self.users.values().filter(|u| u.is_member)
    }

    /// Returns a message as history shows it.
    pub(super) fn message_json(&self, message: &Message) -> Value {
        let mentioned: Vec<Value> =
            self.mentioned_user_ids(message).iter().map(|id| self.user_json(id)).collect();
        let everyone = notifications::mentions(&message.content).iter().any(|m| !m.starts_with('<'));
        let mut shown = json!({
            "id": message.id, "channel_id": message.channel, "author": self.user_json(&message.user),
            "content": message.content, "timestamp": message.created_at.to_rfc3339(),
            "edited_timestamp": message.edited_at.map(|at| at.to_rfc3339()), "tts": false,
            "mention_everyone": everyone && !message.is_from_bot, "mentions": mentioned, "mention_roles": [],
            "attachments": message.attachments, "embeds": [], "pinned": false, "type": message.kind,
            "flags": message.flags, "components": message.components,
        });
        if message.is_from_bot {
            shown["application_id"] = json!(self.config.app.id);
        }
        if message.flags & HAS_THREAD != 0
            && let Some(thread) = self.channels.get(&message.id)
        {
            shown["thread"] = self.channel_json(thread);
        }
        if let Some(reply) = &message.reply_to {
            merge_all(&mut shown, self.reference(message, reply));
        }
        if let Some(interaction) = message.interaction.as_ref().and_then(|id| self.interaction(id)) {
            shown["interaction_metadata"] = self.interaction_metadata(interaction);
        }
        merge(&mut shown, &message.extra);
        shown
    }

    fn reference(&self, message: &Message, reply: &str) -> Value {
        let referenced = self.message(reply);
        let channel = referenced.map_or(&message.channel, |m| &m.channel);
        let mut told = json!({
            "message_reference": {"type": 0, "channel_id": channel, "message_id": reply},
            "referenced_message": referenced.map(|m| self.message_json(m)),
        });
        if self.is_in_guild(channel) {
            told["message_reference"]["guild_id"] = json!(self.config.guild.id);
        }
        told
    }

    /// Returns the users whom a message mentions; a reply mentions the author of the message it replies to.
    pub(super) fn mentioned_user_ids(&self, message: &Message) -> Vec<String> {
        let all = notifications::mentions(&message.content);
        let mut ids: Vec<String> =
            all.iter().filter_map(|m| notifications::mentioned_user_id(m)).map(str::to_owned).collect();
        if message.kind == 19 {
            ids.extend(message.reply_to.as_ref().and_then(|r| self.message(r)).map(|m| m.user.clone()));
        }
        ids.sort_by_key(|id| number(id));
        ids.dedup();
        ids.retain(|id| self.users.contains_key(id));
        ids
    }

    pub(super) fn is_in_guild(&self, channel: &str) -> bool {
        self.channels.get(channel).is_some_and(|c| c.kind != ChannelKind::Dm)
    }

    /// Returns a message as sent in events: the fields of history, and those that only events have.
    pub(super) fn message_event(&self, message: &Message) -> Value {
        let mut told = self.message_json(message);
        if let Some(nonce) = &message.nonce {
            told["nonce"] = json!(nonce);
        }
        if self.is_in_guild(&message.channel) {
            // Merged fields can set another guild.
            if told["guild_id"].is_null() {
                told["guild_id"] = json!(self.config.guild.id);
            }
            if self.users.get(&message.user).is_some_and(|u| u.is_member) {
                told["member"] = self.bare_member(&message.user);
            }
            for user in told["mentions"].as_array_mut().into_iter().flatten() {
                let id = user["id"].as_str().unwrap_or_default().to_owned();
                user["member"] = self.bare_member(&id);
            }
        }
        told["channel_type"] = json!(self.channels.get(&message.channel).map(|c| c.kind.number()));
        told
    }
}

/// Copies all fields of `more` over `base`, nulls too.
pub(super) fn merge_all(base: &mut Value, more: Value) {
    if let (Some(base), Value::Object(more)) = (base.as_object_mut(), more) {
        base.extend(Map::from_iter(more));
    }
}
