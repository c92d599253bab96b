//! The entry of the Web API: parses the request, checks token, scope and arguments, and calls the method.
//!
//! Requests that no real client should ever send get Slack's error and are recorded in `violations`.

mod args;
mod assistant;
mod chat;
mod conversations;
mod methods;
mod people;
mod read;
mod streams;
mod uploads;
mod views;

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, HeaderValue, Method as Verb, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Map, Value, json};

pub(super) use args::Args;
pub(super) use chat::Post;
pub(super) use uploads::receive_upload as upload;

use super::State;
use super::rules::ContentError;
use super::world::{ApiCall, World};
use crate::{Fault, serve};
use methods::{Method, Scope, Token};

/// A method's answer, without `ok`.
type Answer = Result<Value, Rejection>;

/// Why a call is rejected.
#[derive(Debug, Clone)]
pub(super) struct Rejection {
    error: String,
    messages: Vec<String>,
    /// Merged into the answer (`needed`, `provided`).
    more: Map<String, Value>,
    /// No client should ever send this.
    violation: bool,
    retry_after: Option<u64>,
}

impl Rejection {
    /// Returns an error that a correct client can get.
    pub(super) fn expected(error: &str) -> Self {
        Self { error: error.into(), messages: vec![], more: Map::new(), violation: false, retry_after: None }
    }

    /// Returns an error that a correct client never gets.
    pub(super) fn violation(error: &str, messages: Vec<String>) -> Self {
        Self { messages, violation: true, ..Self::expected(error) }
    }

    pub(super) fn argument(sentence: String) -> Self {
        Self::violation("invalid_arguments", vec![format!("[ERROR] {sentence}")])
    }

    pub(super) fn missing_scope(needed: &str, provided: String) -> Self {
        let mut refusal = Self::expected("missing_scope");
        refusal.more.insert("needed".into(), needed.into());
        refusal.more.insert("provided".into(), provided.into());
        refusal
    }

    pub(super) fn rate_limited(seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..Self::expected("ratelimited") }
    }
}

impl From<ContentError> for Rejection {
    fn from(broken: ContentError) -> Self {
        Self::violation(broken.error, broken.messages)
    }
}

/// `/api/{method}`
pub(super) async fn api(
    Extract(state): Extract<Arc<State>>,
    Path(name): Path<String>,
    verb: Verb,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = Request { name, verb, query: query.unwrap_or_default(), headers, body };
    match state.faults.take(&request.name) {
        Some(Fault::Status { code, retry_after }) => {
            state.change(|w| note(w, &request, None));
            refused_by_fault(code, retry_after)
        }
        // Slack gives the reason in the body, with status 200.
        Some(Fault::ErrorReason { reason, .. }) => {
            state.change(|w| note(w, &request, None));
            Json(json!({"ok": false, "error": reason})).into_response()
        }
        fault => {
            let undone = matches!(fault, Some(Fault::DropConnection | Fault::HangBefore));
            if undone {
                state.change(|w| note(w, &request, None));
            }
            serve::respond_with_fault(fault, async { state.change(|w| answer(&state, w, &request)) }).await
        }
    }
}

