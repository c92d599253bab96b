//! The handle with which tests act as people and inject faults.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::clicks::ForgedClick;
use super::entities::{Channel, User};
use super::envelopes::{Context, Delivery, Envelope, EnvelopeKind};
use super::forms::ForgedForm;
use super::people::NewMessage;
use super::world::World;
use super::{Slack, State};
use crate::Faults;

/// The app's answer to a click, command or form.
#[derive(Debug, Clone)]
pub struct InteractionResult {
    pub payload: Option<Value>,
    pub took: Duration,
}

/// A click, command or form that was sent to the app.
#[derive(Clone)]
pub struct PendingInteraction {
    slack: Slack,
    number: u64,
}

impl PendingInteraction {
    /// Returns its current envelope.
    #[must_use]
    pub fn envelope(&self) -> Option<Envelope> {
        self.slack.read(|w| w.sockets.envelope(self.number).cloned())
    }

    /// Waits for the acknowledgement.
    ///
    /// # Panics
    /// If it is lost or late; the message contains the transcript.
    pub async fn wait_for_acknowledgement(&self, within: Duration) -> InteractionResult {
        let number = self.number;
        let envelope = self
            .slack
            .wait_for("an acknowledgement", within, move |w| {
                let envelope = w.sockets.envelope(number)?;
                matches!(envelope.state, Delivery::Acknowledged | Delivery::Lost).then(|| envelope.clone())
            })
            .await;
        assert!(envelope.state == Delivery::Acknowledged, "lost: no socket took it\n{}", self.slack.dump());
        InteractionResult { payload: envelope.answer, took: envelope.took.unwrap_or_default() }
    }
}

/// Addresses, faults and direct access to the state.
impl Slack {
    /// `http://127.0.0.1:port`; the Web API is `{url}/api/…`.
    #[must_use]
    pub fn url(&self) -> String {
        self.running.server.url()
    }

    /// `{url}/api`, as slack-morphism's `with_slack_api_url` expects it.
    #[must_use]
    pub fn api_url(&self) -> String {
        format!("{}/api", self.url())
    }

    /// Returns the fault plan. Operations are method names and `response_url`.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.state().faults
    }

    pub(super) fn state(&self) -> &State {
        &self.running.state
    }

    /// Reads the workspace.
    pub fn read<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        self.state().read(look)
    }

    /// Changes the workspace's people, channels or settings (`w.config`).
    pub fn change<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        self.state().change(act)
    }

    /// Adds a person, or changes an existing one, and notifies the app.
    pub fn add_user(&self, user: User) {
        self.change(|w| w.add_user(user));
    }

    /// Adds or replaces a channel.
    pub fn add_channel(&self, channel: Channel) {
        self.change(|w| w.add_channel(channel));
    }
}

/// Acting as people. These functions panic with a sentence if Slack's client would not allow it; those that return
/// `Result` return the sentence instead.
impl Slack {
    /// Posts a message as a person; returns its ts. `@handle`, links and mail addresses become Slack's notation.
    ///
    /// # Panics
    /// If that person cannot write there.
    #[track_caller]
    pub fn post_message(&self, user: &str, channel: &str, thread: Option<&str>, text: &str) -> String {
        let say = NewMessage { thread: thread.map(str::to_owned), ..NewMessage::new(user, channel, text) };
        allowed(self.post_message_with(say))
    }

    /// Posts a message with unusual properties.
    ///
    /// # Errors
    /// A sentence if that person cannot write there.
    pub fn post_message_with(&self, say: NewMessage) -> Result<String, String> {
        self.change(|w| w.post_message(say))
    }

    /// # Panics
    /// If it is not that person's message.
    #[track_caller]
    pub fn edit(&self, user: &str, channel: &str, ts: &str, text: &str) {
        allowed(self.change(|w| w.edit(user, channel, ts, text)));
    }

    /// Unfurls the links of a message, as Slack does.
    ///
    /// # Panics
    /// If there is no such message.
    #[track_caller]
    pub fn unfurl(&self, channel: &str, ts: &str) {
        allowed(self.change(|w| w.unfurl(channel, ts)));
    }

    /// Deletes a message as an admin.
    ///
    /// # Panics
    /// If there is no such channel.
    #[track_caller]
    pub fn take_away(&self, channel: &str, ts: &str) {
        allowed(self.change(|w| w.channel_id(channel).map(|id| w.remove(&id, ts))));
    }

    /// # Panics
    /// If it is not that person's message.
    #[track_caller]
    pub fn delete(&self, user: &str, channel: &str, ts: &str) {
        allowed(self.change(|w| w.delete(user, channel, ts)));
    }

