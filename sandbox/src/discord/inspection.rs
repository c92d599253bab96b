//! What tests read: messages, ephemeral messages, calls, violations; the gateway's behaviour; and waiting.

use std::time::Duration;

use super::entities::{Form, Message, Notification, Unfurl};
use super::interactions::{Delivery, Interaction};
use super::world::{ApiCall, World};
use super::{Discord, notifications};

impl Discord {
    /// Returns a channel's messages and those of its threads, oldest first; empty if there is no such channel.
    #[must_use]
    pub fn messages(&self, channel: &str) -> Vec<Message> {
        let found = |w: &World| w.channel_id(channel).map(|c| w.messages(&c).into_iter().cloned().collect());
        self.read(|w| found(w).unwrap_or_default())
    }

    /// Returns the ephemeral messages that this user still sees, pending responses included.
    #[must_use]
    pub fn ephemerals(&self, user: &str) -> Vec<Message> {
        self.read(|w| {
            let user = w.user_id(user).unwrap_or_default();
            w.ephemerals.iter().filter(|m| m.only.as_ref() == Some(&user)).cloned().collect()
        })
    }

    /// Returns this user's ephemeral messages as text, without pending responses.
    #[must_use]
    pub fn ephemeral_texts(&self, user: &str) -> Vec<String> {
        let all = self.ephemerals(user);
        let done = all.iter().filter(|m| m.flags & super::entities::LOADING == 0);
        done.map(|m| self.read(|w| w.ephemeral_transcript(m))).collect()
    }

    /// Returns the messages in a channel that all its readers see, as text.
    #[must_use]
    pub fn channel_text(&self, channel: &str) -> String {
        self.read(|w| w.channel_id(channel).map(|c| w.channel_text(&c)).unwrap_or_default())
    }

    /// Returns a channel as text, ephemeral messages included.
    #[must_use]
    pub fn transcript(&self, channel: &str) -> String {
        self.read(|w| w.channel_id(channel).map(|c| w.transcript(&c)).unwrap_or_default())
    }

    /// Returns the forms that this user has open: at most one.
    #[must_use]
    pub fn forms(&self, user: &str) -> Vec<Form> {
        self.read(|w| {
            let user = w.user_id(user).unwrap_or_default();
            w.forms.iter().filter(|f| f.open && f.user == user).cloned().collect()
        })
    }

    /// Returns the content of the newest attachment with that name.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<String> {
        self.read(|w| {
            let all = w.messages.values().flatten().flat_map(|m| &m.attachments);
            let mut named = all.filter(|a| a["filename"].as_str().is_some_and(|n| n.contains(name)));
            let bytes = w.files.get(named.next_back()?["id"].as_str()?)?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        })
    }

    /// Returns every request.
    #[must_use]
    pub fn calls(&self) -> Vec<ApiCall> {
        self.read(|w| w.calls.clone())
    }

    /// Returns the calls of one operation.
    #[must_use]
    pub fn list_calls_of(&self, operation: &str) -> Vec<ApiCall> {
        self.read(|w| w.calls.iter().filter(|c| c.method == operation).cloned().collect())
    }

    /// Returns what no real client should ever send.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.read(|w| w.violations.clone())
    }

    /// Counts answers with 401, 403 or 429; ten thousand in ten minutes get an app banned.
    #[must_use]
    pub fn invalid_requests(&self) -> usize {
        self.read(|w| w.invalid_requests)
    }

    /// Returns whom the bot's messages notified, by name; `@everyone` and roles as written.
    #[must_use]
    pub fn mentioned_users(&self) -> Vec<String> {
        let name = |w: &World, ping: &Notification| match notifications::mentioned_user_id(&ping.mention) {
            Some(user) => w.name(user),
            None => ping.mention.clone(),
        };
        self.read(|w| w.notifications.iter().map(|ping| name(w, ping)).collect())
    }

    /// Returns the links for which Discord would fetch a preview.
    #[must_use]
    pub fn unfurls(&self) -> Vec<Unfurl> {
        self.read(|w| w.unfurls.clone())
    }

    /// Returns the interactions that wait for their callback.
    #[must_use]
    pub fn list_unacknowledged(&self) -> Vec<Interaction> {
        self.read(|w| w.interactions.iter().filter(|i| w.is_pending(i)).cloned().collect())
    }

    /// Returns the interactions for which the user reads that the app did not respond.
    #[must_use]
    pub fn list_failed(&self) -> Vec<Interaction> {
        let failed = |w: &World, i: &Interaction| i.state != Delivery::Acknowledged && !w.is_pending(i);
        self.read(|w| w.interactions.iter().filter(|i| failed(w, i)).cloned().collect())
    }

    /// Returns the total time that was spent on making answers.
    #[must_use]
    pub fn total_response_time(&self) -> Duration {
        self.running.server.total_response_time()
    }

    /// Returns the times from event to callback, in the order of the events.
    #[must_use]
    pub fn ack_times(&self) -> Vec<Duration> {
        self.read(|w| w.interactions.iter().filter_map(|i| i.took).collect())
    }

    /// Waits until `look` returns a value; checks again after each change.
    ///
    /// # Panics
    /// After `within`, with everything that users see.
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

    /// Returns all channels, violations and open interactions as text.
    #[must_use]
    pub fn dump(&self) -> String {
        let open: Vec<String> =
            self.list_unacknowledged().iter().map(|i| format!("{} {:?}", i.kind, i.state)).collect();
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

/// The gateway.
impl Discord {
    /// Resolves once every shard has a session.
    ///
    /// # Panics
    /// After `within`, with the transcript.
    pub async fn wait_until_connected(&self, within: Duration) {
        let all = |w: &World| u64::try_from(w.gateway.ready()).is_ok_and(|ready| ready >= w.config.shards);
        self.wait_for("sessions", within, |w| all(w).then_some(())).await;
    }

    /// Counts the connections that have a session.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.read(|w| w.gateway.ready())
    }

    /// Returns how many sessions were identified.
    #[must_use]
    pub fn identify_count(&self) -> usize {
        self.read(|w| w.gateway.identify_count)
    }

    /// Asks every connection to reconnect (op 7).
    pub fn reconnect(&self) {
        self.change(World::request_reconnect);
    }

    /// Invalidates every session (op 9); sessions that are not resumable are dropped.
    pub fn invalidate(&self, resumable: bool) {
        self.change(|w| w.invalidate(resumable));
    }

    /// Invalidates one shard's session and each later one, until this is called with another shard or `None`.
    pub fn refuse_shard(&self, shard: Option<u64>) {
        self.change(|w| w.refuse_shard(shard));
    }

    /// Cuts every connection without a close frame.
    pub fn drop_connections(&self) {
        self.change(World::drop_all);
    }

    /// Sends the next event twice.
    pub fn duplicate_next(&self) {
        self.change(|w| w.gateway.duplicates_next = true);
    }

    /// Sets whether heartbeats go unanswered.
    pub fn set_ignore_heartbeats(&self, deaf: bool) {
        self.change(|w| w.gateway.ignores_heartbeats = deaf);
    }
}
