//! The gateway's protocol: the WebSocket endpoint and the frames that the app sends.

mod events;
mod sessions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message as Frame, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

pub(super) use sessions::Session;

use super::State;
use super::world::World;

/// Reports an invalid session (op 9) that cannot be resumed.
const INVALID: &str = r#"{"op":9,"d":false,"t":null,"s":null}"#;

/// A command for a connection's task.
pub(super) enum OutgoingFrame {
    Text(String),
    Close(u16, &'static str),
    Drop,
}

/// A WebSocket connection of the app.
pub(super) struct Connection {
    pub id: u64,
    pub out: UnboundedSender<OutgoingFrame>,
}

/// All connections and sessions.
#[derive(Default)]
pub(super) struct Gateway {
    pub connections: Vec<Connection>,
    pub sessions: Vec<Session>,
    /// How many sessions were identified.
    pub identify_count: usize,
    /// The shard whose every IDENTIFY is answered with an invalid session.
    pub refused_shard: Option<u64>,
    /// Heartbeats are not acknowledged.
    pub ignores_heartbeats: bool,
    /// The next dispatch is sent twice.
    pub duplicates_next: bool,
    last: u64,
}

impl Gateway {
    pub(super) fn send(&self, connection: u64, out: OutgoingFrame) {
        if let Some(found) = self.connections.iter().find(|c| c.id == connection) {
            let _ = found.out.send(out);
        }
    }

