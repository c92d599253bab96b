//! The handle with which tests act as users and inject faults.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::clicks::ForgedClick;
use super::entities::{Channel, User};
use super::interactions::{Delivery, Interaction};
use super::people::NewMessage;
use super::world::World;
use super::{Discord, State};
use crate::Faults;

/// The app's response to a click, command or form.
#[derive(Debug, Clone)]
pub struct InteractionResult {
    /// The callback's body.
    pub payload: Option<Value>,
    /// The time from the event to the callback.
    pub took: Duration,
}

/// A click, command or form that was sent to the app.
#[derive(Clone)]
pub struct PendingInteraction {
    discord: Discord,
    id: String,
}

impl PendingInteraction {
    /// Returns the interaction in its current state.
    #[must_use]
    pub fn interaction(&self) -> Option<Interaction> {
        self.discord.read(|w| w.interaction(&self.id).cloned())
    }

    /// Waits for the callback.
    ///
    /// # Panics
    /// If the interaction is lost or the callback does not come in time, with the transcript.
    pub async fn wait_for_acknowledgement(&self, within: Duration) -> InteractionResult {
        let id = self.id.clone();
        let look = move |w: &World| {
            let found = w.interaction(&id)?;
            matches!(found.state, Delivery::Acknowledged | Delivery::Lost).then(|| found.clone())
        };
        let found = self.discord.wait_for("a callback", within, look).await;
        assert!(found.state == Delivery::Acknowledged, "lost: no session was told\n{}", self.discord.dump());
        InteractionResult { payload: found.answer, took: found.took.unwrap_or_default() }
    }
}

/// URLs and faults.
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

    /// Returns the planned faults. Operations are the vendor's operation ids, and `global` for a global rate limit.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.state().faults
    }

    pub(super) fn state(&self) -> &State {
        &self.running.state
    }

    /// Reads the guild.
    pub fn read<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        self.state().read(look)
    }

    /// Changes the guild's users, channels or settings (`w.config`).
    pub fn change<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        self.state().change(act)
    }

    /// Adds or replaces a user; no event is sent.
    pub fn add_user(&self, user: User) -> String {
        self.change(|w| w.insert_user(user))
    }

    /// Adds or replaces a channel and sends the event to the app.
    pub fn add_channel(&self, channel: Channel) -> String {
        self.change(|w| {
            let id = w.insert_channel(channel);
            if let Some(channel) = w.channels.get(&id).cloned() {
                w.tell_channel("CHANNEL_CREATE", &channel);
            }
            id
        })
    }

    /// Removes a channel and sends the event to the app.
    ///
    /// # Panics
    /// If there is no such channel.
    #[track_caller]
    pub fn remove_channel(&self, channel: &str) {
        expect_allowed(self.change(|w| {
            let id = w.channel_id(channel)?;
            if let Some(channel) = w.channels.get(&id).cloned() {
                w.tell_channel("CHANNEL_DELETE", &channel);
            }
            w.channels.remove(&id);
            Ok(())
        }));
    }

    /// Adds the app to the server, as somebody does who follows its invitation.
    ///
    /// # Panics
    /// If it is there.
    #[track_caller]
    pub fn add_bot(&self) {
        expect_allowed(self.change(World::add_bot));
    }

    /// Removes the app from the server.
    ///
    /// # Panics
    /// If it is not there.
    #[track_caller]
    pub fn remove_bot(&self) {
        expect_allowed(self.change(World::remove_bot));
    }

    /// Adds a user to the guild.
    ///
    /// # Panics
    /// If there is no such user.
    #[track_caller]
    pub fn join(&self, user: &str) {
        expect_allowed(self.change(|w| w.member(user, true)));
    }

    /// Changes a user's nickname in the guild.
    ///
    /// # Panics
    /// If there is no such member.
    #[track_caller]
    pub fn nick(&self, user: &str, nick: &str) {
        expect_allowed(self.change(|w| w.nick(user, nick)));
    }

    /// Removes a user from the guild.
    ///
    /// # Panics
    /// If there is no such user.
    #[track_caller]
    pub fn leave(&self, user: &str) {
        expect_allowed(self.change(|w| w.member(user, false)));
    }
}

