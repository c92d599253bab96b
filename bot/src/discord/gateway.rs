//! The gateway: serenity keeps the connection, resumes and identifies; its events are passed on in order.
//!
//! It runs on its own thread. serenity spawns a task for each event, and on a multi-threaded runtime two such tasks can
//! be reordered; on one thread they start in the order in which they were spawned. Heartbeats are also sent on time
//! there, however busy everything else is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serenity::all::{
    ConnectionStage, Context, Event as Dispatched, GatewayIntents, RawEventHandler, ShardId,
};
use serenity::http::HttpBuilder;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::ingest::GatewayEvent;
use super::web::ApiClient;
use crate::ingest_status::IngestStatus;

/// How often the connection is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The first and the longest delay between two connection attempts: Discord resets the token after a thousand
/// identifies in a day.
const PAUSE: Duration = Duration::from_secs(5);
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(160);
/// How long serenity can try to reconnect by itself.
const RESUME_TIMEOUT: Duration = Duration::from_secs(20);
/// How many of a day's sessions are kept in reserve.
const RESERVED_SESSIONS: u64 = 50;
/// A connection that lasted this long did not fail at once, so the delay starts over.
const STABLE_AFTER: Duration = Duration::from_secs(60);
/// One identify per this interval is allowed for one rate limit key
/// (<https://discord.com/developers/docs/events/gateway#rate-limiting>).
const IDENTIFY_INTERVAL: Duration = Duration::from_secs(5);

/// How to reach the gateway.
#[derive(Clone)]
pub(super) struct GatewayConfig {
    pub web: Arc<ApiClient>,
    pub api_url: Url,
    pub token: SecretString,
    /// The gateway's URL, and the number of shards.
    pub url: String,
    pub shards: u32,
    /// Whether we can receive messages that do not mention us.
    pub reads_messages: bool,
    /// Whether we can receive member changes.
    pub sees_members: bool,
    pub events: UnboundedSender<GatewayEvent>,
    pub turns: Arc<IdentifyLimiter>,
}

/// When shards can identify: those with the same remainder take turns.
pub(super) struct IdentifyLimiter {
    /// Discord's `max_concurrency`.
    max_concurrency: u32,
    /// By that remainder, the time of the next free turn.
    free: Mutex<HashMap<u32, Instant>>,
}

impl IdentifyLimiter {
    pub(super) fn new(at_once: u32) -> Self {
        Self { max_concurrency: at_once.max(1), free: Mutex::default() }
    }

    /// Reserves the next turn for this shard and returns how long to wait for it.
    fn reserve(&self, shard: u32, now: Instant) -> Duration {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let free = free.entry(shard % self.max_concurrency).or_insert(now);
        let turn = (*free).max(now);
        *free = turn + IDENTIFY_INTERVAL;
        turn - now
    }
}

/// Whether one shard is connected.
pub(super) type Told = Arc<watch::Sender<IngestStatus>>;

/// Keeps the connection of one shard until `stop`. After that it reports nothing: another connection can exist already.
pub(super) fn run_shard(
    mut line: GatewayConfig,
    shard: u32,
    hears: Told,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name(format!("gateway-{shard}")).spawn(move || {
        runtime.block_on(async {
            let mut pause = PAUSE / 2;
            while !stop.is_cancelled() {
                let turn = line.turns.reserve(shard, Instant::now());
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(turn) => {}
                }
                let stood = run_connection(&line, shard, &hears, &stop).await;
                if let Err(error) = &stood {
                    tracing::error!(shard, %error, "the connection to Discord ended");
                    // Discord closes connections that ask for an intent that was switched off meanwhile.
                    if let Ok(application) = line.web.get("applications/@me", &[]).await {
                        line.reads_messages = super::reads_messages(&application);
                        line.sees_members = super::sees_members(&application);
                    }
                }
                if stop.is_cancelled() {
                    return;
                }
                hears.send_replace(IngestStatus::Disconnected);
                let long = stood.is_ok_and(|stood| stood >= STABLE_AFTER);
                pause = if long { PAUSE } else { (pause * 2).min(MAX_RECONNECT_DELAY) };
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = async { tokio::time::sleep(pause).await; wait_for_session_budget(&line).await } => {}
                }
            }
        });
    })?;
    Ok(())
}

