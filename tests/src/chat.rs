//! The chat platform that a story is played on, with one implementation for each platform.

use std::collections::BTreeMap;
use std::time::Duration;

use nod_sandbox::discord::{self, Discord};
use nod_sandbox::slack::{self, Slack};
use nod_sandbox::{Fault, Faults};
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

/// The platform's fake, for actions that exist on both platforms.
#[derive(Clone)]
pub enum Chat {
    /// Slack's.
    Slack(Slack),
    /// Discord's.
    Discord(Discord),
}

/// The platform calls of Nod that a story can fail. Each platform has its own name for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Posts a message.
    Posts,
    /// Opens a thread for it; on Slack the first message does that.
    OpensThread,
    /// Edits a message.
    Replaces,
    /// Answers a click. On Slack this is no API call but uses the connection on which the click arrived.
    Answers,
    /// Looks up a user.
    LooksUp,
    /// Begins a streamed message.
    Begins,
    /// Appends to it.
    Grows,
    /// Finishes it.
    Ends,
}

/// Evaluates the expression on the fake of either platform.
macro_rules! each {
    ($chat:expr, $fake:ident => $answer:expr) => {
        match $chat {
            Chat::Slack($fake) => $answer,
            Chat::Discord($fake) => $answer,
        }
    };
}

impl Chat {
    /// Sends a message as this user and returns its id.
    pub fn say(&self, user: &str, channel: &str, thread: Option<&str>, text: &str) -> String {
        each!(self, fake => fake.say(user, channel, thread, text))
    }

    /// Clicks a button of a message, and waits until the click was acknowledged.
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

    /// Clicks this button on the user's newest ephemeral message that has it, and waits until it was acknowledged.
    pub async fn press_whispered(&self, user: &str, label: &str) {
        let label_of = format!("\"{label}\"");
        let none = || panic!("nothing was whispered to {user} with [{label}]:\n{}", self.everything());
        let (channel, message) = match self {
            Self::Slack(fake) => {
                let mut all = fake.ephemerals(user).into_iter().rev();
                let found = all.find(|e| json!(e.blocks).to_string().contains(&label_of));
                found.map(|e| (e.channel, e.ts)).unwrap_or_else(none)
            }
            Self::Discord(fake) => {
                let mut all = fake.ephemerals(user).into_iter().rev();
                let found = all.find(|e| json!(e.components).to_string().contains(&label_of));
                found.map(|e| (e.channel, e.id)).unwrap_or_else(none)
            }
        };
        self.press(user, &channel, &message, label).await;
    }

    /// Clicks a button if it still exists, and waits until the click was acknowledged.
    pub async fn press_if_there(&self, user: &str, channel: &str, message: &str, label: &str) {
        match self {
            Self::Slack(fake) => {
                if let Ok(pending) = fake.press(user, channel, message, label) {
                    pending.acknowledged(patience()).await;
                }
            }
            Self::Discord(fake) => {
                if let Ok(pending) = fake.press(user, channel, message, label) {
                    pending.acknowledged(patience()).await;
                }
            }
        }
    }

    /// Clicks a button without waiting for anything.
    pub fn pushes(&self, user: &str, channel: &str, message: &str, label: &str) {
        each!(self, fake => drop(fake.press(user, channel, message, label).unwrap_or_else(|e| panic!("{e}"))));
    }

    /// Sends a command, as typed after Slack's `/nod`, and waits until it was acknowledged.
    pub async fn command(&self, user: &str, channel: &str, text: &str) {
        match self {
            Self::Slack(fake) => {
                fake.slash(user, channel, "/nod", text).acknowledged(patience()).await;
            }
            Self::Discord(fake) => {
                let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
                let name = if name.is_empty() { "help" } else { name };
                let registered = fake.read(|w| {
                    let command = w.commands.iter().find(|command| command["name"] == name);
                    command.and_then(|command| command["options"][0]["name"].as_str().map(str::to_owned))
                });
                let given = options(name, rest, registered.as_deref());
                fake.slash(user, channel, name, &given).acknowledged(patience()).await;
            }
        }
    }

