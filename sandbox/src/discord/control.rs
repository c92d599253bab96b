//! A small JSON interface for a demo page, under `/_sandbox/`: see what one user sees, act as one user.
//!
//! A viewer sees only the channels visible to them in Discord, and only their own ephemeral messages.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Query, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::State;
use super::entities::{LOADING, Message};
use super::interactions::{Delivery, Interaction};
use super::people::NewMessage;
use super::world::World;
use crate::dropped_file::{DroppedFile, MAX_BODY_BYTES};

/// How long a request for changes waits (long polling).
const PATIENCE: Duration = Duration::from_secs(25);

pub(super) fn router() -> Router<Arc<State>> {
    Router::new()
        .route("/state", get(state))
        .route("/events", get(wait_for_change))
        .route("/say", post(say).layer(DefaultBodyLimit::max(MAX_BODY_BYTES)))
        .route("/edit", post(edit))
        .route("/delete", post(delete))
        .route("/press", post(press))
        .route("/slash", post(slash))
        .route("/complete", post(complete))
        .route("/pick", post(pick))
        .route("/submit", post(submit))
        .route("/close", post(close))
}

/// Converts an outcome to a response; errors are JSON sentences.
fn answered(outcome: Result<Value, String>) -> Response {
    match outcome {
        Ok(value) => Json(value).into_response(),
        Err(sentence) => (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({"error": sentence}))).into_response(),
    }
}

#[derive(Deserialize)]
struct Viewer {
    user: Option<String>,
}

async fn state(Extract(state): Extract<Arc<State>>, Query(viewer): Query<Viewer>) -> Response {
    let version = *state.version.borrow();
    let seen = state.read(|w| -> Result<Value, String> {
        let viewer = viewer.user.as_deref().map(|u| w.user_id(u)).transpose()?;
        Ok(w.view_for(viewer.as_deref(), version))
    });
    answered(seen)
}

#[derive(Deserialize)]
struct Since {
    #[serde(default)]
    since: u64,
}

/// Answers once the version exceeds `since`, or with the current version after [`READ_TIMEOUT`].
async fn wait_for_change(Extract(state): Extract<Arc<State>>, Query(since): Query<Since>) -> Response {
    let mut version = state.version.subscribe();
    let newer = version.wait_for(|v| *v > since.since);
    let _ = tokio::time::timeout(PATIENCE, newer).await.is_ok();
    let now = *state.version.borrow();
    Json(json!({"version": now})).into_response()
}

#[derive(Deserialize)]
struct Words {
    user: String,
    channel: String,
    thread: Option<String>,
    /// The message that it replies to.
    reply_to: Option<String>,
    #[serde(default)]
    text: String,
    /// A file that comes with the words.
    file: Option<DroppedFile>,
}

async fn say(Extract(state): Extract<Arc<State>>, Json(words): Json<Words>) -> Response {
    let mut say = NewMessage {
        thread: words.thread,
        reply_to: words.reply_to,
        ..NewMessage::new(&words.user, &words.channel, &words.text)
    };
    answered(state.change(|w| {
        if let Some(file) = &words.file {
            let bytes = file.bytes()?;
            say.files = vec![w.keep_file("0", &file.name, file.media_type(), bytes)];
        }
        w.post_message(say).map(|ts| json!({"ts": ts}))
    }))
}

#[derive(Deserialize)]
struct Change {
    user: String,
    channel: String,
    ts: String,
    #[serde(default)]
    text: String,
}

async fn edit(Extract(state): Extract<Arc<State>>, Json(c): Json<Change>) -> Response {
    answered(state.change(|w| w.edit(&c.user, &c.channel, &c.ts, &c.text)).map(|()| json!({})))
}

async fn delete(Extract(state): Extract<Arc<State>>, Json(c): Json<Change>) -> Response {
    answered(state.change(|w| w.delete(&c.user, &c.channel, &c.ts)).map(|()| json!({})))
}

/// Returns the outcome of an interaction, once the app has answered or can no longer answer; a real user does not learn
/// earlier whether it failed. Autocomplete choices are included.
async fn wait_for_outcome(state: &State, sent: Result<String, String>) -> Response {
    let id = match sent {
        Ok(id) => id,
        Err(sentence) => return answered(Err(sentence)),
    };
    let (mut version, waits) = (state.version.subscribe(), state.read(|w| w.config.interaction_timeout));
    let became = |w: &World| w.interaction(&id).map(|i| (i.state, choices(i)));
    let settled =
        version.wait_for(|_| state.read(became).is_none_or(|(became, _)| became != Delivery::Dispatched));
    let _ = tokio::time::timeout(waits.to_std().unwrap_or_default(), settled).await.is_ok();
    let (became, choices) = state.read(became).unwrap_or((Delivery::Lost, Value::Null));
    answered(Ok(json!({"interaction": id, "state": became, "choices": choices})))
}

