//! One Socket Mode connection: dialled, kept alive and read here.
//!
//! slack-morphism's own connection leaves Nagle's algorithm on, so that an acknowledgement waits for Slack's delayed one;
//! it awaits each frame before it reads the next; and it hides when a connection ends. So only the address comes from
//! its client.
//!
//! Several frames are stored at once, and those of one channel in the order in which they arrived.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use slack_morphism::SlackApiToken;
use slack_morphism::api::SlackApiAppsConnectionOpenRequest;
use slack_morphism::hyper_tokio::SlackHyperClient;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::CancellationToken;

use super::inbound::PayloadKind;
use super::ingest::Ingestor;

/// How long dialling can take until Slack sends hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(15);
/// How long one attempt to dial can take.
const DIAL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a frame can take to be sent.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection that ends can take to store what it received.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How often Slack is asked whether it is there, and how often in a row it may not answer.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const MAX_MISSED_PONGS: u32 = 2;
/// The most frames that wait to be stored. While there are as many, nothing is read.
const MAX_IN_FLIGHT: usize = 64;
/// The most that are stored at once: the inbox has as many connections to the database.
const STORING_AT_ONCE: usize = 2;

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Connecting,
    /// Slack sent hello.
    Open,
    /// Slack announced that it will close it.
    Closing,
    /// It receives nothing more.
    Closed,
    /// What it received is stored.
    Drained,
}

/// How to connect, and who handles what arrives.
#[derive(Clone)]
pub(super) struct SocketConfig {
    pub client: Arc<SlackHyperClient>,
    pub app_token: SlackApiToken,
    pub ingestor: Ingestor,
}

/// A connection; it ends with [`Connection::close`], or when it is dropped.
pub(super) struct Connection {
    phase: watch::Receiver<Phase>,
    stop: CancellationToken,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Connection {
    /// Starts to dial, and retries after `pause`.
    pub(super) fn dial(line: &SocketConfig, pause: Duration) -> Self {
        let (phase, watched) = watch::channel(Phase::Connecting);
        let stop = CancellationToken::new();
        let socket = SocketTask { line: line.clone(), phase, stop: stop.clone() };
        tokio::spawn(socket.run(pause));
        Self { phase: watched, stop }
    }

    /// Waits until Slack sends hello; returns false if that takes too long.
    pub(super) async fn opens(&self) -> bool {
        self.wait_for_phase(Phase::Open, HELLO_TIMEOUT).await
    }

    /// Waits until it is in that phase or a later one; returns false after `limit`.
    pub(super) async fn wait_for_phase(&self, phase: Phase, limit: Duration) -> bool {
        let mut watched = self.phase.clone();
        // An error means that the sender was dropped: the same as gone.
        timeout(limit, watched.wait_for(|now| *now >= phase)).await.is_ok()
    }

    /// Waits until it is leaving or gone, and returns which.
    pub(super) async fn wait_for_close(&self) -> Phase {
        let mut watched = self.phase.clone();
        watched.wait_for(|now| *now >= Phase::Closing).await.map_or(Phase::Closed, |phase| *phase)
    }

    /// Waits until it delivers nothing more.
    pub(super) async fn wait_until_closed(&self) {
        let mut watched = self.phase.clone();
        // An error means that the sender was dropped: the same as gone.
        let _ = watched.wait_for(|now| *now >= Phase::Closed).await;
    }

    /// Reads nothing more, and waits until what was read is stored and acknowledged, but not for ever.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        self.wait_for_phase(Phase::Drained, DRAIN_TIMEOUT).await;
    }
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The task of a connection.
struct SocketTask {
    line: SocketConfig,
    phase: watch::Sender<Phase>,
    stop: CancellationToken,
}

impl SocketTask {
    async fn run(self, pause: Duration) {
        let dialled = tokio::select! {
            socket = self.dial_until_open(pause) => Some(socket),
            () = self.stop.cancelled() => None,
        };
        if let Some(socket) = dialled {
            Box::pin(self.exchange(socket)).await;
        }
        self.enter(Phase::Drained);
    }

