//! The slash commands, and the entries of a message's menu.

use nod_contract::chat::ChatError;
use nod_contract::command::{CommandOption, CommandSpec, MenuEntrySpec, Takes};
use serde_json::{Value, json};

use super::inbound::Identity;
use super::web::ApiClient;

/// Discord's option types.
const TEXT: u8 = 3;
const USER: u8 = 6;
/// Options whose name is typed before the value: the value alone does not say what to do.
const NAMED_OPTIONS: [&str; 2] = ["again", "add"];
/// Kinds of commands.
const CHAT_INPUT: u8 = 1;
const MESSAGE: u8 = 3;

fn command(name: &str, description: &str, options: Value) -> Value {
    json!({"type": CHAT_INPUT, "name": name, "description": description, "options": options,
        "contexts": [0, 1], "integration_types": [0]})
}

fn entry(name: &str) -> Value {
    json!({"type": MESSAGE, "name": name, "contexts": [0, 1], "integration_types": [0]})
}

fn choice(name: &str, description: &str, values: &[&str]) -> Value {
    let choices: Vec<Value> = values.iter().map(|value| json!({"name": value, "value": value})).collect();
    json!({"type": TEXT, "name": name, "description": description, "choices": choices})
}

/// Without it the command says nothing, so Discord asks for it.
fn required(mut option: Value) -> Value {
    option["required"] = true.into();
    option
}

/// Converts a command of an ability.
fn command_from_spec(spec: &CommandSpec) -> Value {
    let option = |option: &CommandOption| match option.takes {
        Takes::OneOf(words) => choice(option.name, option.about, words),
        Takes::Words => json!({"type": TEXT, "name": option.name, "description": option.about}),
        Takes::Completed => {
            json!({"type": TEXT, "name": option.name, "description": option.about, "autocomplete": true})
        }
    };
    command(spec.name, spec.about, spec.options.iter().map(option).collect())
}

/// What the abilities add.
pub(super) struct AbilityCommands {
    pub(super) commands: Vec<CommandSpec>,
    pub(super) menu: Vec<MenuEntrySpec>,
}

/// Returns the built-in commands and those of abilities.
fn list_commands(abilities: &AbilityCommands) -> Vec<Value> {
    let brought = abilities.commands.iter().map(command_from_spec);
    let entries = abilities.menu.iter().map(|brought| entry(brought.name));
    list_builtin_commands().into_iter().chain(brought).chain(entries).collect()
}

fn list_builtin_commands() -> Vec<Value> {
    let words = |name: &str, description: &str, required: bool| json!([{"type": TEXT, "name": name, "description": description, "required": required}]);
    vec![
        command("ask", "Ask Nod anything", words("question", "What do you want to know or get done?", true)),
        command("approvals", "See what's waiting for you", json!([])),
        command(
            "connect",
            "Connect an account, or link your other chat",
            json!([
                choice("account", "google, or chat to link your Slack", &["google", "chat"]),
                {"type": TEXT, "name": "code", "description": "The code Nod gave you in your other chat"},
            ]),
        ),
        command("disconnect", "Disconnect your Google account", json!([])),
        command("runs", "See how your requests went", json!([])),
        command("settings", "Change how Nod works in this channel, and your working hours", json!([])),
        command(
            "admin",
            "For admins",
            json!([required(choice("what", "What do you want to see?", &["policy", "feedback"]))]),
        ),
        command("help", "See what Nod can do", json!([])),
        entry("Ask Nod"),
        entry("Draft a reply"),
    ]
}

/// Registers the commands if they differ from the registered ones.
///
/// # Errors
/// As Discord answers.
pub(super) async fn register(
    web: &ApiClient,
    identity: &Identity,
    abilities: &AbilityCommands,
) -> Result<bool, ChatError> {
    let path = format!("applications/{}/commands", identity.application);
    let all = list_commands(abilities);
    let registered = web.get(&path, &[]).await?;
    let registered: Vec<Value> = registered.as_array().into_iter().flatten().map(comparable_fields).collect();
    let mut wanted: Vec<Value> = all.iter().map(comparable_fields).collect();
    let mut there = registered;
    let name = |command: &Value| (command["type"].as_u64(), command["name"].to_string());
    wanted.sort_by_key(name);
    there.sort_by_key(name);
    if wanted == there {
        return Ok(false);
    }
    web.put(&path, &all.into()).await?;
    Ok(true)
}