fn choices(interaction: &Interaction) -> Value {
    interaction.answer.as_ref().map_or(Value::Null, |answer| answer["data"]["choices"].clone())
}

#[derive(Deserialize)]
struct Press {
    user: String,
    channel: String,
    ts: String,
    custom_id: String,
    value: Option<String>,
}

async fn press(Extract(state): Extract<Arc<State>>, Json(p): Json<Press>) -> Response {
    // A select sends the chosen option's value.
    let pressed = p.value.as_ref().unwrap_or(&p.custom_id);
    let pressed = state.change(|w| w.click(&p.user, &p.channel, &p.ts, pressed));
    wait_for_outcome(&state, pressed).await
}

#[derive(Deserialize)]
struct Command {
    user: String,
    channel: String,
    command: String,
    #[serde(default)]
    options: Value,
}

async fn slash(Extract(state): Extract<Arc<State>>, Json(c): Json<Command>) -> Response {
    let given = state.change(|w| w.run_command(&c.user, &c.channel, &c.command, &c.options));
    wait_for_outcome(&state, given).await
}

async fn complete(Extract(state): Extract<Arc<State>>, Json(c): Json<Command>) -> Response {
    let given = state.change(|w| w.complete(&c.user, &c.channel, &c.command, &c.options));
    wait_for_outcome(&state, given).await
}

#[derive(Deserialize)]
struct Entry {
    user: String,
    channel: String,
    ts: String,
    entry: String,
}

async fn pick(Extract(state): Extract<Arc<State>>, Json(e): Json<Entry>) -> Response {
    let picked = state.change(|w| w.use_message_command(&e.user, &e.channel, &e.ts, &e.entry));
    wait_for_outcome(&state, picked).await
}

#[derive(Deserialize)]
struct FormSubmission {
    user: String,
    /// Values by custom id or label.
    #[serde(default)]
    typed: BTreeMap<String, String>,
}

async fn submit(Extract(state): Extract<Arc<State>>, Json(form): Json<FormSubmission>) -> Response {
    let sent = state.change(|w| w.submit(&form.user, &form.typed));
    wait_for_outcome(&state, sent).await
}

async fn close(Extract(state): Extract<Arc<State>>, Json(form): Json<FormSubmission>) -> Response {
    answered(state.change(|w| w.dismiss(&form.user)).map(|()| json!({})))
}

impl World {
    /// Returns the guild as one user sees it; without a viewer only the users and channels.
    fn view_for(&self, viewer: Option<&str>, version: u64) -> Value {
        let channels: Vec<Value> = self
            .channels
            .values()
            .filter(|c| viewer.is_none_or(|v| self.can_see(&c.id, v)))
            .map(|channel| {
                let all = self.messages_in(&channel.id).iter().filter(|m| viewer.is_some() && m.kind != 21);
                let messages: Vec<Value> = all.map(|m| self.message_view(m)).collect();
                json!({
                    "id": channel.id, "name": channel.name, "title": self.channel_title(&channel.id),
                    "kind": channel.kind, "parent": channel.parent, "members": channel.members,
                    "messages": messages,
                })
            })
            .collect();
        // Only the latest typing time of each channel; a client shows the indicator for ten seconds.
        let typing: BTreeMap<&String, _> = self.typing.iter().map(|(place, at)| (place, at)).collect();
        let typing = typing.into_iter().filter(|(place, _)| viewer.is_some_and(|v| self.can_see(place, v)));
        let whispers = self.ephemerals.iter().filter(|m| viewer.is_some() && m.only.as_deref() == viewer);
        let forms: Vec<_> = self.forms.iter().filter(|f| viewer == Some(&f.user) && f.open).collect();
        json!({
            "version": version,
            "team": {"id": self.config.guild.id, "name": self.config.guild.name},
            "bot": {"user": self.bot(), "name": self.config.app.name},
            "commands": self.commands,
            "connected": self.gateway.ready(),
            "users": self.users.values().collect::<Vec<_>>(),
            "channels": channels,
            "ephemerals": whispers.map(|m| self.message_view(m)).collect::<Vec<_>>(),
            "forms": forms,
            "typing": typing.map(|(place, at)| json!({"channel": place, "at": at})).collect::<Vec<_>>(),
        })
    }

    fn message_view(&self, message: &Message) -> Value {
        let mut seen = serde_json::to_value(message).unwrap_or_default();
        seen["shown"] = json!(self.message_text(message));
        seen["thinking"] = json!(message.flags & LOADING != 0);
        if let Some(asked) = message.interaction.as_ref().and_then(|id| self.interaction(id)) {
            seen["command"] = json!({"user": asked.user, "name": asked.payload["data"]["name"]});
        }
        for file in seen["attachments"].as_array_mut().into_iter().flatten() {
            let bytes = file["id"].as_str().and_then(|id| self.files.get(id));
            // Of what is no text nothing can be shown.
            file["preview"] = json!(bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()));
        }
        seen
    }
}