/// Runs serenity's client once and returns how long it was connected. It reconnects by itself until an error that
/// reconnecting does not fix, or until it gets no connection for too long.
async fn run_connection(
    line: &GatewayConfig,
    shard: u32,
    hears: &Told,
    stop: &CancellationToken,
) -> anyhow::Result<Duration> {
    let token = line.token.expose_secret();
    // serenity fetches the gateway's URL as well; it would fall back to Discord's own.
    let proxy = line.api_url.origin().ascii_serialization();
    let http = HttpBuilder::new(token).proxy(proxy).ratelimiter_disabled(true).build();
    let mut client = serenity::client::ClientBuilder::new_with_http(http, intents(line))
        .raw_event_handler(EventForwarder {
            events: line.events.clone(),
            status: Arc::clone(hears),
            stop: stop.clone(),
        })
        .await?;
    line.url.clone_into(&mut *client.ws_url.lock().await);
    let manager = Arc::clone(&client.shard_manager);
    let look = async {
        let (mut connected, mut stood) = (Instant::now(), None);
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let stage = manager.runners.lock().await.get(&ShardId(shard)).map(|runner| runner.stage);
            if stage == Some(ConnectionStage::Connected) {
                connected = Instant::now();
                stood.get_or_insert(connected);
                continue;
            }
            hears.send_if_modified(|now| {
                std::mem::replace(now, IngestStatus::Disconnected) != IngestStatus::Disconnected
            });
            // serenity would identify again every few seconds for ever, without waiting for a turn.
            if connected.elapsed() > RESUME_TIMEOUT {
                return stood.map_or(Duration::ZERO, |since| connected - since);
            }
        }
    };
    let ended = tokio::select! {
        ended = client.start_shard(shard, line.shards) => ended.map(|()| Duration::ZERO),
        stood = look => Ok(stood),
        () = stop.cancelled() => Ok(Duration::ZERO),
    };
    manager.shutdown_all().await;
    Ok(ended?)
}

/// Waits until Discord allows one more session today: exceeding its limit resets the token.
async fn wait_for_session_budget(line: &GatewayConfig) {
    let Ok(told) = line.web.get("gateway/bot", &[]).await else { return };
    let limit = &told["session_start_limit"];
    let (left, anew) = (limit["remaining"].as_u64(), limit["reset_after"].as_u64());
    if let (Some(..=RESERVED_SESSIONS), Some(anew)) = (left, anew) {
        tracing::error!(milliseconds = anew, "the Discord session start limit is almost exhausted; waiting");
        tokio::time::sleep(Duration::from_millis(anew)).await;
    }
}

/// Returns the intents we ask for: no more than the abilities need.
fn intents(line: &GatewayConfig) -> GatewayIntents {
    let mut intents =
        GatewayIntents::GUILDS | GatewayIntents::GUILD_MESSAGES | GatewayIntents::DIRECT_MESSAGES;
    if line.reads_messages {
        intents |= GatewayIntents::MESSAGE_CONTENT;
    } else {
        tracing::warn!("the Message Content Intent is off: follow-ups without a mention are not heard");
    }
    if line.sees_members {
        intents |= GatewayIntents::GUILD_MEMBERS;
    }
    intents
}

struct EventForwarder {
    events: UnboundedSender<GatewayEvent>,
    status: Told,
    stop: CancellationToken,
}

#[async_trait]
impl RawEventHandler for EventForwarder {
    async fn raw_event(&self, _: Context, event: Dispatched) {
        let Some((kind, told)) = parse_event(event) else { return };
        match kind.as_str() {
            _ if self.stop.is_cancelled() => {}
            // A new session: events since the last one are not delivered again.
            "READY" => _ = self.status.send_replace(IngestStatus::Receiving(next())),
            "RESUMED" => {
                self.status.send_if_modified(|now| {
                    let again = *now == IngestStatus::Disconnected;
                    if again {
                        *now = IngestStatus::Receiving(next());
                    }
                    again
                });
            }
            _ => {}
        }
        // The receiver is dropped only at shutdown.
        let _ = self.events.send((kind, told));
    }
}

/// Returns the original event. serenity does not know newer components and passes those events on unchanged; what it
/// parses serialises back unchanged, except for the type of an interaction.
fn parse_event(event: Dispatched) -> Option<GatewayEvent> {
    if let Dispatched::Unknown(unknown) = event {
        return Some((unknown.kind, unknown.value));
    }
    let kind = match &event {
        Dispatched::InteractionCreate(told) => Some(told.interaction.kind()),
        _ => None,
    };
    let mut whole = serde_json::to_value(&event).ok()?;
    if let Some(kind) = kind {
        whole["d"]["type"] = u8::from(kind).into();
    }
    Some((whole["t"].as_str()?.to_owned(), whole["d"].take()))
}

/// Returns a unique number for a connection.
fn next() -> u64 {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_that_may_not_identify_at_once_take_turns() {
        let (turns, now) = (IdentifyLimiter::new(2), Instant::now());
        let waits = [0, 1, 2, 3, 4].map(|shard| turns.reserve(shard, now).as_secs());
        assert_eq!(waits, [0, 0, 5, 5, 10]);
        assert_eq!(turns.reserve(1, now + Duration::from_secs(60)), Duration::ZERO);
    }
}
