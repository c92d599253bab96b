//! A fake Slack with a few people, and an inbox that records what arrives.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;

use nod_contract::card::Card;
use nod_contract::chat::{Event, Inbound, InteractionResponse};
use nod_contract::clock::SystemClock;
use nod_sandbox::slack::{Channel, Slack as Fake, SlackConfig, User};

use super::{
    Accept, EventSource, IncomingPayload, Listener, Slack, SlackSettings, StoreError, Transport, connect,
};

pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// A fake workspace: Ana, Bo and Nod in #general; validated with the vendor's schema if that is available.
pub(super) async fn fake_slack() -> Fake {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = SlackConfig::new("nod");
    config.specs_dir = std::env::var_os("NOD_SPECS_DIR").map(Into::into);
    config.redeliver_after = Duration::from_millis(500);
    let bot = config.app.bot_user.clone();
    let config = config
        .user(User::new("ana", "Ana Ruiz"))
        .user(User::new("bo", "Bo Stone"))
        .channel(Channel::new("general", &["ana", "bo", &bot]));
    Fake::start(config).await.unwrap()
}

pub(super) fn settings(fake: &Fake) -> SlackSettings {
    let (bot, app) = fake.read(|w| (w.config.app.bot_token.clone(), w.config.app.app_token.clone()));
    let way = Transport::Socket { app_token: app.into() };
    SlackSettings { api_url: fake.api_url().parse().unwrap(), bot_token: bot.into(), transport: way }
}

pub(super) async fn connect_slack(fake: &Fake) -> Slack {
    connect(settings(fake)).await.unwrap()
}

/// What arrived, and how many times storing fails before it works.
#[derive(Clone)]
pub(super) struct RecordingInbox {
    payloads: Arc<Mutex<Vec<IncomingPayload>>>,
    pub failures: Arc<Mutex<usize>>,
    /// A message with the text [`SLOW`] is stored once this has a permit.
    pub slow: Arc<Semaphore>,
}

impl Default for RecordingInbox {
    fn default() -> Self {
        Self { payloads: Arc::default(), failures: Arc::default(), slow: Arc::new(Semaphore::new(0)) }
    }
}

pub(super) const SLOW: &str = "slow";

impl RecordingInbox {
    /// Commands and clicks are answered with an ephemeral message.
    pub(super) fn accept(&self) -> Accept {
        let memory = self.clone();
        Arc::new(move |arrival| {
            let memory = memory.clone();
            Box::pin(async move {
                if let IncomingPayload::Inbound(Inbound { event: Event::Message { text, .. }, .. }) = &arrival
                    && text == SLOW
                {
                    memory.slow.acquire().await.unwrap().forget();
                }
                memory.store(arrival)
            })
        })
    }

    fn store(&self, arrival: IncomingPayload) -> Result<InteractionResponse, StoreError> {
        let mut failures = self.failures.lock().unwrap();
        if *failures > 0 {
            *failures -= 1;
            return Err(StoreError("the database is away".into()));
        }
        let whisper = matches!(
            &arrival,
            IncomingPayload::Inbound(Inbound {
                event: Event::Command { .. } | Event::ButtonClicked { .. },
                ..
            })
        );
        self.payloads.lock().unwrap().push(arrival);
        Ok(if whisper {
            InteractionResponse::Ephemeral(Card::from_markdown("Noted."))
        } else {
            InteractionResponse::Ack
        })
    }

    pub(super) fn list_payloads(&self) -> Vec<IncomingPayload> {
        self.payloads.lock().unwrap().clone()
    }

    /// Returns the inbounds' events without duplicates.
    pub(super) fn list_events(&self) -> Vec<Event> {
        let mut keys = std::collections::HashSet::new();
        let inbounds = self.list_payloads().into_iter().filter_map(|arrival| match arrival {
            IncomingPayload::Inbound(inbound) => Some(inbound),
            IncomingPayload::Person { .. } | IncomingPayload::Unreadable { .. } => None,
        });
        inbounds
            .filter(|inbound| keys.insert(inbound.dedup_key.clone()))
            .map(|inbound| inbound.event)
            .collect()
    }
}

/// Starts listening and waits until the connection is open.
pub(super) async fn start_listener(slack: &Slack, memory: &RecordingInbox) -> Listener {
    let EventSource::Socket(listener) = slack.listen(memory.accept(), Arc::new(SystemClock)) else {
        panic!("an ear of the other kind")
    };
    wait_until_connected(&listener, true).await;
    listener
}

pub(super) async fn wait_until_connected(listener: &Listener, expected: bool) {
    let mut connected = listener.status();
    tokio::time::timeout(
        TIMEOUT,
        connected.wait_for(|now| (*now != crate::ingest_status::IngestStatus::Disconnected) == expected),
    )
    .await
    .unwrap()
    .unwrap();
}

/// Waits until `look` returns something.
pub(super) async fn wait_for<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(tokio::time::Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
