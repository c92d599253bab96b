//! Sessions: how they begin, which events they receive, and how they are resumed.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::world::{World, number, secret};
use super::events::{GUILD_MEMBERS, GUILDS, KNOWN_INTENTS, MESSAGE_CONTENT, PRESENCES};
use super::{INVALID, OutgoingFrame};

/// How many dispatches a session buffers.
const BUFFER: usize = 1_000;

/// One shard's stream of events.
pub(in crate::discord) struct Session {
    pub id: String,
    pub shard: [u64; 2],
    pub intents: u64,
    pub seq: u64,
    /// Events that can be replayed: sequence number and frame.
    buffer: Vec<(u64, String)>,
    pub connection: Option<u64>,
    /// When its connection was lost.
    pub dropped: DateTime<Utc>,
}

impl World {
    /// Compares the token. The gateway also accepts it with the `Bot ` prefix of the REST API, as serenity sends it.
    fn is_token(&self, said: &Value) -> bool {
        let said = said.as_str().unwrap_or_default();
        said.strip_prefix("Bot ").unwrap_or(said) == self.config.app.bot_token
    }

    pub(super) fn identify(&mut self, connection: u64, said: &Value) {
        if !self.is_token(&said["token"]) {
            return self.hang_up(connection, 4004, "Authentication failed.");
        }
        let known = |p: &str| said["properties"][p].is_string();
        if !["os", "browser", "device"].into_iter().all(known) {
            return self.hang_up(connection, 4002, "Error while decoding payload.");
        }
        let Some(shard) = shard_of(&said["shard"]) else {
            return self.hang_up(connection, 4010, "Invalid shard.");
        };
        let Some(intents) = said["intents"].as_u64().filter(|i| i & !KNOWN_INTENTS == 0) else {
            return self.hang_up(connection, 4013, "Invalid intents.");
        };
        let app = &self.config.app;
        let members = intents & GUILD_MEMBERS != 0 && !app.members_intent;
        let content = intents & MESSAGE_CONTENT != 0 && !app.content_intent;
        if members || content || intents & PRESENCES != 0 {
            return self.hang_up(connection, 4014, "Disallowed intent(s).");
        }
        if self.gateway.refused_shard == Some(shard[0]) {
            return self.gateway.send(connection, OutgoingFrame::Text(INVALID.to_owned()));
        }
        let rival = |s: &Session| s.shard == shard && s.connection.is_some();
        if self.gateway.sessions.iter().any(rival) {
            self.violation(format!("gateway: shard {shard:?} is identified twice"));
        }
        self.begin(connection, shard, intents);
    }

    fn begin(&mut self, connection: u64, shard: [u64; 2], intents: u64) {
        self.gateway.identify_count += 1;
        let (id, dropped) = (secret(16), self.now());
        let buffer = Vec::new();
        let session =
            Session { id: id.clone(), shard, intents, seq: 0, buffer, connection: Some(connection), dropped };
        self.gateway.sessions.push(session);
        let at = self.gateway.sessions.len() - 1;
        let guild = self.is_bot_in_guild() && self.shard_of_guild(shard[1]) == shard[0];
        let (ready, whole) = (self.ready(&id, shard, guild), self.whole_guild());
        self.gateway.deliver(at, "READY", &ready);
        if guild && intents & GUILDS != 0 {
            self.gateway.deliver(at, "GUILD_CREATE", &whole);
        }
        let other = self.config.elsewhere.clone();
        if let Some(other) = other.filter(|other| (number(&other.id) >> 22) % shard[1].max(1) == shard[0])
            && intents & GUILDS != 0
        {
            let mut told = self.guild_json();
            let more = json!({
                "id": other.id, "name": other.name, "joined_at": other.joined_at.to_rfc3339(), "large": false,
                "system_channel_id": other.system_channel,
                "unavailable": false, "member_count": 1, "members": [], "channels": [], "threads": [],
                "voice_states": [], "presences": [], "stage_instances": [], "guild_scheduled_events": [],
                "soundboard_sounds": [], "roles": [],
            });
            super::super::render::merge(&mut told, &more);
            self.gateway.deliver(at, "GUILD_CREATE", &told);
        }
    }

    fn ready(&self, session: &str, shard: [u64; 2], guild: bool) -> Value {
        let mut user = self.user_json(self.bot());
        user["verified"] = json!(true);
        user["mfa_enabled"] = json!(false);
        user["email"] = Value::Null;
        let guilds: Vec<Value> =
            guild.then(|| json!({"id": self.config.guild.id, "unavailable": true})).into_iter().collect();
        json!({
            "v": 10, "user": user, "guilds": guilds, "session_id": session, "session_type": "normal",
            "resume_gateway_url": self.gateway_url(), "shard": shard, "private_channels": [],
            "presences": [], "relationships": [], "user_settings": {}, "guild_join_requests": [],
            "application": {"id": self.config.app.id, "flags": self.app_flags()}, "_trace": [],
        })
    }

    pub(in crate::discord) fn shard_of_guild(&self, shards: u64) -> u64 {
        (number(&self.config.guild.id) >> 22) % shards.max(1)
    }

    pub(super) fn resume(&mut self, connection: u64, said: &Value) {
        if !self.is_token(&said["token"]) {
            return self.hang_up(connection, 4004, "Authentication failed.");
        }
        self.forget_sessions();
        let wanted = said["session_id"].as_str().unwrap_or_default();
        let at = self.gateway.sessions.iter().position(|s| s.id == wanted);
        let seq = said["seq"].as_u64();
        let (Some(at), Some(seq)) = (at, seq) else {
            return self.gateway.send(connection, OutgoingFrame::Text(INVALID.to_owned()));
        };
        let session = &mut self.gateway.sessions[at];
        if seq > session.seq {
            return self.hang_up(connection, 4007, "Invalid seq.");
        }
        let old = session.connection.replace(connection);
        let missed: Vec<String> =
            session.buffer.iter().filter(|(n, _)| *n > seq).map(|(_, text)| text.clone()).collect();
        if let Some(old) = old {
            self.gateway.send(old, OutgoingFrame::Close(4000, "Resumed elsewhere."));
        }
        for text in missed {
            self.gateway.send(connection, OutgoingFrame::Text(text));
        }
        self.gateway.deliver(at, "RESUMED", &json!({"_trace": []}));
    }

    /// Drops sessions that were not resumed in time, with their buffered events.
    pub(super) fn forget_sessions(&mut self) {
        let (now, within) = (self.now(), self.config.resume_timeout);
        self.gateway.sessions.retain(|s| s.connection.is_some() || now - s.dropped <= within);
    }
}

impl super::Gateway {
    /// Numbers, buffers and sends one event for one session.
    pub(super) fn deliver(&mut self, at: usize, name: &str, body: &Value) {
        let Some(session) = self.sessions.get_mut(at) else { return };
        session.seq += 1;
        let text = json!({"op": 0, "t": name, "s": session.seq, "d": body}).to_string();
        session.buffer.push((session.seq, text.clone()));
        if session.buffer.len() > BUFFER {
            session.buffer.remove(0);
        }
        if let Some(connection) = session.connection {
            self.send(connection, OutgoingFrame::Text(text));
        }
    }
}

/// Parses `[id, total]`; a missing value means one shard.
fn shard_of(said: &Value) -> Option<[u64; 2]> {
    if said.is_null() {
        return Some([0, 1]);
    }
    let [id, total] = said.as_array()?.as_slice() else { return None };
    let (id, total) = (id.as_u64()?, total.as_u64()?);
    (id < total).then_some([id, total])
}
