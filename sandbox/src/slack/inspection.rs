//! What tests read: messages, ephemeral messages, calls, violations, deliveries; and waiting for them.

use std::time::Duration;

use super::Slack;
use super::entities::{AssistantThread, Ephemeral, Message, OpenView};
use super::envelopes::{Delivery, Envelope};
use super::world::{ApiCall, World};

impl Slack {
    /// Returns a channel's messages, oldest first; empty if there is no such channel.
    #[must_use]
    pub fn messages(&self, channel: &str) -> Vec<Message> {
        self.read(|w| w.channel_id(channel).map(|c| w.messages(&c).to_vec()).unwrap_or_default())
    }

    /// Returns the parent and its replies.
    #[must_use]
    pub fn thread(&self, channel: &str, ts: &str) -> Vec<Message> {
        self.read(|w| {
            let channel = w.channel_id(channel).unwrap_or_default();
            w.thread(&channel, ts).into_iter().cloned().collect()
        })
    }

    /// Returns the ephemeral messages of this person.
    #[must_use]
    pub fn ephemerals(&self, user: &str) -> Vec<Ephemeral> {
        self.read(|w| {
            let user = w.user_id(user).unwrap_or_default();
            w.ephemerals.iter().filter(|e| e.user == user).cloned().collect()
        })
    }

    /// Returns the ephemeral messages of this person as text.
    #[must_use]
    pub fn ephemeral_texts(&self, user: &str) -> Vec<String> {
        self.ephemerals(user).iter().map(|whisper| self.read(|w| w.ephemeral_transcript(whisper))).collect()
    }

    /// Returns the messages of a channel that all members see, as text.
    #[must_use]
    pub fn channel_text(&self, channel: &str) -> String {
        self.read(|w| w.channel_id(channel).map(|c| w.channel_text(&c)).unwrap_or_default())
    }

    /// Returns a person's Home tab as text.
    #[must_use]
    pub fn home(&self, user: &str) -> String {
        self.read(|w| {
            let view = w.user_id(user).ok().and_then(|id| w.homes.get(&id).cloned());
            view.map(|view| w.message_text("", view["blocks"].as_array().map_or(&[], Vec::as_slice)))
                .unwrap_or_default()
        })
    }

    /// Returns an assistant thread.
    #[must_use]
    pub fn find_assistant_thread(&self, user: &str, thread: &str) -> Option<AssistantThread> {
        self.read(|w| {
            let channel = w.channel_id(&format!("dm:{user}")).ok()?;
            w.panes.get(&(channel, thread.to_owned())).cloned()
        })
    }

    /// Returns the content of the bot's newest file whose name contains `name`.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<String> {
        self.read(|w| {
            let upload =
                w.uploads.values().rev().find(|upload| upload.is_shared && upload.name.contains(name))?;
            upload.content.as_ref().map(|content| String::from_utf8_lossy(content).into_owned())
        })
    }

    /// Returns the forms that were opened.
    #[must_use]
    pub fn views(&self) -> Vec<OpenView> {
        self.read(|w| w.views.clone())
    }

    /// Returns what people see, as text.
    #[must_use]
    pub fn transcript(&self, channel: &str) -> String {
        self.read(|w| w.channel_id(channel).map(|c| w.transcript(&c)).unwrap_or_default())
    }

    #[must_use]
    pub fn calls(&self) -> Vec<ApiCall> {
        self.read(|w| w.calls.clone())
    }

    /// Returns the calls of one method.
    #[must_use]
    pub fn list_calls_of(&self, method: &str) -> Vec<ApiCall> {
        self.read(|w| w.calls.iter().filter(|c| c.method == method).cloned().collect())
    }

    /// Returns requests that no real client should ever send.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.read(|w| w.violations.clone())
    }

    /// Returns every delivery to the app.
    #[must_use]
    pub fn envelopes(&self) -> Vec<Envelope> {
        self.read(|w| w.sockets.envelopes().to_vec())
    }

    /// Returns deliveries that were not acknowledged: waiting, sent, or given up.
    #[must_use]
    pub fn list_unacknowledged(&self) -> Vec<Envelope> {
        let open = |e: &&Envelope| !matches!(e.state, Delivery::Acknowledged | Delivery::Lost);
        self.read(|w| w.sockets.envelopes().iter().filter(open).cloned().collect())
    }

    /// Returns how long answers took, in total.
    #[must_use]
    pub fn total_response_time(&self) -> Duration {
        self.running.server.total_response_time()
    }

    /// Returns the times from sending an envelope to its acknowledgement, in the order of sending.
    #[must_use]
    pub fn ack_times(&self) -> Vec<Duration> {
        self.read(|w| w.sockets.envelopes().iter().filter_map(|e| e.took).collect())
    }

    /// Waits until `look` finds something; it is called again after each change.
    ///
    /// # Panics
    /// After `within`, with everything that people see.
    pub async fn wait_for<T>(
        &self,
        what: &str,
        within: Duration,
        mut look: impl FnMut(&World) -> Option<T>,
    ) -> T {
        let mut version = self.state().version.subscribe();
        let waiting = async {
            loop {
                version.borrow_and_update();
                if let Some(found) = self.read(&mut look) {
                    return Some(found);
                }
                version.changed().await.ok()?;
            }
        };
        match tokio::time::timeout(within, waiting).await {
            Ok(Some(found)) => found,
            _ => panic!("waited {within:?} for {what} in vain\n{}", self.dump()),
        }
    }

    /// Returns all channels, violations and unanswered deliveries as text.
    #[must_use]
    pub fn dump(&self) -> String {
        let open: Vec<String> =
            self.list_unacknowledged().iter().map(|e| format!("{:?} {:?}", e.kind, e.state)).collect();
        self.read(|w| {
            let calls: Vec<String> =
                w.calls.iter().rev().take(10).map(|c| format!("{} {:?}", c.method, c.error)).collect();
            format!(
                "{}violations: {:#?}\nunanswered: {open:?}\nlatest calls first: {calls:#?}",
                w.full_transcript(),
                w.violations
            )
        })
    }
}
