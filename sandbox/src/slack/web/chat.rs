//! `chat.*`: what the bot posts, edits and deletes.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{Answer, Args, Rejection};
use crate::slack::entities::{ChannelKind, Edited, Message};
use crate::slack::events::EventDelivery;
use crate::slack::render::fill_ids;
use crate::slack::rules::{self, Content};
use crate::slack::world::World;

/// A checked message of the bot.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Post {
    pub channel: String,
    pub content: Content,
    pub thread_ts: Option<String>,
    pub reply_broadcast: bool,
    pub unfurl_links: Option<bool>,
    pub unfurl_media: Option<bool>,
}

/// Checks a message's content.
pub(super) fn check_content(args: &Args) -> Result<(), Rejection> {
    let content = rules::content(args.fields())?;
    if content.is_empty() {
        return Err(Rejection::violation("no_text", vec!["no text, blocks or attachments".into()]));
    }
    Ok(())
}

pub(super) fn post_message(w: &mut World, args: &Args) -> Answer {
    let channel = target(w, args.text("channel"))?;
    if w.channels.get(&channel).is_some_and(|c| c.kind == ChannelKind::Im) && !w.config.messages_tab {
        return Err(Rejection::expected("messages_tab_disabled"));
    }
    let thread_ts = thread(w, &channel, args)?;
    rate(w, &channel)?;
    let ts = w.post(Post {
        channel: channel.clone(),
        content: rules::content(args.fields())?,
        thread_ts,
        reply_broadcast: args.flag("reply_broadcast").unwrap_or(false),
        unfurl_links: args.flag("unfurl_links"),
        unfurl_media: args.flag("unfurl_media"),
    });
    let message = w.message(&channel, &ts).map(|m| w.message_json(m, true));
    Ok(json!({"channel": channel, "ts": ts, "message": message}))
}

/// Returns the channel to write to; a person's id means the DM channel with that person.
pub(super) fn target(w: &mut World, channel: &str) -> Result<String, Rejection> {
    if w.users.contains_key(channel) {
        super::conversations::may_open(w, channel)?;
        return Ok(w.open_dm(channel));
    }
    let bot = w.config.app.bot_user.clone();
    match w.channels.get(channel) {
        None => Err(Rejection::expected("channel_not_found")),
        Some(c) if c.members.contains(&bot) && c.archived => Err(Rejection::expected("is_archived")),
        Some(c) if c.members.contains(&bot) => Ok(channel.to_owned()),
        Some(c) if c.kind == ChannelKind::Public => Err(Rejection::expected("not_in_channel")),
        Some(_) => Err(Rejection::expected("channel_not_found")),
    }
}

pub(super) fn thread(w: &World, channel: &str, args: &Args) -> Result<Option<String>, Rejection> {
    let Some(ts) = args.str("thread_ts") else {
        return match args.flag("reply_broadcast") {
            Some(true) => Err(Rejection::argument("reply_broadcast needs thread_ts".into())),
            _ => Ok(None),
        };
    };
    match w.message(channel, ts) {
        None => Err(Rejection::expected("cannot_reply_to_message")),
        Some(parent) if parent.thread_ts.is_some() => {
            Err(Rejection::violation("cannot_reply_to_message", vec!["thread_ts names a reply".into()]))
        }
        Some(_) => Ok(Some(ts.to_owned())),
    }
}

pub(super) fn rate(w: &mut World, channel: &str) -> Result<(), Rejection> {
    let now = w.now();
    if !w.config.post_limit {
        return Ok(());
    }
    if w.last_post.get(channel).is_some_and(|last| now - *last < TimeDelta::seconds(1)) {
        return Err(Rejection::rate_limited(1));
    }
    w.last_post.insert(channel.to_owned(), now);
    Ok(())
}

pub(super) fn update(w: &mut World, args: &Args) -> Answer {
    let (channel, ts) = (find_own_message_channel(w, args)?, args.text("ts").to_owned());
    match w.message(&channel, &ts) {
        None => return Err(Rejection::expected("message_not_found")),
        Some(m) if !m.is_from_bot || m.subtype.is_some() => {
            return Err(Rejection::expected("cant_update_message"));
        }
        Some(_) if w.streams.contains(&(channel.clone(), ts.clone())) => {
            return Err(Rejection::expected("streaming_state_conflict"));
        }
        Some(_) => {}
    }
    w.rewrite(&channel, &ts, rules::content(args.fields())?)?;
    let message = w.message(&channel, &ts);
    let text = message.map(|m| m.text.clone());
    let thread_ts = message.and_then(|m| m.thread_ts.clone());
    let mut answer = json!({
        "channel": channel, "ts": ts, "text": text, "message": message.map(|m| w.message_json(m, true)),
    });
    if let Some(thread_ts) = thread_ts {
        answer["thread_ts"] = json!(thread_ts);
    }
    Ok(answer)
}

