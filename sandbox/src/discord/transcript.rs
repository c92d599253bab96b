//! What a user sees, as plain text: used in snapshots and in the messages of failing tests. The format is that of the
//! fake Slack for the same content.

use std::fmt::Write;

use serde_json::Value;

use super::entities::{ChannelKind, LOADING, Message};
use super::world::{World, number};

impl World {
    /// Returns a channel as a member sees it, with all ephemeral messages and threads indented below their parent.
    #[must_use]
    pub fn transcript(&self, channel: &str) -> String {
        let mut out = self.channel_text(channel);
        let here = |m: &&Message| self.root(&m.channel).is_some_and(|c| c.id == channel);
        for whisper in self.ephemerals.iter().filter(here) {
            write_lines(&mut out, "", "", &self.ephemeral_transcript(whisper));
        }
        out
    }

    /// Returns an ephemeral message as its reader sees it.
    #[must_use]
    pub fn ephemeral_transcript(&self, whisper: &Message) -> String {
        let reader = self.name(whisper.only.as_deref().unwrap_or_default());
        format!("({reader} only) {}: {}", self.config.app.name, self.message_text(whisper))
    }

    /// Returns the messages in a channel that all its readers see, public threads indented below their parent.
    #[must_use]
    pub fn channel_text(&self, channel: &str) -> String {
        let mut out = String::new();
        let messages = self.messages_in(channel).iter().filter(|m| m.kind != 21);
        // A thread outlives the message from which it was opened.
        let threads = self.channels.values().filter(|c| c.kind == ChannelKind::Thread);
        let threads = threads.filter(|c| c.parent.as_deref() == Some(channel));
        let mut heads: Vec<&String> = messages.map(|m| &m.id).chain(threads.map(|c| &c.id)).collect();
        heads.sort_by_key(|id| number(id));
        heads.dedup();
        for head in heads {
            match self.messages_in(channel).iter().find(|m| m.id == *head) {
                Some(message) => self.write_message(&mut out, message, ""),
                None if self.channels.get(channel).is_some_and(|c| c.kind == ChannelKind::Forum) => {
                    let title = self.channels.get(head).map_or("", |post| &post.name);
                    let _ = writeln!(out, "[{title}]");
                }
                None => out.push_str("Original message was deleted\n"),
            }
            if self.channels.get(head).is_some_and(|c| c.kind == ChannelKind::Thread) {
                for reply in self.messages_in(head).iter().filter(|m| m.kind != 21) {
                    self.write_message(&mut out, reply, "    ");
                }
            }
        }
        out
    }

    /// Returns every channel's transcript, for the message of a failing test.
    #[must_use]
    pub fn full_transcript(&self) -> String {
        let mut out = String::new();
        for channel in self.channels.values().filter(|c| c.kind != ChannelKind::Thread) {
            let text = self.transcript(&channel.id);
            if !text.is_empty() {
                let _ = writeln!(out, "--- {}\n{text}", self.channel_title(&channel.id));
            }
        }
        out
    }

    pub(super) fn channel_title(&self, id: &str) -> String {
        let Some(channel) = self.channels.get(id) else { return id.to_owned() };
        if channel.kind == ChannelKind::Dm {
            let names: Vec<String> = channel.members.iter().map(|m| self.name(m)).collect();
            return format!("DM {}", names.join(", "));
        }
        format!("#{}", channel.name)
    }

    fn write_message(&self, out: &mut String, message: &Message, indent: &str) {
        let mut shown = self.message_text(message);
        if message.edited_at.is_some() && !message.is_from_bot {
            shown.push_str(" (edited)");
        }
        for file in &message.attachments {
            let _ = write!(shown, "\n[file {}]", file["filename"].as_str().unwrap_or("?"));
        }
        let head = format!("{}: ", self.name(&message.user));
        write_lines(out, indent, &head, &shown);
    }

    /// Returns a user's handle.
    pub(super) fn name(&self, user: &str) -> String {
        self.users.get(user).map_or_else(|| user.to_owned(), |u| u.name.clone())
    }

    /// Returns content and components, as Discord shows them. Rows of buttons that show only an emoji, which stand below
    /// every answer, are left out.
    #[must_use]
    pub fn message_text(&self, message: &Message) -> String {
        if message.flags & LOADING != 0 {
            return "is thinking…".to_owned();
        }
        let mut parts = Vec::new();
        if !message.content.is_empty() || message.components.is_empty() {
            let content = &message.content;
            parts.push(if message.is_from_bot { self.read(content) } else { self.typed_text(content) });
        }
        // A file is shown among the attachments.
        let shown = message.components.iter().filter(|c| c["type"] != 13 && !is_emoji_row(c));
        parts.extend(shown.map(|c| self.component(c)));
        parts.join("\n")
    }

    fn component(&self, component: &Value) -> String {
        let children = || component["components"].as_array().into_iter().flatten();
        match component["type"].as_u64() {
            Some(1) => children().map(|c| self.component(c)).collect::<Vec<_>>().join(" "),
            Some(2) => {
                let emoji = component["emoji"]["name"].as_str();
                format!("[{}]", component["label"].as_str().or(emoji).unwrap_or_default())
            }
            Some(3) => format!("[select {}]", component["placeholder"].as_str().unwrap_or_default()),
            Some(9) => {
                let mut parts: Vec<String> = children().map(|c| self.component(c)).collect();
                parts.push(self.component(&component["accessory"]));
                parts.join("\n")
            }
            Some(10) => {
                let text = component["content"].as_str().unwrap_or_default();
                self.read(text)
            }
            Some(14) => "---".to_owned(),
            Some(17) => children().map(|c| self.component(c)).collect::<Vec<_>>().join("\n"),
            other => format!("[component {other:?}]"),
        }
    }
}

fn is_emoji_row(component: &Value) -> bool {
    let buttons = component["components"].as_array().map_or(&[][..], Vec::as_slice);
    component["type"] == 1 && buttons.iter().all(|button| button["type"] == 2 && button["label"].is_null())
}

fn write_lines(out: &mut String, indent: &str, head: &str, text: &str) {
    let gap = " ".repeat(2);
    for (n, line) in text.lines().enumerate() {
        let start = if n == 0 { head } else { gap.as_str() };
        let _ = writeln!(out, "{}", format!("{indent}{start}{line}").trim_end());
    }
    if text.is_empty() {
        let _ = writeln!(out, "{indent}{}", head.trim_end());
    }
}
