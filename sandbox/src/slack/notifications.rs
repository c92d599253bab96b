//! Whom the bot's messages notify. An edit notifies no user.

use serde_json::Value;

use super::Slack;
use super::transcript::{MarkupToken, parse_markup};
use super::world::World;

impl Slack {
    /// Returns whom the bot's messages notified, by name; `!here` and similar unchanged.
    #[must_use]
    pub fn mentioned_users(&self) -> Vec<String> {
        self.read(|w| w.mentioned_users.clone())
    }
}

impl World {
    /// Records whom a new message notifies: by its blocks if it has any, because only they are shown.
    pub(super) fn record_mentions(&mut self, text: &str, blocks: &[Value]) {
        let mut called = Vec::new();
        match blocks {
            [] => self.called_by(text, &mut called),
            blocks => blocks.iter().for_each(|block| self.called_in(block, &mut called)),
        }
        self.mentioned_users.extend(called);
    }

    fn called_in(&self, part: &Value, called: &mut Vec<String>) {
        match part {
            Value::Object(fields) => {
                match part["type"].as_str() {
                    Some("user") => called.push(self.name(part["user_id"].as_str().unwrap_or_default())),
                    Some(kind @ ("broadcast" | "usergroup")) => called.push(format!("!{kind}")),
                    Some("mrkdwn" | "markdown") => {
                        self.called_by(part["text"].as_str().unwrap_or_default(), called);
                    }
                    _ => {}
                }
                fields.values().for_each(|value| self.called_in(value, called));
            }
            Value::Array(parts) => parts.iter().for_each(|part| self.called_in(part, called)),
            _ => {}
        }
    }

    fn called_by(&self, text: &str, called: &mut Vec<String>) {
        called.extend(parse_markup(text).into_iter().filter_map(|piece| match piece {
            MarkupToken::User(user) => Some(self.name(&user)),
            MarkupToken::Broadcast(range) => Some(format!("!{range}")),
            MarkupToken::Text(_) | MarkupToken::Link { .. } => None,
        }));
    }
}