    /// Fills in the form that the user has open and submits it, without waiting for anything.
    pub fn sends_form(&self, user: &str, typed: &BTreeMap<String, String>) {
        match self {
            Self::Slack(fake) => {
                let id = fake.read(|w| w.user_id(user)).unwrap_or_else(|e| panic!("{e}"));
                let open = fake.views().into_iter().rfind(|form| form.open && form.user == id);
                let open = open.unwrap_or_else(|| panic!("no form is open:\n{}", fake.everything()));
                fake.send_form(user, &open.id, typed).unwrap_or_else(|e| panic!("{e}"));
            }
            Self::Discord(fake) => drop(fake.submit(user, typed).unwrap_or_else(|e| panic!("{e}"))),
        }
    }

    /// Waits until the user has a form open.
    pub async fn has_form(&self, user: &str) {
        match self {
            Self::Slack(fake) => {
                let open = |w: &slack::World| {
                    let id = w.user_id(user).ok()?;
                    w.views.iter().any(|form| form.open && form.user == id).then_some(())
                };
                fake.wait_for("a form", patience(), open).await;
            }
            Self::Discord(fake) => {
                let open = |w: &discord::World| {
                    let id = w.user_id(user).ok()?;
                    w.forms.iter().any(|form| form.open && form.user == id).then_some(())
                };
                fake.wait_for("a form", patience(), open).await;
            }
        }
    }

    /// Counts the clicks, commands and forms that got no response, which the platform reports to their user.
    #[must_use]
    pub fn failed(&self) -> usize {
        match self {
            Self::Slack(fake) => {
                let by_hand = |e: &slack::Envelope| e.kind != slack::EnvelopeKind::EventsApi;
                let lost = |e: &slack::Envelope| e.state == slack::Delivery::Lost && by_hand(e);
                fake.envelopes().iter().filter(|e| lost(e)).count()
            }
            Self::Discord(fake) => fake.failed().len(),
        }
    }

    /// Returns the open forms: each user and the form's title.
    #[must_use]
    pub fn open_forms(&self) -> Vec<String> {
        let told = |user: &str, form: &Value| format!("{user}: {}", form["title"]);
        match self {
            Self::Slack(fake) => {
                let all = fake.views().into_iter().filter(|form| form.open);
                all.map(|form| told(&form.user, &form.view)).collect()
            }
            Self::Discord(fake) => {
                fake.read(|w| w.forms.iter().filter(|f| f.open).map(|f| told(&f.user, &f.modal)).collect())
            }
        }
    }

    /// Waits until Nod has received everything that was sent. Slack acknowledges it; Discord does not, but dispatches
    /// in order, so an answer to this shows that everything before it was received.
    pub async fn has_heard(&self, asker: &str) {
        if let Self::Discord(fake) = self
            && let Ok(pending) = fake.complete(asker, "general", "memory", &json!({"forget": "~"}))
        {
            pending.acknowledged(patience()).await;
        }
    }

    /// Sends a message that the platform delivers more than once.
    pub fn say_twice(&self, user: &str, channel: &str, text: &str) {
        match self {
            Self::Slack(fake) => {
                let deliver = slack::Deliver::Twice;
                let say = slack::Say { deliver, ..slack::Say::new(user, channel, text) };
                fake.say_with(say).unwrap_or_else(|e| panic!("{e}"));
            }
            Self::Discord(fake) => {
                fake.duplicate_next();
                fake.say(user, channel, None, text);
            }
        }
    }

    /// Removes Nod from a channel, or adds it again.
    pub fn admits_nod(&self, channel: &str, admitted: bool) {
        match self {
            Self::Slack(fake) => fake.change(|w| {
                let (id, bot) = (w.channel_id(channel).unwrap_or_default(), w.config.app.bot_user.clone());
                let Some(channel) = w.channels.get_mut(&id) else { return };
                channel.members.retain(|member| *member != bot);
                channel.members.extend(admitted.then_some(bot));
            }),
            Self::Discord(fake) => fake.change(|w| {
                let id = w.channel_id(channel).unwrap_or_default();
                if let Some(channel) = w.channels.get_mut(&id) {
                    channel.bot_views = admitted;
                }
            }),
        }
    }

