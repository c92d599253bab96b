//! Messages: created, read, edited and deleted.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::super::entities::{Channel, ChannelKind, LOADING, Message};
use super::super::rejection::Rejection;
use super::super::rules::{Before, Content, content};
use super::super::world::{UsedNonce, World, number};
use super::multipart::File;
use super::{Answer, Request};

/// How long the same nonce identifies the same message.
const NONCE: TimeDelta = TimeDelta::minutes(5);
const NONCE_LETTERS: usize = 25;

impl World {
    /// Returns a channel that the bot sees.
    pub(super) fn seen_channel(&self, id: &str) -> Result<&Channel, Rejection> {
        let channel = self.channels.get(id).ok_or_else(|| Rejection::unknown_resource("Channel", 10003))?;
        if !self.can_see(id, self.bot()) {
            return Err(Rejection::expected(403, 50001, "Missing Access"));
        }
        Ok(channel)
    }

    /// Checks that the bot can write in a channel.
    pub(super) fn writable(&self, id: &str) -> Result<(), Rejection> {
        let channel = self.seen_channel(id)?;
        if channel.kind == ChannelKind::Dm {
            let refuses = |m: &String| self.users.get(m).is_none_or(|u| u.refuses_dms);
            if channel.members.iter().any(refuses) {
                return Err(Rejection::expected(403, 50007, "Cannot send messages to this user"));
            }
        }
        // A message unarchives a thread that is not locked.
        if channel.archived && channel.locked {
            return Err(archived());
        }
        if channel.kind == ChannelKind::Forum {
            return Err(Rejection::violation(400, 50008, "Cannot send messages in a non-text channel"));
        }
        if !self.root(id).is_some_and(|c| c.bot_sends) {
            return Err(Rejection::expected(403, 50013, "Missing Permissions"));
        }
        Ok(())
    }

    /// Returns a message of the bot that can be changed; nothing can be changed in an archived thread.
    fn changeable(&self, request: &Request) -> Result<Message, Rejection> {
        let message = self.seen_message(request)?;
        if self.channels.get(&message.channel).is_some_and(|c| c.archived) {
            return Err(archived());
        }
        Ok(message)
    }

    fn seen_message(&self, request: &Request) -> Result<Message, Rejection> {
        self.seen_channel(request.param(0))?;
        let found = self.messages_in(request.param(0)).iter().find(|m| m.id == request.param(1));
        found.cloned().ok_or_else(|| Rejection::unknown_resource("Message", 10008))
    }

    /// Stores files and returns the attachment objects.
    pub(super) fn attach(&mut self, channel: &str, files: &[File]) -> Vec<Value> {
        files.iter().map(|f| self.keep_file(channel, &f.name, &f.kind, f.bytes.clone())).collect()
    }

    pub(in crate::discord) fn keep_file(
        &mut self,
        channel: &str,
        name: &str,
        kind: &str,
        bytes: Vec<u8>,
    ) -> Value {
        let id = self.next_id();
        let url = format!("{}/attachments/{channel}/{id}/{name}", self.base_url);
        let size = bytes.len();
        self.files.insert(id.clone(), bytes);
        json!({
            "id": id, "filename": name, "size": size, "url": url, "proxy_url": url,
            "content_type": kind, "flags": 0,
        })
    }

    /// Creates a message of the bot that is not in a channel yet.
    pub(super) fn build_bot_message(&mut self, channel: &str, said: &Content, files: &[File]) -> Message {
        let thread = self.channels.get(channel).filter(|c| c.kind.is_thread());
        let thread = thread.map(|c| c.id.clone());
        Message {
            id: self.next_id(),
            channel: channel.to_owned(),
            thread,
            user: self.bot().to_owned(),
            is_from_bot: true,
            only: None,
            kind: 0,
            content: said.content.clone().unwrap_or_default(),
            components: said.components.clone().unwrap_or_default(),
            attachments: self.attach(channel, files),
            flags: said.flags,
            nonce: None,
            created_at: self.now(),
            edited_at: None,
            reply_to: None,
            interaction: None,
            extra: Value::Null,
        }
    }