    async fn dial_until_open(&self, pause: Duration) -> Socket {
        loop {
            match timeout(DIAL_TIMEOUT, dial(&self.line)).await {
                Ok(Ok(socket)) => return socket,
                // The address is a secret, and no error of the two names it.
                Ok(Err(error)) => tracing::warn!(%error, "could not open a connection to Slack"),
                Err(_) => tracing::warn!("Slack did not answer in time"),
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn enter(&self, phase: Phase) {
        self.phase.send_if_modified(|now| {
            let later = phase > *now;
            *now = phase.max(*now);
            later
        });
    }

    /// Reads frames and sends acknowledgements until the connection ends or is to stop.
    async fn exchange(&self, mut socket: Socket) {
        let mut frames = FramesInFlight::default();
        let mut pings = interval(PING_INTERVAL);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut missed, mut stopping) = (0, false);
        while !(stopping && frames.stored.is_empty()) {
            let send = tokio::select! {
                read = socket.next(), if !stopping && frames.stored.len() < MAX_IN_FLIGHT => {
                    missed = 0;
                    match read {
                        Some(Ok(Message::Text(text))) => self.receive(&mut frames, &text),
                        Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                        Some(Ok(_)) => {}
                    }
                    None
                }
                Some(acknowledgement) = frames.next(), if !frames.stored.is_empty() => {
                    acknowledgement.map(Message::text)
                }
                _ = pings.tick() => {
                    if missed >= MAX_MISSED_PONGS {
                        tracing::info!("Slack does not answer on its connection");
                        break;
                    }
                    // While nothing is read, no answer can be seen.
                    missed += u32::from(frames.stored.len() < MAX_IN_FLIGHT);
                    Some(Message::Ping(Vec::new().into()))
                }
                () = self.stop.cancelled(), if !stopping => {
                    stopping = true;
                    None
                }
            };
            if let Some(message) = send
                && !matches!(timeout(SEND_TIMEOUT, socket.send(message)).await, Ok(Ok(())))
            {
                break;
            }
        }
        // The next connection is not to wait for what this one has still to store.
        self.enter(Phase::Closed);
        // What was read is stored all the same: Slack sends a click only once.
        while !frames.stored.is_empty() {
            frames.next().await;
        }
        let _ = timeout(SEND_TIMEOUT, socket.close(None)).await;
    }

    fn receive(&self, frames: &mut FramesInFlight, text: &str) {
        let ingestor = self.line.ingestor.clone();
        let Ok(frame) = serde_json::from_str::<Value>(text) else {
            // Nothing to acknowledge, but it is stored for inspection.
            let raw = Value::from(text);
            return frames.push(String::new(), async move {
                let _ = ingestor.store_unreadable("frame", raw).await;
                None
            });
        };
        let kind = match frame["type"].as_str() {
            Some("hello") => return self.enter(Phase::Open),
            Some("disconnect") => {
                let reason = frame["reason"].as_str().unwrap_or("?");
                tracing::info!(reason, "Slack is closing the connection");
                return self.enter(Phase::Closing);
            }
            Some("events_api") => Some(PayloadKind::Event),
            Some("interactive") => Some(PayloadKind::Interaction),
            Some("slash_commands") => Some(PayloadKind::Command),
            _ => None,
        };
        frames.push(ordering_key(&frame["payload"]), store(ingestor, kind, frame));
    }
}

/// Opens a connection on which small frames are sent at once.
async fn dial(line: &SocketConfig) -> Result<Socket, Box<dyn std::error::Error + Send + Sync>> {
    let session = line.client.open_session(&line.app_token);
    let opened = session.apps_connections_open(&SlackApiAppsConnectionOpenRequest::new()).await?;
    let nodelay = true;
    let (socket, _) =
        tokio_tungstenite::connect_async_with_config(opened.url.0.as_str(), None, nodelay).await?;
    Ok(socket)
}

/// Stores what an envelope carries, and returns its acknowledgement.
async fn store(ingestor: Ingestor, kind: Option<PayloadKind>, frame: Value) -> Option<String> {
    let id = frame["envelope_id"].as_str()?;
    let stored = match kind {
        Some(kind) => ingestor.handle_payload(kind, &frame["payload"]).await,
        None => ingestor.store_unreadable("envelope type", frame.clone()).await.map(|()| None),
    };
    match stored {
        Ok(Some(payload)) if frame["accepts_response_payload"] == true => {
            Some(json!({"envelope_id": id, "payload": payload}).to_string())
        }
        Ok(_) => Some(json!({"envelope_id": id}).to_string()),
        Err(error) => {
            tracing::error!(envelope = id, attempt = ?frame["retry_attempt"], %error, "not acknowledged");
            None
        }
    }
}

/// Returns what a payload is in order with: its channel, otherwise its person, otherwise everything without either.
fn ordering_key(payload: &Value) -> String {
    const PLACES: [&str; 9] = [
        "/event/channel",
        "/event/channel/id",
        "/event/item/channel",
        "/event/assistant_thread/channel_id",
        "/channel/id",
        "/channel_id",
        "/event/user",
        "/event/user/id",
        "/user/id",
    ];
    let key = PLACES.iter().find_map(|place| payload.pointer(place)?.as_str());
    key.unwrap_or_default().to_owned()
}

/// A frame that was stored: its key and number, and what is to be sent.
type StoredFrame = (String, u64, Option<String>);

/// The frames that are being stored, each by a task of its own. Those with one key are stored one after another.
struct FramesInFlight {
    stored: FuturesUnordered<JoinHandle<StoredFrame>>,
    /// The time to store a frame begins once it has a permit: no frame fails only because others are slow.
    storing: Arc<Semaphore>,
    /// The last frame of each key: its number, and its end.
    last: HashMap<String, (u64, oneshot::Receiver<()>)>,
    count: u64,
}

impl Default for FramesInFlight {
    fn default() -> Self {
        Self {
            stored: FuturesUnordered::new(),
            storing: Arc::new(Semaphore::new(STORING_AT_ONCE)),
            last: HashMap::new(),
            count: 0,
        }
    }
}

impl FramesInFlight {
    fn push(&mut self, key: String, store: impl Future<Output = Option<String>> + Send + 'static) {
        self.count += 1;
        let number = self.count;
        let (done, ended) = oneshot::channel();
        let before = self.last.insert(key.clone(), (number, ended));
        let storing = self.storing.clone();
        self.stored.push(tokio::spawn(async move {
            if let Some((_, before)) = before {
                // An error is an end too.
                let _ = before.await;
            }
            // It is never closed.
            let permit = storing.acquire().await;
            let acknowledgement = store.await;
            drop((permit, done));
            (key, number, acknowledgement)
        }));
    }

    /// Waits until one is stored; returns what is to be sent, and `None` if there is none.
    async fn next(&mut self) -> Option<Option<String>> {
        let Ok((key, number, acknowledgement)) = self.stored.next().await? else {
            // It panicked: nothing is acknowledged.
            return Some(None);
        };
        if self.last.get(&key).is_some_and(|(last, _)| *last == number) {
            self.last.remove(&key);
        }
        Some(acknowledgement)
    }
}
