//! The way of an event from a platform into the inbox: it is stored first and acknowledged then.

use std::sync::Arc;

use futures::future::BoxFuture;
use nod_contract::chat::{Event, Inbound, InteractionResponse, Profile};
use nod_inbox::inbox::Inbox;
use serde_json::Value;

use crate::ingest_status::Whole;

/// Something to store.
#[derive(Debug, Clone, PartialEq)]
pub enum IncomingPayload {
    /// An inbound.
    Inbound(Inbound),
    /// A profile change that the platform sends unasked.
    Person {
        /// The workspace.
        workspace: String,
        /// The new profile.
        profile: Profile,
    },
    /// A payload that cannot be parsed, as it was received.
    Unreadable {
        /// The workspace.
        workspace: String,
        /// The payload; a string if it is not JSON.
        raw: Value,
    },
}

/// It was not stored, so it must not be acknowledged: a platform may deliver it again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not stored: {0}")]
pub struct StoreError(pub String);

/// Stores an arrival and returns the synchronous answer to it.
pub type Accept =
    Arc<dyn Fn(IncomingPayload) -> BoxFuture<'static, Result<InteractionResponse, StoreError>> + Send + Sync>;

/// Creates the function that stores a platform's arrivals in the inbox.
pub(crate) fn into_inbox(platform: &'static str, inbox: Inbox, whole: Whole) -> Accept {
    Arc::new(move |arrival| {
        let (inbox, whole) = (inbox.clone(), whole.clone());
        Box::pin(async move {
            let answer = match arrival {
                IncomingPayload::Inbound(inbound) => {
                    let all_known = whole.holds(inbound.at);
                    let says = matches!(inbound.event, Event::Message { .. });
                    let begun = says.then(|| whole.begin_storing(inbound.at));
                    let answer = inbox.accept(inbound, all_known).await;
                    if let (Ok(_), Some(begun)) = (&answer, begun) {
                        begun.stored();
                    }
                    answer
                }
                IncomingPayload::Person { workspace, profile } => inbox
                    .store_reported_profile(platform, &workspace, profile)
                    .await
                    .map(|()| InteractionResponse::Ack),
                IncomingPayload::Unreadable { workspace, raw } => inbox
                    .store_unreadable(platform, &workspace, &raw)
                    .await
                    .map(|()| InteractionResponse::Ack),
            };
            answer.map_err(|error| StoreError(error.to_string()))
        })
    })
}

/// Values that let their holder act as the sender for a while. They are not content, so they are never stored.
const SECRETS: [&str; 3] = ["token", "response_url", "trigger_id"];

/// Removes secrets and replaces NUL, the one character that Postgres does not store.
pub(crate) fn remove_secrets_and_nuls(raw: Value) -> Value {
    match raw {
        Value::String(text) => text.replace('\0', "\u{FFFD}").into(),
        Value::Array(list) => list.into_iter().map(remove_secrets_and_nuls).collect(),
        Value::Object(object) => {
            let said = object.into_iter().filter(|(key, _)| !SECRETS.contains(&key.as_str()));
            said.map(|(key, value)| (key.replace('\0', "\u{FFFD}"), remove_secrets_and_nuls(value))).collect()
        }
        other => other,
    }
}