    /// Stores a message in its channel and sends the event to the app.
    pub(in crate::discord) fn keep(&mut self, message: Message) {
        if message.only.is_some() {
            self.ephemerals.push(message);
            return;
        }
        if let Some(channel) = self.channels.get_mut(&message.channel) {
            channel.archived = false;
        }
        self.messages.entry(message.channel.clone()).or_default().push(message.clone());
        self.tell_message("MESSAGE_CREATE", &message);
    }

    /// Edits a message of the bot with a validated body.
    pub(super) fn rewrite(&mut self, id: &str, said: Content, files: &[File]) -> Option<Message> {
        let (now, channel) = (self.now(), self.message(id)?.channel.clone());
        let attached = self.attach(&channel, files);
        let message = self.message_mut(id)?;
        let was_loading = message.flags & LOADING != 0;
        if let Some(content) = said.content {
            message.content = content;
        }
        if let Some(components) = said.components {
            message.components = components;
        }
        message.attachments.extend(attached);
        message.flags = said.flags & !LOADING;
        if !was_loading {
            message.edited_at = Some(now);
        }
        let after = message.clone();
        self.side_effects(&after, &said.allowed);
        self.tell_message("MESSAGE_UPDATE", &after);
        Some(after)
    }

    /// Deletes a message and sends the event to the app.
    pub(in crate::discord) fn remove(&mut self, id: &str) {
        let Some(message) = self.message(id).cloned() else { return };
        for all in self.messages.values_mut() {
            all.retain(|m| m.id != id);
        }
        self.ephemerals.retain(|m| m.id != id);
        self.tell_deleted(&message);
    }

    /// Returns the recent message with this nonce. If it was deleted, the request is rejected, because Discord does not
    /// document what happens then.
    fn same_nonce(&self, channel: &str, body: &Value, nonce: &str) -> Result<Option<Message>, Rejection> {
        let fresh = |n: &&UsedNonce| n.channel == channel && n.nonce == nonce && self.now() - n.at < NONCE;
        match self.nonces.iter().rev().find(fresh).filter(|_| body["enforce_nonce"] == true) {
            Some(known) => match self.message(&known.message) {
                Some(message) => Ok(Some(message.clone())),
                None => Err(Rejection::field("nonce", "Is that of a message that is gone.")),
            },
            None => Ok(None),
        }
    }
}

fn archived() -> Rejection {
    Rejection::expected(400, 50083, "Thread is archived")
}

fn nonce(body: &Value) -> Result<Option<String>, Rejection> {
    let given = match &body["nonce"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() => Some(number.to_string()),
        _ => return Err(Rejection::field("nonce", "Must be a string or a number.")),
    };
    if given.as_ref().is_some_and(|n| n.is_empty() || n.chars().count() > NONCE_LETTERS) {
        return Err(Rejection::field("nonce", "Must be 25 or fewer in length."));
    }
    if given.is_none() && body["enforce_nonce"] == true {
        return Err(Rejection::field("nonce", "Must be given where enforce_nonce is."));
    }
    Ok(given)
}

const FIELDS: [&str; 13] = [
    "content",
    "nonce",
    "enforce_nonce",
    "tts",
    "embeds",
    "allowed_mentions",
    "message_reference",
    "components",
    "sticker_ids",
    "attachments",
    "flags",
    "poll",
    "confetti_potion",
];

/// Rejects fields that a message does not have.
pub(super) fn check_fields(body: &Value, fields: &[&str]) -> Result<(), Rejection> {
    let Some(given) = body.as_object() else {
        return Err(Rejection::field("", "Only dictionaries may be used."));
    };
    match given.keys().find(|k| !fields.contains(&k.as_str())) {
        Some(odd) => Err(Rejection::field(odd, "There is no such field.")),
        None => Ok(()),
    }
}

