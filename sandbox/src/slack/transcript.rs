//! What a person sees, as plain text: used in snapshots and in the messages of failing tests.

use std::fmt::Write;

use serde_json::Value;

use super::entities::{Ephemeral, Message};
use super::world::World;

/// A piece of Slack's message notation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MarkupToken {
    Text(String),
    User(String),
    Broadcast(String),
    Link { url: String, label: Option<String> },
}

/// Splits `<@U1> see <https://x|here>` into its pieces; the text is unescaped.
pub(super) fn parse_markup(text: &str) -> Vec<MarkupToken> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let Some((inside, tail)) = after.split_once('>') else { break };
        if !before.is_empty() {
            pieces.push(MarkupToken::Text(unescape(before)));
        }
        pieces.push(parse_markup_token(inside));
        rest = tail;
    }
    if !rest.is_empty() {
        pieces.push(MarkupToken::Text(unescape(rest)));
    }
    pieces
}

fn parse_markup_token(inside: &str) -> MarkupToken {
    let (target, label) = match inside.split_once('|') {
        Some((target, label)) => (target, Some(unescape(label))),
        None => (inside, None),
    };
    if let Some(user) = target.strip_prefix('@') {
        return MarkupToken::User(user.to_owned());
    }
    match target.strip_prefix('!') {
        // <!date^…^…|fallback>: the fallback is what a plain reader sees.
        Some(date) if date.starts_with("date^") => MarkupToken::Text(label.unwrap_or_default()),
        Some(range) => MarkupToken::Broadcast(range.to_owned()),
        None => MarkupToken::Link { url: unescape(target), label },
    }
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

impl World {
    /// Returns a channel as a member sees it, replies indented below their parent.
    #[must_use]
    pub fn transcript(&self, channel: &str) -> String {
        let mut out = self.channel_text(channel);
        for whisper in self.ephemerals.iter().filter(|e| e.channel == channel) {
            write_lines(&mut out, "", "", &self.ephemeral_transcript(whisper));
        }
        out
    }

    /// Returns an ephemeral message as its reader sees it.
    #[must_use]
    pub fn ephemeral_transcript(&self, whisper: &Ephemeral) -> String {
        let shown = self.message_text(&whisper.text, &whisper.blocks);
        format!("({} only) {}: {shown}", self.name(&whisper.user), self.config.app.name)
    }

    /// Returns the messages that all members of a channel see, replies indented below their parent.
    #[must_use]
    pub fn channel_text(&self, channel: &str) -> String {
        let mut out = String::new();
        let all = self.messages(channel);
        for message in all.iter().filter(|m| m.thread_ts.is_none() || m.reply_broadcast) {
            self.write_message(&mut out, message, "");
            if message.thread_ts.is_none() {
                let ts = Some(message.ts.as_str());
                for reply in all.iter().filter(|m| m.thread_ts.as_deref() == ts) {
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
        for channel in self.channels.keys() {
            let text = self.transcript(channel);
            if !text.is_empty() {
                let _ = writeln!(out, "--- {}\n{text}", self.channel_title(channel));
            }
        }
        out
    }

    pub(super) fn channel_title(&self, id: &str) -> String {
        let Some(channel) = self.channels.get(id) else { return id.to_owned() };
        if channel.name.is_empty() {
            let others = channel.members.iter().filter(|m| **m != self.config.app.bot_user);
            return format!("DM {}", others.map(|m| self.name(m)).collect::<Vec<_>>().join(", "));
        }
        format!("#{}", channel.name)
    }

    fn write_message(&self, out: &mut String, message: &Message, indent: &str) {
        let mut shown = self.message_text(&message.text, &message.blocks);
        if message.edited.is_some() && !message.is_from_bot {
            shown.push_str(" (edited)");
        }
        for file in &message.files {
            let title = file["title"].as_str().or(file["name"].as_str()).unwrap_or("?");
            let _ = write!(shown, "\n[file {title}]");
        }
        let head = format!("{}: ", self.name(&message.user));
        write_lines(out, indent, &head, &shown);
    }

    pub(super) fn name(&self, user: &str) -> String {
        self.users.get(user).map_or_else(|| user.to_owned(), |u| u.name.clone())
    }

    /// Returns the blocks if there are any, else the text, as Slack shows it. Feedback buttons, which stand below every
    /// answer, are left out.
    pub(super) fn message_text(&self, text: &str, blocks: &[Value]) -> String {
        let blocks: Vec<&Value> = blocks.iter().filter(|block| block["type"] != "context_actions").collect();
        // A single plain rich text reads like `text`, unless it mentions a user.
        let plain =
            |block: &Value| block["type"] == "rich_text" && !block.to_string().contains("\"user_id\"");
        if !text.is_empty() && (blocks.is_empty() || matches!(blocks[..], [only] if plain(only))) {
            return self.plain(text);
        }
        blocks.iter().map(|b| self.block(b)).collect::<Vec<_>>().join("\n")
    }

    fn block(&self, block: &Value) -> String {
        match block["type"].as_str().unwrap_or_default() {
            "divider" => "---".to_owned(),
            "header" => format!("# {}", self.text_of(&block["text"])),
            "markdown" => block["text"].as_str().unwrap_or_default().to_owned(),
            "section" => {
                let mut parts = vec![self.text_of(&block["text"])];
                parts.extend(block["fields"].as_array().into_iter().flatten().map(|f| self.text_of(f)));
                parts.extend(block.get("accessory").map(|a| self.text_of(a)));
                parts.retain(|p| !p.is_empty());
                parts.join("\n")
            }
            "context" => {
                let elements = block["elements"].as_array().into_iter().flatten();
                format!("· {}", elements.map(|e| self.text_of(e)).collect::<Vec<_>>().join(" "))
            }
            "actions" => {
                let elements = block["elements"].as_array().into_iter().flatten();
                elements.map(|e| self.text_of(e)).collect::<Vec<_>>().join(" ")
            }
            "image" => format!("[image {}]", block["alt_text"].as_str().unwrap_or_default()),
            "rich_text" => {
                let parts = block["elements"].as_array().into_iter().flatten().map(|part| self.rich(part));
                parts.collect::<Vec<_>>().join("\n")
            }
            other => format!("[{other}]"),
        }
    }

    fn text_of(&self, element: &Value) -> String {
        let text = element["text"].as_str().unwrap_or_default();
        match element["type"].as_str().unwrap_or_default() {
            "button" => format!("[{}]", element["text"]["text"].as_str().unwrap_or_default()),
            "mrkdwn" => self.plain(text),
            "plain_text" => text.to_owned(),
            "image" => format!("[image {}]", element["alt_text"].as_str().unwrap_or_default()),
            "" => String::new(),
            other => format!("[{other}]"),
        }
    }

    fn plain(&self, text: &str) -> String {
        let shown = |piece| match piece {
            MarkupToken::Text(text) => text,
            MarkupToken::User(id) => format!("@{}", self.name(&id)),
            MarkupToken::Broadcast(range) => format!("@{range}"),
            MarkupToken::Link { url, label: None } => url,
            MarkupToken::Link { url, label: Some(label) } if url == format!("mailto:{label}") => label,
            MarkupToken::Link { url, label: Some(label) } => format!("{label} ({url})"),
        };
        parse_markup(text).into_iter().map(shown).collect()
    }

    /// Returns a part of a rich text; each item of a list is on its own line with its marker.
    fn rich(&self, part: &Value) -> String {
        if part["type"] != "rich_text_list" {
            return self.flatten(part);
        }
        let room = "  ".repeat(part["indent"].as_u64().and_then(|n| n.try_into().ok()).unwrap_or_default());
        let items = part["elements"].as_array().into_iter().flatten();
        let line = |(n, item): (u64, &Value)| match part["style"].as_str() {
            Some("ordered") => format!("{room}{n}. {}", self.flatten(item)),
            _ => format!("{room}• {}", self.flatten(item)),
        };
        (1..).zip(items).map(line).collect::<Vec<_>>().join("\n")
    }

    /// Returns all the text in a part of a rich text, in order.
    fn flatten(&self, value: &Value) -> String {
        let mut words = String::new();
        for element in value["elements"].as_array().into_iter().flatten() {
            if let Some(user) = element["user_id"].as_str() {
                words.push_str(&format!("@{}", self.name(user)));
            }
            // Each reader sees a date in their own time zone; this returns its fallback.
            let date = element["fallback"].as_str().filter(|_| element["type"] == "date");
            let own = date.or(element["text"].as_str()).or(element["url"].as_str());
            words.push_str(own.unwrap_or_default());
            words.push_str(&self.flatten(element));
        }
        words
    }
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
