//! Acting as the people of the workspace: posting, editing and deleting. Actions that Slack's client would not allow
//! are refused.

use serde_json::{Value, json};

use super::entities::{Edited, Message};
use super::events::EventDelivery;
use super::transcript;
use super::world::{World, secret};

/// A message by a person, with unusual properties.
#[derive(Debug, Clone, Default)]
pub struct NewMessage {
    /// Handle or id; for the subtype `bot_message` the foreign bot's id.
    pub user: String,
    /// Name, id or `dm:handle`.
    pub channel: String,
    pub thread: Option<String>,
    pub text: String,
    /// The text already is in Slack's notation (`<@U…>`, `&amp;`).
    pub raw: bool,
    /// `bot_message`, `file_share`, `me_message`, …
    pub subtype: Option<String>,
    pub files: Vec<Value>,
    pub deliver: EventDelivery,
    /// Merged into the event's body.
    pub extra: Value,
}

impl NewMessage {
    #[must_use]
    pub fn new(user: &str, channel: &str, text: &str) -> Self {
        Self { user: user.into(), channel: channel.into(), text: text.into(), ..Self::default() }
    }
}

impl World {
    pub(super) fn post_message(&mut self, say: NewMessage) -> Result<String, String> {
        let foreign = say.subtype.as_deref() == Some("bot_message");
        let user = if foreign { say.user.clone() } else { self.actor(&say.user)? };
        let channel = self.find_or_open_channel(&say.channel)?;
        if !foreign && !self.is_member(&channel, &user) {
            return Err(format!("{} is no member of {}.", say.user, say.channel));
        }
        let thread = match &say.thread {
            None => None,
            Some(ts) => {
                let parent = self.message(&channel, ts).ok_or("There is no such thread.")?;
                Some(parent.thread_ts.clone().unwrap_or_else(|| ts.clone()))
            }
        };
        let text = if say.raw { say.text } else { self.convert_typed_text(&say.text) };
        let ts = self.next_ts();
        let blocks = if foreign || text.is_empty() { vec![] } else { vec![self.rich_text(&text)] };
        let message = Message {
            channel,
            ts: ts.clone(),
            thread_ts: thread,
            user,
            is_from_bot: false,
            text,
            blocks,
            attachments: vec![],
            files: say.files,
            metadata: None,
            subtype: say.subtype,
            client_msg_id: (!foreign).then(secret),
            edited: None,
            unfurl_links: None,
            unfurl_media: None,
            reply_broadcast: false,
        };
        self.insert_message(message.clone());
        self.dispatch_message(&message, say.deliver, &say.extra);
        Ok(ts)
    }

    /// Returns a person who can act: one that is neither deactivated nor a bot.
    pub(super) fn actor(&self, who: &str) -> Result<String, String> {
        let id = self.user_id(who)?;
        match self.users.get(&id) {
            Some(user) if user.deleted => Err(format!("{who} is deactivated.")),
            Some(user) if user.is_bot => Err(format!("{who} is a bot and no person.")),
            _ => Ok(id),
        }
    }

    /// Returns a channel; a DM with the bot is opened on first use.
    pub(super) fn find_or_open_channel(&mut self, which: &str) -> Result<String, String> {
        if let Some(who) = which.strip_prefix("dm:") {
            let user = self.user_id(who)?;
            return Ok(self.open_dm(&user));
        }
        self.channel_id(which)
    }

    /// Converts typed text as Slack's client does: escapes, mentions, links and mail addresses.
    fn convert_typed_text(&self, text: &str) -> String {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        escaped.split_inclusive(char::is_whitespace).map(|word| self.convert_word(word)).collect()
    }

