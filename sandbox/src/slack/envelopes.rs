//! Envelopes, which are deliveries to the app, and which of them are resent.
//!
//! An event that is not acknowledged is resent, up to three times. Clicks and commands are never resent, and are lost
//! if no connection is open.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use super::http::Endpoint;
use super::socket::{Connection, OutgoingFrame};
use super::world::{World, secret};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvelopeKind {
    EventsApi,
    Interactive,
    SlashCommands,
}

impl EnvelopeKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::EventsApi => "events_api",
            Self::Interactive => "interactive",
            Self::SlashCommands => "slash_commands",
        }
    }
}

/// The state of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// No connection yet.
    Waiting,
    /// Sent, not acknowledged.
    Sent,
    Acknowledged,
    /// A click or command without a connection, or whose connection closed before it was acknowledged.
    Lost,
    /// An event that was resent as often as Slack does.
    #[serde(rename = "given_up")]
    Abandoned,
}

/// One delivery to the app and its state.
#[derive(Debug, Clone, Serialize)]
pub struct Envelope {
    pub number: u64,
    pub kind: EnvelopeKind,
    pub payload: Value,
    pub state: Delivery,
    /// Starts at 0.
    pub attempt: u32,
    /// The payload of its acknowledgement.
    pub answer: Option<Value>,
    /// The time from sending to acknowledgement.
    pub took: Option<Duration>,
    #[serde(skip)]
    pub(super) accepts_payload: bool,
    #[serde(skip)]
    pub(super) reason: &'static str,
    #[serde(skip)]
    pub(super) connection: Option<u64>,
    #[serde(skip)]
    pub(super) sent_at: Option<Instant>,
    #[serde(skip)]
    pub(super) context: Context,
}

/// What an acknowledgement's payload refers to.
#[derive(Debug, Clone, Default)]
pub(super) enum Context {
    #[default]
    None,
    Command {
        user: String,
        channel: String,
    },
    View {
        id: String,
    },
}

#[derive(Default)]
pub(super) struct Sockets {
    pub(super) tickets: Vec<String>,
    pub(super) connections: Vec<Connection>,
    turn: usize,
    pub(super) envelopes: Vec<Envelope>,
    pub(super) by_id: HashMap<String, (usize, bool)>,
    pub(super) held_events: Vec<Value>,
    pub(super) drops_events_while_disconnected: bool,
    /// If set, everything is posted here instead of sent to a socket.
    pub(super) endpoint: Option<Endpoint>,
}

impl Sockets {
    pub(super) fn count(&self) -> usize {
        self.connections.len()
    }

    pub(super) fn envelopes(&self) -> &[Envelope] {
        &self.envelopes
    }

    pub(super) fn envelope(&self, number: u64) -> Option<&Envelope> {
        usize::try_from(number).ok().and_then(|n| self.envelopes.get(n))
    }
}

impl World {
    /// Returns every delivery to the app, oldest first.
    #[must_use]
    pub fn envelopes(&self) -> &[Envelope] {
        self.sockets.envelopes()
    }

    /// Sends a payload to one of the connections; returns the envelope's number.
    pub(super) fn send(&mut self, kind: EnvelopeKind, payload: Value, context: Context) -> u64 {
        let view = matches!(context, Context::View { .. });
        let number = self.sockets.envelopes.len();
        self.sockets.envelopes.push(Envelope {
            number: number as u64,
            kind,
            payload,
            state: Delivery::Waiting,
            attempt: 0,
            answer: None,
            took: None,
            accepts_payload: view || kind == EnvelopeKind::SlashCommands,
            reason: "",
            connection: None,
            sent_at: None,
            context,
        });
        self.deliver_envelope(number);
        number as u64
    }

