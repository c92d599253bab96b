//! Channels, DM channels and threads.

use serde_json::Value;

use super::super::entities::{Channel, ChannelKind, HAS_THREAD, Message};
use super::super::rejection::Rejection;
use super::super::world::World;
use super::messages::check_fields;
use super::{Answer, Request};

impl World {
    /// Opens a thread from a message; returns its id, which is the message's.
    pub(in crate::discord) fn open_thread(&mut self, message: &Message, name: &str, owner: &str) -> String {
        let mut thread = Channel::new(name, &[]);
        thread.id.clone_from(&message.id);
        thread.kind = ChannelKind::Thread;
        thread.parent = Some(message.channel.clone());
        thread.owner = Some(owner.to_owned());
        let id = self.insert_channel(thread.clone());
        self.tell_channel("THREAD_CREATE", &thread);
        if let Some(parent) = self.message_mut(&message.id) {
            parent.flags |= HAS_THREAD;
            let parent = parent.clone();
            self.tell_message("MESSAGE_UPDATE", &parent);
        }
        self.keep_head(message, owner);
        id
    }

    /// Returns a thread that the bot sees; no other channel has members of its own.
    fn seen_thread(&self, id: &str) -> Result<&Channel, Rejection> {
        let channel = self.seen_channel(id)?;
        if !channel.kind.is_thread() {
            return Err(Rejection::violation(400, 50024, "Cannot execute action on this channel type"));
        }
        Ok(channel)
    }

    /// Adds the starter message of a thread, which refers to the message from which it was opened.
    fn keep_head(&mut self, message: &Message, owner: &str) {
        let head = Message {
            id: self.next_id(),
            channel: message.id.clone(),
            thread: Some(message.id.clone()),
            user: owner.to_owned(),
            is_from_bot: owner == self.bot(),
            only: None,
            kind: 21,
            content: String::new(),
            components: vec![],
            attachments: vec![],
            flags: 0,
            nonce: None,
            created_at: self.now(),
            edited_at: None,
            reply_to: Some(message.id.clone()),
            interaction: None,
            extra: Value::Null,
        };
        self.keep(head);
    }
}

pub(super) fn get(w: &mut World, request: &Request) -> Answer {
    let channel = w.seen_channel(request.param(0))?;
    Ok((200, w.channel_json(channel)))
}

/// Supports only archiving a thread. Anyone who can write in it can unarchive it; the lock requires the permission to
/// manage threads, which the app does not have.
pub(super) fn update(w: &mut World, request: &Request) -> Answer {
    let kind = w.seen_channel(request.param(0))?.kind;
    check_fields(&request.body, &["archived", "locked"])?;
    if !kind.is_thread() {
        return Err(Rejection::violation(403, 50013, "Missing Permissions"));
    }
    let locked = w.channels.get(request.param(0)).is_some_and(|thread| thread.locked);
    if locked || !request.body["locked"].is_null() {
        return Err(Rejection::expected(403, 50013, "Missing Permissions"));
    }
    if !w.root(request.param(0)).is_some_and(|root| root.bot_sends) {
        return Err(Rejection::expected(403, 50013, "Missing Permissions"));
    }
    if let Some(thread) = w.channels.get_mut(request.param(0)) {
        thread.archived = request.body["archived"].as_bool().unwrap_or(thread.archived);
        let thread = thread.clone();
        w.tell_channel("THREAD_UPDATE", &thread);
    }
    get(w, request)
}

pub(super) fn create_dm(w: &mut World, request: &Request) -> Answer {
    check_fields(&request.body, &["recipient_id"])?;
    let id = request.body["recipient_id"].as_str().unwrap_or_default();
    if id.is_empty() {
        return Err(Rejection::field("recipient_id", "This field is required."));
    }
    let Some(user) = w.users.get(id) else {
        return Err(Rejection::unknown_resource("User", 10013));
    };
    if user.is_bot {
        return Err(Rejection::violation(400, 50007, "Cannot send messages to this user"));
    }
    let id = w.open_dm(&user.id.clone());
    let shown = w.channels.get(&id).map(|c| w.channel_json(c)).unwrap_or_default();
    Ok((200, shown))
}

pub(super) fn thread(w: &mut World, request: &Request) -> Answer {
    let (channel, id) = (request.param(0), request.param(1));
    w.writable(channel)?;
    check_fields(&request.body, &["name", "auto_archive_duration", "rate_limit_per_user"])?;
    let name = request.body["name"].as_str().unwrap_or_default();
    if !(1..=100).contains(&name.chars().count()) {
        return Err(Rejection::field("name", "Must be between 1 and 100 in length."));
    }
    let archive = &request.body["auto_archive_duration"];
    if !archive.is_null() && ![60, 1440, 4320, 10_080].iter().any(|a| archive == *a) {
        return Err(Rejection::field("auto_archive_duration", "Is 60, 1440, 4320 or 10080."));
    }
    if w.channels.get(channel).is_some_and(|c| c.kind != ChannelKind::Text) {
        return Err(Rejection::violation(400, 50024, "Cannot execute action on this channel type"));
    }
    let found = w.messages_in(channel).iter().find(|m| m.id == id).cloned();
    let Some(message) = found else { return Err(Rejection::unknown_resource("Message", 10008)) };
    if w.channels.contains_key(id) {
        return Err(Rejection::expected(400, 160_004, "A thread has already been created for this message"));
    }
    let owner = w.bot().to_owned();
    let thread = w.open_thread(&message, name, &owner);
    let shown = w.channels.get(&thread).map(|c| w.channel_json(c)).unwrap_or_default();
    Ok((201, shown))
}

pub(super) fn typing(w: &mut World, request: &Request) -> Answer {
    w.writable(request.param(0))?;
    let at = w.now();
    w.typing.push((request.param(0).to_owned(), at));
    Ok((204, Value::Null))
}

pub(super) fn join(w: &mut World, request: &Request) -> Answer {
    w.seen_channel(request.param(0))?;
    Ok((204, Value::Null))
}

pub(super) fn members(w: &mut World, request: &Request) -> Answer {
    let thread = w.seen_thread(request.param(0))?;
    let limit = request.limit("limit", 100, 100)?;
    let members = w.thread_members(thread);
    Ok((200, members.iter().take(limit).map(|user| w.thread_member_json(thread, user)).collect()))
}

/// Says that a user is in a thread; who is not in it is unknown.
pub(super) fn member(w: &mut World, request: &Request) -> Answer {
    let (thread, user) = (w.seen_thread(request.param(0))?, request.param(1));
    if user.parse::<u64>().is_err() {
        return Err(Rejection::field("user_id", &format!("Value \"{user}\" is not snowflake.")));
    }
    if !w.thread_members(thread).iter().any(|member| member == user) {
        return Err(Rejection::unknown_resource("Member", 10007));
    }
    let mut told = w.thread_member_json(thread, user);
    if request.query.get("with_member").is_some_and(|wanted| wanted == "true") {
        told["member"] = w.member_json(user);
    }
    Ok((200, told))
}
