//! Acting as the users of the guild: what they type, edit and delete. It rejects what Discord's own client would not
//! let them do.

use serde_json::Value;

use super::entities::{Channel, ChannelKind, Message};
use super::world::{World, secret};

/// A message that a user sends, with optional special properties.
#[derive(Debug, Clone, Default)]
pub struct NewMessage {
    /// Handle or id; another app's bot too.
    pub user: String,
    /// Name, id or `dm:handle`.
    pub channel: String,
    /// The message from which the thread was opened; the thread is opened if there is none.
    pub thread: Option<String>,
    /// `@handle` becomes a mention.
    pub text: String,
    /// The text is already in Discord's own notation (`<@1>`).
    pub raw: bool,
    /// The message that it replies to.
    pub reply_to: Option<String>,
    /// From [`super::Discord::upload`].
    pub files: Vec<Value>,
    /// Merged over what events and history show (`webhook_id`, `type`, …).
    pub extra: Value,
}

impl NewMessage {
    /// Returns a plain message.
    #[must_use]
    pub fn new(user: &str, channel: &str, text: &str) -> Self {
        Self { user: user.into(), channel: channel.into(), text: text.into(), ..Self::default() }
    }
}

impl World {
    pub(super) fn post_message(&mut self, say: NewMessage) -> Result<String, String> {
        let (user, mut channel) = (self.user_id(&say.user)?, self.find_or_open_channel(&say.channel)?);
        if !self.can_see(&channel, &user) {
            return Err(format!("{} does not see {}.", say.user, say.channel));
        }
        if say.text.chars().count() > 2_000 {
            return Err("That is longer than 2000 letters.".into());
        }
        let mut reply_to = say.reply_to;
        match say.thread {
            // Direct messages have no threads: users reply instead.
            Some(parent) if !self.is_in_guild(&channel) => reply_to = reply_to.or(Some(parent)),
            Some(parent) => channel = self.thread_on(&parent, &user)?,
            None => {}
        }
        if self.channels.get(&channel).is_some_and(|c| c.kind == ChannelKind::Forum) {
            return Err("In a forum people write posts.".into());
        }
        let in_thread = self.channels.get(&channel).is_some_and(|c| c.kind.is_thread());
        let content = if say.raw { say.text } else { self.convert_typed_text(&say.text) };
        let message = Message {
            id: self.next_id(),
            channel: channel.clone(),
            thread: in_thread.then(|| channel.clone()),
            user,
            is_from_bot: false,
            only: None,
            kind: if reply_to.is_some() { 19 } else { 0 },
            content,
            components: vec![],
            attachments: say.files,
            flags: 0,
            nonce: Some(secret(8)),
            created_at: self.now(),
            edited_at: None,
            reply_to,
            interaction: None,
            extra: say.extra,
        };
        let id = message.id.clone();
        self.keep(message);
        Ok(id)
    }

    /// Creates a post in a forum: a thread that has the id of its first message.
    pub(super) fn post(&mut self, who: &str, forum: &str, title: &str, text: &str) -> Result<String, String> {
        let (user, forum) = (self.actor(who)?, self.channel_id(forum)?);
        if self.channels.get(&forum).is_none_or(|c| c.kind != ChannelKind::Forum) {
            return Err("That is no forum.".into());
        }
        let mut thread = Channel::new(title, &[]);
        thread.id = self.next_id();
        (thread.kind, thread.parent, thread.owner) = (ChannelKind::Thread, Some(forum), Some(user.clone()));
        let id = self.insert_channel(thread.clone());
        self.tell_channel("THREAD_CREATE", &thread);
        let content = self.convert_typed_text(text);
        self.keep(Message {
            id: id.clone(),
            channel: id.clone(),
            thread: Some(id.clone()),
            user,
            is_from_bot: false,
            only: None,
            kind: 0,
            content,
            components: vec![],
            attachments: vec![],
            flags: 0,
            nonce: Some(secret(8)),
            created_at: self.now(),
            edited_at: None,
            reply_to: None,
            interaction: None,
            extra: Value::Null,
        });
        Ok(id)
    }

    /// Opens a private thread with a user and those whom they add to it.
    pub(super) fn open_private_thread(
        &mut self,
        who: &str,
        channel: &str,
        title: &str,
        others: &[&str],
    ) -> Result<String, String> {
        let (user, parent) = (self.actor(who)?, self.channel_id(channel)?);
        if self.channels.get(&parent).is_none_or(|c| c.kind != ChannelKind::Text) {
            return Err("Only text channels have private threads.".into());
        }
        for added in others.iter().chain([&who]) {
            if !self.can_see(&parent, &self.user_id(added)?) {
                return Err(format!("{added} does not see {channel}."));
            }
        }
        let mut thread = Channel::new(title, &[others, &[who]].concat());
        thread.id = self.next_id();
        (thread.kind, thread.parent, thread.owner) = (ChannelKind::PrivateThread, Some(parent), Some(user));
        let id = self.insert_channel(thread);
        if let Some(thread) = self.channels.get(&id).cloned() {
            self.tell_channel("THREAD_CREATE", &thread);
        }
        Ok(id)
    }