    /// Sends an envelope now if there is a connection, or an endpoint to post it to.
    fn deliver_envelope(&mut self, number: usize) {
        if self.sockets.endpoint.is_some() {
            return self.post_out(number);
        }
        let Some(connection) = self.next_connection() else {
            let lost = self.sockets.drops_events_while_disconnected;
            let Some(envelope) = self.sockets.envelopes.get_mut(number) else { return };
            envelope.state = match envelope.kind {
                EnvelopeKind::EventsApi if !lost => Delivery::Waiting,
                _ => Delivery::Lost,
            };
            return;
        };
        let id = envelope_id();
        let Some(envelope) = self.sockets.envelopes.get_mut(number) else { return };
        envelope.state = Delivery::Sent;
        envelope.connection = Some(connection);
        envelope.sent_at = Some(Instant::now());
        let (kind, attempt, text) = (envelope.kind, envelope.attempt, frame(envelope, &id));
        self.sockets.by_id.insert(id, (number, false));
        self.write(connection, OutgoingFrame::Text(text));
        if kind == EnvelopeKind::EventsApi {
            self.watch_over(number, attempt);
        }
    }

    fn next_connection(&mut self) -> Option<u64> {
        let staying: Vec<u64> =
            self.sockets.connections.iter().filter(|c| !c.leaving).map(|c| c.id).collect();
        self.sockets.turn += 1;
        staying.get(self.sockets.turn % staying.len().max(1)).copied()
    }

    fn write(&self, connection: u64, out: OutgoingFrame) {
        if let Some(connection) = self.sockets.connections.iter().find(|c| c.id == connection) {
            let _ = connection.out.send(out);
        }
    }

    /// Resends the event after its timeout if this attempt was not acknowledged.
    fn watch_over(&self, number: usize, attempt: u32) {
        let (state, long) = (self.this.clone(), self.config.redeliver_after);
        tokio::spawn(async move {
            tokio::time::sleep(long).await;
            if let Some(state) = state.upgrade() {
                state.change(|w| {
                    let waits = |e: &Envelope| e.state == Delivery::Sent && e.attempt == attempt;
                    if w.sockets.envelopes.get(number).is_some_and(waits) {
                        w.retry(number, "timeout");
                    }
                });
            }
        });
    }

    pub(super) fn retry(&mut self, number: usize, reason: &'static str) {
        let allowed = self.config.redeliveries;
        let Some(envelope) = self.sockets.envelopes.get_mut(number) else { return };
        if envelope.kind != EnvelopeKind::EventsApi {
            envelope.state = Delivery::Lost;
        } else if envelope.attempt >= allowed {
            envelope.state = Delivery::Abandoned;
        } else {
            envelope.attempt += 1;
            envelope.reason = reason;
            self.deliver_envelope(number);
        }
    }

    /// Sends a text unchanged to one connection.
    pub(super) fn send_raw(&mut self, text: String) -> Result<(), String> {
        let envelope = serde_json::from_str::<Value>(&text).ok();
        let id = envelope.as_ref().and_then(|e| e["envelope_id"].as_str()).map(str::to_owned);
        let connection = self.next_connection().ok_or("No socket is connected.")?;
        if let Some(id) = id {
            let number = self.sockets.envelopes.len();
            self.sockets.envelopes.push(Envelope {
                number: number as u64,
                kind: EnvelopeKind::Interactive,
                payload: envelope.unwrap_or_default(),
                state: Delivery::Sent,
                attempt: 0,
                answer: None,
                took: None,
                accepts_payload: true,
                reason: "",
                connection: Some(connection),
                sent_at: Some(Instant::now()),
                context: Context::None,
            });
            self.sockets.by_id.insert(id, (number, false));
        }
        self.write(connection, OutgoingFrame::Text(text));
        Ok(())
    }
}

fn frame(envelope: &Envelope, id: &str) -> String {
    let mut frame = json!({
        "envelope_id": id,
        "payload": envelope.payload,
        "type": envelope.kind.as_str(),
        "accepts_response_payload": envelope.accepts_payload,
    });
    if envelope.kind == EnvelopeKind::EventsApi {
        frame["retry_attempt"] = envelope.attempt.into();
        frame["retry_reason"] = envelope.reason.into();
    }
    frame.to_string()
}

fn envelope_id() -> String {
    let hex = secret();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