/// Acting as users. All panic with a sentence if Discord's own client would not allow it; the `try_` variants return
/// the sentence.
impl Discord {
    /// Sends a message as a user; returns its id. `@handle` becomes a mention.
    ///
    /// # Panics
    /// If that user cannot write there.
    #[track_caller]
    pub fn post_message(&self, user: &str, channel: &str, thread: Option<&str>, text: &str) -> String {
        let say = NewMessage { thread: thread.map(str::to_owned), ..NewMessage::new(user, channel, text) };
        expect_allowed(self.post_message_with(say))
    }

    /// Same, with the additional properties of [`Say`].
    ///
    /// # Errors
    /// A sentence if that user cannot write there.
    pub fn post_message_with(&self, say: NewMessage) -> Result<String, String> {
        self.change(|w| w.post_message(say))
    }

    /// Creates a post in a forum; returns the id of its thread.
    ///
    /// # Panics
    /// If that user cannot.
    #[track_caller]
    pub fn post(&self, user: &str, forum: &str, title: &str, text: &str) -> String {
        expect_allowed(self.change(|w| w.post(user, forum, title, text)))
    }

    /// Opens a private thread with a user and those whom they add to it, the bot among them if it is named; returns its
    /// id.
    ///
    /// # Panics
    /// If that user cannot.
    #[track_caller]
    pub fn open_private_thread(&self, user: &str, channel: &str, title: &str, others: &[&str]) -> String {
        expect_allowed(self.change(|w| w.open_private_thread(user, channel, title, others)))
    }

    /// Removes a user from a private thread.
    ///
    /// # Panics
    /// If there is no such private thread.
    #[track_caller]
    pub fn remove_from_thread(&self, thread: &str, user: &str) {
        expect_allowed(self.change(|w| w.remove_from_thread(thread, user)));
    }

    /// Archives a thread and sets its lock; the app receives the event.
    ///
    /// # Panics
    /// If there is no such thread.
    #[track_caller]
    pub fn archive(&self, thread: &str, locked: bool) {
        expect_allowed(self.change(|w| {
            let found = w.channels.get_mut(thread).filter(|c| c.kind.is_thread());
            let found = found.ok_or("There is no such thread.")?;
            (found.archived, found.locked) = (true, locked);
            let found = found.clone();
            w.tell_channel("THREAD_UPDATE", &found);
            Ok(())
        }));
    }

    /// # Panics
    /// If it is not that user's message.
    #[track_caller]
    pub fn edit(&self, user: &str, channel: &str, ts: &str, text: &str) {
        expect_allowed(self.change(|w| w.edit(user, channel, ts, text)));
    }

    /// Sends the update with which Discord adds link previews to a message.
    ///
    /// # Panics
    /// If there is no such message.
    #[track_caller]
    pub fn unfurl(&self, _channel: &str, ts: &str) {
        expect_allowed(self.change(|w| w.unfurl(ts)));
    }

    /// Deletes a message as a moderator.
    pub fn take_away(&self, ts: &str) {
        self.change(|w| w.remove(ts));
    }

    /// # Panics
    /// If it is not that user's message.
    #[track_caller]
    pub fn delete(&self, user: &str, channel: &str, ts: &str) {
        expect_allowed(self.change(|w| w.delete(user, channel, ts)));
    }

    /// Runs a registered command; `options` is an object of values, with a nested object for a sub-command.
    ///
    /// # Panics
    /// If that user cannot run that command there.
    #[track_caller]
    pub fn run_command(
        &self,
        user: &str,
        channel: &str,
        command: &str,
        options: &Value,
    ) -> PendingInteraction {
        expect_allowed(self.try_run_command(user, channel, command, options))
    }

