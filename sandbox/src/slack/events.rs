//! The events to which the app subscribed: their bodies, and which of them the app receives.
//!
//! No event is sent for a channel of which the bot is not a member, or without the required scope.

use serde_json::{Value, json};

use super::config::MentionOrder;
use super::entities::{Channel, ChannelKind, Message, User};
use super::envelopes::{Context, EnvelopeKind};
use super::render::merge;
use super::world::{World, secret};

/// How the events of a message reach the app.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EventDelivery {
    #[default]
    Once,
    /// Each event is sent twice, with the same event id.
    Duplicated,
    /// Held until [`super::Slack::release`].
    Held,
    /// Never: the message is posted in the channel, but the app gets no event.
    Never,
}

impl World {
    /// Sends the app the events of a new message. `extra` is merged into each event's body.
    pub(super) fn dispatch_message(&mut self, message: &Message, deliver: EventDelivery, extra: &Value) {
        let Some(channel) = self.channels.get(&message.channel).cloned() else { return };
        let mut body = self.message_json(message, true);
        merge(
            &mut body,
            json!({
                "channel": channel.id, "event_ts": message.ts, "channel_type": channel.kind.as_channel_type(),
            }),
        );
        self.stranger_parts(&mut body, message);
        // A message of Slack's own about somebody who joined mentions nobody.
        let joins = matches!(message.subtype.as_deref(), Some("channel_join" | "group_join"));
        let mentioned = !joins && message.text.contains(&format!("<@{}>", self.config.app.bot_user));
        let mut bodies = vec![body.clone()];
        if mentioned && channel.kind != ChannelKind::Im && !message.is_from_bot {
            let mut mention = body;
            mention["type"] = json!("app_mention");
            if let Some(fields) = mention.as_object_mut() {
                fields.remove("channel_type");
                fields.remove("subtype");
            }
            let first = self.config.mention_order == MentionOrder::MentionFirst;
            bodies.insert(usize::from(!first), mention);
        }
        for mut body in bodies {
            merge(&mut body, extra.clone());
            self.tell(&channel, body, deliver);
        }
    }

    fn stranger_parts(&self, body: &mut Value, message: &Message) {
        if !self.users.get(&message.user).is_some_and(|u| u.is_external) {
            return;
        }
        let (team, user) = (self.team_of(&message.user), &self.users[&message.user]);
        merge(
            body,
            json!({
                "user_team": team, "source_team": team,
                "user_profile": {
                    "real_name": user.real_name, "display_name": user.display_name, "name": user.name,
                    "team": team, "is_restricted": user.is_restricted,
                    "is_ultra_restricted": user.is_ultra_restricted, "avatar_hash": "g0",
                },
            }),
        );
    }

    pub(super) fn dispatch_message_changed(&mut self, before: &Message, after: &Message) {
        let body = json!({
            "subtype": "message_changed",
            "message": self.message_json(after, true),
            "previous_message": self.message_json(before, true),
        });
        self.tell_hidden(&after.channel, body);
    }

    pub(super) fn dispatch_message_deleted(&mut self, gone: &Message) {
        let previous = self.message_json(gone, true);
        let body = json!({"subtype": "message_deleted", "previous_message": previous, "deleted_ts": gone.ts});
        self.tell_hidden(&gone.channel, body);
    }

    fn tell_hidden(&mut self, channel: &str, mut body: Value) {
        let Some(channel) = self.channels.get(channel).cloned() else { return };
        let ts = self.next_ts();
        merge(
            &mut body,
            json!({
                "type": "message", "hidden": true, "channel": channel.id, "ts": ts, "event_ts": ts,
                "channel_type": channel.kind.as_channel_type(),
            }),
        );
        self.tell(&channel, body, EventDelivery::Once);
    }

    fn tell(&mut self, channel: &Channel, body: Value, deliver: EventDelivery) {
        if !self.hears(channel, &body) || deliver == EventDelivery::Never {
            return;
        }
        let payload = self.callback(channel, body);
        if deliver == EventDelivery::Held {
            return self.sockets.held_events.push(payload);
        }
        self.send(EnvelopeKind::EventsApi, payload.clone(), Context::None);
        if deliver == EventDelivery::Duplicated {
            self.send(EnvelopeKind::EventsApi, payload, Context::None);
        }
    }

    /// Sends an event other than a message.
    pub(super) fn event(&mut self, channel: &str, body: Value) {
        let Some(channel) = self.channels.get(channel).cloned() else { return };
        let payload = self.callback(&channel, body);
        self.send(EnvelopeKind::EventsApi, payload, Context::None);
    }

    /// Adds or changes a person, and notifies the app if its scopes allow that.
    pub(super) fn add_user(&mut self, user: User) {
        let id = user.id.clone();
        let known = self.users.insert(id.clone(), user).is_some();
        if !self.config.app.scopes.contains("users:read") {
            return;
        }
        let Some(user) = self.users.get(&id) else { return };
        let mut body =
            json!({"type": if known { "user_change" } else { "team_join" }, "user": self.user_json(user)});
        body["event_ts"] = json!(self.next_ts());
        let payload = self.enveloped(false, body);
        self.send(EnvelopeKind::EventsApi, payload, Context::None);
    }

    fn hears(&self, channel: &Channel, body: &Value) -> bool {
        let app = &self.config.app;
        let scope = match body["type"].as_str() {
            Some("app_mention") => "app_mentions:read".to_owned(),
            _ => format!("{}:history", channel.kind.as_scope_family()),
        };
        channel.members.contains(&app.bot_user) && app.scopes.contains(&scope)
    }

    fn callback(&mut self, channel: &Channel, event: Value) -> Value {
        self.enveloped(self.is_shared(channel), event)
    }

    fn enveloped(&mut self, shared: bool, event: Value) -> Value {
        let number = self.next_number();
        let (team, app) = (&self.config.team.id, &self.config.app);
        json!({
            "token": "verification-token-unused",
            "team_id": team,
            "context_team_id": team,
            "context_enterprise_id": null,
            "api_app_id": app.id,
            "event": event,
            "type": "event_callback",
            "event_id": format!("Ev{number:09}"),
            "event_time": self.now().timestamp(),
            "authorizations": [{
                "enterprise_id": null, "team_id": team, "user_id": app.bot_user, "is_bot": true,
                "is_enterprise_install": false,
            }],
            "is_ext_shared_channel": shared,
            "event_context": format!("4-{}", secret()),
        })
    }
}
