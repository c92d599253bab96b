//! A small JSON API for a demo page, under `/_sandbox/`: view the workspace and act as one person.
//!
//! A viewer sees only the channels of which they are a member, and only their own ephemeral messages.

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
use super::entities::Message;
use super::people::NewMessage;
use super::world::World;
use crate::dropped_file::{DroppedFile, MAX_BODY_BYTES};

/// How long a long poll waits.
const PATIENCE: Duration = Duration::from_secs(25);

pub(super) fn router() -> Router<Arc<State>> {
    Router::new()
        .route("/state", get(state))
        .route("/events", get(wait_for_change))
        .route("/say", post(say).layer(DefaultBodyLimit::max(MAX_BODY_BYTES)))
        .route("/edit", post(edit))
        .route("/delete", post(delete))
        .route("/press", post(press))
        .route("/home", post(home))
        .route("/press_home", post(press_home))
        .route("/assistant", post(assistant))
        .route("/pick", post(pick))
        .route("/slash", post(slash))
        .route("/submit", post(submit))
        .route("/close", post(close))
}

/// Errors are sentences in JSON.
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

/// Answers once the version is later than `since`, or with the same version after `READ_TIMEOUT`.
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
    #[serde(default)]
    text: String,
    /// A file that comes with the words.
    file: Option<DroppedFile>,
}

async fn say(Extract(state): Extract<Arc<State>>, Json(words): Json<Words>) -> Response {
    let mut say =
        NewMessage { thread: words.thread, ..NewMessage::new(&words.user, &words.channel, &words.text) };
    answered(state.change(|w| {
        if let Some(file) = &words.file {
            let bytes = file.bytes()?;
            say.files = vec![w.upload(&file.name, file.media_type(), bytes)];
            say.subtype = Some("file_share".to_owned());
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

#[derive(Deserialize)]
struct Press {
    user: String,
    channel: String,
    ts: String,
    action_id: String,
    /// Which of two feedback buttons.
    value: Option<String>,
}

async fn press(Extract(state): Extract<Arc<State>>, Json(p): Json<Press>) -> Response {
    let button = p.value.as_ref().unwrap_or(&p.action_id);
    let pressed = state.change(|w| w.click(&p.user, &p.channel, &p.ts, button));
    answered(pressed.map(|envelope| json!({"envelope": envelope})))
}

#[derive(Deserialize)]
struct Visitor {
    user: String,
}

async fn home(Extract(state): Extract<Arc<State>>, Json(visitor): Json<Visitor>) -> Response {
    answered(state.change(|w| w.open_home(&visitor.user)).map(|()| json!({})))
}

/// Opens an assistant thread.
async fn assistant(Extract(state): Extract<Arc<State>>, Json(visitor): Json<Visitor>) -> Response {
    answered(state.change(|w| w.open_assistant_thread(&visitor.user, None)).map(|ts| json!({"ts": ts})))
}

#[derive(Deserialize)]
struct HomePress {
    user: String,
    /// Its text or its action id.
    button: String,
}

async fn press_home(Extract(state): Extract<Arc<State>>, Json(p): Json<HomePress>) -> Response {
    let pressed = state.change(|w| w.click_in_home(&p.user, &p.button));
    answered(pressed.map(|envelope| json!({"envelope": envelope})))
}

#[derive(Deserialize)]
struct Pick {
    user: String,
    channel: String,
    ts: String,
    shortcut: String,
}

async fn pick(Extract(state): Extract<Arc<State>>, Json(p): Json<Pick>) -> Response {
    let picked = state.change(|w| w.use_shortcut(&p.user, &p.channel, &p.ts, &p.shortcut));
    answered(picked.map(|envelope| json!({"envelope": envelope})))
}

#[derive(Deserialize)]
struct Command {
    user: String,
    channel: String,
    command: String,
    #[serde(default)]
    text: String,
}

async fn slash(Extract(state): Extract<Arc<State>>, Json(c): Json<Command>) -> Response {
    let given = state.change(|w| w.run_command(&c.user, &c.channel, &c.command, &c.text));
    answered(given.map(|envelope| json!({"envelope": envelope})))
}

#[derive(Deserialize)]
struct Form {
    user: String,
    view: String,
    /// Keyed by block id or label.
    #[serde(default)]
    typed: BTreeMap<String, String>,
}

async fn submit(Extract(state): Extract<Arc<State>>, Json(form): Json<Form>) -> Response {
    let sent = state.change(|w| w.send_form(&form.user, &form.view, &form.typed));
    answered(sent.map(|envelope| json!({"envelope": envelope})))
}

async fn close(Extract(state): Extract<Arc<State>>, Json(form): Json<Form>) -> Response {
    answered(state.change(|w| w.close_form(&form.user, &form.view)).map(|_| json!({})))
}

impl World {
    /// Returns the workspace as one person sees it; without a viewer, only the lists of people and channels.
    fn view_for(&self, viewer: Option<&str>, version: u64) -> Value {
        let channels: Vec<Value> = self
            .channels
            .values()
            .filter(|c| viewer.is_none_or(|v| c.members.iter().any(|m| m == v)))
            .map(|channel| {
                let messages: Vec<Value> = match viewer {
                    Some(_) => self.messages(&channel.id).iter().map(|m| self.message_view(m)).collect(),
                    None => vec![],
                };
                json!({
                    "id": channel.id, "name": channel.name, "title": self.channel_title(&channel.id),
                    "kind": channel.kind, "members": channel.members, "messages": messages,
                })
            })
            .collect();
        let own = |user: &str| viewer == Some(user);
        let whispers: Vec<_> = self.ephemerals.iter().filter(|e| own(&e.user)).collect();
        let views: Vec<_> = self.views.iter().filter(|v| own(&v.user) && v.open).collect();
        let visible = |channel: &str| viewer.is_some_and(|v| self.is_member(channel, v));
        let statuses: Vec<Value> = self
            .statuses
            .iter()
            .filter(|((channel, _), _)| visible(channel))
            .map(|((channel, thread), status)| json!({"channel": channel, "thread_ts": thread, "status": status}))
            .collect();
        let assistant_threads: Vec<Value> = self
            .panes
            .iter()
            .filter(|(_, thread)| own(&thread.user))
            .map(|((_, ts), thread)| json!({"ts": ts, "title": thread.title, "prompts": thread.prompts}))
            .collect();
        json!({
            "version": version,
            "team": {"id": self.config.team.id, "name": self.config.team.name},
            "bot": {"user": self.config.app.bot_user, "name": self.config.app.name},
            "commands": self.config.app.commands,
            "connected": self.sockets.count(),
            "users": self.users.values().collect::<Vec<_>>(),
            "channels": channels,
            "ephemerals": whispers,
            "views": views,
            "statuses": statuses,
            "assistant_threads": assistant_threads,
            "home": viewer.and_then(|viewer| self.homes.get(viewer)),
        })
    }

    fn message_view(&self, message: &Message) -> Value {
        let mut seen = serde_json::to_value(message).unwrap_or_default();
        seen["shown"] = json!(self.message_text(&message.text, &message.blocks));
        for file in seen["files"].as_array_mut().into_iter().flatten() {
            let upload = file["id"].as_str().and_then(|id| self.uploads.get(id));
            if let Some(content) = upload.and_then(|upload| upload.content.as_ref()) {
                // Of what is no text nothing can be shown.
                file["preview"] = json!(std::str::from_utf8(content).ok());
            }
        }
        seen
    }
}
