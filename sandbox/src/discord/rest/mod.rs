//! The REST endpoint: reads the request, checks token, query and body, and runs the operation.
//!
//! What no real client should ever send is answered with Discord's error and recorded in `violations`.

mod callbacks;
mod channels;
mod commands;
mod guilds;
mod messages;
mod multipart;
mod routes;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State as Extract};
use axum::http::{HeaderMap, Method as Verb, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use super::State;
use super::rejection::{RateLimitInfo, Rejection};
use super::world::{ApiCall, World};
use crate::{Fault, serve};
use multipart::File;
use routes::{Auth, Operation};

/// The answer of an operation.
type Answer = Result<(u16, Value), Rejection>;

/// A parsed request.
pub(super) struct Request {
    verb: Verb,
    path: String,
    headers: HeaderMap,
    params: Vec<String>,
    query: BTreeMap<String, String>,
    body: Value,
    files: Vec<File>,
}

impl Request {
    fn param(&self, at: usize) -> &str {
        self.params.get(at).map_or("", String::as_str)
    }

    fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// Returns the user whose token from the consent page was sent.
    fn person<'a>(&self, w: &'a World) -> Option<&'a String> {
        w.grants.tokens.get(self.header(header::AUTHORIZATION).strip_prefix("Bearer ")?)
    }

    /// Parses a number of the query within bounds.
    fn limit(&self, name: &str, usual: usize, most: usize) -> Result<usize, Rejection> {
        let Some(given) = self.query.get(name) else { return Ok(usual) };
        let fits = given.parse().ok().filter(|n| (1..=most).contains(n));
        fits.ok_or_else(|| Rejection::field(name, &format!("Is 1 to {most}.")))
    }

    /// Parses an id of the query.
    fn snowflake(&self, name: &str) -> Result<Option<u64>, Rejection> {
        let Some(given) = self.query.get(name) else { return Ok(None) };
        let wrong = || Rejection::field(name, "Value is not snowflake.");
        given.parse().map(Some).map_err(|_| wrong())
    }
}

/// Handles `/api/v10/{*path}`.
pub(super) async fn api(
    Extract(state): Extract<Arc<State>>,
    Path(path): Path<String>,
    verb: Verb,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = format!("/{path}");
    let found = routes::find(verb.as_str(), &path);
    let (operation, params) = found.map_or((None, vec![]), |(o, p)| (Some(o), p));
    let query = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect();
    let mut request = Request { verb, path, headers, params, query, body: Value::Null, files: Vec::new() };
    let read = multipart::read(&mut request, &body);
    let Some(operation) = operation else {
        return state.change(|w| {
            w.violation(format!("no operation {} {}", request.verb, request.path));
            finish(w, &request, "", Err(Rejection::expected(404, 0, "404: Not Found")))
        });
    };
    let id = operation.id;
    let (fault, global) = match state.faults.take(id) {
        Some(fault) => (Some(fault), false),
        None => (state.faults.take("global"), true),
    };
    if let Some(Fault::Status { code, retry_after }) = fault {
        return state.change(|w| failed(w, &request, id, code, retry_after, global));
    }
    if matches!(fault, Some(Fault::DropConnection | Fault::HangBefore)) {
        state.change(|w| record_call(w, &request, id, None));
    }
    let work = async { state.change(|w| answer(&state, w, operation, &request, read)) };
    serve::respond_with_fault(fault, work).await
}

/// Answers with a planned status.
fn failed(w: &mut World, request: &Request, id: &str, code: u16, after: Option<u64>, all: bool) -> Response {
    #[allow(clippy::cast_precision_loss, reason = "a few seconds")]
    let seconds = after.unwrap_or(1) as f64;
    let scope = if all { "global" } else { "user" };
    let refusal = match code {
        429 => Rejection::rate_limited(RateLimitInfo { seconds, global: all, scope }),
        401 => Rejection::expected(401, 0, "401: Unauthorized"),
        403 => Rejection::expected(403, 50013, "Missing Permissions"),
        _ => Rejection::expected(code, 0, &format!("{code}: planned")),
    };
    finish(w, request, id, Err(refusal))
}

