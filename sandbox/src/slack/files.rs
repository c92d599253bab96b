//! File downloads: with the bot's token and its scope, a file is returned as it was stored.

use std::sync::Arc;

use axum::extract::{Path, State as Extract};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::State;
use crate::serve;

/// `/files-pri/{team}-{file}/{name}`; operation `file`. A file whose name begins with `endless` never ends, one with
/// `elsewhere` redirects to another host.
pub(super) async fn serve_file(
    Extract(state): Extract<Arc<State>>,
    Path((id, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let told = bearer.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default().to_owned();
    let id = id.split('-').nth(1).unwrap_or_default().to_owned();
    let (may, bytes) = state.read(|w| {
        let app = &w.config.app;
        (told == app.bot_token && app.scopes.contains("files:read"), w.files.get(&id).cloned())
    });
    serve::respond_with_fault(state.faults.take("file"), async {
        match bytes {
            // Slack shows its sign-in page, with status 200.
            _ if !may => Html("<!DOCTYPE html><html><body>Sign in to Slack</body></html>").into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
            Some(_) if name.starts_with("elsewhere") => {
                Redirect::temporary("http://elsewhere.invalid/stolen").into_response()
            }
            Some(bytes) if name.starts_with("endless") => serve::endless_response(bytes),
            Some(bytes) => ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response(),
        }
    })
    .await
}
