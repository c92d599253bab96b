//! From an event to the inbox, in order. Discord delivers no event twice, so a message that cannot be stored now is
//! retried a moment later.

use std::sync::Arc;
use std::time::Duration;

use nod_contract::chat::{ChannelRef, ChatError, Inbound, InteractionResponse};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::adapter::DiscordAdapter;
use super::guilds;
use super::inbound::{self, ParseOutcome};
use crate::ingest::{Accept, IncomingPayload, StoreError, remove_secrets_and_nuls};
use crate::ingest_status::StorageStatus;

/// How long one attempt to store can take.
const LIMIT: Duration = Duration::from_secs(5);
/// The longest delay between two attempts.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);
/// After this many attempts, about ten minutes, a message is given up and recovered later from the channel's history.
const MAX_ATTEMPTS: usize = 24;
/// The maximum number of lookups of a message's channel.
const MAX_CHANNEL_LOOKUPS: u32 = 10;
/// How long shutdown waits for interactions that were begun.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// A dispatched event: its name and its payload.
pub(super) type GatewayEvent = (String, Value);

/// The event intake of one application.
#[derive(Clone)]
pub(super) struct Ingestor {
    pub(super) adapter: Arc<DiscordAdapter>,
    accept: Accept,
    storing: Arc<watch::Sender<StorageStatus>>,
}

impl Ingestor {
    /// Creates it. The receiver reports whether everything received was stored.
    pub(super) fn new(
        adapter: Arc<DiscordAdapter>,
        accept: Accept,
    ) -> (Self, watch::Receiver<StorageStatus>) {
        let (storing, told) = watch::channel(StorageStatus::default());
        (Self { adapter, accept, storing: Arc::new(storing) }, told)
    }

    /// Processes events until `stop`, in order. Interactions do not wait for earlier events, and those that were begun
    /// are finished.
    pub(super) async fn run(self, mut events: UnboundedReceiver<GatewayEvent>, stop: CancellationToken) {
        let mut interactions = JoinSet::new();
        loop {
            let (kind, event) = tokio::select! {
                () = stop.cancelled() => break,
                event = events.recv() => match event {
                    Some(event) => event,
                    None => break,
                },
            };
            while interactions.try_join_next().is_some() {}
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.handle_event(&kind, event, &mut interactions) => {}
            }
            // Events behind a waiting message are not stored before their turn either.
            if events.is_empty() {
                self.caught_up();
            }
        }
        let ended = async { while interactions.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await;
    }

    async fn handle_event(&self, kind: &str, event: Value, interactions: &mut JoinSet<()>) {
        let guild = if kind == "GUILD_CREATE" { &event["id"] } else { &event["guild_id"] };
        if let Some(guild) = guild.as_str().filter(|guild| !self.adapter.guilds.is_served(guild)) {
            // No event of this guild is answered or stored.
            if kind == "GUILD_CREATE" {
                interactions.spawn(self.clone().leave(guild.to_owned()));
            }
            return;
        }
        self.adapter.guilds.apply_event(kind, &event);
        match kind {
            "INTERACTION_CREATE" => drop(interactions.spawn(self.clone().handle_interaction(event))),
            "MESSAGE_CREATE" | "MESSAGE_UPDATE" | "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK" => {
                self.handle_message(kind, &event).await;
            }
            "GUILD_MEMBER_ADD" | "GUILD_MEMBER_UPDATE" | "GUILD_MEMBER_REMOVE" => {
                self.store_member_change(kind, &event).await;
            }
            "GUILD_CREATE" => {
                self.adapter.channel_index.apply_event(kind, &event);
                self.store_joined_server(&event).await;
            }
            _ => self.adapter.channel_index.apply_event(kind, &event),
        }
    }

    /// Stores that a user joined, changed or left. A missed change is recovered by the next listing of all members.
    async fn store_member_change(&self, kind: &str, event: &Value) {
        let profile = match kind {
            "GUILD_MEMBER_REMOVE" => guilds::parse_member_removal(event),
            _ => guilds::parse_member_event(event),
        };
        let Some(profile) = profile else { return };
        let arrival =
            IncomingPayload::Person { workspace: self.adapter.identity.application.clone(), profile };
        if let Err(error) = self.store(arrival).await {
            tracing::warn!(%error, "could not store a member update");
        }
    }

    /// Stores that Nod is in a server. If that fails, the next connect reports it again.
    async fn store_joined_server(&self, guild: &Value) {
        let Some(inbound) = inbound::parse_guild(guild, &self.adapter.identity) else { return };
        if let Err(error) = self.store(IncomingPayload::Inbound(inbound)).await {
            tracing::warn!(%error, "could not store that Nod joined a server");
        }
    }

    async fn leave(self, guild: String) {
        match self.adapter.guilds.leave(&guild).await {
            Ok(()) => tracing::info!(guild, "left a server that is not in discord.servers"),
            Err(error) => {
                tracing::warn!(guild, %error, "could not leave a server that is not in discord.servers")
            }
        }
    }