fn record_call(w: &mut World, request: &Request, id: &str, error: Option<String>) {
    let mut args = request.body.clone();
    if !request.query.is_empty() && args.is_null() {
        args = json!(request.query);
    }
    let path = format!("{} {}", request.verb, request.path);
    let method = if id.is_empty() { path.clone() } else { id.to_owned() };
    w.calls.push(ApiCall { method, path, args, at: w.now(), error });
}

fn answer(
    state: &State,
    w: &mut World,
    operation: &Operation,
    request: &Request,
    read: Result<(), Rejection>,
) -> Response {
    let major = request.params.first().map_or("", String::as_str);
    let (allowance, free) = w.allowance(operation.id, major);
    let outcome = free
        .and_then(|()| authorised(w, operation, request))
        .and(read)
        .and_then(|()| check_query_and_body(operation, request))
        .and_then(|()| judged(state, operation, request))
        .and_then(|()| (operation.run)(w, request));
    let mut response = finish(w, request, operation.id, outcome);
    allowance.write_headers(response.headers_mut());
    response
}

/// Validates against the vendor's schema; the fake's own rules follow.
fn judged(state: &State, operation: &Operation, request: &Request) -> Result<(), Rejection> {
    let Some(judge) = &state.judge else { return Ok(()) };
    let body = if request.body.is_null() { json!({}) } else { request.body.clone() };
    let broken = judge.find_violations(operation.id, &body);
    if broken.is_empty() { Ok(()) } else { Err(Rejection::form(broken)) }
}

fn finish(w: &mut World, request: &Request, id: &str, outcome: Answer) -> Response {
    let error = outcome.as_ref().err().map(|r| format!("{} {} {}", r.status, r.code, r.message));
    record_call(w, request, id, error);
    let refusal = match outcome {
        Ok((204, _)) => return StatusCode::NO_CONTENT.into_response(),
        Ok((status, body)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
            return (status, Json(body)).into_response();
        }
        Err(refusal) => refusal,
    };
    if refusal.violation {
        w.violation(format!("{} {}: {}", request.verb, request.path, refusal.sentence()));
    }
    if matches!(refusal.status, 401 | 403 | 429) {
        w.invalid_requests += 1;
    }
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = (status, Json(refusal.body())).into_response();
    if let Some(limit) = refusal.limit {
        limit.write_headers(response.headers_mut());
    }
    response
}

fn authorised(w: &World, operation: &Operation, request: &Request) -> Result<(), Rejection> {
    if request.header(header::USER_AGENT).is_empty() {
        return Err(Rejection::violation(403, 40333, "internal network error: no User-Agent"));
    }
    let given = request.header(header::AUTHORIZATION);
    match operation.auth {
        Auth::None => Ok(()),
        Auth::Bot if given.strip_prefix("Bot ") == Some(&w.config.app.bot_token) => Ok(()),
        Auth::Either if request.person(w).is_some() => Ok(()),
        Auth::Either if given.strip_prefix("Bot ") == Some(&w.config.app.bot_token) => Ok(()),
        Auth::Bot | Auth::Either => Err(Rejection::expected(401, 0, "401: Unauthorized")),
    }
}

/// Rejects unknown query parameters, and a body where none belongs.
fn check_query_and_body(operation: &Operation, request: &Request) -> Result<(), Rejection> {
    if let Some(odd) = request.query.keys().find(|k| !operation.query.contains(&k.as_str())) {
        return Err(Rejection::field(odd, "There is no such query parameter."));
    }
    let has_body = !request.body.is_null() || !request.files.is_empty();
    if operation.body != has_body && operation.id != "trigger_typing_indicator" {
        return Err(Rejection::violation(400, 50109, "The request body contains invalid JSON."));
    }
    Ok(())
}

/// Serves an attachment from the fake's store.
pub(super) async fn file(
    Extract(state): Extract<Arc<State>>,
    Path((_, id, name)): Path<(String, String, String)>,
) -> Response {
    serve::respond_with_fault(state.faults.take("file"), async {
        match state.read(|w| w.files.get(&id).cloned()) {
            Some(_) if name.starts_with("elsewhere") => {
                Redirect::temporary("http://elsewhere.invalid/stolen").into_response()
            }
            Some(bytes) if name.starts_with("endless") => serve::endless_response(bytes),
            Some(bytes) => bytes.into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        }
    })
    .await
}
