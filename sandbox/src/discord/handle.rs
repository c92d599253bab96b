//! The handle with which tests act as people and cause trouble.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::entities::{Channel, ChannelKind, User};
use super::interactions::{Delivery, Interaction};
use super::people::Say;
use super::presses::Forged;
use super::world::World;
use super::{Discord, State};
use crate::Faults;

/// What the app answered to a press, command or form.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The callback's body.
    pub payload: Option<Value>,
    /// From telling to callback.
    pub took: Duration,
}

/// A press, command or form on its way to the app.
#[derive(Clone)]
pub struct Pending {
    discord: Discord,
    id: String,
}

impl Pending {
    /// What became of it so far.
    #[must_use]
    pub fn interaction(&self) -> Option<Interaction> {
        self.discord.read(|w| w.interaction(&self.id).cloned())
    }

    /// Waits for the callback.
    ///
    /// # Panics
    /// With the transcript when it is lost or does not come in time.
    pub async fn acknowledged(&self, within: Duration) -> Answer {
        let id = self.id.clone();
        let look = move |w: &World| {
            let found = w.interaction(&id)?;
            matches!(found.state, Delivery::Acknowledged | Delivery::Lost).then(|| found.clone())
        };
        let found = self.discord.wait_for("a callback", within, look).await;
        assert!(
            found.state == Delivery::Acknowledged,
            "lost: no session was told\n{}",
            self.discord.everything()
        );
        Answer { payload: found.answer, took: found.took.unwrap_or_default() }
    }
}

/// Where it is and how it goes wrong.
impl Discord {
    /// `http://127.0.0.1:port/api/v10`
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/api/v10", self.root_url())
    }

    /// `http://127.0.0.1:port`
    #[must_use]
    pub fn root_url(&self) -> String {
        self.running.server.url()
    }

    /// Operations are the vendor's operation ids, and `global` for a limit on everything.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.state().faults
    }

    pub(super) fn state(&self) -> &State {
        &self.running.state
    }

    /// Looks at the guild.
    pub fn read<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        self.state().read(look)
    }

    /// Changes the guild's people, channels or habits (`w.config`).
    pub fn change<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        self.state().change(act)
    }

    /// Adds or replaces a person; nobody is told.
    pub fn add_user(&self, user: User) -> String {
        self.change(|w| w.insert_user(user))
    }

    /// Adds or replaces a channel and tells the app.
    pub fn add_channel(&self, channel: Channel) -> String {
        self.change(|w| {
            let id = w.insert_channel(channel);
            if let Some(channel) = w.channels.get(&id).cloned() {
                w.tell_channel("CHANNEL_CREATE", &channel);
            }
            id
        })
    }

    /// Takes a channel away and tells the app.
    ///
    /// # Panics
    /// When there is no such channel.
    #[track_caller]
    pub fn remove_channel(&self, channel: &str) {
        allowed(self.change(|w| {
            let id = w.channel_id(channel)?;
            if let Some(channel) = w.channels.get(&id).cloned() {
                w.tell_channel("CHANNEL_DELETE", &channel);
            }
            w.channels.remove(&id);
            Ok(())
        }));
    }

    /// A person comes into the guild.
    ///
    /// # Panics
    /// When there is no such person.
    #[track_caller]
    pub fn join(&self, user: &str) {
        allowed(self.change(|w| w.member(user, true)));
    }

    /// A person is called otherwise in the guild.
    ///
    /// # Panics
    /// When there is no such member.
    #[track_caller]
    pub fn nick(&self, user: &str, nick: &str) {
        allowed(self.change(|w| w.nick(user, nick)));
    }

    /// A person leaves the guild.
    ///
    /// # Panics
    /// When there is no such person.
    #[track_caller]
    pub fn leave(&self, user: &str) {
        allowed(self.change(|w| w.member(user, false)));
    }
}

/// Acting as people. All panic with a sentence where Discord's own client would not allow it; the `try_`
/// forms give the sentence.
impl Discord {
    /// A person writes; gives the message's id. `@handle` becomes a mention.
    ///
    /// # Panics
    /// When that person cannot write there.
    #[track_caller]
    pub fn say(&self, user: &str, channel: &str, thread: Option<&str>, text: &str) -> String {
        let say = Say { thread: thread.map(str::to_owned), ..Say::new(user, channel, text) };
        allowed(self.say_with(say))
    }

    /// Same with all that may be odd about a message.
    ///
    /// # Errors
    /// A sentence when that person cannot write there.
    pub fn say_with(&self, say: Say) -> Result<String, String> {
        self.change(|w| w.say(say))
    }

    /// Writes a post in a forum; the id of its thread.
    ///
    /// # Panics
    /// When that person cannot.
    #[track_caller]
    pub fn post(&self, user: &str, forum: &str, title: &str, text: &str) -> String {
        allowed(self.change(|w| w.post(user, forum, title, text)))
    }

