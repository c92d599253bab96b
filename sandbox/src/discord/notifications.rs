//! Which users are notified by mentions, and for which links Discord would fetch a preview.

use serde_json::Value;

use super::entities::{Message, Notification, SUPPRESS_EMBEDS, Unfurl};
use super::world::World;

impl World {
    /// Records the notifications and link previews that a message of the bot causes.
    pub(super) fn side_effects(&mut self, message: &Message, allowed: &Value) {
        let words = message_text(message);
        let (channel, id) = (&message.channel, &message.id);
        for mention in mentions(&words).into_iter().filter(|m| rings(m, allowed)) {
            let ping = Notification { channel: channel.clone(), message: id.clone(), mention };
            if !self.notifications.contains(&ping) {
                self.notifications.push(ping);
            }
        }
        if message.flags & SUPPRESS_EMBEDS != 0 {
            return;
        }
        for url in urls(&words) {
            let unfurl = Unfurl { channel: channel.clone(), message: id.clone(), url };
            if !self.unfurls.contains(&unfurl) {
                self.unfurls.push(unfurl);
            }
        }
    }
}

/// Returns all text of a message: content and text displays.
pub(super) fn message_text(message: &Message) -> String {
    let mut all = message.content.clone();
    for component in &message.components {
        gather(component, &mut all);
    }
    all
}

fn gather(component: &Value, all: &mut String) {
    if component["type"] == 10 {
        all.push('\n');
        all.push_str(component["content"].as_str().unwrap_or_default());
    }
    for child in component["components"].as_array().into_iter().flatten() {
        gather(child, all);
    }
}

/// Returns every mention in a text, as written.
pub(super) fn mentions(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in ["@everyone", "@here"] {
        if text.contains(word) {
            found.push(word.to_owned());
        }
    }
    for (at, _) in text.match_indices("<@") {
        let rest = &text[at..];
        let Some(end) = rest.find('>') else { continue };
        let id = rest[2..end].trim_start_matches(['!', '&']);
        if !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) {
            found.push(rest[..=end].to_owned());
        }
    }
    found
}

/// Returns the id inside `<@id>`; users only.
pub(super) fn mentioned_user_id(mention: &str) -> Option<&str> {
    let inside = mention.strip_prefix("<@")?.strip_suffix('>')?.trim_start_matches('!');
    (!inside.starts_with('&')).then_some(inside)
}

fn rings(mention: &str, allowed: &Value) -> bool {
    if allowed.is_null() {
        return true;
    }
    let listed = |field: &str, wanted: &str| {
        allowed[field].as_array().is_some_and(|all| all.iter().any(|one| one == wanted))
    };
    if !mention.starts_with('<') {
        return listed("parse", "everyone");
    }
    match mentioned_user_id(mention) {
        Some(id) => listed("parse", "users") || listed("users", id),
        None => {
            let id = mention.trim_start_matches("<@&").trim_end_matches('>');
            listed("parse", "roles") || listed("roles", id)
        }
    }
}

fn urls(text: &str) -> Vec<String> {
    let starts = text.match_indices("http").map(|(at, _)| &text[at..]);
    let links = starts.filter(|s| s.starts_with("http://") || s.starts_with("https://"));
    let end = |c: char| c.is_whitespace() || "<>()[]\"'`".contains(c);
    links.map(|s| s.split(end).next().unwrap_or_default().to_owned()).collect()
}
