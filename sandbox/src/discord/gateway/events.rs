//! Which session receives which event, by intent and shard.

use serde_json::{Value, json};

use super::super::entities::{Channel, Message};
use super::super::notifications;
use super::super::world::{World, number};

pub(super) const GUILDS: u64 = 1;
pub(super) const GUILD_MEMBERS: u64 = 1 << 1;
pub(super) const PRESENCES: u64 = 1 << 8;
pub(super) const GUILD_MESSAGES: u64 = 1 << 9;
pub(super) const DIRECT_MESSAGES: u64 = 1 << 12;
pub(super) const MESSAGE_CONTENT: u64 = 1 << 15;
/// All intents that Discord documents.
pub(super) const KNOWN_INTENTS: u64 = 0x0033_FFFF;

impl World {
    /// Sends an event to every session that subscribed to it; returns whether there was one.
    pub(in crate::discord) fn dispatch(&mut self, name: &str, need: u64, guild: bool, body: &Value) -> bool {
        self.dispatch_either(name, need, guild, body, body)
    }

    /// Same as `dispatch`, with another body for sessions without `MESSAGE_CONTENT`.
    fn dispatch_either(&mut self, name: &str, need: u64, guild: bool, body: &Value, blind: &Value) -> bool {
        self.forget_sessions();
        if guild && !self.is_bot_in_guild() {
            return false;
        }
        let times = if std::mem::take(&mut self.gateway.duplicates_next) { 2 } else { 1 };
        let mut told = false;
        for at in 0..self.gateway.sessions.len() {
            let session = &self.gateway.sessions[at];
            let home = if guild { self.shard_of_guild(session.shard[1]) } else { 0 };
            if session.shard[0] != home || (need != 0 && session.intents & need == 0) {
                continue;
            }
            told = true;
            let sees = session.intents & MESSAGE_CONTENT != 0;
            for _ in 0..times {
                self.gateway.deliver(at, name, if sees { body } else { blind });
            }
        }
        told
    }

    pub(in crate::discord) fn tell_message(&mut self, name: &str, message: &Message) {
        if message.only.is_some() || !self.can_see(&message.channel, self.bot()) {
            return;
        }
        let guild = self.is_in_guild(&message.channel);
        let need = if guild { GUILD_MESSAGES } else { DIRECT_MESSAGES };
        let body = self.message_event(message);
        let mut blind = body.clone();
        if guild && !message.is_from_bot && !self.speaks_to_bot(message) {
            blind["content"] = json!("");
            for field in ["embeds", "attachments", "components"] {
                blind[field] = json!([]);
            }
        }
        self.dispatch_either(name, need, guild, &body, &blind);
    }

    fn speaks_to_bot(&self, message: &Message) -> bool {
        let named = notifications::mentions(&message.content);
        named.iter().any(|m| notifications::mentioned_user_id(m) == Some(self.bot()))
            || self.mentioned_user_ids(message).iter().any(|id| id == self.bot())
    }

    pub(in crate::discord) fn tell_deleted(&mut self, message: &Message) {
        if message.only.is_some() || !self.can_see(&message.channel, self.bot()) {
            return;
        }
        let guild = self.is_in_guild(&message.channel);
        let mut body = json!({"id": message.id, "channel_id": message.channel});
        if guild {
            body["guild_id"] = json!(self.config.guild.id);
        }
        let need = if guild { GUILD_MESSAGES } else { DIRECT_MESSAGES };
        self.dispatch("MESSAGE_DELETE", need, guild, &body);
    }

    pub(in crate::discord) fn tell_channel(&mut self, name: &str, channel: &Channel) {
        if !self.can_see(&channel.id, self.bot()) {
            return;
        }
        let mut body = self.channel_json(channel);
        if name == "THREAD_CREATE" {
            body["newly_created"] = json!(true);
        }
        let guild = self.is_in_guild(&channel.id);
        self.dispatch(name, GUILDS, guild, &body);
    }

    /// Adds the app to the server.
    pub(in crate::discord) fn add_bot(&mut self) -> Result<(), String> {
        if self.is_bot_in_guild() {
            return Err("The bot is in that server.".into());
        }
        self.set_bot_in_guild(true);
        self.config.guild.joined_at = self.now();
        let whole = self.whole_guild();
        self.dispatch("GUILD_CREATE", GUILDS, true, &whole);
        Ok(())
    }

    /// Removes the app from the server.
    pub(in crate::discord) fn remove_bot(&mut self) -> Result<(), String> {
        if !self.is_bot_in_guild() {
            return Err("The bot is not in that server.".into());
        }
        let gone = json!({"id": self.config.guild.id});
        self.dispatch("GUILD_DELETE", GUILDS, true, &gone);
        self.set_bot_in_guild(false);
        Ok(())
    }

    /// Removes the app from the other server.
    pub(in crate::discord) fn leave_elsewhere(&mut self) {
        let Some(guild) = self.config.elsewhere.take() else { return };
        let shards = |session: &super::sessions::Session| (number(&guild.id) >> 22) % session.shard[1].max(1);
        for at in 0..self.gateway.sessions.len() {
            let session = &self.gateway.sessions[at];
            if session.intents & GUILDS != 0 && shards(session) == session.shard[0] {
                self.gateway.deliver(at, "GUILD_DELETE", &json!({"id": guild.id}));
            }
        }
    }

    /// Sends a member event; `name` is one of the three event names.
    pub(in crate::discord) fn tell_member(&mut self, name: &str, id: &str) {
        let leaves = name == "GUILD_MEMBER_REMOVE";
        let mut body = if leaves { json!({"user": self.user_json(id)}) } else { self.member_json(id) };
        body["guild_id"] = json!(self.config.guild.id);
        self.dispatch(name, GUILD_MEMBERS, true, &body);
    }
}