    fn convert_word(&self, word: &str) -> String {
        let bare = word.trim_end_matches(|c: char| c.is_whitespace() || ".,;:!?)'\"".contains(c));
        let rest = &word[bare.len()..];
        let is_link = bare.starts_with("https://") || bare.starts_with("http://");
        if let Some(handle) = bare.strip_prefix('@') {
            let (handle, tail) = handle.split_once('\'').unwrap_or((handle, ""));
            let tail = if tail.is_empty() { String::new() } else { format!("'{tail}") };
            return match self.users.values().find(|u| u.name == handle) {
                Some(user) => format!("<@{}>{tail}{rest}", user.id),
                None => word.to_owned(),
            };
        }
        let is_mail = bare.split_once('@').is_some_and(|(l, d)| !l.is_empty() && d.contains('.'));
        if is_link {
            format!("<{bare}>{rest}")
        } else if is_mail {
            format!("<mailto:{bare}|{bare}>{rest}")
        } else {
            word.to_owned()
        }
    }

    fn rich_text(&mut self, text: &str) -> Value {
        let elements: Vec<Value> = transcript::parse_markup(text)
            .into_iter()
            .map(|piece| match piece {
                transcript::MarkupToken::User(id) => json!({"type": "user", "user_id": id}),
                transcript::MarkupToken::Link { url, label: Some(label) } => {
                    json!({"type": "link", "url": url, "text": label})
                }
                transcript::MarkupToken::Link { url, label: None } => json!({"type": "link", "url": url}),
                transcript::MarkupToken::Broadcast(range) => json!({"type": "broadcast", "range": range}),
                transcript::MarkupToken::Text(text) => json!({"type": "text", "text": text}),
            })
            .collect();
        let id = format!("rt{}", self.next_number());
        let section = json!({"type": "rich_text_section", "elements": elements});
        json!({"type": "rich_text", "block_id": id, "elements": [section]})
    }

    pub(super) fn edit(&mut self, who: &str, channel: &str, ts: &str, text: &str) -> Result<(), String> {
        let (user, channel) = (self.actor(who)?, self.channel_id(channel)?);
        let text = self.convert_typed_text(text);
        let (blocks, edit_ts) = (vec![self.rich_text(&text)], self.next_ts());
        let message = self.message_mut(&channel, ts).ok_or("There is no such message.")?;
        if message.user != user {
            return Err("That is somebody else's message.".into());
        }
        let before = message.clone();
        message.text = text;
        message.blocks = blocks;
        message.edited = Some(Edited { user, ts: edit_ts });
        let after = message.clone();
        self.dispatch_message_changed(&before, &after);
        Ok(())
    }

    pub(super) fn delete(&mut self, who: &str, channel: &str, ts: &str) -> Result<(), String> {
        let (user, channel) = (self.actor(who)?, self.channel_id(channel)?);
        let message = self.message(&channel, ts).ok_or("There is no such message.")?;
        if message.user != user {
            return Err("That is somebody else's message.".into());
        }
        self.remove(&channel, ts);
        Ok(())
    }

    /// Adds a preview to a message's links, as Slack does; the text stays the same.
    pub(super) fn unfurl(&mut self, channel: &str, ts: &str) -> Result<(), String> {
        let channel = self.channel_id(channel)?;
        let message = self.message_mut(&channel, ts).ok_or("There is no such message.")?;
        let before = message.clone();
        message.attachments.push(json!({"id": 1, "title": "A page", "from_url": "https://acme.test/"}));
        let after = message.clone();
        self.dispatch_message_changed(&before, &after);
        Ok(())
    }

    /// Deletes all messages of a channel without events (as when it is cleared in bulk).
    pub fn forget_messages(&mut self, channel: &str) {
        self.messages.remove(channel);
    }

    /// Deletes a message and notifies the app; a parent with replies becomes a tombstone.
    pub(super) fn remove(&mut self, channel: &str, ts: &str) {
        let Some(message) = self.message(channel, ts).cloned() else { return };
        let replied = self.messages(channel).iter().any(|m| m.thread_ts.as_deref() == Some(ts));
        if !replied {
            if let Some(messages) = self.messages.get_mut(channel) {
                messages.retain(|m| m.ts != ts);
            }
            return self.dispatch_message_deleted(&message);
        }
        let Some(kept) = self.message_mut(channel, ts) else { return };
        kept.subtype = Some("tombstone".into());
        kept.text = "This message was deleted.".into();
        kept.blocks.clear();
        kept.attachments.clear();
        kept.metadata = None;
        let after = kept.clone();
        self.dispatch_message_changed(&message, &after);
    }
}