pub(super) fn create(w: &mut World, request: &Request) -> Answer {
    let (channel, body) = (request.param(0), &request.body);
    w.writable(channel)?;
    check_fields(body, &FIELDS)?;
    let nonce = nonce(body)?;
    let said = content(body, request.files.len(), Before::Nothing).map_err(Rejection::form)?;
    let reply = reply_to(w, channel, &body["message_reference"])?;
    if let Some(nonce) = &nonce
        && let Some(same) = w.same_nonce(channel, body, nonce)?
    {
        return Ok((200, w.message_json(&same)));
    }
    let mut message = w.build_bot_message(channel, &said, &request.files);
    message.nonce.clone_from(&nonce);
    message.kind = if reply.is_some() { 19 } else { 0 };
    message.reply_to = reply;
    w.side_effects(&message, &said.allowed);
    if let Some(nonce) = nonce {
        let (channel, at) = (channel.to_owned(), w.now());
        w.nonces.push(UsedNonce { channel, nonce, message: message.id.clone(), at });
    }
    w.keep(message.clone());
    let mut shown = w.message_json(&message);
    shown["nonce"] = body["nonce"].clone();
    Ok((200, shown))
}

fn reply_to(w: &World, channel: &str, reference: &Value) -> Result<Option<String>, Rejection> {
    if reference.is_null() {
        return Ok(None);
    }
    let id = reference["message_id"].as_str().unwrap_or_default();
    if w.messages_in(channel).iter().any(|m| m.id == id) {
        return Ok(Some(id.to_owned()));
    }
    if reference["fail_if_not_exists"] == false {
        return Ok(None);
    }
    Err(Rejection::expected(400, 50035, "Invalid Form Body: Unknown message"))
}

pub(super) fn list(w: &mut World, request: &Request) -> Answer {
    if w.seen_channel(request.param(0))?.kind == ChannelKind::Forum {
        return Err(Rejection::violation(400, 50024, "Cannot execute action on this channel type"));
    }
    let limit = request.limit("limit", 50, 100)?;
    let bounds = [request.snowflake("before")?, request.snowflake("after")?, request.snowflake("around")?];
    if bounds.iter().flatten().count() > 1 {
        return Err(Rejection::field("before", "before, after and around exclude each other."));
    }
    let all = w.messages_in(request.param(0));
    let mut found: Vec<&Message> = match bounds {
        [Some(before), _, _] => take_last(all.iter().filter(|m| number(&m.id) < before).collect(), limit),
        [_, Some(after), _] => all.iter().filter(|m| number(&m.id) > after).take(limit).collect(),
        [_, _, Some(around)] => {
            let at = all.partition_point(|m| number(&m.id) < around);
            let from = at.saturating_sub(limit / 2);
            all.iter().skip(from).take(limit).collect()
        }
        _ => take_last(all.iter().collect(), limit),
    };
    found.sort_by_key(|m| std::cmp::Reverse(number(&m.id)));
    Ok((200, found.into_iter().map(|m| w.message_json(m)).collect()))
}

fn take_last(mut all: Vec<&Message>, limit: usize) -> Vec<&Message> {
    let surplus = all.len().saturating_sub(limit);
    all.drain(..surplus);
    all
}

pub(super) fn get(w: &mut World, request: &Request) -> Answer {
    let message = w.seen_message(request)?;
    Ok((200, w.message_json(&message)))
}

pub(super) fn update(w: &mut World, request: &Request) -> Answer {
    let message = w.changeable(request)?;
    if !message.is_from_bot {
        return Err(Rejection::violation(403, 50005, "Cannot edit a message authored by another user"));
    }
    check_fields(
        &request.body,
        &["content", "embeds", "flags", "allowed_mentions", "components", "attachments"],
    )?;
    let before = Before::Message { flags: message.flags };
    let said = content(&request.body, request.files.len(), before).map_err(Rejection::form)?;
    let after = w.rewrite(&message.id, said, &request.files).unwrap_or(message);
    Ok((200, w.message_json(&after)))
}

pub(super) fn delete(w: &mut World, request: &Request) -> Answer {
    let message = w.changeable(request)?;
    if !message.is_from_bot {
        return Err(Rejection::expected(403, 50013, "Missing Permissions"));
    }
    w.remove(&message.id);
    Ok((204, Value::Null))
}
