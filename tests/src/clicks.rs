//! Buttons and clicks on them, including late clicks and ones that no real client would send.

use nod_sandbox::{discord, slack};
use serde_json::Value;

use crate::World;
use crate::chat::FakeChat;
use crate::world::max_wait;

/// A button of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// Its label.
    pub label: String,
    /// The verb that a click carries.
    pub action: Option<String>,
    /// The URL that it opens instead.
    pub link: Option<String>,
    /// Whether it is the primary button.
    pub is_primary: bool,
}

/// A click that a story can send at any time.
#[derive(Debug, Clone)]
pub struct Click {
    /// The user who clicks.
    pub user: String,
    /// The channel of the message.
    pub channel: String,
    /// The message, which might have been deleted.
    pub message: String,
    /// The verb that it carries.
    pub action: String,
}

impl Click {
    /// A click on a message that no client shows any longer.
    #[must_use]
    pub fn forged(user: &str, channel: &str, verb: String) -> Self {
        Self { user: user.to_owned(), channel: channel.to_owned(), message: "1.1".to_owned(), action: verb }
    }
}

impl FakeChat {
    /// Returns the buttons of the newest message of a channel that has any.
    #[must_use]
    pub fn buttons(&self, channel: &str) -> Vec<Button> {
        let all: Vec<Vec<Button>> = match self {
            Self::Slack(fake) => fake.messages(channel).iter().map(|m| collect_buttons(&m.blocks)).collect(),
            Self::Discord(fake) => {
                fake.messages(channel).iter().map(|m| collect_buttons(&m.components)).collect()
            }
        };
        all.into_iter().rfind(|buttons| !buttons.is_empty()).unwrap_or_default()
    }

    /// Returns the buttons of one message.
    #[must_use]
    pub fn buttons_of_message(&self, channel: &str, message: &str) -> Vec<Button> {
        match self {
            Self::Slack(fake) => {
                let found = fake.messages(channel).into_iter().find(|m| m.ts == message);
                found.map(|m| collect_buttons(&m.blocks)).unwrap_or_default()
            }
            Self::Discord(fake) => {
                let found = fake.messages(channel).into_iter().find(|m| m.id == message);
                found.map(|m| collect_buttons(&m.components)).unwrap_or_default()
            }
        }
    }

    /// Clicks a button `times` times before any response, and waits until all clicks were acknowledged.
    pub async fn click_concurrently(
        &self,
        user: &str,
        channel: &str,
        message: &str,
        label: &str,
        times: usize,
    ) {
        match self {
            Self::Slack(fake) => {
                let press = || fake.click(user, channel, message, label).unwrap_or_else(|e| panic!("{e}"));
                for pending in std::iter::repeat_with(press).take(times).collect::<Vec<_>>() {
                    pending.wait_for_acknowledgement(max_wait()).await;
                }
            }
            Self::Discord(fake) => {
                let press = || fake.click(user, channel, message, label).unwrap_or_else(|e| panic!("{e}"));
                for pending in std::iter::repeat_with(press).take(times).collect::<Vec<_>>() {
                    pending.wait_for_acknowledgement(max_wait()).await;
                }
            }
        }
    }

    /// Sends a stored click, and waits until it was acknowledged.
    pub async fn send_click(&self, press: &Click) {
        let Click { user, channel, message, action: verb } = press.clone();
        match self {
            Self::Slack(fake) => {
                let action_id = verb.split(':').next().unwrap_or_default().to_owned();
                let ts = message;
                let forged = slack::ForgedClick {
                    user,
                    channel,
                    ts,
                    action_id,
                    value: verb,
                    ..slack::ForgedClick::default()
                };
                let pending = fake.click_forged(forged).unwrap_or_else(|e| panic!("{e}"));
                pending.wait_for_acknowledgement(max_wait()).await;
            }
            Self::Discord(fake) => {
                let (ts, custom_id) = (message, verb);
                let forged =
                    discord::ForgedClick { user, channel, ts, custom_id, ..discord::ForgedClick::default() };
                let pending = fake.click_forged(forged).unwrap_or_else(|e| panic!("{e}"));
                pending.wait_for_acknowledgement(max_wait()).await;
            }
        }
    }

    /// Returns the channel, id and buttons of the newest ephemeral message to a user.
    fn newest_ephemeral_buttons(&self, user: &str) -> (String, String, Vec<Button>) {
        let newest = match self {
            Self::Slack(fake) => {
                fake.ephemerals(user).pop().map(|e| (e.channel, e.ts, collect_buttons(&e.blocks)))
            }
            Self::Discord(fake) => {
                fake.ephemerals(user).pop().map(|e| (e.channel, e.id, collect_buttons(&e.components)))
            }
        };
        newest.unwrap_or_else(|| panic!("nothing was whispered to {user}"))
    }