pub(super) fn find_own_message_channel(w: &World, args: &Args) -> Result<String, Rejection> {
    let channel = args.text("channel");
    if !w.is_member(channel, &w.config.app.bot_user) {
        return Err(Rejection::expected("channel_not_found"));
    }
    Ok(channel.to_owned())
}

pub(super) fn post_ephemeral(w: &mut World, args: &Args) -> Answer {
    let channel = target(w, args.text("channel"))?;
    let user = args.text("user");
    if !w.is_member(&channel, user) || w.users.get(user).is_none_or(|u| u.deleted) {
        return Err(Rejection::expected("user_not_in_channel"));
    }
    let thread_ts = thread(w, &channel, args)?;
    let content = rules::content(args.fields())?;
    let ts = w.post_ephemeral(user, &channel, thread_ts, content, "chat.postEphemeral");
    Ok(json!({"message_ts": ts}))
}

pub(super) fn delete(w: &mut World, args: &Args) -> Answer {
    let (channel, ts) = (find_own_message_channel(w, args)?, args.text("ts").to_owned());
    match w.message(&channel, &ts) {
        None => return Err(Rejection::expected("message_not_found")),
        Some(m) if !m.is_from_bot => return Err(Rejection::expected("cant_delete_message")),
        Some(_) => w.remove(&channel, &ts),
    }
    Ok(json!({"channel": channel, "ts": ts}))
}

pub(super) fn permalink(w: &mut World, args: &Args) -> Answer {
    let (channel, ts) = (find_own_message_channel(w, args)?, args.text("message_ts"));
    let message = w.message(&channel, ts).ok_or_else(|| Rejection::expected("message_not_found"))?;
    let mut link =
        format!("https://{}.slack.com/archives/{channel}/p{}", w.config.team.domain, ts.replace('.', ""));
    if let Some(thread) = &message.thread_ts {
        link.push_str(&format!("?thread_ts={thread}&cid={channel}"));
    }
    Ok(json!({"channel": channel, "permalink": link}))
}

impl World {
    /// Posts a message of the bot; returns its ts.
    pub(in super::super) fn post(&mut self, post: Post) -> String {
        let ts = self.next_ts();
        let content = self.assign_block_ids(post.content);
        let message = Message {
            channel: post.channel,
            ts: ts.clone(),
            thread_ts: post.thread_ts,
            user: self.config.app.bot_user.clone(),
            is_from_bot: true,
            text: content.text.unwrap_or_default(),
            blocks: content.blocks.unwrap_or_default(),
            attachments: content.attachments.unwrap_or_default(),
            files: vec![],
            metadata: content.metadata,
            subtype: None,
            client_msg_id: None,
            edited: None,
            unfurl_links: post.unfurl_links,
            unfurl_media: post.unfurl_media,
            reply_broadcast: post.reply_broadcast,
        };
        if let Some(thread) = &message.thread_ts {
            // A status ends with the message that it announced.
            self.statuses.remove(&(message.channel.clone(), thread.clone()));
        }
        self.record_mentions(&message.text, &message.blocks);
        self.insert_message(message.clone());
        self.dispatch_message(&message, EventDelivery::Once, &Value::Null);
        ts
    }

    fn assign_block_ids(&mut self, mut content: Content) -> Content {
        if let Some(blocks) = &mut content.blocks {
            fill_ids(blocks, || self.next_number());
        }
        content
    }

    /// Edits a message of the bot. Fields that are not given stay, except that a new text without blocks removes the
    /// old blocks.
    pub(in super::super) fn rewrite(
        &mut self,
        channel: &str,
        ts: &str,
        content: Content,
    ) -> Result<(), Rejection> {
        let content = self.assign_block_ids(content);
        // Slack gives edit times in whole seconds.
        let edit_ts = format!("{}.000000", self.now().timestamp());
        let bot = self.config.app.bot_user.clone();
        let message =
            self.message_mut(channel, ts).ok_or_else(|| Rejection::expected("message_not_found"))?;
        let before = message.clone();
        match (content.text, content.blocks) {
            (Some(text), blocks) => {
                message.text = text;
                message.blocks = blocks.unwrap_or_default();
            }
            (None, Some(blocks)) => message.blocks = blocks,
            (None, None) => {}
        }
        message.attachments = content.attachments.unwrap_or_default();
        if content.metadata.is_some() {
            message.metadata = content.metadata;
        }
        message.edited = Some(Edited { user: bot, ts: edit_ts });
        let after = message.clone();
        self.dispatch_message_changed(&before, &after);
        Ok(())
    }
}
