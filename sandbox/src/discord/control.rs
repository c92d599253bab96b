//! A small JSON door for a demo page, under `/_sandbox/`: see as one person, act as one person.
//!
//! A viewer sees only the channels that he sees in Discord, and only what was whispered to him.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::State;
use super::entities::Message;
use super::people::Say;
use super::world::World;

/// How long a question for news waits.
const PATIENCE: Duration = Duration::from_secs(25);

pub(super) fn router() -> Router<Arc<State>> {
    Router::new()
        .route("/state", get(state))
        .route("/events", get(events))
        .route("/say", post(say))
        .route("/edit", post(edit))
        .route("/delete", post(delete))
        .route("/press", post(press))
        .route("/slash", post(slash))
        .route("/submit", post(submit))
        .route("/close", post(close))
}

/// Errors are JSON sentences.
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
        Ok(w.seen_by(viewer.as_deref(), version))
    });
    answered(seen)
}

#[derive(Deserialize)]
struct Since {
    #[serde(default)]
    since: u64,
}

/// Answers once the version is past `since`, or with the same version after a while.
async fn events(Extract(state): Extract<Arc<State>>, Query(since): Query<Since>) -> Response {
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
    #[serde(default)]
    text: String,
}

async fn say(Extract(state): Extract<Arc<State>>, Json(words): Json<Words>) -> Response {
    let say = Say { thread: words.thread, ..Say::new(&words.user, &words.channel, &words.text) };
    answered(state.change(|w| w.say(say)).map(|ts| json!({"ts": ts})))
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

#[derive(Deserialize)]
struct Press {
    user: String,
    channel: String,
    ts: String,
    custom_id: String,
}

async fn press(Extract(state): Extract<Arc<State>>, Json(p): Json<Press>) -> Response {
    let pressed = state.change(|w| w.press(&p.user, &p.channel, &p.ts, &p.custom_id));
    answered(pressed.map(|id| json!({"interaction": id})))
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
    let given = state.change(|w| w.slash(&c.user, &c.channel, &c.command, &c.options));
    answered(given.map(|id| json!({"interaction": id})))
}

#[derive(Deserialize)]
struct Filled {
    user: String,
    /// By custom id or label.
    #[serde(default)]
    typed: BTreeMap<String, String>,
}

async fn submit(Extract(state): Extract<Arc<State>>, Json(form): Json<Filled>) -> Response {
    let sent = state.change(|w| w.submit(&form.user, &form.typed));
    answered(sent.map(|id| json!({"interaction": id})))
}

async fn close(Extract(state): Extract<Arc<State>>, Json(form): Json<Filled>) -> Response {
    answered(state.change(|w| w.dismiss(&form.user)).map(|()| json!({})))
}

impl World {
    /// The guild through one person's eyes; without a viewer only who and what there is.
    fn seen_by(&self, viewer: Option<&str>, version: u64) -> Value {
        let channels: Vec<Value> = self
            .channels
            .values()
            .filter(|c| viewer.is_none_or(|v| self.sees(&c.id, v)))
            .map(|channel| {
                let all = self.messages_in(&channel.id).iter().filter(|m| viewer.is_some() && m.kind != 21);
                let messages: Vec<Value> = all.map(|m| self.seen(m)).collect();
                json!({
                    "id": channel.id, "name": channel.name, "title": self.channel_title(&channel.id),
                    "kind": channel.kind, "parent": channel.parent, "members": channel.members,
                    "messages": messages,
                })
            })
            .collect();
        let whispers = self.whispers.iter().filter(|m| viewer.is_some() && m.only.as_deref() == viewer);
        let forms: Vec<_> = self.forms.iter().filter(|f| viewer == Some(&f.user) && f.open).collect();
        json!({
            "version": version,
            "team": {"id": self.config.guild.id, "name": self.config.guild.name},
            "bot": {"user": self.bot(), "name": self.config.app.name},
            "commands": self.commands,
            "connected": self.gateway.ready(),
            "users": self.users.values().collect::<Vec<_>>(),
            "channels": channels,
            "ephemerals": whispers.map(|m| self.seen(m)).collect::<Vec<_>>(),
            "forms": forms,
        })
    }

    fn seen(&self, message: &Message) -> Value {
        let mut seen = serde_json::to_value(message).unwrap_or_default();
        seen["shown"] = json!(self.shown(message));
        seen
    }
}