    /// # Panics
    /// If that person cannot give that command there.
    #[track_caller]
    pub fn run_command(&self, user: &str, channel: &str, command: &str, text: &str) -> PendingInteraction {
        allowed(self.try_run_command(user, channel, command, text))
    }

    /// # Errors
    /// A sentence if that person cannot give that command there.
    pub fn try_run_command(
        &self,
        user: &str,
        channel: &str,
        command: &str,
        text: &str,
    ) -> Result<PendingInteraction, String> {
        self.change(|w| w.run_command(user, channel, command, text)).map(|n| self.pending(n))
    }

    /// Clicks a button, identified by its action id or its text.
    ///
    /// # Errors
    /// A sentence if that person sees no such button.
    pub fn click(
        &self,
        user: &str,
        channel: &str,
        ts: &str,
        button: &str,
    ) -> Result<PendingInteraction, String> {
        self.change(|w| w.click(user, channel, ts, button)).map(|n| self.pending(n))
    }

    /// Sends a click that no real client would send.
    ///
    /// # Errors
    /// Never today.
    pub fn click_forged(&self, forged: ForgedClick) -> Result<PendingInteraction, String> {
        self.change(|w| w.click_forged(forged)).map(|n| self.pending(n))
    }

    /// Types into the fields of an open form, identified by label or block id, and submits it.
    ///
    /// # Errors
    /// A sentence if Slack's client would not let that person do so.
    pub fn send_form(
        &self,
        user: &str,
        view: &str,
        typed: &BTreeMap<String, String>,
    ) -> Result<PendingInteraction, String> {
        self.change(|w| w.send_form(user, view, typed)).map(|n| self.pending(n))
    }

    /// Closes a form without submitting it; returns the `view_closed` if the app asked for that event.
    ///
    /// # Errors
    /// A sentence if that person has no such form open.
    pub fn close_form(&self, user: &str, view: &str) -> Result<Option<PendingInteraction>, String> {
        self.change(|w| w.close_form(user, view)).map(|n| n.map(|n| self.pending(n)))
    }

    /// Submits a form as no real client would.
    ///
    /// # Errors
    /// A sentence if no such form was ever opened.
    pub fn submit_raw(&self, forged: ForgedForm) -> Result<PendingInteraction, String> {
        self.change(|w| w.submit_forged_form(forged)).map(|n| self.pending(n))
    }

    /// Submits an open form; `values` is `{block_id: {action_id: {type, value}}}`, without a client's checks.
    ///
    /// # Errors
    /// A sentence if that person has no such form open.
    pub fn submit(&self, user: &str, view: &str, values: &Value) -> Result<PendingInteraction, String> {
        self.change(|w| w.submit(user, view, values)).map(|n| self.pending(n))
    }

    /// Opens (or finds) the DM channel between the bot and a person.
    ///
    /// # Panics
    /// If there is no such person.
    #[track_caller]
    #[must_use]
    pub fn dm(&self, user: &str) -> String {
        allowed(self.change(|w| w.user_id(user).map(|id| w.open_dm(&id))))
    }

    /// Opens the app's Home tab.
    ///
    /// # Panics
    /// If there is no such person.
    #[track_caller]
    pub fn open_home(&self, user: &str) {
        allowed(self.change(|w| w.open_home(user)));
    }

    /// Clicks a button of the Home tab, identified by its text.
    ///
    /// # Errors
    /// A sentence if that person sees no such button there.
    pub fn click_in_home(&self, user: &str, button: &str) -> Result<PendingInteraction, String> {
        self.change(|w| w.click_in_home(user, button)).map(|n| self.pending(n))
    }

    /// Opens an assistant thread, optionally while viewing a channel; returns the thread.
    ///
    /// # Panics
    /// If there is no such person or channel.
    #[track_caller]
    #[must_use]
    pub fn open_assistant_thread(&self, user: &str, viewing: Option<&str>) -> String {
        allowed(self.change(|w| w.open_assistant_thread(user, viewing)))
    }

    /// Views another channel while the assistant thread is open.
    ///
    /// # Panics
    /// If there is no such thread or channel.
    #[track_caller]
    pub fn switch_viewed_channel(&self, user: &str, thread: &str, viewing: &str) {
        allowed(self.change(|w| w.switch_viewed_channel(user, thread, viewing)));
    }

    /// Adds the app to a channel, as one of its members does with `/invite`.
    ///
    /// # Panics
    /// If Slack's client would not allow it.
    #[track_caller]
    pub fn invite_app(&self, user: &str, channel: &str) {
        allowed(self.change(|w| w.invite_app(user, channel)));
    }

