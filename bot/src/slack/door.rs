//! From a payload to the inbox and back: stored first, acknowledged then.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use nod_core::card::Card;
use nod_core::chat::{Immediate, Inbound, What};
use nod_core::clock::Clock;
use nod_core::inbox::Inbox;
use serde_json::{Value, json};

use super::adapter::SlackAdapter;
use super::inbound::{Heard, Identity, Kind, heard};
use super::{PLATFORM, render};

/// How long storing may take. Slack waits three seconds for its acknowledgement.
const LIMIT: Duration = Duration::from_millis(2_500);

/// Something to store.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// An inbound.
    Inbound(Inbound),
    /// A payload that nobody can read, as it came.
    Unreadable {
        /// The workspace.
        workspace: String,
        /// The payload; a string where it is no JSON.
        raw: Value,
    },
}

/// It was not stored, so it must not be acknowledged: Slack delivers events again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not stored: {0}")]
pub struct NotStored(pub String);

/// Stores an arrival and tells what to answer in the same breath.
pub type Accept = Arc<dyn Fn(Arrival) -> BoxFuture<'static, Result<Immediate, NotStored>> + Send + Sync>;

/// Stores in the inbox.
#[must_use]
pub fn into_inbox(inbox: Inbox) -> Accept {
    Arc::new(move |arrival| {
        let inbox = inbox.clone();
        Box::pin(async move {
            let answer = match arrival {
                Arrival::Inbound(inbound) => inbox.accept(inbound).await,
                Arrival::Unreadable { workspace, raw } => {
                    inbox.keep_unreadable(PLATFORM, &workspace, &raw).await.map(|()| Immediate::Nothing)
                }
            };
            answer.map_err(|error| NotStored(error.to_string()))
        })
    })
}

/// The door of one workspace.
#[derive(Clone)]
pub struct Door {
    identity: Identity,
    adapter: Arc<SlackAdapter>,
    accept: Accept,
    clock: Arc<dyn Clock>,
}

impl Door {
    pub(super) fn new(
        identity: Identity,
        adapter: Arc<SlackAdapter>,
        accept: Accept,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { identity, adapter, accept, clock }
    }

    /// Takes a payload; `Ok` is to be acknowledged, with the payload inside where there is one.
    ///
    /// # Errors
    /// When it could not be stored in time.
    pub async fn take(&self, kind: Kind, payload: &Value) -> Result<Option<Value>, NotStored> {
        let inbound = match heard(kind, payload, &self.identity, self.clock.now()) {
            Heard::Inbound(inbound) => *inbound,
            Heard::Ignored(_) => return Ok(None),
            Heard::Unreadable(why) => return self.keep(why, payload.clone()).await.map(|()| None),
        };
        let (user, what) = (inbound.author.user.clone(), inbound.what.clone());
        match self.store(Arrival::Inbound(inbound)).await? {
            Immediate::Nothing => Ok(None),
            Immediate::Whisper(card) => Ok(self.whisper(what, user, card)),
        }
    }

    /// Keeps what nobody can read, so that it can be looked at and, once it can be read, taken.
    ///
    /// # Errors
    /// When it could not be stored in time.
    pub async fn keep(&self, why: &'static str, raw: Value) -> Result<(), NotStored> {
        tracing::warn!(workspace = %self.identity.team, why, "kept a Slack payload that cannot be read");
        let arrival = Arrival::Unreadable { workspace: self.identity.team.clone(), raw: storable(raw) };
        self.store(arrival).await.map(|_| ())
    }

    async fn store(&self, arrival: Arrival) -> Result<Immediate, NotStored> {
        match tokio::time::timeout(LIMIT, (self.accept)(arrival)).await {
            Ok(answer) => answer,
            Err(_) => Err(NotStored(format!("nothing for {} ms", LIMIT.as_millis()))),
        }
    }

    /// A command's whisper rides on its acknowledgement; a press's or a message's goes after it.
    fn whisper(&self, what: What, user: String, card: Card) -> Option<Value> {
        let place = match what {
            What::Command { .. } => return Some(ephemeral(&card)),
            What::Pressed { place, .. } | What::Said { place, .. } => place,
        };
        let adapter = Arc::clone(&self.adapter);
        tokio::spawn(async move {
            if let Err(error) = adapter.whisper(&place, &user, &card).await {
                tracing::warn!(channel = %place.channel, %user, %error, "a whisper was not shown");
            }
        });
        None
    }
}

fn ephemeral(card: &Card) -> Value {
    json!({"response_type": "ephemeral", "text": render::fallback(card), "blocks": render::blocks(card)})
}

/// What lets somebody act as the sender for a while is no part of what was said.
const SECRETS: [&str; 3] = ["token", "response_url", "trigger_id"];

/// Without the one character that Postgres does not store, and without secrets.
fn storable(raw: Value) -> Value {
    match raw {
        Value::String(text) => text.replace('\0', "\u{FFFD}").into(),
        Value::Array(list) => list.into_iter().map(storable).collect(),
        Value::Object(object) => {
            let said = object.into_iter().filter(|(key, _)| !SECRETS.contains(&key.as_str()));
            said.map(|(key, value)| (key.replace('\0', "\u{FFFD}"), storable(value))).collect()
        }
        other => other,
    }
}