    async fn handle_message(&self, kind: &str, event: &Value) {
        if event["author"]["id"] == *self.adapter.identity.user {
            return;
        }
        let Some(channel) = event["channel_id"].as_str() else {
            return self.store_unreadable("message without channel", event).await;
        };
        // A bot's message counts only in threads, where Nod may wait for a typed approval. Elsewhere bots post most
        // messages.
        if event["author"]["bot"] == true && (kind != "MESSAGE_CREATE" || self.is_outside_threads(channel)) {
            return;
        }
        if event["guild_id"].is_null() {
            self.adapter.channel_index.insert_dm(channel);
        }
        let place = match self.load_location(channel).await {
            Ok(place) => place,
            Err(ChatError::Rejected { .. } | ChatError::ChannelClosed { .. }) => {
                return self.store_unreadable("message in an unknown place", event).await;
            }
            Err(_) => return self.drop_message(event["id"].as_str().unwrap_or_default()),
        };
        let identity = &self.adapter.identity;
        let all = match kind {
            "MESSAGE_CREATE" => vec![inbound::parse_message(event, place, identity)],
            "MESSAGE_UPDATE" => vec![inbound::parse_edit(event, place, identity)],
            "MESSAGE_DELETE" => vec![inbound::parse_deletion(event, &Value::Null, place, identity)],
            _ => {
                let ids = event["ids"].as_array().into_iter().flatten();
                ids.map(|id| inbound::parse_deletion(event, id, place.clone(), identity)).collect()
            }
        };
        for heard in all {
            match heard {
                ParseOutcome::Inbound(inbound) => self.store_with_retry(*inbound, pauses()).await,
                ParseOutcome::Ignored(_) => {}
                ParseOutcome::Unreadable(why) => self.store_unreadable(why, event).await,
            }
        }
    }

    /// Returns whether the channel is known not to be a thread. An unknown one is looked up once.
    fn is_outside_threads(&self, channel: &str) -> bool {
        self.adapter
            .channel_index
            .find(channel)
            .is_some_and(|channel| channel.parent.is_none() && !channel.private)
    }

    /// Returns the core's reference for a channel; retried while Discord does not answer.
    async fn load_location(&self, channel: &str) -> Result<ChannelRef, ChatError> {
        let mut looks = 0;
        loop {
            let error = match self.adapter.channel_index.load_location(&self.adapter.web, channel).await {
                Err(error @ (ChatError::RateLimited { .. } | ChatError::UnknownOutcome(_)))
                    if looks < MAX_CHANNEL_LOOKUPS =>
                {
                    error
                }
                ended => return ended,
            };
            tracing::warn!(channel, %error, "could not look up the channel of a message; retrying");
            self.mark_pending();
            looks += 1;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Marks that a message waits, so the ingest watermark does not advance.
    fn mark_pending(&self) {
        self.storing.send_if_modified(|now| !std::mem::replace(&mut now.has_pending, true));
    }

    /// Marks that no message waits.
    fn caught_up(&self) {
        self.storing.send_if_modified(|now| std::mem::take(&mut now.has_pending));
    }

    fn drop_message(&self, key: &str) {
        tracing::error!(key, "gave up storing a message; catch-up will fetch it");
        self.storing.send_modify(|now| {
            *now = StorageStatus { has_pending: false, dropped_count: now.dropped_count + 1 }
        });
    }

    /// Stores a message, retrying while the database fails. Meanwhile the ingest watermark does not advance, so the
    /// lookup of missed messages starts before it, even after a crash.
    async fn store_with_retry(&self, inbound: Inbound, pauses: impl Iterator<Item = Duration>) {
        for pause in pauses {
            match self.store(IncomingPayload::Inbound(inbound.clone())).await {
                Ok(_) => return,
                Err(error) => tracing::warn!(key = inbound.dedup_key, %error, "retrying to store a message"),
            }
            self.mark_pending();
            tokio::time::sleep(pause).await;
        }
        self.drop_message(&inbound.dedup_key);
    }

    pub(super) async fn store(&self, arrival: IncomingPayload) -> Result<InteractionResponse, StoreError> {
        match tokio::time::timeout(LIMIT, (self.accept)(arrival)).await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError(format!("timeout of {} s", LIMIT.as_secs()))),
        }
    }

    /// Stores an event that cannot be parsed, so that it can be inspected and processed once it can be parsed.
    pub(super) async fn store_unreadable(&self, why: &'static str, event: &Value) {
        let workspace = self.adapter.identity.application.clone();
        tracing::warn!(workspace, why, "stored an unreadable Discord event");
        let arrival = IncomingPayload::Unreadable { workspace, raw: remove_secrets_and_nuls(event.clone()) };
        if let Err(error) = self.store(arrival).await {
            tracing::error!(%error, why, "could not store an unreadable event");
        }
    }
}

/// Returns the delays between the attempts to store a message.
pub(super) fn pauses() -> impl Iterator<Item = Duration> {
    let doubled = std::iter::successors(Some(Duration::from_millis(250)), |pause| Some(*pause * 2));
    doubled.map(|pause| pause.min(MAX_RETRY_DELAY)).take(MAX_ATTEMPTS)
}

#[cfg(test)]
#[path = "ingest_tests.rs"]
#[allow(clippy::unwrap_used)]
mod tests;