fn refused_by_fault(code: u16, retry_after: Option<u64>) -> Response {
    if code == 429 {
        return rate_limited(retry_after.unwrap_or(1));
    }
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Html("<html><body>Server Error</body></html>")).into_response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn rate_limited(seconds: u64) -> Response {
    let body = Json(json!({"ok": false, "error": "ratelimited"}));
    let mut response = (StatusCode::TOO_MANY_REQUESTS, body).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

struct Request {
    name: String,
    verb: Verb,
    query: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Request {
    fn content_type(&self) -> &str {
        let value = self.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
        value.unwrap_or_default().split(';').next().unwrap_or_default().trim()
    }

    fn bearer(&self) -> Option<String> {
        let value = self.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        value.strip_prefix("Bearer ").map(str::to_owned)
    }
}

fn note(w: &mut World, request: &Request, error: Option<String>) {
    let mut args = args::lenient(request);
    args.remove("token");
    let call = ApiCall { method: request.name.clone(), args: args.into(), at: w.now(), error };
    w.calls.push(call);
}

fn answer(state: &State, w: &mut World, request: &Request) -> Response {
    let outcome = perform(state, w, request);
    note(w, request, outcome.as_ref().err().map(|r| r.error.clone()));
    let refusal = match outcome {
        Ok(mut body) => {
            body["ok"] = json!(true);
            return Json(body).into_response();
        }
        Err(refusal) => refusal,
    };
    if refusal.violation {
        let why = refusal.messages.join("; ");
        w.violation(format!("{}: {}: {why}", request.name, refusal.error));
    }
    if let Some(seconds) = refusal.retry_after {
        return rate_limited(seconds);
    }
    let mut body = json!({"ok": false, "error": refusal.error});
    if !refusal.messages.is_empty() {
        body["errors"] = json!(refusal.messages);
        body["response_metadata"] = json!({"messages": refusal.messages});
    }
    super::render::merge(&mut body, Value::Object(refusal.more));
    Json(body).into_response()
}

fn perform(state: &State, w: &mut World, request: &Request) -> Answer {
    let Some(method) = methods::find(&request.name) else {
        return Err(Rejection::violation("unknown_method", vec![format!("no method {}", request.name)]));
    };
    let mut args = args::read(request, method)?;
    check_token(w, method, request.bearer().or_else(|| args.take_token()))?;
    check_scope(w, method)?;
    args::check_names(method, &args)?;
    // The method's own check comes first because it knows Slack's specific error code; the specification's comes last.
    if let Some(check) = method.check {
        check(&args)?;
    }
    let judged =
        state.judge.as_ref().map_or_else(Vec::new, |j| j.find_violations(method.name, args.fields()));
    if !judged.is_empty() {
        return Err(Rejection::violation(violation_error_code(&judged), judged));
    }
    (method.run)(w, &args)
}

fn violation_error_code(judged: &[String]) -> &'static str {
    if judged.iter().any(|j| j.starts_with("/blocks")) {
        "invalid_blocks"
    } else if judged.iter().any(|j| j.starts_with("/metadata")) {
        "invalid_metadata_format"
    } else {
        "invalid_arguments"
    }
}

fn check_token(w: &World, method: &Method, token: Option<String>) -> Result<(), Rejection> {
    let Some(token) = token else { return Err(Rejection::expected("not_authed")) };
    let app = &w.config.app;
    let (right, other) = match method.token {
        Token::Bot => (&app.bot_token, &app.app_token),
        Token::App => (&app.app_token, &app.bot_token),
    };
    match token {
        token if token == *right => Ok(()),
        token if token == *other => Err(Rejection::violation(
            "not_allowed_token_type",
            vec!["the app's other token is needed".into()],
        )),
        _ => Err(Rejection::expected("invalid_auth")),
    }
}

fn check_scope(w: &World, method: &Method) -> Result<(), Rejection> {
    match method.scope {
        Scope::None | Scope::ByConversation => Ok(()),
        Scope::AnyOf(scopes) if scopes.iter().any(|s| w.config.app.scopes.contains(*s)) => Ok(()),
        Scope::AnyOf(scopes) => Err(w.missing_scope(&scopes.join(","))),
    }
}

impl World {
    pub(super) fn missing_scope(&self, needed: &str) -> Rejection {
        let provided: Vec<&str> = self.config.app.scopes.iter().map(String::as_str).collect();
        Rejection::missing_scope(needed, provided.join(","))
    }

    pub(super) fn need_scope(&self, scope: &str) -> Result<(), Rejection> {
        if self.config.app.scopes.contains(scope) { Ok(()) } else { Err(self.missing_scope(scope)) }
    }
}