    /// Removes the app from a channel.
    ///
    /// # Panics
    /// If it is not there.
    #[track_caller]
    pub fn remove_app(&self, channel: &str) {
        allowed(self.change(|w| w.remove_app(channel)));
    }

    /// Chooses one of the app's message shortcuts, by its callback id.
    ///
    /// # Errors
    /// A sentence if that person does not see the message.
    pub fn use_shortcut(
        &self,
        user: &str,
        channel: &str,
        ts: &str,
        shortcut: &str,
    ) -> Result<PendingInteraction, String> {
        self.change(|w| w.use_shortcut(user, channel, ts, shortcut)).map(|n| self.pending(n))
    }

    /// Stores a file; returns the value for `files` of [`Say`].
    #[must_use]
    pub fn upload(&self, name: &str, kind: &str, bytes: impl Into<Vec<u8>>) -> Value {
        self.change(|w| w.upload(name, kind, bytes.into()))
    }

    /// Forgets what was said in a channel, as if it had never been.
    pub fn forget_messages(&self, channel: &str) {
        self.change(|w| {
            if let Ok(channel) = w.channel_id(channel) {
                w.messages.remove(&channel);
            }
        });
    }

    /// Forgets all files: their addresses have expired.
    pub fn forget_files(&self) {
        self.change(|w| w.files.clear());
    }

    fn pending(&self, number: u64) -> PendingInteraction {
        PendingInteraction { slack: self.clone(), number }
    }
}

/// Sockets.
impl Slack {
    /// Waits until at least one socket is open.
    ///
    /// # Panics
    /// After `within`, with the transcript.
    pub async fn wait_until_connected(&self, within: Duration) {
        self.wait_for("a socket", within, |w| (w.sockets.count() > 0).then_some(())).await;
    }

    /// Waits until no socket is open.
    ///
    /// # Panics
    /// After `within`, with the transcript.
    pub async fn disconnected(&self, within: Duration) {
        self.wait_for("the end of every socket", within, |w| (w.sockets.count() == 0).then_some(())).await;
    }

    #[must_use]
    pub fn connections(&self) -> usize {
        self.read(|w| w.sockets.count())
    }

    /// Sends `disconnect`: `warning`, `refresh_requested` or `link_disabled`; all but the first close the connection
    /// soon after.
    pub fn disconnect_sockets(&self, reason: &str) {
        self.change(|w| w.disconnect_all(reason));
    }

    /// Cuts every connection without a notice.
    pub fn drop_sockets(&self) {
        self.change(World::drop_all);
    }

    /// Sets whether events are lost while no socket is open, as after a long outage. By default they wait.
    pub fn set_drop_events_while_disconnected(&self, lose: bool) {
        self.change(|w| w.sockets.drops_events_while_disconnected = lose);
    }

    /// Sends the events held back by `EventDelivery::Held`.
    pub fn release(&self) {
        self.change(|w| {
            for payload in std::mem::take(&mut w.sockets.held_events) {
                w.send(EnvelopeKind::EventsApi, payload, Context::None);
            }
        });
    }

    /// Resends the latest event in any state, with the same event id.
    ///
    /// # Panics
    /// If there was none.
    #[track_caller]
    pub fn redeliver_last(&self) {
        self.deliver_event(self.last_event());
    }

    /// Returns the latest event, to be sent again later.
    ///
    /// # Panics
    /// If there was none.
    #[must_use]
    pub fn last_event(&self) -> Value {
        let last = self.read(|w| {
            let events = w.sockets.envelopes().iter().rev();
            events.filter(|e| e.kind == EnvelopeKind::EventsApi).map(|e| e.payload.clone()).next()
        });
        allowed(last.ok_or_else(|| "No event was sent yet.".to_owned()))
    }

    /// Sends an event with this payload, unchanged.
    pub fn deliver_event(&self, payload: Value) {
        self.change(|w| w.send(EnvelopeKind::EventsApi, payload, Context::None));
    }

    /// Sends any text frame to one socket; it need not be an envelope.
    ///
    /// # Errors
    /// A sentence if no socket is open.
    pub fn deliver_raw(&self, text: &str) -> Result<(), String> {
        self.change(|w| w.send_raw(text.to_owned()))
    }
}

#[track_caller]
fn allowed<T>(outcome: Result<T, String>) -> T {
    match outcome {
        Ok(done) => done,
        Err(sentence) => panic!("{sentence}"),
    }
}