    /// Removes a user from a private thread.
    pub(super) fn remove_from_thread(&mut self, thread: &str, who: &str) -> Result<(), String> {
        let user = self.user_id(who)?;
        let thread = self.channels.get_mut(thread).filter(|c| c.kind == ChannelKind::PrivateThread);
        thread.ok_or("There is no such private thread.")?.members.retain(|member| *member != user);
        Ok(())
    }

    /// Returns the thread of a message, or the thread that contains the message.
    fn thread_on(&mut self, message: &str, user: &str) -> Result<String, String> {
        let parent = self.message(message).cloned().ok_or("There is no such thread.")?;
        if let Some(thread) = parent.thread {
            return Ok(thread);
        }
        if self.channels.contains_key(message) {
            return Ok(message.to_owned());
        }
        let name: String = parent.content.chars().take(40).collect();
        let name = if name.is_empty() { "Thread" } else { &name };
        Ok(self.open_thread(&parent, name, user))
    }

    /// Resolves a user who can act: known, and not a bot.
    pub(super) fn actor(&self, who: &str) -> Result<String, String> {
        let id = self.user_id(who)?;
        match self.users.get(&id) {
            Some(user) if user.is_bot => Err(format!("{who} is a bot and no person.")),
            _ => Ok(id),
        }
    }

    /// Resolves a channel; a DM channel is opened on first use.
    pub(super) fn find_or_open_channel(&mut self, which: &str) -> Result<String, String> {
        if let Some(who) = which.strip_prefix("dm:") {
            let user = self.user_id(who)?;
            return Ok(self.open_dm(&user));
        }
        self.channel_id(which)
    }

    /// Converts typed mentions, as Discord's client does.
    fn convert_typed_text(&self, text: &str) -> String {
        text.split_inclusive(char::is_whitespace).map(|word| self.convert_typed_mention(word)).collect()
    }

    fn convert_typed_mention(&self, word: &str) -> String {
        let Some(at) = word.strip_prefix('@') else { return word.to_owned() };
        let end = at.find(|c: char| !(c.is_alphanumeric() || "_.-".contains(c))).unwrap_or(at.len());
        let handle = at[..end].trim_end_matches('.');
        match self.users.values().find(|u| u.name == handle) {
            Some(user) => format!("<@{}>{}", user.id, &at[handle.len()..]),
            None => word.to_owned(),
        }
    }

    fn check_own_message(&self, who: &str, id: &str) -> Result<(), String> {
        let user = self.actor(who)?;
        let message = self.message(id).ok_or("There is no such message.")?;
        if message.user == user { Ok(()) } else { Err("That is somebody else's message.".into()) }
    }

    pub(super) fn edit(&mut self, who: &str, channel: &str, id: &str, text: &str) -> Result<(), String> {
        self.channel_id(channel)?;
        self.check_own_message(who, id)?;
        let (text, now) = (self.convert_typed_text(text), self.now());
        let message = self.message_mut(id).ok_or("There is no such message.")?;
        message.content = text;
        message.edited_at = Some(now);
        let after = message.clone();
        self.tell_message("MESSAGE_UPDATE", &after);
        Ok(())
    }

    pub(super) fn delete(&mut self, who: &str, channel: &str, id: &str) -> Result<(), String> {
        self.channel_id(channel)?;
        self.check_own_message(who, id)?;
        self.remove(id);
        Ok(())
    }

    /// Sends the update with which Discord adds link previews to a message; its text is unchanged.
    pub(super) fn unfurl(&mut self, id: &str) -> Result<(), String> {
        let message = self.message(id).cloned().ok_or("There is no such message.")?;
        self.tell_message("MESSAGE_UPDATE", &message);
        Ok(())
    }

    /// Removes all messages of a channel without sending events.
    pub fn forget_messages(&mut self, channel: &str) {
        self.messages.remove(channel);
    }

    pub(super) fn member(&mut self, who: &str, joined: bool) -> Result<(), String> {
        let id = self.user_id(who)?;
        if let Some(user) = self.users.get_mut(&id) {
            user.is_member = joined;
        }
        self.tell_member(if joined { "GUILD_MEMBER_ADD" } else { "GUILD_MEMBER_REMOVE" }, &id);
        Ok(())
    }

    /// Changes a member's nickname in this guild.
    pub(super) fn nick(&mut self, who: &str, nick: &str) -> Result<(), String> {
        let id = self.actor(who)?;
        let user = self.users.get_mut(&id).filter(|user| user.is_member).ok_or("That is no member.")?;
        user.nick = Some(nick.to_owned());
        self.tell_member("GUILD_MEMBER_UPDATE", &id);
        Ok(())
    }
}
