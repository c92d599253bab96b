//! The protocol of Socket Mode: tickets, connections, and the app's answers on them.

use std::sync::Arc;

use axum::extract::ws::{Message as Frame, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::State;
use super::envelopes::{Context, Delivery, Envelope};
use super::world::{World, secret};

/// The number of connections that Slack allows an app.
pub(super) const MAX_CONNECTIONS: usize = 10;

/// A message to a connection's task.
pub(super) enum OutgoingFrame {
    Text(String),
    Close,
    Drop,
}

/// One WebSocket of the app.
pub(super) struct Connection {
    pub id: u64,
    pub out: UnboundedSender<OutgoingFrame>,
    /// A `disconnect` was sent, so nothing new is sent here.
    pub leaving: bool,
}

#[derive(Deserialize)]
pub(super) struct SocketQuery {
    ticket: String,
}

/// Accepts a WebSocket: one connection per ticket.
pub(super) async fn websocket_endpoint(
    Extract(state): Extract<Arc<State>>,
    Query(link): Query<SocketQuery>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let admitted = state.change(|w| {
        let at = w.sockets.tickets.iter().position(|t| *t == link.ticket);
        at.map(|at| w.sockets.tickets.remove(at)).is_some() && w.sockets.count() < MAX_CONNECTIONS
    });
    if !admitted {
        return StatusCode::FORBIDDEN.into_response();
    }
    upgrade.on_upgrade(move |socket| attend(socket, state))
}

async fn attend(mut socket: WebSocket, state: Arc<State>) {
    let (out, mut outgoing) = unbounded_channel();
    let id = state.change(|w| w.connect(out));
    converse(&mut socket, &mut outgoing, &state).await;
    state.change(|w| w.disconnected(id));
}

async fn converse(socket: &mut WebSocket, outgoing: &mut UnboundedReceiver<OutgoingFrame>, state: &State) {
    loop {
        tokio::select! {
            out = outgoing.recv() => match out {
                Some(OutgoingFrame::Text(text)) => if socket.send(Frame::Text(text.into())).await.is_err() { return },
                Some(OutgoingFrame::Close) => {
                    let _ = socket.send(Frame::Close(None)).await;
                    return;
                }
                Some(OutgoingFrame::Drop) | None => return,
            },
            received = socket.recv() => match received {
                Some(Ok(Frame::Text(text))) => state.change(|w| w.received(text.as_str())),
                Some(Ok(Frame::Binary(_))) => state.change(|w| w.violation("binary frame on the socket")),
                Some(Ok(Frame::Ping(_) | Frame::Pong(_))) => {}
                Some(Ok(Frame::Close(_)) | Err(_)) | None => return,
            },
        }
    }
}

impl World {
    pub(super) fn ticket(&mut self) -> String {
        let ticket = secret();
        self.sockets.tickets.push(ticket.clone());
        format!("{}/link/?ticket={ticket}&app_id={}", self.base_url, self.config.app.id)
            .replacen("http", "ws", 1)
    }

    fn connect(&mut self, out: UnboundedSender<OutgoingFrame>) -> u64 {
        let id = self.next_number();
        let hello = json!({
            "type": "hello",
            "num_connections": self.sockets.connections.len() + 1,
            "debug_info": self.debug_info(),
            "connection_info": {"app_id": self.config.app.id},
        });
        let _ = out.send(OutgoingFrame::Text(hello.to_string()));
        self.sockets.connections.push(Connection { id, out, leaving: false });
        let waiting = |e: &&Envelope| e.state == Delivery::Waiting;
        let numbers: Vec<u64> = self.sockets.envelopes.iter().filter(waiting).map(|e| e.number).collect();
        for number in numbers.into_iter().filter_map(|n| usize::try_from(n).ok()) {
            self.retry(number, "connection_failed");
        }
        id
    }

    fn debug_info(&self) -> Value {
        json!({
            "host": "applink-1",
            "started": self.now().format("%Y-%m-%d %H:%M:%S%.3f").to_string(),
            "build_number": 10,
            "approximate_connection_time": 18060,
        })
    }

    fn disconnected(&mut self, connection: u64) {
        self.sockets.connections.retain(|c| c.id != connection);
        let open = |e: &&Envelope| e.state == Delivery::Sent && e.connection == Some(connection);
        let numbers: Vec<u64> = self.sockets.envelopes.iter().filter(open).map(|e| e.number).collect();
        for number in numbers.into_iter().filter_map(|n| usize::try_from(n).ok()) {
            self.retry(number, "connection_failed");
        }
    }

    /// Announces to every connection that it will end. After `refresh_requested` or `link_disabled` it does end.
    pub(super) fn disconnect_all(&mut self, reason: &str) {
        let text = json!({"type": "disconnect", "reason": reason, "debug_info": self.debug_info()});
        let ends = reason != "warning";
        for connection in &mut self.sockets.connections {
            connection.leaving |= ends;
            let _ = connection.out.send(OutgoingFrame::Text(text.to_string()));
            if ends {
                let (out, grace) = (connection.out.clone(), self.config.disconnect_grace);
                tokio::spawn(async move {
                    tokio::time::sleep(grace).await;
                    let _ = out.send(OutgoingFrame::Close);
                });
            }
        }
    }

    /// Cuts every connection without a notice.
    pub(super) fn drop_all(&mut self) {
        for connection in &self.sockets.connections {
            let _ = connection.out.send(OutgoingFrame::Drop);
        }
    }

    fn received(&mut self, text: &str) {
        let ack: Map<String, Value> = match serde_json::from_str(text) {
            Ok(ack) => ack,
            Err(error) => return self.violation(format!("acknowledgement is no JSON object: {error}")),
        };
        if let Some(odd) = ack.keys().find(|k| *k != "envelope_id" && *k != "payload") {
            self.violation(format!("acknowledgement has an unknown field {odd}"));
        }
        let Some(id) = ack.get("envelope_id").and_then(Value::as_str) else {
            return self.violation("acknowledgement without envelope_id");
        };
        match self.sockets.by_id.get_mut(id) {
            None => self.violation("acknowledgement of an envelope that was never sent"),
            Some((_, true)) => self.violation("second acknowledgement of one envelope"),
            Some((number, seen)) => {
                *seen = true;
                let number = *number;
                self.record_acknowledgement(number, ack.get("payload").cloned());
            }
        }
    }

    pub(super) fn record_acknowledgement(&mut self, number: usize, answer: Option<Value>) {
        let Some(envelope) = self.sockets.envelopes.get_mut(number) else { return };
        if envelope.state != Delivery::Acknowledged {
            envelope.took = envelope.sent_at.map(|at| at.elapsed());
        }
        envelope.state = Delivery::Acknowledged;
        envelope.answer.clone_from(&answer);
        let (context, accepts, kind) = (envelope.context.clone(), envelope.accepts_payload, envelope.kind);
        let answer = answer.filter(|a| !a.is_null());
        if let Context::View { id } = context {
            return self.apply_view_response(&id, answer);
        }
        let Some(answer) = answer else { return };
        if !accepts {
            return self.violation(format!("acknowledgement of {} carries a payload", kind.as_str()));
        }
        match context {
            Context::None | Context::View { .. } => {}
            Context::Command { user, channel } => self.apply_command_response(&user, &channel, &answer),
        }
    }
}
