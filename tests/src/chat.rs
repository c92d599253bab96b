//! The chat platform that a story is played on: one body for each of them.

use std::time::Duration;

use nod_sandbox::Faults;
use nod_sandbox::discord::Discord;
use nod_sandbox::slack::Slack;
use serde_json::{Value, json};

use crate::{link_in, patience};

/// Which platform a story is played on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// Slack.
    Slack,
    /// Discord.
    Discord,
}

/// The platform's fake, for what stories do on any.
#[derive(Clone)]
pub enum Chat {
    /// Slack's.
    Slack(Slack),
    /// Discord's.
    Discord(Discord),
}

/// Gives the answer of whichever fake it is.
macro_rules! each {
    ($chat:expr, $fake:ident => $answer:expr) => {
        match $chat {
            Chat::Slack($fake) => $answer,
            Chat::Discord($fake) => $answer,
        }
    };
}

impl Chat {
    /// Somebody says something; the id of the message.
    pub fn say(&self, user: &str, channel: &str, thread: Option<&str>, text: &str) -> String {
        each!(self, fake => fake.say(user, channel, thread, text))
    }

    /// Presses a button of a message, and waits until the press was acknowledged.
    pub async fn press(&self, user: &str, channel: &str, message: &str, label: &str) {
        match self {
            Self::Slack(fake) => {
                let pending = fake.press(user, channel, message, label).unwrap_or_else(|e| panic!("{e}"));
                pending.acknowledged(patience()).await;
            }
            Self::Discord(fake) => {
                let pending = fake.press(user, channel, message, label).unwrap_or_else(|e| panic!("{e}"));
                pending.acknowledged(patience()).await;
            }
        }
    }

    /// Gives a command, as typed behind Slack's `/nod`, and waits until it was acknowledged.
    pub async fn command(&self, user: &str, channel: &str, text: &str) {
        match self {
            Self::Slack(fake) => {
                fake.slash(user, channel, "/nod", text).acknowledged(patience()).await;
            }
            Self::Discord(fake) => {
                let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
                let name = if name.is_empty() { "help" } else { name };
                fake.slash(user, channel, name, &options(name, rest)).acknowledged(patience()).await;
            }
        }
    }

    /// Until all that was said has reached Nod. Slack has its acknowledgements for that; Discord has none, but what
    /// it dispatches is taken in order, so whoever answers this has taken what came before.
    pub async fn has_heard(&self, asker: &str) {
        if let Self::Discord(fake) = self
            && let Ok(pending) = fake.complete(asker, "general", "memory", &json!({"forget": "~"}))
        {
            pending.acknowledged(patience()).await;
        }
    }

    /// Whether something waits for Nod's acknowledgement.
    #[must_use]
    pub fn waits(&self) -> bool {
        each!(self, fake => !fake.unanswered().is_empty())
    }

    /// What stands in a channel for everybody.
    #[must_use]
    pub fn spoken(&self, channel: &str) -> String {
        each!(self, fake => fake.spoken(channel))
    }

    /// What was whispered to somebody.
    #[must_use]
    pub fn whispers(&self, user: &str) -> Vec<String> {
        each!(self, fake => fake.whispers(user))
    }

    /// The newest whisper to somebody, as it is made of.
    #[must_use]
    pub fn newest_whisper(&self, user: &str) -> Option<String> {
        match self {
            Self::Slack(fake) => fake.ephemerals(user).pop().map(|e| json!(e.blocks).to_string()),
            Self::Discord(fake) => fake.ephemerals(user).pop().map(|e| json!(e.components).to_string()),
        }
    }

    /// The newest message of a channel that has a button with this label.
    #[must_use]
    pub fn with_button(&self, channel: &str, label: &str) -> Option<String> {
        let label = format!("\"{label}\"");
        match self {
            Self::Slack(fake) => {
                let mut all = fake.messages(channel).into_iter().rev();
                all.find(|m| json!(m.blocks).to_string().contains(&label)).map(|m| m.ts)
            }
            Self::Discord(fake) => {
                let mut all = fake.messages(channel).into_iter().rev();
                all.find(|m| json!(m.components).to_string().contains(&label)).map(|m| m.id)
            }
        }
    }

    /// The newest link to connect an account that stands in a channel.
    #[must_use]
    pub fn newest_link(&self, channel: &str) -> Option<String> {
        match self {
            Self::Slack(fake) => {
                fake.messages(channel).iter().rev().find_map(|m| link_in(&json!(m.blocks).to_string()))
            }
            Self::Discord(fake) => {
                fake.messages(channel).iter().rev().find_map(|m| link_in(&json!(m.components).to_string()))
            }
        }
    }

    /// Whether Nod has said this in a channel.
    #[must_use]
    pub fn nod_said(&self, channel: &str, text: &str) -> bool {
        match self {
            Self::Slack(fake) => fake
                .messages(channel)
                .iter()
                .any(|m| m.by_bot && (m.text.contains(text) || json!(m.blocks).to_string().contains(text))),
            Self::Discord(fake) => fake
                .messages(channel)
                .iter()
                .any(|m| m.by_bot && json!(m.components).to_string().contains(text)),
        }
    }

    /// The ids of the channels in which Nod has said something; threads count as part of their channel.
    #[must_use]
    pub fn channels_with_nod(&self) -> Vec<String> {
        match self {
            Self::Slack(fake) => {
                let all: Vec<String> = fake.read(|world| world.channels.keys().cloned().collect());
                all.into_iter().filter(|id| fake.messages(id).iter().any(|m| m.by_bot)).collect()
            }
            Self::Discord(fake) => {
                let all: Vec<String> = fake.read(|world| {
                    world.channels.values().filter(|c| c.parent.is_none()).map(|c| c.id.clone()).collect()
                });
                all.into_iter().filter(|id| fake.messages(id).iter().any(|m| m.by_bot)).collect()
            }
        }
    }

    /// The id of a channel.
    #[must_use]
    pub fn channel_id(&self, channel: &str) -> String {
        each!(self, fake => fake.read(|world| world.channel_id(channel).unwrap_or_else(|_| channel.to_owned())))
    }

    /// All of it, for the message of a story that fails.
    #[must_use]
    pub fn everything(&self) -> String {
        each!(self, fake => fake.everything())
    }

    /// Until Nod is connected.
    pub async fn connected(&self, within: Duration) {
        each!(self, fake => fake.connected(within).await);
    }

    /// How many connections of Nod there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        each!(self, fake => fake.connections())
    }

    /// What goes wrong.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        each!(self, fake => fake.faults())
    }

    /// What nobody should ever have asked of the platform, or have shown there.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        match self {
            Self::Slack(fake) => fake.violations().into_iter().map(|v| format!("{v:?}")).collect(),
            Self::Discord(fake) => {
                let pings = fake.pings().into_iter().map(|ping| format!("a ping: {ping:?}"));
                let unfurls = fake.unfurls().into_iter().map(|link| format!("an unfurled link: {link:?}"));
                fake.violations().into_iter().chain(pings).chain(unfurls).collect()
            }
        }
    }
}

/// What was typed behind a command, as Discord's options.
fn options(command: &str, typed: &str) -> Value {
    let name = match command {
        "ask" => "question",
        "connect" => "account",
        "task" | "memory" => "what",
        _ => return json!({}),
    };
    if typed.is_empty() { json!({}) } else { json!({ name: typed }) }
}
