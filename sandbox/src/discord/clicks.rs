//! Clicks on components, and message commands.

use serde_json::{Map, Value, json};

use super::interactions::NewInteraction;
use super::world::World;

/// A click that no real client would send.
#[derive(Debug, Clone, Default)]
pub struct ForgedClick {
    /// Handle or id.
    pub user: String,
    /// Name or id.
    pub channel: String,
    /// The message's id.
    pub ts: String,
    /// The component's `custom_id`.
    pub custom_id: String,
    /// Merged over the payload.
    pub extra: Value,
}

impl World {
    /// Clicks a button that this user really sees, by its custom id or label, or by its emoji if it has no label.
    pub(super) fn click(
        &mut self,
        who: &str,
        channel: &str,
        id: &str,
        label: &str,
    ) -> Result<String, String> {
        let (user, _) = (self.actor(who)?, self.find_or_open_channel(channel)?);
        let message = self.visible(&user, who, id)?;
        let (channel, components) = (message.channel.clone(), message.components.clone());
        let mut all = Vec::new();
        components.iter().for_each(|c| clickable(c, &mut all));
        let named = |c: &&&Value| {
            let shown = if c["label"].is_null() { &c["emoji"]["name"] } else { &c["label"] };
            c["custom_id"] == label || shown == label
        };
        let option = |c: &&&Value| {
            c["options"].as_array().into_iter().flatten().any(|o| o["label"] == label || o["value"] == label)
        };
        let found = all.iter().find(named).or_else(|| all.iter().find(option));
        let Some(component) = found else {
            return Err(format!("There is no button {label} on that message."));
        };
        if component["disabled"] == true {
            return Err(format!("The button {label} is grey."));
        }
        if component["custom_id"].is_null() {
            return Err(format!("The button {label} leads elsewhere and tells the app nothing."));
        }
        let mut data = json!({
            "custom_id": component["custom_id"], "component_type": component["type"], "id": component["id"],
        });
        if component["type"] == 3 {
            let chosen = component["options"].as_array().into_iter().flatten();
            let chosen = chosen.filter(|o| o["label"] == label || o["value"] == label);
            data["values"] = chosen.map(|o| o["value"].clone()).collect();
        }
        let message = Some(id.to_owned());
        Ok(self.dispatch_interaction(NewInteraction {
            kind: 3,
            user,
            channel,
            message,
            data,
            extra: Value::Null,
        }))
    }

    pub(super) fn click_forged(&mut self, forged: ForgedClick) -> Result<String, String> {
        let user = self.user_id(&forged.user).unwrap_or(forged.user);
        let channel = self.message(&forged.ts).map(|m| m.channel.clone());
        let channel = channel.unwrap_or(self.channel_id(&forged.channel)?);
        let data = json!({"custom_id": forged.custom_id, "component_type": 2, "id": 1});
        let message = Some(forged.ts);
        Ok(self.dispatch_interaction(NewInteraction {
            kind: 3,
            user,
            channel,
            message,
            data,
            extra: forged.extra,
        }))
    }

    /// Runs one of the app's message commands.
    pub(super) fn use_message_command(
        &mut self,
        who: &str,
        channel: &str,
        id: &str,
        entry: &str,
    ) -> Result<String, String> {
        let (user, _) = (self.actor(who)?, self.find_or_open_channel(channel)?);
        let message = self.visible(&user, who, id)?;
        let (channel, shown) = (message.channel.clone(), self.message_json(message));
        let wanted = |c: &&Value| c["type"] == 3 && c["name"] == entry;
        let command = self.commands.iter().find(wanted).ok_or(format!("There is no entry {entry}."))?;
        let mut resolved = Map::new();
        resolved.insert(id.to_owned(), shown);
        let data = json!({
            "id": command["id"], "name": entry, "type": 3, "target_id": id,
            "resolved": {"messages": resolved},
        });
        Ok(self.dispatch_interaction(NewInteraction {
            kind: 2,
            user,
            channel,
            message: None,
            data,
            extra: Value::Null,
        }))
    }

    /// Returns a message, ephemeral or not, that this user sees.
    fn visible(&self, user: &str, who: &str, id: &str) -> Result<&super::entities::Message, String> {
        let message = self.message(id).ok_or_else(|| format!("{who} sees no such message."))?;
        let whispered = message.only.as_deref().is_none_or(|only| only == user);
        if whispered && self.can_see(&message.channel, user) {
            return Ok(message);
        }
        Err(format!("{who} cannot see that."))
    }
}

/// Collects every button and select in a component.
pub(super) fn clickable<'a>(component: &'a Value, all: &mut Vec<&'a Value>) {
    if matches!(component["type"].as_u64(), Some(2 | 3)) {
        all.push(component);
    }
    for child in component["components"].as_array().into_iter().flatten() {
        clickable(child, all);
    }
    if let Some(accessory) = component.get("accessory") {
        clickable(accessory, all);
    }
}
