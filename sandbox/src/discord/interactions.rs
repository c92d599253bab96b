//! Interactions: commands, clicks and forms that are sent to the app, and their outcomes.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use super::render::merge_all;
use super::world::{World, secret};

/// The delivery state of an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Sent, not answered.
    #[serde(rename = "sent")]
    Dispatched,
    /// The app sent its callback.
    Acknowledged,
    /// No session could receive it: the user reads "did not respond".
    Lost,
}

/// A command, click or form.
#[derive(Debug, Clone, Serialize)]
pub struct Interaction {
    /// A snowflake.
    pub id: String,
    /// The token with which the app answers.
    pub token: String,
    /// Discord's `type`: 2 command, 3 component, 4 autocomplete, 5 form.
    pub kind: u8,
    /// The user who caused it.
    pub user: String,
    /// The channel.
    pub channel: String,
    /// The message whose component was used (or from which the form was opened).
    pub message: Option<String>,
    /// The payload that the app received.
    pub payload: Value,
    /// When it was sent.
    #[serde(rename = "at")]
    pub created_at: DateTime<Utc>,
    /// Its delivery state.
    pub state: Delivery,
    /// The callback's body.
    pub answer: Option<Value>,
    /// The time from the event to the callback.
    pub took: Option<Duration>,
    /// The message that responds to it (`@original`).
    pub original: Option<String>,
    #[serde(skip)]
    sent: Instant,
}

/// An interaction before it has an id.
pub(super) struct NewInteraction {
    pub kind: u8,
    pub user: String,
    pub channel: String,
    pub message: Option<String>,
    pub data: Value,
    /// Merged over the payload.
    pub extra: Value,
}

impl World {
    /// Returns an interaction by its id.
    #[must_use]
    pub fn interaction(&self, id: &str) -> Option<&Interaction> {
        self.interactions.iter().find(|i| i.id == id)
    }

    pub(super) fn interaction_mut(&mut self, id: &str) -> Option<&mut Interaction> {
        self.interactions.iter_mut().find(|i| i.id == id)
    }

    /// Returns whether its callback is still accepted.
    pub(super) fn is_pending(&self, interaction: &Interaction) -> bool {
        interaction.state == Delivery::Dispatched
            && self.now() - interaction.created_at <= self.config.interaction_timeout
    }

    /// Sends an interaction to the app; returns its id.
    pub(super) fn dispatch_interaction(&mut self, sending: NewInteraction) -> String {
        let (id, token) = (self.next_id(), format!("aW50ZXJhY3Rpb24{}", secret(40)));
        let payload = self.interaction_payload(&id, &token, &sending);
        let guild = self.is_in_guild(&sending.channel);
        let told = self.dispatch("INTERACTION_CREATE", 0, guild, &payload);
        self.interactions.push(Interaction {
            id: id.clone(),
            token,
            kind: sending.kind,
            user: sending.user,
            channel: sending.channel,
            message: sending.message,
            payload,
            created_at: self.now(),
            state: if told { Delivery::Dispatched } else { Delivery::Lost },
            answer: None,
            took: None,
            original: None,
            sent: Instant::now(),
        });
        id
    }

    fn interaction_payload(&self, id: &str, token: &str, sending: &NewInteraction) -> Value {
        let (user, channel) = (&sending.user, &sending.channel);
        let guild = self.is_in_guild(channel);
        let mut place = self.channels.get(channel).map(|c| self.channel_json(c)).unwrap_or_default();
        place["permissions"] = json!(self.permissions(channel, user).to_string());
        let locale = self.users.get(user).map_or("en-US", |u| &u.locale);
        let mut payload = json!({
            "id": id, "application_id": self.config.app.id, "type": sending.kind, "token": token,
            "version": 1, "data": sending.data, "channel": place, "channel_id": channel,
            "app_permissions": self.permissions(channel, self.bot()).to_string(), "locale": locale,
            "entitlements": [], "entitlement_sku_ids": [], "attachment_size_limit": 10_485_760,
            "authorizing_integration_owners": self.owners(guild), "context": if guild { 0 } else { 1 },
        });
        if guild {
            let mut member = self.member_json(user);
            member["permissions"] = json!(self.permissions(channel, user).to_string());
            let id = &self.config.guild.id;
            let place = json!({"id": id, "locale": "en-US", "features": []});
            let more = json!({
                "guild_id": id, "guild_locale": "en-US", "member": member, "guild": place,
            });
            merge_all(&mut payload, more);
        } else {
            payload["user"] = self.user_json(user);
        }
        if let Some(message) = sending.message.as_ref().and_then(|m| self.message(m)) {
            payload["message"] = self.message_json(message);
        }
        super::render::merge(&mut payload, &sending.extra);
        payload
    }

    fn owners(&self, guild: bool) -> Value {
        json!({"0": if guild { self.config.guild.id.clone() } else { "0".to_owned() }})
    }

    pub(super) fn interaction_metadata(&self, interaction: &Interaction) -> Value {
        let mut told = json!({
            "id": interaction.id, "type": interaction.kind, "user": self.user_json(&interaction.user),
            "authorizing_integration_owners": self.owners(self.is_in_guild(&interaction.channel)),
        });
        match interaction.kind {
            2 => {
                told["name"] = interaction.payload["data"]["name"].clone();
                told["command_type"] = interaction.payload["data"]["type"].clone();
            }
            3 => told["interacted_message_id"] = json!(interaction.message),
            _ => {
                // What opened the form counts as the triggering interaction.
                told["triggering_interaction_metadata"] = json!({
                    "id": interaction.id, "type": 2, "user": self.user_json(&interaction.user),
                    "authorizing_integration_owners": told["authorizing_integration_owners"],
                });
            }
        }
        told
    }

    /// Records the callback.
    pub(super) fn record_response(&mut self, id: &str, answer: Value) {
        let Some(interaction) = self.interaction_mut(id) else { return };
        interaction.state = Delivery::Acknowledged;
        interaction.took = Some(interaction.sent.elapsed());
        interaction.answer = Some(answer);
    }
}
