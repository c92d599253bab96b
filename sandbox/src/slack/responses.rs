//! Answers outside of the Web API: acknowledgements of commands and forms, response URLs.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use serde_json::{Map, Value, json};

use super::State;
use super::entities::Ephemeral;
use super::rules::{self, Content};
use super::web::Post;
use super::world::{ResponseUrl, World};
use crate::serve;

const ALLOWED: [&str; 12] = [
    "text",
    "blocks",
    "attachments",
    "metadata",
    "response_type",
    "replace_original",
    "delete_original",
    "thread_ts",
    "mrkdwn",
    "unfurl_links",
    "unfurl_media",
    "markdown_text",
];

impl World {
    /// Applies the payload of a command's acknowledgement: an ephemeral answer, or a public one on request.
    pub(super) fn apply_command_response(&mut self, user: &str, channel: &str, answer: &Value) {
        let Some(fields) = answer.as_object().cloned() else {
            return self.violation("a command's acknowledgement payload is an object");
        };
        if fields.is_empty() {
            return;
        }
        let url = ResponseUrl {
            user: user.into(),
            channel: channel.into(),
            message: None,
            uses: 0,
            since: self.now(),
        };
        if let Err(sentence) = self.respond(&url, &fields, "command") {
            self.violation(format!("acknowledgement of a command: {sentence}"));
        }
    }

    fn respond(
        &mut self,
        url: &ResponseUrl,
        fields: &Map<String, Value>,
        source: &'static str,
    ) -> Result<(), String> {
        if let Some(odd) = fields.keys().find(|k| !ALLOWED.contains(&k.as_str())) {
            return Err(format!("unknown field {odd}"));
        }
        let on = |name: &str| fields.get(name).and_then(Value::as_bool).unwrap_or(false);
        if on("delete_original") {
            return self.delete_original(url);
        }
        let content =
            rules::content(fields).map_err(|b| format!("{}: {}", b.error, b.messages.join("; ")))?;
        if content.is_empty() {
            return Err("no_text".into());
        }
        if on("replace_original") {
            return self.replace_original(url, content);
        }
        match fields.get("response_type").and_then(Value::as_str) {
            None | Some("ephemeral") => {
                let thread = fields.get("thread_ts").and_then(Value::as_str).map(str::to_owned);
                self.post_ephemeral(&url.user, &url.channel, thread, content, source);
                Ok(())
            }
            Some("in_channel") => {
                let post = Post { channel: url.channel.clone(), content, ..Post::default() };
                self.post(post);
                Ok(())
            }
            Some(odd) => Err(format!("unknown response_type {odd}")),
        }
    }

    pub(super) fn post_ephemeral(
        &mut self,
        user: &str,
        channel: &str,
        thread_ts: Option<String>,
        content: Content,
        source: &'static str,
    ) -> String {
        let ts = self.next_ts();
        let mut blocks = content.blocks.unwrap_or_default();
        super::render::fill_ids(&mut blocks, || self.next_number());
        self.ephemerals.push(Ephemeral {
            user: user.into(),
            channel: channel.into(),
            ts: ts.clone(),
            thread_ts,
            text: content.text.unwrap_or_default(),
            blocks,
            metadata: content.metadata,
            source,
        });
        ts
    }

    fn delete_original(&mut self, url: &ResponseUrl) -> Result<(), String> {
        let ts = url.message.as_deref().ok_or("there is no original message")?;
        let before = self.ephemerals.len();
        self.ephemerals.retain(|e| e.ts != ts);
        if self.ephemerals.len() == before {
            self.remove(&url.channel, ts);
        }
        Ok(())
    }

    fn replace_original(&mut self, url: &ResponseUrl, content: Content) -> Result<(), String> {
        let ts = url.message.as_deref().ok_or("there is no original message")?;
        if let Some(whisper) = self.ephemerals.iter_mut().find(|e| e.ts == ts) {
            whisper.text = content.text.unwrap_or_default();
            whisper.blocks = content.blocks.unwrap_or_default();
            return Ok(());
        }
        self.rewrite(&url.channel, ts, content).map_err(|_| "the original message is gone".to_owned())
    }
}

/// `POST /response/{team}/{key}`
pub(super) async fn response_url(
    Extract(state): Extract<Arc<State>>,
    Path((_, key)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    serve::respond_with_fault(state.faults.take("response_url"), async move {
        state.change(|w| handle_response_url(w, &key, &headers, &body))
    })
    .await
}

fn handle_response_url(w: &mut World, key: &str, headers: &HeaderMap, body: &[u8]) -> Response {
    let refuse =
        |code: StatusCode, error: &str| (code, Json(json!({"ok": false, "error": error}))).into_response();
    let now = w.now();
    let Some(url) = w.response_urls.get_mut(key) else {
        return refuse(StatusCode::NOT_FOUND, "invalid_url");
    };
    if now - url.since > TimeDelta::minutes(30) {
        return refuse(StatusCode::NOT_FOUND, "expired_url");
    }
    if url.uses >= 5 {
        return refuse(StatusCode::NOT_FOUND, "used_url");
    }
    url.uses += 1;
    let url = url.clone();
    let json = headers.get("content-type").and_then(|c| c.to_str().ok()).is_some_and(|c| c.contains("json"));
    let Some(fields) = serde_json::from_slice::<Map<String, Value>>(body).ok().filter(|_| json) else {
        w.violation("response_url: the body is a JSON object with its content type");
        return refuse(StatusCode::BAD_REQUEST, "invalid_payload");
    };
    match w.respond(&url, &fields, "response_url") {
        Ok(()) => "ok".into_response(),
        Err(sentence) => {
            w.violation(format!("response_url: {sentence}"));
            refuse(StatusCode::BAD_REQUEST, "invalid_payload")
        }
    }
}
