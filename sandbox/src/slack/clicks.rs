//! Commands, clicks and forms: what people send to the app with a trigger, a response URL, or both.

use serde_json::{Value, json};

use super::entities::ChannelKind as Kind;
use super::envelopes::{Context, EnvelopeKind};
use super::render::merge;
use super::world::World;

/// A click that no real client would send.
#[derive(Debug, Clone, Default)]
pub struct ForgedClick {
    pub user: String,
    pub channel: String,
    pub ts: String,
    pub action_id: String,
    pub value: String,
    /// Merged into the payload.
    pub extra: Value,
}

impl World {
    /// Returns the envelope's number.
    pub(super) fn run_command(
        &mut self,
        who: &str,
        channel: &str,
        command: &str,
        text: &str,
    ) -> Result<u64, String> {
        let (user, channel) = (self.actor(who)?, self.find_or_open_channel(channel)?);
        if !self.is_member(&channel, &user) {
            return Err(format!("{who} is no member of {channel}."));
        }
        if !self.config.app.commands.iter().any(|c| c == command)
            || !self.config.app.scopes.contains("commands")
        {
            return Err(format!("{command} is not a valid command."));
        }
        let payload = json!({
            "token": "verification-token-unused",
            "team_id": self.config.team.id, "team_domain": self.config.team.domain,
            "channel_id": channel, "channel_name": self.channel_display_name(&channel),
            "user_id": user, "user_name": self.users[&user].name,
            "command": command, "text": text,
            "api_app_id": self.config.app.id, "is_enterprise_install": "false",
            "response_url": self.response_url(&user, &channel, None),
            "trigger_id": self.trigger(&user),
        });
        Ok(self.send(EnvelopeKind::SlashCommands, payload, Context::Command { user, channel }))
    }

    pub(super) fn channel_display_name(&self, channel: &str) -> String {
        match self.channels.get(channel) {
            Some(channel) if channel.kind == Kind::Public => channel.name.clone(),
            Some(channel) if channel.kind == Kind::Im => "directmessage".into(),
            _ => "privategroup".into(),
        }
    }

    /// Clicks a button that this person sees, identified by its action id or its text; one of two that share an action
    /// id by its text or its value.
    pub(super) fn click(&mut self, who: &str, channel: &str, ts: &str, button: &str) -> Result<u64, String> {
        let (user, channel) = (self.actor(who)?, self.find_or_open_channel(channel)?);
        if !self.is_member(&channel, &user) {
            return Err(format!("{who} is no member of {channel} and cannot see that."));
        }
        let whisper = self.ephemerals.iter().find(|e| e.user == user && e.channel == channel && e.ts == ts);
        let blocks = match (self.message(&channel, ts), whisper) {
            (Some(message), _) => &message.blocks,
            (None, Some(whisper)) => &whisper.blocks,
            (None, None) => return Err(format!("{who} sees no such message.")),
        };
        let mut action = find_button(blocks, button)
            .or_else(|| find_feedback_button(blocks, button))
            .ok_or_else(|| format!("There is no button {button} on that message."))?;
        action["action_ts"] = json!(self.next_ts());
        let payload = self.press_payload(&user, &channel, ts, action);
        Ok(self.send(EnvelopeKind::Interactive, payload, Context::None))
    }

    pub(super) fn click_forged(&mut self, forged: ForgedClick) -> Result<u64, String> {
        let user = self.user_id(&forged.user).unwrap_or(forged.user);
        let channel = self.channel_id(&forged.channel).unwrap_or(forged.channel);
        let action = json!({
            "type": "button", "action_id": forged.action_id, "block_id": "forged",
            "text": {"type": "plain_text", "text": "Forged", "emoji": true},
            "value": forged.value, "action_ts": self.next_ts(),
        });
        let mut payload = self.press_payload(&user, &channel, &forged.ts, action);
        merge(&mut payload, forged.extra);
        Ok(self.send(EnvelopeKind::Interactive, payload, Context::None))
    }

    fn press_payload(&mut self, user: &str, channel: &str, ts: &str, action: Value) -> Value {
        let message = self.message(channel, ts).map(|m| self.message_json(m, true));
        let thread = self.message(channel, ts).and_then(|m| m.thread_ts.clone());
        let mut payload = json!({
            "type": "block_actions",
            "user": self.person_json(user),
            "api_app_id": self.config.app.id,
            "token": "verification-token-unused",
            "container": {
                "type": "message", "message_ts": ts, "channel_id": channel,
                "is_ephemeral": message.is_none(),
            },
            "trigger_id": self.trigger(user),
            "team": {"id": self.config.team.id, "domain": self.config.team.domain},
            "enterprise": null,
            "is_enterprise_install": false,
            "channel": {"id": channel, "name": self.channel_display_name(channel)},
            "state": {"values": {}},
            "response_url": self.response_url(user, channel, Some(ts)),
            "actions": [action],
        });
        if let Some(message) = message {
            payload["message"] = message;
        }
        if let Some(thread) = thread {
            payload["container"]["thread_ts"] = json!(thread);
        }
        payload
    }

    pub(super) fn person_json(&self, user: &str) -> Value {
        let name = self.users.get(user).map_or("unknown", |u| &u.name);
        json!({"id": user, "username": name, "name": name, "team_id": self.team_of(user)})
    }
}

/// Returns the clicked button in the form used in `actions`.
pub(super) fn find_button(blocks: &[Value], wanted: &str) -> Option<Value> {
    let buttons: Vec<(Value, Value)> = blocks
        .iter()
        .flat_map(|block| {
            let elements = block["elements"].as_array().into_iter().flatten();
            let all = elements.chain(block.get("accessory"));
            let own = all.filter(|e| e["type"] == "button");
            own.map(|e| (block["block_id"].clone(), e.clone())).collect::<Vec<_>>()
        })
        .collect();
    let by_id = buttons.iter().find(|(_, b)| b["action_id"] == wanted);
    let (block_id, mut button) =
        by_id.or_else(|| buttons.iter().find(|(_, b)| b["text"]["text"] == wanted))?.clone();
    if let Some(fields) = button.as_object_mut() {
        fields.remove("confirm");
        fields.remove("url");
    }
    button["block_id"] = block_id;
    Some(button)
}

/// Returns the clicked one of two feedback buttons in the form used in `actions`: Slack sends its text and its value.
fn find_feedback_button(blocks: &[Value], wanted: &str) -> Option<Value> {
    blocks.iter().filter(|block| block["type"] == "context_actions").find_map(|block| {
        let elements = block["elements"].as_array().into_iter().flatten();
        elements.filter(|element| element["type"] == "feedback_buttons").find_map(|element| {
            let buttons = ["positive_button", "negative_button"].map(|name| &element[name]);
            let button = buttons.into_iter().find(|b| b["text"]["text"] == wanted || b["value"] == wanted)?;
            Some(json!({
                "type": "feedback_buttons", "action_id": element["action_id"], "block_id": block["block_id"],
                "text": button["text"], "value": button["value"],
            }))
        })
    })
}
