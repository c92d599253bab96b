//! The chat platform that a story is played on, with one implementation for each platform.

use std::collections::BTreeMap;
use std::time::Duration;

use nod_sandbox::discord::{self, Discord};
use nod_sandbox::slack::{self, Slack};
use nod_sandbox::{Fault, Faults};
use serde_json::{Value, json};

use crate::{find_link, max_wait};

/// Which platform a story is played on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Slack.
    Slack,
    /// Discord.
    Discord,
}

/// The platform's fake, for actions that exist on both platforms.
#[derive(Clone)]
pub enum FakeChat {
    /// Slack's.
    Slack(Slack),
    /// Discord's.
    Discord(Discord),
}

/// The platform calls of Nod that a story can fail. Each platform has its own name for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatOperation {
    /// Posts a message.
    PostMessage,
    /// Opens a thread for it; on Slack the first message does that.
    OpenThread,
    /// Edits a message.
    UpdateMessage,
    /// Answers a click. On Slack this is no API call but uses the connection on which the click arrived.
    AnswerInteraction,
    /// Looks up a user.
    FetchProfile,
    /// Begins a streamed message.
    StartStream,
    /// Appends to it.
    AppendStream,
    /// Finishes it.
    StopStream,
    /// Downloads a file.
    DownloadFile,
    /// Looks up whether a user is in a channel.
    FindMember,
    /// Reads the messages of a channel.
    ReadHistory,
}

/// Evaluates the expression on the fake of either platform.
macro_rules! each {
    ($chat:expr, $fake:ident => $answer:expr) => {
        match $chat {
            FakeChat::Slack($fake) => $answer,
            FakeChat::Discord($fake) => $answer,
        }
    };
}

impl FakeChat {
    /// Sends a message as this user and returns its id.
    pub fn say(&self, user: &str, channel: &str, thread: Option<&str>, text: &str) -> String {
        each!(self, fake => fake.post_message(user, channel, thread, text))
    }

    /// Clicks a button of a message, and waits until the click was acknowledged.
    pub async fn click(&self, user: &str, channel: &str, message: &str, label: &str) {
        match self {
            Self::Slack(fake) => {
                let pending = fake.click(user, channel, message, label).unwrap_or_else(|e| panic!("{e}"));
                pending.wait_for_acknowledgement(max_wait()).await;
            }
            Self::Discord(fake) => {
                let pending = fake.click(user, channel, message, label).unwrap_or_else(|e| panic!("{e}"));
                pending.wait_for_acknowledgement(max_wait()).await;
            }
        }
    }

