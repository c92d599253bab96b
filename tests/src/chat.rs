//! The chat platform that a story is played on: one body for each of them.

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

/// The platform's fake, for what stories do on any.
#[derive(Clone)]
pub enum Chat {
    /// Slack's.
    Slack(Slack),
    /// Discord's.
    Discord(Discord),
}

/// What Nod asks of a platform, for faults: each has its own name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// A message is posted.
    Posts,
    /// A thread is opened for it; on Slack its first message does that.
    OpensThread,
    /// A message is given other words.
    Replaces,
    /// A press is answered; on Slack that is no call, but goes the way on which the press came.
    Answers,
    /// It is asked who somebody is.
    LooksUp,
    /// A message that will grow is begun.
    Begins,
    /// It grows.
    Grows,
    /// It stands whole.
    Ends,
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

    /// Presses a button of the newest whisper to somebody that has it, and waits until the press was acknowledged.
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

    /// Presses a button where it still stands, and waits until the press was acknowledged.
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

    /// Presses a button, and does not wait for anything.
    pub fn pushes(&self, user: &str, channel: &str, message: &str, label: &str) {
        each!(self, fake => drop(fake.press(user, channel, message, label).unwrap_or_else(|e| panic!("{e}"))));
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
                let registered = fake.read(|w| {
                    let command = w.commands.iter().find(|command| command["name"] == name);
                    command.and_then(|command| command["options"][0]["name"].as_str().map(str::to_owned))
                });
                let given = options(name, rest, registered.as_deref());
                fake.slash(user, channel, name, &given).acknowledged(patience()).await;
            }
        }
    }

    /// Types into the form that stands open before somebody and sends it, and does not wait for anything.
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

    /// Until a form stands open before somebody.
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

    /// How many presses, commands and forms were answered by nobody, which the platform says to who made them.
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

    /// The forms that stand open: before whom, and what they are called.
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

    /// Until all that was said has reached Nod. Slack has its acknowledgements for that; Discord has none, but what
    /// it dispatches is taken in order, so whoever answers this has taken what came before.
    pub async fn has_heard(&self, asker: &str) {
        if let Self::Discord(fake) = self
            && let Ok(pending) = fake.complete(asker, "general", "memory", &json!({"forget": "~"}))
        {
            pending.acknowledged(patience()).await;
        }
    }

    /// Somebody says something, and the platform delivers it more than once.
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

    /// Nod may not see a channel any more, or may again.
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

    /// Nobody may write there any more: Slack archives the channel; on Discord its threads are locked.
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

    /// Whoever runs the place takes a message away.
    pub fn takes_away(&self, channel: &str, message: &str) {
        match self {
            Self::Slack(fake) => fake.take_away(channel, message),
            Self::Discord(fake) => fake.take_away(message),
        }
    }

    /// All that was said in a channel is deleted, with its threads, and Nod does not hear of it.
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

    /// Somebody new comes, and the platform tells of it.
    pub fn joins(&self, user: &str, name: &str) {
        match self {
            Self::Slack(fake) => fake.add_user(slack::User::new(user, name)),
            Self::Discord(fake) => {
                fake.add_user(discord::User::new(user, name).stranger());
                fake.join(user);
            }
        }
    }

    /// The same, and the platform does not tell: an installation that did not ask for it, or nobody who hears.
    pub fn joins_untold(&self, user: &str, name: &str) {
        match self {
            Self::Slack(fake) => fake.change(|w| {
                let user = slack::User::new(user, name);
                w.users.insert(user.id.clone(), user);
            }),
            Self::Discord(fake) => drop(fake.add_user(discord::User::new(user, name))),
        }
    }

    /// Somebody is called otherwise from now on.
    pub fn renames(&self, user: &str, name: &str) {
        match self {
            Self::Slack(fake) => fake.add_user(slack::User::new(user, name)),
            Self::Discord(fake) => fake.nick(user, name),
        }
    }

    /// How often the people were listed.
    #[must_use]
    pub fn lists_of_people(&self) -> usize {
        match self {
            Self::Slack(fake) => fake.calls_of("users.list").len(),
            Self::Discord(fake) => fake.calls_of("list_guild_members").len(),
        }
    }

    /// Somebody leaves for good.
    pub fn leaves(&self, user: &str) {
        match self {
            Self::Slack(fake) => {
                let person = fake.read(|w| w.users[&w.user_id(user).unwrap_or_default()].clone());
                fake.add_user(slack::User { deleted: true, ..person });
            }
            Self::Discord(fake) => fake.leave(user),
        }
    }

    /// How a mention of somebody is written.
    #[must_use]
    pub fn mention(&self, user: &str) -> String {
        let id = each!(self, fake => fake.read(|w| w.user_id(user)).unwrap_or_else(|e| panic!("{e}")));
        format!("<@{id}>")
    }

    /// What the platform calls this.
    ///
    /// # Panics
    /// Where it does no such thing.
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

    /// Plans that this goes wrong next.
    pub fn fails(&self, deed: Deed, fault: Fault) {
        self.faults().next(self.operation(deed), fault);
    }

    /// What Nod asked for so far, by the platform's names, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        each!(self, fake => fake.calls().into_iter().map(|call| call.method).collect())
    }

    /// What was refused because it came too soon after what came before it.
    #[must_use]
    pub fn too_early(&self) -> Vec<String> {
        let limited = |error: &str| error.contains("limited");
        each!(self, fake => {
            let all = fake.calls().into_iter().filter(|call| call.error.as_deref().is_some_and(limited));
            all.map(|call| call.method).collect()
        })
    }

    /// What Nod posted so far, wherever, in order, as it was sent.
    #[must_use]
    pub fn posts(&self) -> Vec<String> {
        let posts = self.operation(Deed::Posts);
        each!(self, fake => fake.calls_of(posts).into_iter().map(|call| call.args.to_string()).collect())
    }

    /// What growing messages were given to show, in order; not what stood there in the end.
    #[must_use]
    pub fn grown(&self) -> Vec<String> {
        let grows = self.operation(Deed::Grows);
        let mut all: Vec<String> =
            each!(self, fake => fake.calls_of(grows).into_iter().map(|call| call.args.to_string()).collect());
        // On Discord a message is made whole as it grew.
        all.truncate(all.len() - usize::from(matches!(self, Self::Discord(_)) && !all.is_empty()));
        all
    }

    /// Whether Nod has shown that it thinks: Slack's status line, Discord's "is typing…".
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

    /// What nobody but Nod and the platform may know.
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

    /// The ids of what was whispered to somebody, oldest first.
    #[must_use]
    pub fn whispered(&self, user: &str) -> Vec<String> {
        match self {
            Self::Slack(fake) => fake.ephemerals(user).into_iter().map(|e| e.ts).collect(),
            Self::Discord(fake) => fake.ephemerals(user).into_iter().map(|e| e.id).collect(),
        }
    }

    /// The ids of a channel's messages with those of its threads, oldest first.
    #[must_use]
    pub fn messages(&self, channel: &str) -> Vec<String> {
        match self {
            Self::Slack(fake) => fake.messages(channel).into_iter().map(|m| m.ts).collect(),
            Self::Discord(fake) => fake.messages(channel).into_iter().map(|m| m.id).collect(),
        }
    }

    /// Those of Nod.
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

    /// Whom Nod's messages called, by name.
    #[must_use]
    pub fn pings(&self) -> Vec<String> {
        each!(self, fake => fake.pings())
    }
}

/// What was typed behind a command, as Discord's options; `registered` is the first that the command has.
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