/// Keeps only the fields that we set: Discord adds ids, versions and defaults.
fn comparable_fields(command: &Value) -> Value {
    let option = |option: &Value| {
        json!({
            "type": option["type"], "name": option["name"], "description": option["description"],
            "required": option["required"] == true, "autocomplete": option["autocomplete"] == true,
            "choices": option["choices"].as_array().into_iter().flatten()
                .map(|choice| json!([choice["name"], choice["value"]])).collect::<Vec<_>>(),
        })
    };
    json!({
        "type": command["type"].as_u64().unwrap_or(1),
        "name": command["name"],
        "description": command["description"].as_str().unwrap_or_default(),
        "options": command["options"].as_array().into_iter().flatten().map(option).collect::<Vec<_>>(),
        "contexts": command["contexts"],
    })
}

/// The options that a user gave to a command.
pub(super) struct CommandOptions<'a>(&'a Value);

impl<'a> CommandOptions<'a> {
    pub(super) fn from_data(data: &'a Value) -> Self {
        Self(&data["options"])
    }

    /// Returns them as typed after the command's name.
    pub(super) fn as_typed(&self) -> String {
        let mut words = Vec::new();
        Self::collect_words(self.0, &mut words);
        words.join(" ")
    }

    /// Returns what the user is typing at the moment.
    pub(super) fn focused_value(&self) -> String {
        fn find_focused_value(options: &Value) -> Option<String> {
            options.as_array().into_iter().flatten().find_map(|option| match &option["focused"] {
                Value::Bool(true) => Some(option["value"].as_str().unwrap_or_default().to_owned()),
                _ => find_focused_value(&option["options"]),
            })
        }
        find_focused_value(self.0).unwrap_or_default()
    }

    fn collect_words(options: &Value, words: &mut Vec<String>) {
        for option in options.as_array().into_iter().flatten() {
            if option["options"].is_array() {
                words.extend(option["name"].as_str().map(str::to_owned));
                Self::collect_words(&option["options"], words);
                continue;
            }
            let name = option["name"].as_str().filter(|name| NAMED_OPTIONS.contains(name));
            words.extend(name.map(str::to_owned));
            words.push(match (&option["value"], option["type"].as_u64()) {
                (Value::String(id), Some(kind)) if kind == u64::from(USER) => format!("<@{id}>"),
                (Value::String(text), _) => text.clone(),
                (other, _) => other.to_string(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_added_by_discord_are_ignored() {
        let options = &[
            CommandOption { name: "what", about: "Which", takes: Takes::OneOf(&["this", "that"]) },
            CommandOption { name: "why", about: "Why", takes: Takes::Words },
            CommandOption { name: "forget", about: "Something", takes: Takes::Completed },
        ];
        let commands = vec![CommandSpec { name: "memory", does: "shows", about: "What is there", options }];
        let menu = vec![MenuEntrySpec { name: "Roll a die", about: "Nod rolls a die" }];
        let all = list_commands(&AbilityCommands { commands, menu });
        assert_eq!(all.iter().filter(|command| command["name"] == "Roll a die").count(), 1);
        for command in all {
            let mut registered = command.clone();
            registered["id"] = "1".into();
            registered["version"] = "2".into();
            registered["nsfw"] = false.into();
            assert_eq!(comparable_fields(&registered), comparable_fields(&command));
        }
    }

    #[test]
    fn options_read_as_if_they_were_typed() {
        let data = json!({"options": [{"name": "question", "type": 3, "value": "what is new?"}]});
        assert_eq!(CommandOptions::from_data(&data).as_typed(), "what is new?");
        let data = json!({"options": [{"name": "again", "type": 3, "value": "handbook.pdf"}]});
        assert_eq!(CommandOptions::from_data(&data).as_typed(), "again handbook.pdf");
        assert_eq!(CommandOptions::from_data(&json!({})).as_typed(), "");
    }
}