    /// Clicks this button on the user's newest ephemeral message that has it, and waits until it was acknowledged. Slack
    /// shows what a click answers only after the click's acknowledgement, so the message may still be on its way.
    pub async fn click_ephemeral(&self, user: &str, label: &str) {
        let until = tokio::time::Instant::now() + max_wait();
        let (channel, message) = loop {
            if let Some(found) = self.find_ephemeral_with_button(user, label) {
                break found;
            }
            let late = tokio::time::Instant::now() > until;
            assert!(!late, "nothing was whispered to {user} with [{label}]:\n{}", self.dump());
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        self.click(user, &channel, &message, label).await;
    }

    /// Returns the channel and the id of the user's newest ephemeral message with this button.
    fn find_ephemeral_with_button(&self, user: &str, label: &str) -> Option<(String, String)> {
        let label = format!("\"{label}\"");
        match self {
            Self::Slack(fake) => {
                let mut all = fake.ephemerals(user).into_iter().rev();
                all.find(|e| json!(e.blocks).to_string().contains(&label)).map(|e| (e.channel, e.ts))
            }
            Self::Discord(fake) => {
                let mut all = fake.ephemerals(user).into_iter().rev();
                all.find(|e| json!(e.components).to_string().contains(&label)).map(|e| (e.channel, e.id))
            }
        }
    }

    /// Clicks a button if it still exists, and waits until the click was acknowledged.
    pub async fn click_if_present(&self, user: &str, channel: &str, message: &str, label: &str) {
        match self {
            Self::Slack(fake) => {
                if let Ok(pending) = fake.click(user, channel, message, label) {
                    pending.wait_for_acknowledgement(max_wait()).await;
                }
            }
            Self::Discord(fake) => {
                if let Ok(pending) = fake.click(user, channel, message, label) {
                    pending.wait_for_acknowledgement(max_wait()).await;
                }
            }
        }
    }

    /// Clicks a button without waiting for anything.
    pub fn click_without_waiting(&self, user: &str, channel: &str, message: &str, label: &str) {
        each!(self, fake => drop(fake.click(user, channel, message, label).unwrap_or_else(|e| panic!("{e}"))));
    }

    /// Sends a command, as typed after Slack's `/nod`, and waits until it was acknowledged.
    pub async fn run_command(&self, user: &str, channel: &str, text: &str) {
        match self {
            Self::Slack(fake) => {
                fake.run_command(user, channel, "/nod", text).wait_for_acknowledgement(max_wait()).await;
            }
            Self::Discord(fake) => {
                let (name, given) = typed_command(fake, text);
                fake.run_command(user, channel, name, &given).wait_for_acknowledgement(max_wait()).await;
            }
        }
    }

    /// Sends a command without waiting for anything.
    pub fn run_command_without_waiting(&self, user: &str, channel: &str, text: &str) {
        match self {
            Self::Slack(fake) => drop(fake.run_command(user, channel, "/nod", text)),
            Self::Discord(fake) => {
                let (name, given) = typed_command(fake, text);
                drop(fake.run_command(user, channel, name, &given));
            }
        }
    }

    /// Fills in the form that the user has open and submits it, without waiting for anything.
    pub fn submit_form_without_waiting(&self, user: &str, typed: &BTreeMap<String, String>) {
        match self {
            Self::Slack(fake) => {
                let id = fake.read(|w| w.user_id(user)).unwrap_or_else(|e| panic!("{e}"));
                let open = fake.views().into_iter().rfind(|form| form.open && form.user == id);
                let open = open.unwrap_or_else(|| panic!("no form is open:\n{}", fake.dump()));
                fake.send_form(user, &open.id, typed).unwrap_or_else(|e| panic!("{e}"));
            }
            Self::Discord(fake) => drop(fake.submit(user, typed).unwrap_or_else(|e| panic!("{e}"))),
        }
    }

    /// Waits until the user has a form open.
    pub async fn wait_for_form(&self, user: &str) {
        match self {
            Self::Slack(fake) => {
                let open = |w: &slack::World| {
                    let id = w.user_id(user).ok()?;
                    w.views.iter().any(|form| form.open && form.user == id).then_some(())
                };
                fake.wait_for("a form", max_wait(), open).await;
            }
            Self::Discord(fake) => {
                let open = |w: &discord::World| {
                    let id = w.user_id(user).ok()?;
                    w.forms.iter().any(|form| form.open && form.user == id).then_some(())
                };
                fake.wait_for("a form", max_wait(), open).await;
            }
        }
    }

    /// Counts the clicks, commands and forms that got no response, which the platform reports to their user.
    #[must_use]
    pub fn failed_interaction_count(&self) -> usize {
        match self {
            Self::Slack(fake) => {
                let by_hand = |e: &slack::Envelope| e.kind != slack::EnvelopeKind::EventsApi;
                let lost = |e: &slack::Envelope| e.state == slack::Delivery::Lost && by_hand(e);
                fake.envelopes().iter().filter(|e| lost(e)).count()
            }
            Self::Discord(fake) => fake.list_failed().len(),
        }
    }

    /// Returns the open forms: each user and the form's title.
    #[must_use]
    pub fn list_open_forms(&self) -> Vec<String> {
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
    pub async fn wait_until_delivered(&self, asker: &str) {
        let Self::Discord(fake) = self else { return };
        // Where Nod is no member, nothing is completed.
        let direct = format!("dm:{asker}");
        let channel = if fake.read(discord::World::is_bot_in_guild) { "general" } else { &direct };
        if let Ok(pending) = fake.complete(asker, channel, "memory", &json!({"forget": "~"})) {
            pending.wait_for_acknowledgement(max_wait()).await;
        }
    }

    /// Sends a message that the platform delivers more than once.
    pub fn say_with_duplicate(&self, user: &str, channel: &str, text: &str) {
        match self {
            Self::Slack(fake) => {
                let deliver = slack::EventDelivery::Duplicated;
                let say = slack::NewMessage { deliver, ..slack::NewMessage::new(user, channel, text) };
                fake.post_message_with(say).unwrap_or_else(|e| panic!("{e}"));
            }
            Self::Discord(fake) => {
                fake.duplicate_next();
                fake.post_message(user, channel, None, text);
            }
        }
    }

    /// Removes Nod from a channel, or adds it again.
    pub fn set_nod_access(&self, channel: &str, admitted: bool) {
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

    /// Invites Nod to a channel: on Discord to the server, whose system channel it becomes.
    pub fn invite_nod(&self, user: &str, channel: &str) {
        match self {
            Self::Slack(fake) => fake.invite_app(user, channel),
            Self::Discord(fake) => {
                fake.change(|w| w.config.guild.system_channel = Some(channel.to_owned()));
                fake.add_bot();
            }
        }
    }

    /// Removes Nod from a channel: on Discord from the server.
    pub fn remove_nod(&self, channel: &str) {
        match self {
            Self::Slack(fake) => fake.remove_app(channel),
            Self::Discord(fake) => fake.remove_bot(),
        }
    }

    /// Makes the channel read-only: Slack archives it; on Discord its threads are locked.
    pub fn close_channel(&self, channel: &str) {
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
    pub fn delete_all_messages(&self, channel: &str) {
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
                fake.add_user(discord::User::new(user, name).outside_guild());
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
    pub fn count_member_list_calls(&self) -> usize {
        match self {
            Self::Slack(fake) => fake.list_calls_of("users.list").len(),
            Self::Discord(fake) => fake.list_calls_of("list_guild_members").len(),
        }
    }

    /// Removes a user for good.
    pub fn remove_user(&self, user: &str) {
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
    pub fn operation_name(&self, deed: ChatOperation) -> &'static str {
        match (self, deed) {
            (Self::Slack(_), ChatOperation::OpenThread | ChatOperation::AnswerInteraction) => {
                panic!("Slack has no call for {deed:?}")
            }
            (Self::Slack(_), ChatOperation::PostMessage) => "chat.postMessage",
            (Self::Slack(_), ChatOperation::UpdateMessage) => "chat.update",
            (Self::Slack(_), ChatOperation::FetchProfile) => "users.info",
            (Self::Slack(_), ChatOperation::FindMember) => "conversations.members",
            (Self::Slack(_), ChatOperation::ReadHistory) => "conversations.history",
            (Self::Discord(_), ChatOperation::ReadHistory) => "list_messages",
            (Self::Slack(_), ChatOperation::StartStream) => "chat.startStream",
            (Self::Slack(_), ChatOperation::AppendStream) => "chat.appendStream",
            (Self::Slack(_), ChatOperation::StopStream) => "chat.stopStream",
            (Self::Discord(_), ChatOperation::PostMessage | ChatOperation::StartStream) => "create_message",
            (Self::Discord(_), ChatOperation::AnswerInteraction) => "create_interaction_response",
            (Self::Discord(_), ChatOperation::OpenThread) => "create_thread_from_message",
            (
                Self::Discord(_),
                ChatOperation::UpdateMessage | ChatOperation::AppendStream | ChatOperation::StopStream,
            ) => "update_message",
            (Self::Discord(_), ChatOperation::FetchProfile | ChatOperation::FindMember) => "get_guild_member",
            (_, ChatOperation::DownloadFile) => "file",
        }
    }

    /// Makes the next such call fail.
    pub fn inject_fault(&self, deed: ChatOperation, fault: Fault) {
        self.faults().next(self.operation_name(deed), fault);
    }

    /// The addresses of all files expire.
    pub fn forget_files(&self) {
        each!(self, fake => fake.forget_files());
    }

    /// Returns the calls that Nod made so far, by the platform's names, in order.
    #[must_use]
    pub fn api_calls(&self) -> Vec<String> {
        each!(self, fake => fake.calls().into_iter().map(|call| call.method).collect())
    }

    /// Returns the calls that were rejected because they exceeded a rate limit.
    #[must_use]
    pub fn rate_limited_calls(&self) -> Vec<String> {
        let limited = |error: &str| error.contains("limited");
        each!(self, fake => {
            let all = fake.calls().into_iter().filter(|call| call.error.as_deref().is_some_and(limited));
            all.map(|call| call.method).collect()
        })
    }

    /// Returns all messages that Nod posted so far, in any channel, in order and as they were sent.
    #[must_use]
    pub fn posted_messages(&self) -> Vec<String> {
        let posts = self.operation_name(ChatOperation::PostMessage);
        each!(self, fake => fake.list_calls_of(posts).into_iter().map(|call| call.args.to_string()).collect())
    }

    /// Returns the intermediate texts of streamed messages, in order, without the final one.
    #[must_use]
    pub fn stream_updates(&self) -> Vec<String> {
        let grows = self.operation_name(ChatOperation::AppendStream);
        let mut all: Vec<String> = each!(self, fake => fake.list_calls_of(grows).into_iter().map(|call| call.args.to_string()).collect());
        // On Discord the final text is sent by the same call as the intermediate ones.
        all.truncate(all.len() - usize::from(matches!(self, Self::Discord(_)) && !all.is_empty()));
        all
    }

    /// Returns whether Nod has shown that it is thinking: Slack's status line, Discord's "is typing…".
    #[must_use]
    pub fn has_shown_typing(&self) -> bool {
        match self {
            Self::Slack(fake) => {
                let statuses = fake.list_calls_of("assistant.threads.setStatus");
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
    pub fn has_unacknowledged(&self) -> bool {
        each!(self, fake => !fake.list_unacknowledged().is_empty())
    }

    /// Returns the public messages of a channel.
    #[must_use]
    pub fn channel_text(&self, channel: &str) -> String {
        each!(self, fake => fake.channel_text(channel))
    }

    /// Returns the ephemeral messages to a user.
    #[must_use]
    pub fn ephemeral_texts(&self, user: &str) -> Vec<String> {
        each!(self, fake => fake.ephemeral_texts(user))
    }

    /// Returns the newest ephemeral message to a user, as raw JSON.
    #[must_use]
    pub fn newest_ephemeral(&self, user: &str) -> Option<String> {
        match self {
            Self::Slack(fake) => fake.ephemerals(user).pop().map(|e| json!(e.blocks).to_string()),
            Self::Discord(fake) => fake.ephemerals(user).pop().map(|e| json!(e.components).to_string()),
        }
    }

    /// Returns the ids of the ephemeral messages to a user, oldest first.
    #[must_use]
    pub fn ephemeral_ids(&self, user: &str) -> Vec<String> {
        match self {
            Self::Slack(fake) => fake.ephemerals(user).into_iter().map(|e| e.ts).collect(),
            Self::Discord(fake) => fake.ephemerals(user).into_iter().map(|e| e.id).collect(),
        }
    }

    /// Returns the ids of the messages in a channel and its threads, oldest first.
    #[must_use]
    pub fn message_ids(&self, channel: &str) -> Vec<String> {
        match self {
            Self::Slack(fake) => fake.messages(channel).into_iter().map(|m| m.ts).collect(),
            Self::Discord(fake) => fake.messages(channel).into_iter().map(|m| m.id).collect(),
        }
    }

    /// Returns only those of Nod.
    #[must_use]
    pub fn nod_message_ids(&self, channel: &str) -> Vec<String> {
        match self {
            Self::Slack(fake) => {
                fake.messages(channel).into_iter().filter(|m| m.is_from_bot).map(|m| m.ts).collect()
            }
            Self::Discord(fake) => {
                fake.messages(channel).into_iter().filter(|m| m.is_from_bot).map(|m| m.id).collect()
            }
        }
    }

    /// Returns the newest message of a channel that has a button with this label.
    #[must_use]
    pub fn find_message_with_button(&self, channel: &str, label: &str) -> Option<String> {
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
    pub fn find_newest_link(&self, channel: &str) -> Option<String> {
        match self {
            Self::Slack(fake) => {
                fake.messages(channel).iter().rev().find_map(|m| find_link(&json!(m.blocks).to_string()))
            }
            Self::Discord(fake) => {
                fake.messages(channel).iter().rev().find_map(|m| find_link(&json!(m.components).to_string()))
            }
        }
    }

    /// Returns whether Nod has posted this text in a channel.
    #[must_use]
    pub fn has_nod_said(&self, channel: &str, text: &str) -> bool {
        match self {
            Self::Slack(fake) => fake.messages(channel).iter().any(|m| {
                m.is_from_bot && (m.text.contains(text) || json!(m.blocks).to_string().contains(text))
            }),
            Self::Discord(fake) => fake
                .messages(channel)
                .iter()
                .any(|m| m.is_from_bot && json!(m.components).to_string().contains(text)),
        }
    }

    /// Returns the ids of the channels in which Nod has posted; public threads count as part of their channel.
    #[must_use]
    pub fn list_channels_with_nod(&self) -> Vec<String> {
        match self {
            Self::Slack(fake) => {
                let all: Vec<String> = fake.read(|world| world.channels.keys().cloned().collect());
                all.into_iter().filter(|id| fake.messages(id).iter().any(|m| m.is_from_bot)).collect()
            }
            Self::Discord(fake) => {
                let all: Vec<String> = fake.read(|world| {
                    let places = world.channels.values().filter(|c| c.kind != discord::ChannelKind::Thread);
                    places.map(|c| c.id.clone()).collect()
                });
                all.into_iter().filter(|id| fake.messages(id).iter().any(|m| m.is_from_bot)).collect()
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
    pub fn dump(&self) -> String {
        each!(self, fake => fake.dump())
    }

    /// Waits until Nod is connected.
    pub async fn wait_until_connected(&self, within: Duration) {
        each!(self, fake => fake.wait_until_connected(within).await);
    }

    /// Counts the connections of Nod.
    #[must_use]
    pub fn connection_count(&self) -> usize {
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
        let pings = self.mentioned_users().into_iter().map(|who| format!("a ping: {who}"));
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
    pub fn mentioned_users(&self) -> Vec<String> {
        each!(self, fake => fake.mentioned_users())
    }
}

/// Converts what is typed after Slack's `/nod` to a command of Discord and its options.
fn typed_command<'a>(fake: &Discord, text: &'a str) -> (&'a str, Value) {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let name = if name.is_empty() { "help" } else { name };
    let registered = fake.read(|w| {
        let command = w.commands.iter().find(|command| command["name"] == name);
        command.and_then(|command| command["options"][0]["name"].as_str().map(str::to_owned))
    });
    (name, command_options(name, rest, registered.as_deref()))
}

/// Converts the text after a command to Discord's options; `registered` is the command's first option.
fn command_options(command: &str, typed: &str, registered: Option<&str>) -> Value {
    let name = match command {
        "ask" => "question",
        "connect" if typed.contains('-') => "code",
        "connect" => "account",
        "memory" | "admin" => "what",
        _ => match registered {
            Some(option) => option,
            None => return json!({}),
        },
    };
    let named = ["again", "add"].into_iter().find_map(|name| {
        let rest = typed.strip_prefix(name)?.strip_prefix(' ')?;
        (command == "knowledge").then(|| json!({ name: rest }))
    });
    match named {
        _ if typed.is_empty() => json!({}),
        Some(named) => named,
        None => json!({ name: typed }),
    }
}