    /// # Errors
    /// A sentence if that user cannot run that command there.
    pub fn try_run_command(
        &self,
        user: &str,
        channel: &str,
        command: &str,
        options: &Value,
    ) -> Result<PendingInteraction, String> {
        self.change(|w| w.run_command(user, channel, command, options)).map(|id| self.pending(id))
    }

    /// Types into an option with autocomplete.
    ///
    /// # Errors
    /// A sentence if that user cannot run that command there.
    pub fn complete(
        &self,
        user: &str,
        channel: &str,
        command: &str,
        options: &Value,
    ) -> Result<PendingInteraction, String> {
        self.change(|w| w.complete(user, channel, command, options)).map(|id| self.pending(id))
    }

    /// Clicks a button (or selects an option) by its custom id or label.
    ///
    /// # Errors
    /// A sentence if that user sees no such button.
    pub fn click(
        &self,
        user: &str,
        channel: &str,
        ts: &str,
        label: &str,
    ) -> Result<PendingInteraction, String> {
        self.change(|w| w.click(user, channel, ts, label)).map(|id| self.pending(id))
    }

    /// Sends a click that no real client would send.
    ///
    /// # Errors
    /// A sentence if there is no such channel.
    pub fn click_forged(&self, forged: ForgedClick) -> Result<PendingInteraction, String> {
        self.change(|w| w.click_forged(forged)).map(|id| self.pending(id))
    }

    /// Runs one of the app's message commands, by its name.
    ///
    /// # Errors
    /// A sentence if that user does not see the message.
    pub fn use_message_command(
        &self,
        user: &str,
        channel: &str,
        ts: &str,
        entry: &str,
    ) -> Result<PendingInteraction, String> {
        self.change(|w| w.use_message_command(user, channel, ts, entry)).map(|id| self.pending(id))
    }

    /// Fills in the fields of the open form, named by their labels or custom ids, and submits it.
    ///
    /// # Errors
    /// A sentence if Discord's own client would not allow it.
    pub fn submit(&self, user: &str, typed: &BTreeMap<String, String>) -> Result<PendingInteraction, String> {
        self.change(|w| w.submit(user, typed)).map(|id| self.pending(id))
    }

    /// Submits a form (by [`super::Form::id`]) as no real client would.
    ///
    /// # Errors
    /// A sentence if no such form was ever opened.
    pub fn submit_raw(
        &self,
        user: &str,
        form: &str,
        typed: &BTreeMap<String, String>,
    ) -> Result<PendingInteraction, String> {
        self.change(|w| w.submit_forged_form(user, form, typed)).map(|id| self.pending(id))
    }

    /// Closes the open form without submitting it.
    ///
    /// # Errors
    /// A sentence if that user has no form open.
    pub fn dismiss(&self, user: &str) -> Result<(), String> {
        self.change(|w| w.dismiss(user))
    }

    /// Opens (or finds) the DM channel of the bot and a user.
    ///
    /// # Panics
    /// If there is no such user.
    #[track_caller]
    #[must_use]
    pub fn dm(&self, user: &str) -> String {
        expect_allowed(self.change(|w| w.user_id(user).map(|id| w.open_dm(&id))))
    }

    /// Stores a file; returns the value for [`Say`]'s files.
    #[must_use]
    pub fn upload(&self, name: &str, kind: &str, bytes: impl Into<Vec<u8>>) -> Value {
        self.change(|w| w.keep_file("0", name, kind, bytes.into()))
    }

    /// Forgets all files: their addresses have expired.
    pub fn forget_files(&self) {
        self.change(|w| w.files.clear());
    }

    fn pending(&self, id: String) -> PendingInteraction {
        PendingInteraction { discord: self.clone(), id }
    }
}

#[track_caller]
pub(super) fn expect_allowed<T>(outcome: Result<T, String>) -> T {
    match outcome {
        Ok(done) => done,
        Err(sentence) => panic!("{sentence}"),
    }
}