    /// Returns the channels and ids of the ephemeral messages to a user.
    #[must_use]
    pub fn list_ephemerals(&self, user: &str) -> Vec<(String, String)> {
        match self {
            Self::Slack(fake) => fake.ephemerals(user).into_iter().map(|e| (e.channel, e.ts)).collect(),
            Self::Discord(fake) => fake.ephemerals(user).into_iter().map(|e| (e.channel, e.id)).collect(),
        }
    }
}

impl World {
    /// Returns a click on this button, to be sent later.
    #[must_use]
    pub fn prepare_click(&self, user: &str, channel: &str, label: &str) -> Click {
        let message = self.find_message_with_button(channel, label);
        let found = self.chat.buttons_of_message(channel, &message).into_iter().find(|b| b.label == label);
        let verb = found.and_then(|button| button.action);
        let verb = verb.unwrap_or_else(|| panic!("[{label}] carries nothing"));
        Click { user: user.to_owned(), channel: channel.to_owned(), message, action: verb }
    }

    /// Returns a click on this button of the user's newest ephemeral message.
    #[must_use]
    pub fn prepare_ephemeral_click(&self, user: &str, label: &str) -> Click {
        let (channel, message, buttons) = self.chat.newest_ephemeral_buttons(user);
        let found = buttons.into_iter().find(|button| button.label == label).and_then(|button| button.action);
        let verb = found.unwrap_or_else(|| panic!("no button [{label}]:\n{}", self.chat.dump()));
        Click { user: user.to_owned(), channel, message, action: verb }
    }

    /// Returns the full label of the button that begins like this, on the user's newest ephemeral message.
    #[must_use]
    pub fn ephemeral_button_label(&self, user: &str, begins: &str) -> String {
        let (_, _, buttons) = self.chat.newest_ephemeral_buttons(user);
        let found = buttons.into_iter().map(|button| button.label).find(|label| label.starts_with(begins));
        found.unwrap_or_else(|| panic!("no button [{begins}…]:\n{}", self.chat.dump()))
    }

    /// Returns the click on a button of the user's newest ephemeral message, to be sent later.
    #[must_use]
    pub fn newest_ephemeral_click(&self, user: &str, label: &str) -> Click {
        let (channel, message, buttons) = self.chat.newest_ephemeral_buttons(user);
        let action =
            buttons.into_iter().find(|button| button.label == label).and_then(|button| button.action);
        let action = action.unwrap_or_else(|| panic!("no button [{label}]:\n{}", self.chat.dump()));
        Click { user: user.to_owned(), channel, message, action }
    }

    /// Sends the click.
    pub async fn send_click(&self, press: &Click) {
        self.chat.send_click(press).await;
        self.wait_until_idle().await;
    }

    /// Clicks a button twice before the first click can change anything.
    pub async fn click_twice(&self, user: &str, channel: &str, label: &str) {
        let message = self.find_message_with_button(channel, label);
        self.chat.click_concurrently(user, channel, &message, label, 2).await;
        self.wait_until_idle().await;
    }

    /// Clicks a button of the user's newest ephemeral message, and returns the ephemeral messages that follow.
    pub async fn click_ephemeral(&mut self, user: &str, label: &str) -> String {
        let last = self.chat.list_ephemerals(user).len() - 1;
        self.click_nth_ephemeral(user, last, label).await
    }

    /// The same on an older one, counted from the first.
    pub async fn click_nth_ephemeral(&mut self, user: &str, which: usize, label: &str) -> String {
        let (channel, message) = self.chat.list_ephemerals(user)[which].clone();
        self.chat.click(user, &channel, &message, label).await;
        let said = self.wait_for_ephemeral(user).await;
        self.wait_until_idle().await;
        said
    }
}

/// Collects all buttons in nested components: Slack's `elements` in blocks, Discord's `components` in components. Those
/// that rate an answer stand below every answer, and are left out: Slack has a type of its own for them, and Discord's
/// have no label.
fn collect_buttons(below: &[Value]) -> Vec<Button> {
    below.iter().flat_map(parse_button).collect()
}

fn parse_button(value: &Value) -> Vec<Button> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let kind = &value["type"];
    if *kind == 2 && value["label"].is_null() {
        return Vec::new();
    }
    if kind == "button" || *kind == 2 {
        return vec![Button {
            label: text(&value["text"]["text"]).or_else(|| text(&value["label"])).unwrap_or_default(),
            action: text(&value["value"]).or_else(|| text(&value["custom_id"])),
            link: text(&value["url"]),
            is_primary: value["style"] == "primary" || value["style"] == 1,
        }];
    }
    let below = ["elements", "components"].iter().filter_map(|inside| value[inside].as_array());
    below
        .flat_map(|all| collect_buttons(all))
        .chain(value.get("accessory").into_iter().flat_map(parse_button))
        .collect()
}