    /// Counts the connections that have a session.
    pub(super) fn ready(&self) -> usize {
        self.sessions.iter().filter(|s| s.connection.is_some()).count()
    }
}

/// The WebSocket endpoint.
pub(super) async fn websocket_endpoint(
    Extract(state): Extract<Arc<State>>,
    Query(query): Query<BTreeMap<String, String>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let odd = query
        .iter()
        .find(|(name, value)| !matches!((name.as_str(), value.as_str()), ("v", "10") | ("encoding", "json")));
    if let Some((name, value)) = odd {
        state.change(|w| w.violation(format!("gateway: {name}={value} is not spoken here")));
        return StatusCode::BAD_REQUEST.into_response();
    }
    if !query.contains_key("v") {
        state.change(|w| w.violation("gateway: no version asked for"));
    }
    upgrade.on_upgrade(move |socket| attend(socket, state))
}

async fn attend(mut socket: WebSocket, state: Arc<State>) {
    let (out, mut outgoing) = unbounded_channel();
    let (id, patience) = state.change(|w| w.connect(out));
    converse(&mut socket, &mut outgoing, &state, id, patience).await;
    state.change(|w| w.disconnected(id));
}

async fn converse(
    socket: &mut WebSocket,
    outgoing: &mut UnboundedReceiver<OutgoingFrame>,
    state: &State,
    id: u64,
    patience: Option<Duration>,
) {
    let far = Duration::from_secs(86_400);
    let mut late = Instant::now() + patience.unwrap_or(far);
    loop {
        tokio::select! {
            out = outgoing.recv() => match out {
                Some(OutgoingFrame::Text(text)) => if socket.send(Frame::Text(text.into())).await.is_err() { return },
                Some(OutgoingFrame::Close(code, reason)) => return close(socket, code, reason).await,
                Some(OutgoingFrame::Drop) | None => return,
            },
            received = socket.recv() => match received {
                Some(Ok(Frame::Text(text))) => {
                    if state.change(|w| w.handle_frame(id, text.as_str())) {
                        late = Instant::now() + patience.unwrap_or(far);
                    }
                }
                Some(Ok(Frame::Binary(_))) => {
                    state.change(|w| w.violation("gateway: binary frame"));
                    return close(socket, 4002, "Error while decoding payload.").await;
                }
                Some(Ok(Frame::Ping(_) | Frame::Pong(_))) => {}
                Some(Ok(Frame::Close(frame))) => {
                    // A client that closes with 1000 or 1001 ends its session.
                    if matches!(frame.map(|f| f.code), Some(1000 | 1001)) {
                        state.change(|w| w.end_session(id));
                    }
                    return;
                }
                Some(Err(_)) | None => return,
            },
            () = tokio::time::sleep_until(late) => return close(socket, 4009, "Session timed out.").await,
        }
    }
}

async fn close(socket: &mut WebSocket, code: u16, reason: &'static str) {
    let _ = socket.send(Frame::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
}

impl World {
    /// Returns the URL to which the app connects.
    pub(super) fn gateway_url(&self) -> String {
        format!("{}/gateway", self.base_url).replacen("http", "ws", 1)
    }

    fn connect(&mut self, out: UnboundedSender<OutgoingFrame>) -> (u64, Option<Duration>) {
        self.gateway.last += 1;
        let id = self.gateway.last;
        let interval = self.config.heartbeat_interval;
        let hello = json!({
            "op": 10, "t": null, "s": null,
            "d": {"heartbeat_interval": u64::try_from(interval.as_millis()).unwrap_or(u64::MAX),
                  "_trace": ["[\"gateway-sandbox\",{}]"]},
        });
        let _ = out.send(OutgoingFrame::Text(hello.to_string()));
        self.gateway.connections.push(Connection { id, out });
        (id, self.config.heartbeat_strict.then(|| interval.mul_f64(1.5)))
    }

    fn disconnected(&mut self, connection: u64) {
        self.gateway.connections.retain(|c| c.id != connection);
        let now = self.now();
        for session in &mut self.gateway.sessions {
            if session.connection == Some(connection) {
                (session.connection, session.dropped) = (None, now);
            }
        }
    }

    fn end_session(&mut self, connection: u64) {
        self.gateway.sessions.retain(|s| s.connection != Some(connection));
    }

    /// Cuts every connection without a close frame.
    pub(super) fn drop_all(&mut self) {
        for connection in &self.gateway.connections {
            let _ = connection.out.send(OutgoingFrame::Drop);
        }
    }

    /// Closes a connection because of a client error.
    fn hang_up(&mut self, connection: u64, code: u16, reason: &'static str) {
        if !matches!(code, 4004 | 4014) {
            self.violation(format!("gateway: {code} {reason}"));
        }
        self.end_session(connection);
        self.gateway.send(connection, OutgoingFrame::Close(code, reason));
    }

    /// Handles a frame from the app; returns whether it was a heartbeat.
    fn handle_frame(&mut self, connection: u64, text: &str) -> bool {
        let Ok(said) = serde_json::from_str::<Value>(text) else {
            self.hang_up(connection, 4002, "Error while decoding payload.");
            return false;
        };
        let begun = self.gateway.sessions.iter().any(|s| s.connection == Some(connection));
        match said["op"].as_u64() {
            Some(1) => {
                self.heartbeat(connection, &said["d"]);
                return true;
            }
            Some(2 | 6) if begun => self.hang_up(connection, 4005, "Already authenticated."),
            Some(2) => self.identify(connection, &said["d"]),
            Some(6) => self.resume(connection, &said["d"]),
            Some(3 | 4 | 8) if !begun => self.hang_up(connection, 4003, "Not authenticated."),
            Some(3) => {}
            Some(4 | 8) => self.violation(format!("gateway: op {} is not known here", said["op"])),
            _ => self.hang_up(connection, 4001, "Unknown opcode."),
        }
        false
    }

    fn heartbeat(&mut self, connection: u64, seq: &Value) {
        if !(seq.is_null() || seq.is_u64()) {
            self.violation(format!("gateway: heartbeat with {seq}"));
        }
        if !self.gateway.ignores_heartbeats {
            let ack = json!({"op": 11, "d": null, "t": null, "s": null});
            self.gateway.send(connection, OutgoingFrame::Text(ack.to_string()));
        }
    }

    /// Asks every connection to reconnect (op 7); the app closes the connection.
    pub(super) fn request_reconnect(&mut self) {
        self.tell_all(&json!({"op": 7, "d": null, "t": null, "s": null}));
    }

    /// Declares every session invalid (op 9).
    pub(super) fn invalidate(&mut self, resumable: bool) {
        self.tell_all(&json!({"op": 9, "d": resumable, "t": null, "s": null}));
        if !resumable {
            self.gateway.sessions.clear();
        }
    }

    /// Invalidates one shard's session and each later one, until this is called with another shard or `None`.
    pub(super) fn refuse_shard(&mut self, shard: Option<u64>) {
        self.gateway.refused_shard = shard;
        let of = |s: &Session| shard == Some(s.shard[0]);
        let away: Vec<u64> =
            self.gateway.sessions.iter().filter(|s| of(s)).filter_map(|s| s.connection).collect();
        self.gateway.sessions.retain(|s| !of(s));
        for connection in away {
            self.gateway.send(connection, OutgoingFrame::Text(INVALID.to_owned()));
        }
    }

    fn tell_all(&mut self, told: &Value) {
        for connection in &self.gateway.connections {
            let _ = connection.out.send(OutgoingFrame::Text(told.to_string()));
        }
    }
}
