//! One Socket Mode connection: slack-morphism dials and keeps it alive, the frames are read here.
//!
//! slack-morphism's own listener hides when a connection ends, parses payloads strictly, and on `disconnect` closes the
//! old connection before the new one is open, which loses clicks (Slack never redelivers those). So this implements the
//! trait below it, `SlackSocketModeClientListener`, and never lets it reconnect.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use slack_morphism::clients_manager::{SlackSocketModeClientsManager, SlackSocketModeClientsManagerFactory};
use slack_morphism::hyper_tokio::SlackHyperClient;
use slack_morphism::listener::SlackClientEventsListenerEnvironment;
use slack_morphism::{
    SlackApiToken, SlackClientSocketModeConfig, SlackSocketModeClientListener, SlackSocketModeWssClientId,
};
use tokio::sync::watch;

use super::inbound::PayloadKind;
use super::ingest::Ingestor;

/// How long dialling can take until Slack sends hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(15);

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Connecting,
    /// Slack sent hello.
    Open,
    /// Slack announced that it will close it.
    Closing,
    Closed,
}

/// How to connect, and who handles what arrives.
#[derive(Clone)]
pub(super) struct SocketConfig {
    pub client: Arc<SlackHyperClient>,
    pub app_token: SlackApiToken,
    pub ingestor: Ingestor,
}

/// A connection; it ends with [`Connection::close`].
pub(super) struct Connection {
    manager: Arc<dyn SlackSocketModeClientsManager + Send + Sync>,
    phase: watch::Receiver<Phase>,
}

impl Connection {
    /// Starts to dial, and retries every `pause` seconds.
    pub(super) async fn dial(line: &SocketConfig, pause: u64) -> Self {
        let environment = Arc::new(SlackClientEventsListenerEnvironment::new(Arc::clone(&line.client)));
        let manager = line.client.http_api.connector.new_clients_manager(environment);
        let (phase, watched) = watch::channel(Phase::Connecting);
        let ear = SocketListener { ingestor: line.ingestor.clone(), phase };
        // If it fails, the listener is dropped and the connection counts as gone.
        let _ = manager.register_new_token(&config(pause), line.app_token.clone(), Arc::new(ear)).await;
        manager.start().await;
        Self { manager, phase: watched }
    }

    /// Waits until Slack sends hello; returns false if that takes too long.
    pub(super) async fn opens(&self) -> bool {
        self.wait_for_phase(Phase::Open, HELLO_TIMEOUT).await
    }

    /// Waits until it is in that phase or a later one; returns false after `limit`.
    pub(super) async fn wait_for_phase(&self, phase: Phase, limit: Duration) -> bool {
        let mut watched = self.phase.clone();
        // An error means that the sender was dropped: the same as gone.
        tokio::time::timeout(limit, watched.wait_for(|now| *now >= phase)).await.is_ok()
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
        let _ = watched.wait_for(|now| *now == Phase::Closed).await;
    }

    pub(super) async fn close(&self) {
        self.manager.shutdown().await;
    }
}

fn config(pause: u64) -> SlackClientSocketModeConfig {
    SlackClientSocketModeConfig::new()
        .with_max_connections_count(1)
        .with_initial_backoff_in_seconds(0)
        .with_reconnect_timeout_in_seconds(pause)
        .with_ping_interval_in_seconds(5)
        .with_ping_failure_threshold_times(2)
}

/// The callbacks for slack-morphism.
struct SocketListener {
    ingestor: Ingestor,
    phase: watch::Sender<Phase>,
}

impl SocketListener {
    fn enter(&self, phase: Phase) {
        self.phase.send_if_modified(|now| {
            let later = phase > *now;
            *now = phase.max(*now);
            later
        });
    }

    /// Returns the acknowledgement of an envelope, if it is to be acknowledged.
    async fn handle_envelope(&self, kind: Option<PayloadKind>, frame: &Value) -> Option<String> {
        let id = frame["envelope_id"].as_str()?;
        let taken = match kind {
            Some(kind) => self.ingestor.handle_payload(kind, &frame["payload"]).await,
            None => self.ingestor.store_unreadable("envelope type", frame.clone()).await.map(|()| None),
        };
        match taken {
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
}

#[async_trait]
impl SlackSocketModeClientListener for SocketListener {
    async fn on_message(&self, _client: &SlackSocketModeWssClientId, body: String) -> Option<String> {
        let Ok(frame) = serde_json::from_str::<Value>(&body) else {
            // Nothing to acknowledge, but it is stored for inspection.
            let _ = self.ingestor.store_unreadable("frame", body.into()).await;
            return None;
        };
        match frame["type"].as_str() {
            Some("hello") => {
                self.enter(Phase::Open);
                None
            }
            Some("disconnect") => {
                let reason = frame["reason"].as_str().unwrap_or("?");
                tracing::info!(reason, "Slack is closing the connection");
                self.enter(Phase::Closing);
                None
            }
            Some("events_api") => self.handle_envelope(Some(PayloadKind::Event), &frame).await,
            Some("interactive") => self.handle_envelope(Some(PayloadKind::Interaction), &frame).await,
            Some("slash_commands") => self.handle_envelope(Some(PayloadKind::Command), &frame).await,
            _ => self.handle_envelope(None, &frame).await,
        }
    }

    async fn on_error(&self, _error: Box<dyn std::error::Error + Send + Sync>) {
        tracing::debug!("the Slack connection reported an error");
    }

    async fn on_disconnect(&self, _client: &SlackSocketModeWssClientId) {
        self.enter(Phase::Closed);
    }
}
