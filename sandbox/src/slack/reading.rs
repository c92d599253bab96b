//! What tests read: messages, whispers, calls, violations, deliveries; and waiting for them.

use std::time::Duration;

use super::Slack;
use super::entities::{Ephemeral, Message, OpenView, Pane};
use super::envelopes::{Delivery, Envelope};
use super::world::{Call, World};

impl Slack {
    /// A channel's messages, oldest first; empty where there is no such channel.
    #[must_use]
    pub fn messages(&self, channel: &str) -> Vec<Message> {
        self.read(|w| w.channel_id(channel).map(|c| w.messages(&c).to_vec()).unwrap_or_default())
    }

    /// The parent and its replies.
    #[must_use]
    pub fn thread(&self, channel: &str, ts: &str) -> Vec<Message> {
        self.read(|w| {
            let channel = w.channel_id(channel).unwrap_or_default();
            w.thread(&channel, ts).into_iter().cloned().collect()
        })
    }

    /// What this person alone was shown.
    #[must_use]
    pub fn ephemerals(&self, user: &str) -> Vec<Ephemeral> {
        self.read(|w| {
            let user = w.user_id(user).unwrap_or_default();
            w.ephemerals.iter().filter(|e| e.user == user).cloned().collect()
        })
    }

    /// What this person alone was shown, as they read it.
    #[must_use]
    pub fn whispers(&self, user: &str) -> Vec<String> {
        self.ephemerals(user).iter().map(|whisper| self.read(|w| w.whispered(whisper))).collect()
    }

    /// What stands in a channel for everybody, as text.
    #[must_use]
    pub fn spoken(&self, channel: &str) -> String {
        self.read(|w| w.channel_id(channel).map(|c| w.spoken(&c)).unwrap_or_default())
    }

    /// A person's Home tab, as they read it.
    #[must_use]
    pub fn home(&self, user: &str) -> String {
        self.read(|w| {
            let view = w.user_id(user).ok().and_then(|id| w.homes.get(&id).cloned());
            view.map(|view| w.shown("", view["blocks"].as_array().map_or(&[], Vec::as_slice)))
                .unwrap_or_default()
        })
    }

    /// A thread of the assistant's pane.
    #[must_use]
    pub fn pane(&self, user: &str, thread: &str) -> Option<Pane> {
        self.read(|w| {
            let channel = w.channel_id(&format!("dm:{user}")).ok()?;
            w.panes.get(&(channel, thread.to_owned())).cloned()
        })
    }

    /// What stands in the newest file of the bot's whose name holds this.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<String> {
        self.read(|w| {
            let upload =
                w.uploads.values().rev().find(|upload| upload.shared && upload.name.contains(name))?;
            upload.content.as_ref().map(|content| String::from_utf8_lossy(content).into_owned())
        })
    }

    /// Forms that were opened.
    #[must_use]
    pub fn views(&self) -> Vec<OpenView> {
        self.read(|w| w.views.clone())
    }

    /// What people see, as text.
    #[must_use]
    pub fn transcript(&self, channel: &str) -> String {
        self.read(|w| w.channel_id(channel).map(|c| w.transcript(&c)).unwrap_or_default())
    }

    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.read(|w| w.calls.clone())
    }

    /// The calls of one method.
    #[must_use]
    pub fn calls_of(&self, method: &str) -> Vec<Call> {
        self.read(|w| w.calls.iter().filter(|c| c.method == method).cloned().collect())
    }

    /// What no real client should ever send.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.read(|w| w.violations.clone())
    }

    /// Every delivery to the app.
    #[must_use]
    pub fn envelopes(&self) -> Vec<Envelope> {
        self.read(|w| w.sockets.envelopes().to_vec())
    }

    /// Deliveries that were not acknowledged: waiting, under way, or given up.
    #[must_use]
    pub fn unanswered(&self) -> Vec<Envelope> {
        let open = |e: &&Envelope| !matches!(e.state, Delivery::Acknowledged | Delivery::Lost);
        self.read(|w| w.sockets.envelopes().iter().filter(open).cloned().collect())
    }

    /// How long answers have been in the making, all together.
    #[must_use]
    pub fn spent(&self) -> Duration {
        self.running.server.spent()
    }

    /// From sending an envelope to its acknowledgement, in the order of sending.
    #[must_use]
    pub fn ack_times(&self) -> Vec<Duration> {
        self.read(|w| w.sockets.envelopes().iter().filter_map(|e| e.took).collect())
    }

    /// Waits until `look` finds something; looks again upon each change.
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
            _ => panic!("waited {within:?} for {what} in vain\n{}", self.everything()),
        }
    }

    /// All channels, violations and open deliveries as text.
    #[must_use]
    pub fn everything(&self) -> String {
        let open: Vec<String> =
            self.unanswered().iter().map(|e| format!("{:?} {:?}", e.kind, e.state)).collect();
        self.read(|w| {
            let calls: Vec<String> =
                w.calls.iter().rev().take(10).map(|c| format!("{} {:?}", c.method, c.error)).collect();
            format!(
                "{}violations: {:#?}\nunanswered: {open:?}\nlatest calls first: {calls:#?}",
                w.transcript_of_all(),
                w.violations
            )
        })
    }
}
