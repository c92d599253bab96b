//! Files that the bot sends, in Slack's three steps: get an upload URL, upload the file, share it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::{Answer, Args, Post, Rejection, chat};
use crate::serve;
use crate::slack::State;
use crate::slack::rules::Content;
use crate::slack::world::{Upload, World};

/// The largest file that the fake accepts, in bytes; Slack's own limit is a gigabyte.
const LARGEST: usize = 10_000_000;

pub(super) fn address(w: &mut World, args: &Args) -> Answer {
    let name = args.text("filename").to_owned();
    let length = args.get("length").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let length = length.filter(|length| (1..=LARGEST).contains(length));
    let Some(length) = length else {
        return Err(Rejection::argument(format!("length is a number of bytes, 1 to {LARGEST}")));
    };
    if name.contains('/') || name.chars().count() > 255 {
        return Err(Rejection::argument("filename is a name of at most 255 characters".into()));
    }
    let (id, key) = (format!("F{:010}", w.next_number()), crate::slack::world::secret());
    let url = format!("{}/upload/v1/{key}", w.base_url);
    w.uploads.insert(id.clone(), Upload { key, name, length, content: None, is_shared: false });
    Ok(json!({"upload_url": url, "file_id": id}))
}

/// `/upload/v1/{key}`: receives the file itself, once.
pub(in super::super) async fn receive_upload(
    Extract(state): Extract<Arc<State>>,
    Path(key): Path<String>,
    body: Bytes,
) -> Response {
    let fault = state.faults.take("upload");
    serve::respond_with_fault(fault, async { state.change(|w| store_upload(w, &key, &body)) }).await
}

fn store_upload(w: &mut World, key: &str, body: &[u8]) -> Response {
    let wanted = w.uploads.values().find(|upload| upload.key == key).map(|upload| upload.length);
    let sentence = match wanted {
        None => Some("an upload to an address that was not given out".to_owned()),
        Some(length) if length != body.len() => {
            Some(format!("an upload of {} bytes where {length} were announced", body.len()))
        }
        Some(_) => None,
    };
    if let Some(sentence) = sentence {
        w.violation(sentence.clone());
        return (StatusCode::BAD_REQUEST, sentence).into_response();
    }
    if let Some(upload) = w.uploads.values_mut().find(|upload| upload.key == key) {
        upload.content = Some(body.to_vec());
    }
    // Slack answers with plain text here, not with JSON.
    format!("OK - {}", body.len()).into_response()
}

pub(super) fn complete(w: &mut World, args: &Args) -> Answer {
    let wanted = args.get("files").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut files = Vec::new();
    for file in &wanted {
        let id = file["id"].as_str().unwrap_or_default();
        let Some(upload) = w.uploads.get(id).filter(|upload| upload.content.is_some()) else {
            return Err(Rejection::violation("file_not_found", vec![format!("{id} was not uploaded")]));
        };
        if upload.is_shared {
            return Err(Rejection::violation("file_not_found", vec![format!("{id} was completed before")]));
        }
        let title = file["title"].as_str().unwrap_or(&upload.name);
        files.push(json!({"id": id, "name": upload.name, "title": title, "size": upload.length}));
    }
    if let Some(channel) = args.str("channel_id") {
        share(w, channel, args, &files)?;
    }
    for file in &files {
        if let Some(upload) = file["id"].as_str().and_then(|id| w.uploads.get_mut(id)) {
            upload.is_shared = true;
        }
    }
    let told: Vec<Value> =
        files.iter().map(|file| json!({"id": file["id"], "title": file["title"]})).collect();
    Ok(json!({"files": told}))
}

/// Posts the message that shows the files.
fn share(w: &mut World, channel: &str, args: &Args, files: &[Value]) -> Result<(), Rejection> {
    let channel = chat::target(w, channel)?;
    let thread_ts = chat::thread(w, &channel, args)?;
    let content = Content { text: args.str("initial_comment").map(str::to_owned), ..Content::default() };
    let ts = w.post(Post { channel: channel.clone(), content, thread_ts, ..Post::default() });
    if let Some(message) = w.message_mut(&channel, &ts) {
        message.files = files.to_vec();
    }
    Ok(())
}
