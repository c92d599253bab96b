//! What the platform offers in Nod's name, as Nod registered it: commands, and the entries of a message's menu.

use nod_bot::app::MENU_ENTRIES;
use nod_bot::config::SlackMode;
use nod_bot::slack::manifest;
use serde_json::{Value, json};

use crate::World;
use crate::chat::FakeChat;
use crate::world::max_wait;

/// Discord's kinds of commands: typed, and in a message's menu.
const TYPED: u64 = 1;
const IN_MENU: u64 = 3;
/// What people type into an option that takes any words, by its name; nothing where it needs what the story has not (the
/// code of another chat, a page of the web).
const TYPED_WORDS: [(&str, Option<&str>); 4] = [
    ("question", Some("what can you do?")),
    ("what", Some("what's new in my email?")),
    ("code", None),
    ("add", None),
];

/// A command as it can be given: on Slack the text after `/nod`, on Discord a name and its options.
#[derive(Debug)]
pub struct OfferedCommand {
    name: String,
    options: Value,
}

impl FakeChat {
    /// Returns the ids of the entries that Nod has in a message's menu.
    #[must_use]
    pub fn list_menu_entries(&self) -> Vec<String> {
        let named = |all: &[Value], key: &str| all.iter().filter_map(|one| text(&one[key])).collect();
        match self {
            Self::Slack(_) => named(&list(&slack_manifest()["features"]["shortcuts"]), "callback_id"),
            Self::Discord(_) => named(&self.registered(IN_MENU), "name"),
        }
    }

    /// Picks an entry in the menu of a message by its id, and waits until it was acknowledged.
    pub async fn use_menu_entry(&self, user: &str, channel: &str, message: &str, id: &str) {
        let offered = self.list_menu_entries();
        assert!(offered.iter().any(|one| one == id), "{id} is not registered: {offered:?}");
        match self {
            Self::Slack(fake) => {
                let pending = fake.use_shortcut(user, channel, message, id).unwrap_or_else(|e| panic!("{e}"));
                pending.wait_for_acknowledgement(max_wait()).await;
            }
            Self::Discord(fake) => {
                let pending =
                    fake.use_message_command(user, channel, message, id).unwrap_or_else(|e| panic!("{e}"));
                pending.wait_for_acknowledgement(max_wait()).await;
            }
        }
    }

    /// Returns what Discord lists as registered, of one kind.
    fn registered(&self, kind: u64) -> Vec<Value> {
        let Self::Discord(fake) = self else { return Vec::new() };
        fake.read(|w| w.commands.iter().filter(|command| command["type"] == kind).cloned().collect())
    }

    /// Returns the first value that autocomplete offers for an option.
    async fn complete_first(&self, user: &str, channel: &str, command: &str, option: &str) -> Value {
        let Self::Discord(fake) = self else { return Value::Null };
        let typing = fake.complete(user, channel, command, &json!({ option: "" }));
        let answered = typing.unwrap_or_else(|e| panic!("{e}")).wait_for_acknowledgement(max_wait()).await;
        answered.payload.unwrap_or_default()["data"]["choices"][0]["value"].clone()
    }
}

impl World {
    /// Returns the commands that Nod offers to this user, each as it can be given: on Slack those of the manifest's hint
    /// and of the help, on Discord each registered one bare and with each of its options.
    pub async fn list_offered_commands(&mut self, user: &str, channel: &str) -> Vec<OfferedCommand> {
        if let FakeChat::Slack(_) = &self.chat {
            let help = self.run_command(user, channel, "help").await;
            return slack_commands(&help);
        }
        let mut all = Vec::new();
        for command in self.chat.registered(TYPED) {
            let name = text(&command["name"]).unwrap_or_default();
            let options = list(&command["options"]);
            if options.iter().all(|option| option["required"] != true) {
                all.push(OfferedCommand { name: name.clone(), options: json!({}) });
            }
            for option in options {
                let given = self.option_values(user, channel, &name, &option).await;
                let with = |value: Value| json!({ text(&option["name"]).unwrap_or_default(): value });
                all.extend(
                    given
                        .into_iter()
                        .map(|value| OfferedCommand { name: name.clone(), options: with(value) }),
                );
            }
        }
        all
    }

    /// Returns each value that an option can have, or the one that is typed.
    async fn option_values(&self, user: &str, channel: &str, command: &str, option: &Value) -> Vec<Value> {
        let name = text(&option["name"]).unwrap_or_default();
        let choices = list(&option["choices"]);
        if !choices.is_empty() {
            return choices.into_iter().map(|choice| choice["value"].clone()).collect();
        }
        if option["autocomplete"] == true {
            let first = self.chat.complete_first(user, channel, command, &name).await;
            assert!(first.is_string(), "nothing is offered for /{command} {name}");
            return vec![first];
        }
        let typed = TYPED_WORDS.iter().find(|(option, _)| *option == name);
        let (_, typed) = typed.unwrap_or_else(|| panic!("what would one type for /{command} {name}?"));
        typed.iter().map(|typed| json!(typed)).collect()
    }

    /// Gives the command, and returns all that follows where its user reads it.
    pub async fn run_offered_command(
        &mut self,
        user: &str,
        channel: &str,
        command: &OfferedCommand,
    ) -> String {
        match &self.chat {
            FakeChat::Slack(fake) => {
                fake.run_command(user, channel, "/nod", &command.name)
                    .wait_for_acknowledgement(max_wait())
                    .await;
            }
            FakeChat::Discord(fake) => {
                let given = fake.run_command(user, channel, &command.name, &command.options);
                given.wait_for_acknowledgement(max_wait()).await;
            }
        }
        self.wait_until_idle().await;
        self.read_answers(user, channel)
    }

    /// Returns what Nod answered that is new to this user: to them alone, in the channel and in their direct messages.
    pub fn read_answers(&mut self, user: &str, channel: &str) -> String {
        let direct = format!("dm:{user}");
        let places = [self.read_ephemerals(user), self.read_rest(channel), self.read_rest(&direct)];
        places.into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the commands that the manifest hints at, and those in the help.
fn slack_commands(help: &str) -> Vec<OfferedCommand> {
    let manifest = slack_manifest();
    let hint = text(&manifest["features"]["slash_commands"][0]["usage_hint"]).unwrap_or_default();
    let in_help = help.split("`/nod ").skip(1).filter_map(|rest| rest.split('`').next());
    let mut all: Vec<String> = hint.split(" | ").chain(in_help).map(str::to_owned).collect();
    all.sort();
    all.dedup();
    let question = TYPED_WORDS[0].1.unwrap_or_default();
    all.into_iter()
        .map(|typed| OfferedCommand { name: typed.replace('…', question), options: Value::Null })
        .collect()
}

fn slack_manifest() -> Value {
    manifest("Nod", SlackMode::Socket, None, &MENU_ENTRIES)
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