    /// Makes the channel read-only: Slack archives it; on Discord its threads are locked.
    pub fn closes(&self, channel: &str) {
        match self {
            Self::Slack(fake) => fake.change(|w| {
                let id = w.channel_id(channel).unwrap_or_default();
                if let Some(channel) = w.channels.get_mut(&id) {
                    channel.archived = true;
                }
            }),
            Self::Discord(fake) => fake.change(|w| {
                let id = w.channel_id(channel).unwrap_or_default();
                for thread in w.channels.values_mut().filter(|c| c.parent.as_ref() == Some(&id)) {
                    (thread.archived, thread.locked) = (true, true);
                }
            }),
        }
    }

    /// Deletes a message, as an administrator does.
    pub fn takes_away(&self, channel: &str, message: &str) {
        match self {
            Self::Slack(fake) => fake.take_away(channel, message),
            Self::Discord(fake) => fake.take_away(message),
        }
    }

    /// Deletes everything in a channel and its threads without an event to Nod.
    pub fn forgets_messages(&self, channel: &str) {
        match self {
            Self::Slack(fake) => fake.change(|w| {
                let id = w.channel_id(channel).unwrap_or_default();
                w.forget_messages(&id);
            }),
            Self::Discord(fake) => fake.change(|w| {
                let id = w.channel_id(channel).unwrap_or_default();
                let of = |c: &&discord::Channel| c.parent.as_ref() == Some(&id);
                let threads: Vec<String> = w.channels.values().filter(of).map(|c| c.id.clone()).collect();
                for thread in threads {
                    w.forget_messages(&thread);
                    w.channels.remove(&thread);
                }
                w.forget_messages(&id);
            }),
        }
    }

    /// Adds a user, and the platform sends an event.
    pub fn joins(&self, user: &str, name: &str) {
        match self {
            Self::Slack(fake) => fake.add_user(slack::User::new(user, name)),
            Self::Discord(fake) => {
                fake.add_user(discord::User::new(user, name).stranger());
                fake.join(user);
            }
        }
    }

    /// The same without an event: an installation that did not subscribe to it, or no process that receives it.
    pub fn joins_untold(&self, user: &str, name: &str) {
        match self {
            Self::Slack(fake) => fake.change(|w| {
                let user = slack::User::new(user, name);
                w.users.insert(user.id.clone(), user);
            }),
            Self::Discord(fake) => drop(fake.add_user(discord::User::new(user, name))),
        }
    }

    /// Renames a user.
    pub fn renames(&self, user: &str, name: &str) {
        match self {
            Self::Slack(fake) => fake.add_user(slack::User::new(user, name)),
            Self::Discord(fake) => fake.nick(user, name),
        }
    }

    /// Counts how often the list of users was read.
    #[must_use]
    pub fn lists_of_people(&self) -> usize {
        match self {
            Self::Slack(fake) => fake.calls_of("users.list").len(),
            Self::Discord(fake) => fake.calls_of("list_guild_members").len(),
        }
    }

    /// Removes a user for good.
    pub fn leaves(&self, user: &str) {
        match self {
            Self::Slack(fake) => {
                let person = fake.read(|w| w.users[&w.user_id(user).unwrap_or_default()].clone());
                fake.add_user(slack::User { deleted: true, ..person });
            }
            Self::Discord(fake) => fake.leave(user),
        }
    }

    /// Returns how a mention of this user is written.
    #[must_use]
    pub fn mention(&self, user: &str) -> String {
        let id = each!(self, fake => fake.read(|w| w.user_id(user)).unwrap_or_else(|e| panic!("{e}")));
        format!("<@{id}>")
    }

