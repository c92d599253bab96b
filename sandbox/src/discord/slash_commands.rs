//! Slash commands as a user runs them: only registered ones, filled in as Discord's client demands.

use serde_json::{Map, Value, json};

use super::interactions::NewInteraction;
use super::world::World;

impl World {
    pub(super) fn run_command(
        &mut self,
        who: &str,
        channel: &str,
        command: &str,
        given: &Value,
    ) -> Result<String, String> {
        let (user, channel) = (self.actor(who)?, self.find_or_open_channel(channel)?);
        let data = self.command_data(&user, who, &channel, command, given, false)?;
        Ok(self.dispatch_interaction(NewInteraction {
            kind: 2,
            user,
            channel,
            message: None,
            data,
            extra: Value::Null,
        }))
    }

    /// Types into an option with autocomplete.
    pub(super) fn complete(
        &mut self,
        who: &str,
        channel: &str,
        command: &str,
        given: &Value,
    ) -> Result<String, String> {
        let (user, channel) = (self.actor(who)?, self.find_or_open_channel(channel)?);
        let data = self.command_data(&user, who, &channel, command, given, true)?;
        Ok(self.dispatch_interaction(NewInteraction {
            kind: 4,
            user,
            channel,
            message: None,
            data,
            extra: Value::Null,
        }))
    }

    fn command_data(
        &self,
        user: &str,
        who: &str,
        channel: &str,
        command: &str,
        given: &Value,
        partial: bool,
    ) -> Result<Value, String> {
        if !self.can_see(channel, user) {
            return Err(format!("{who} does not see that channel."));
        }
        let name = command.trim_start_matches('/');
        let wanted = |c: &&Value| c["type"] == 1 && c["name"] == name;
        let command = self.commands.iter().find(wanted);
        let command = command.ok_or_else(|| format!("/{name} is not a valid command."))?;
        let here = if self.is_in_guild(channel) { 0 } else { 1 };
        if command["contexts"].as_array().is_some_and(|all| !all.iter().any(|c| c == here)) {
            return Err(format!("/{name} cannot be used here."));
        }
        let mut resolved = Map::new();
        let options = self.options(command, given, partial, &mut resolved)?;
        let mut data = json!({"id": command["id"], "name": name, "type": 1, "options": options});
        if !resolved.is_empty() {
            data["resolved"] = resolved.into();
        }
        Ok(data)
    }

    /// Returns the given options, in the order of the definition.
    fn options(
        &self,
        holder: &Value,
        given: &Value,
        partial: bool,
        resolved: &mut Map<String, Value>,
    ) -> Result<Vec<Value>, String> {
        let none = Map::new();
        let given = given.as_object().unwrap_or(&none);
        let defined = holder["options"].as_array().map_or(&[][..], Vec::as_slice);
        if let Some(odd) = given.keys().find(|k| !defined.iter().any(|o| o["name"] == **k)) {
            return Err(format!("There is no option {odd}."));
        }
        let nested = defined.iter().any(|o| o["type"] == 1 || o["type"] == 2);
        if nested && given.len() != 1 {
            return Err("Exactly one sub-command is given.".into());
        }
        let mut all = Vec::new();
        for option in defined {
            let name = option["name"].as_str().unwrap_or_default();
            match given.get(name) {
                Some(value) => all.push(self.option(option, value, partial, resolved)?),
                None if option["required"] == true && !partial => {
                    return Err(format!("The option {name} is required."));
                }
                None => {}
            }
        }
        Ok(all)
    }

    fn option(
        &self,
        option: &Value,
        value: &Value,
        partial: bool,
        resolved: &mut Map<String, Value>,
    ) -> Result<Value, String> {
        let (name, kind) = (&option["name"], option["type"].as_u64().unwrap_or_default());
        if matches!(kind, 1 | 2) {
            let inner = self.options(option, value, partial, resolved)?;
            return Ok(json!({"name": name, "type": kind, "options": inner}));
        }
        let mut value = value.clone();
        let fits = match kind {
            3 => value.as_str().is_some_and(|t| short_enough(option, t)),
            4 => value.is_i64(),
            5 => value.is_boolean(),
            6 => {
                let id = self.user_id(value.as_str().unwrap_or_default())?;
                resolved.insert("users".into(), json!({ id.clone(): self.user_json(&id) }));
                let mut member = self.member_json(&id);
                if let Some(member) = member.as_object_mut() {
                    for absent in ["user", "deaf", "mute"] {
                        member.remove(absent);
                    }
                }
                member["permissions"] = json!("0");
                resolved.insert("members".into(), json!({ id.clone(): member }));
                value = json!(id);
                true
            }
            7 => {
                let id = self.channel_id(value.as_str().unwrap_or_default())?;
                let mut channel = self.channels.get(&id).map(|c| self.channel_json(c)).unwrap_or_default();
                channel["permissions"] = json!("0");
                resolved.insert("channels".into(), json!({ id.clone(): channel }));
                value = json!(id);
                true
            }
            10 => value.is_number(),
            _ => false,
        };
        let choices = option["choices"].as_array().filter(|c| !c.is_empty());
        if !fits || choices.is_some_and(|c| !c.iter().any(|c| c["value"] == value)) {
            return Err(format!("The option {name} does not take {value}."));
        }
        let mut told = json!({"name": name, "type": kind, "value": value});
        if partial && option["autocomplete"] == true {
            told["focused"] = json!(true);
        }
        Ok(told)
    }
}

fn short_enough(option: &Value, text: &str) -> bool {
    let letters = text.chars().count() as u64;
    let least = option["min_length"].as_u64().unwrap_or_default();
    let most = option["max_length"].as_u64().unwrap_or(6_000);
    (least..=most).contains(&letters)
}