    /// Puts a thread away, and locks it or not; the app is told.
    ///
    /// # Panics
    /// When there is no such thread.
    #[track_caller]
    pub fn archive(&self, thread: &str, locked: bool) {
        allowed(self.change(|w| {
            let found = w.channels.get_mut(thread).filter(|c| c.kind == ChannelKind::Thread);
            let found = found.ok_or("There is no such thread.")?;
            (found.archived, found.locked) = (true, locked);
            let found = found.clone();
            w.tell_channel("THREAD_UPDATE", &found);
            Ok(())
        }));
    }

    /// # Panics
    /// When it is not that person's message.
    #[track_caller]
    pub fn edit(&self, user: &str, channel: &str, ts: &str, text: &str) {
        allowed(self.change(|w| w.edit(user, channel, ts, text)));
    }

    /// Discord shows what a message's links lead to.
    ///
    /// # Panics
    /// When there is no such message.
    #[track_caller]
    pub fn unfurl(&self, _channel: &str, ts: &str) {
        allowed(self.change(|w| w.unfurl(ts)));
    }

    /// A moderator takes a message away.
    pub fn take_away(&self, ts: &str) {
        self.change(|w| w.remove(ts));
    }

    /// # Panics
    /// When it is not that person's message.
    #[track_caller]
    pub fn delete(&self, user: &str, channel: &str, ts: &str) {
        allowed(self.change(|w| w.delete(user, channel, ts)));
    }

    /// Gives a registered command; `options` is an object of values, a sub-command an object inside.
    ///
    /// # Panics
    /// When that person cannot give that command there.
    #[track_caller]
    pub fn slash(&self, user: &str, channel: &str, command: &str, options: &Value) -> Pending {
        allowed(self.try_slash(user, channel, command, options))
    }

    /// # Errors
    /// A sentence when that person cannot give that command there.
    pub fn try_slash(
        &self,
        user: &str,
        channel: &str,
        command: &str,
        options: &Value,
    ) -> Result<Pending, String> {
        self.change(|w| w.slash(user, channel, command, options)).map(|id| self.pending(id))
    }

    /// Types into an option that completes itself.
    ///
    /// # Errors
    /// A sentence when that person cannot give that command there.
    pub fn complete(
        &self,
        user: &str,
        channel: &str,
        command: &str,
        options: &Value,
    ) -> Result<Pending, String> {
        self.change(|w| w.complete(user, channel, command, options)).map(|id| self.pending(id))
    }

    /// Presses a button (or picks a select's option) by its custom id or its words.
    ///
    /// # Errors
    /// A sentence when that person sees no such button.
    pub fn press(&self, user: &str, channel: &str, ts: &str, label: &str) -> Result<Pending, String> {
        self.change(|w| w.press(user, channel, ts, label)).map(|id| self.pending(id))
    }

    /// A press that no real client would send.
    ///
    /// # Errors
    /// A sentence when there is no such channel.
    pub fn press_raw(&self, forged: Forged) -> Result<Pending, String> {
        self.change(|w| w.press_forged(forged)).map(|id| self.pending(id))
    }

    /// Picks one of the app's entries, by its name, in the menu of a message.
    ///
    /// # Errors
    /// A sentence when that person does not see the message.
    pub fn pick(&self, user: &str, channel: &str, ts: &str, entry: &str) -> Result<Pending, String> {
        self.change(|w| w.pick(user, channel, ts, entry)).map(|id| self.pending(id))
    }

    /// Types into the fields of the open form, named by their labels or custom ids, and sends it.
    ///
    /// # Errors
    /// A sentence where Discord's own client would not let that person.
    pub fn submit(&self, user: &str, typed: &BTreeMap<String, String>) -> Result<Pending, String> {
        self.change(|w| w.submit(user, typed)).map(|id| self.pending(id))
    }

    /// Sends a form (by [`super::Form::id`]) that no real client would.
    ///
    /// # Errors
    /// A sentence where no such form was ever opened.
    pub fn submit_raw(
        &self,
        user: &str,
        form: &str,
        typed: &BTreeMap<String, String>,
    ) -> Result<Pending, String> {
        self.change(|w| w.submit_forged(user, form, typed)).map(|id| self.pending(id))
    }

    /// Closes the open form without sending it.
    ///
    /// # Errors
    /// A sentence when that person has no form open.
    pub fn dismiss(&self, user: &str) -> Result<(), String> {
        self.change(|w| w.dismiss(user))
    }

    /// Opens (or finds) the conversation between the bot and a person.
    ///
    /// # Panics
    /// When there is no such person.
    #[track_caller]
    #[must_use]
    pub fn dm(&self, user: &str) -> String {
        allowed(self.change(|w| w.user_id(user).map(|id| w.open_dm(&id))))
    }

    /// Keeps a file; gives what goes into [`Say`]'s files.
    #[must_use]
    pub fn upload(&self, name: &str, kind: &str, bytes: impl Into<Vec<u8>>) -> Value {
        self.change(|w| w.keep_file("0", name, kind, bytes.into()))
    }

    fn pending(&self, id: String) -> Pending {
        Pending { discord: self.clone(), id }
    }
}

#[track_caller]
pub(super) fn allowed<T>(outcome: Result<T, String>) -> T {
    match outcome {
        Ok(done) => done,
        Err(sentence) => panic!("{sentence}"),
    }
}