    /// Returns the platform's name for this call.
    ///
    /// # Panics
    /// If the platform has no such call.
    #[must_use]
    pub fn operation(&self, deed: Deed) -> &'static str {
        match (self, deed) {
            (Self::Slack(_), Deed::OpensThread | Deed::Answers) => panic!("Slack has no call for {deed:?}"),
            (Self::Slack(_), Deed::Posts) => "chat.postMessage",
            (Self::Slack(_), Deed::Replaces) => "chat.update",
            (Self::Slack(_), Deed::LooksUp) => "users.info",
            (Self::Slack(_), Deed::Begins) => "chat.startStream",
            (Self::Slack(_), Deed::Grows) => "chat.appendStream",
            (Self::Slack(_), Deed::Ends) => "chat.stopStream",
            (Self::Discord(_), Deed::Posts | Deed::Begins) => "create_message",
            (Self::Discord(_), Deed::Answers) => "create_interaction_response",
            (Self::Discord(_), Deed::OpensThread) => "create_thread_from_message",
            (Self::Discord(_), Deed::Replaces | Deed::Grows | Deed::Ends) => "update_message",
            (Self::Discord(_), Deed::LooksUp) => "get_guild_member",
        }
    }

    /// Makes the next such call fail.
    pub fn fails(&self, deed: Deed, fault: Fault) {
        self.faults().next(self.operation(deed), fault);
    }

    /// Returns the calls that Nod made so far, by the platform's names, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        each!(self, fake => fake.calls().into_iter().map(|call| call.method).collect())
    }

    /// Returns the calls that were rejected because they exceeded a rate limit.
    #[must_use]
    pub fn too_early(&self) -> Vec<String> {
        let limited = |error: &str| error.contains("limited");
        each!(self, fake => {
            let all = fake.calls().into_iter().filter(|call| call.error.as_deref().is_some_and(limited));
            all.map(|call| call.method).collect()
        })
    }

    /// Returns all messages that Nod posted so far, in any channel, in order and as they were sent.
    #[must_use]
    pub fn posts(&self) -> Vec<String> {
        let posts = self.operation(Deed::Posts);
        each!(self, fake => fake.calls_of(posts).into_iter().map(|call| call.args.to_string()).collect())
    }

    /// Returns the intermediate texts of streamed messages, in order, without the final one.
    #[must_use]
    pub fn grown(&self) -> Vec<String> {
        let grows = self.operation(Deed::Grows);
        let mut all: Vec<String> =
            each!(self, fake => fake.calls_of(grows).into_iter().map(|call| call.args.to_string()).collect());
        // On Discord the final text is sent by the same call as the intermediate ones.
        all.truncate(all.len() - usize::from(matches!(self, Self::Discord(_)) && !all.is_empty()));
        all
    }

    /// Returns whether Nod has shown that it is thinking: Slack's status line, Discord's "is typing…".
    #[must_use]
    pub fn shown_thinking(&self) -> bool {
        match self {
            Self::Slack(fake) => {
                let statuses = fake.calls_of("assistant.threads.setStatus");
                statuses.first().is_some_and(|call| call.args["status"] == "is thinking…")
            }
            Self::Discord(fake) => fake.read(|w| !w.typing.is_empty()),
        }
    }

    /// Returns the secrets that only Nod and the platform know.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        match self {
            Self::Slack(fake) => {
                fake.read(|w| vec![w.config.app.bot_token.clone(), w.config.app.app_token.clone()])
            }
            Self::Discord(fake) => fake.read(|w| {
                let given = w.interactions.iter().map(|interaction| interaction.token.clone());
                given.chain([w.config.app.bot_token.clone()]).collect()
            }),
        }
    }

    /// Returns whether anything waits for Nod's acknowledgement.
    #[must_use]
    pub fn waits(&self) -> bool {
        each!(self, fake => !fake.unanswered().is_empty())
    }

    /// Returns the public messages of a channel.
    #[must_use]
    pub fn spoken(&self, channel: &str) -> String {
        each!(self, fake => fake.spoken(channel))
    }

    /// Returns the ephemeral messages to a user.
    #[must_use]
    pub fn whispers(&self, user: &str) -> Vec<String> {
        each!(self, fake => fake.whispers(user))
    }

    /// Returns the newest ephemeral message to a user, as raw JSON.
    #[must_use]
    pub fn newest_whisper(&self, user: &str) -> Option<String> {
        match self {
            Self::Slack(fake) => fake.ephemerals(user).pop().map(|e| json!(e.blocks).to_string()),
            Self::Discord(fake) => fake.ephemerals(user).pop().map(|e| json!(e.components).to_string()),
        }
    }

    /// Returns the ids of the ephemeral messages to a user, oldest first.
    #[must_use]
    pub fn whispered(&self, user: &str) -> Vec<String> {
        match self {
            Self::Slack(fake) => fake.ephemerals(user).into_iter().map(|e| e.ts).collect(),
            Self::Discord(fake) => fake.ephemerals(user).into_iter().map(|e| e.id).collect(),
        }
    }

    /// Returns the ids of the messages in a channel and its threads, oldest first.
    #[must_use]
    pub fn messages(&self, channel: &str) -> Vec<String> {
        match self {
            Self::Slack(fake) => fake.messages(channel).into_iter().map(|m| m.ts).collect(),
            Self::Discord(fake) => fake.messages(channel).into_iter().map(|m| m.id).collect(),
        }
    }

    /// Returns only those of Nod.
    #[must_use]
    pub fn messages_of_nod(&self, channel: &str) -> Vec<String> {
        match self {
            Self::Slack(fake) => {
                fake.messages(channel).into_iter().filter(|m| m.by_bot).map(|m| m.ts).collect()
            }
            Self::Discord(fake) => {
                fake.messages(channel).into_iter().filter(|m| m.by_bot).map(|m| m.id).collect()
            }
        }
    }

    /// Returns the newest message of a channel that has a button with this label.
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

    /// Returns the newest link in a channel that connects an account.
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

    /// Returns whether Nod has posted this text in a channel.
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

    /// Returns the ids of the channels in which Nod has posted; threads count as part of their channel.
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

    /// Returns the id of a channel.
    #[must_use]
    pub fn channel_id(&self, channel: &str) -> String {
        each!(self, fake => fake.read(|world| world.channel_id(channel).unwrap_or_else(|_| channel.to_owned())))
    }

    /// Returns everything on the platform, for the message of a failing story.
    #[must_use]
    pub fn everything(&self) -> String {
        each!(self, fake => fake.everything())
    }

    /// Waits until Nod is connected.
    pub async fn connected(&self, within: Duration) {
        each!(self, fake => fake.connected(within).await);
    }

    /// Counts the connections of Nod.
    #[must_use]
    pub fn connections(&self) -> usize {
        each!(self, fake => fake.connections())
    }

    /// Returns the fault injection of the fake.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        each!(self, fake => fake.faults())
    }

    /// Returns the requests and messages that should never occur on the platform.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let pings = self.pings().into_iter().map(|who| format!("a ping: {who}"));
        let others: Vec<String> = match self {
            Self::Slack(fake) => fake.violations().into_iter().map(|v| format!("{v:?}")).collect(),
            Self::Discord(fake) => {
                let unfurls = fake.unfurls().into_iter().map(|link| format!("an unfurled link: {link:?}"));
                fake.violations().into_iter().chain(unfurls).collect()
            }
        };
        pings.chain(others).collect()
    }

    /// Returns the names of the users whom Nod's messages mentioned.
    #[must_use]
    pub fn pings(&self) -> Vec<String> {
        each!(self, fake => fake.pings())
    }
}

/// Converts the text after a command to Discord's options; `registered` is the command's first option.
fn options(command: &str, typed: &str, registered: Option<&str>) -> Value {
    let name = match command {
        "ask" => "question",
        "connect" if typed.contains('-') => "code",
        "connect" => "account",
        "task" | "memory" | "admin" => "what",
        _ => match registered {
            Some(option) => option,
            None => return json!({}),
        },
    };
    if typed.is_empty() { json!({}) } else { json!({ name: typed }) }
}
