//! The entry of Calendar v3: finds the operation, checks the token, and validates the request and the answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State as Shares};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use jiff::Timestamp;
use serde_json::Value;

use super::event_json::Viewpoint;
use super::model::jiff_time;
use super::moment::{instant, zone};
use super::operations::{OPERATIONS, OWNED, OWNED_READONLY};
use super::store::{Calendars, Owner};
use super::{people, read, rejection, write};
use crate::google::response::{Outcome, Rejection};
use crate::google::rules::{GOOGLE, Operation};
use crate::google::upload::Body;
use crate::google::{Account, Shared, middleware};
use crate::{Fault, serve};

const LARGEST: usize = 1_048_576;

/// A validated request.
#[derive(Debug)]
pub(super) struct ApiRequest<'a> {
    pub account: Account,
    scopes: BTreeSet<String>,
    ids: Vec<String>,
    query: Vec<(String, String)>,
    pub body: &'a Value,
    if_match: Option<String>,
    pub now: Timestamp,
}

impl ApiRequest<'_> {
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn params(&self, name: &str) -> Vec<&str> {
        self.query.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str()).collect()
    }

    pub fn flag(&self, name: &str) -> bool {
        self.param(name) == Some("true")
    }

    pub fn instant(&self, name: &str) -> Result<Option<Timestamp>, Rejection> {
        let wrong = || rejection::invalid(format!("Invalid value for: {name}"));
        self.param(name).map(|text| instant(text).ok_or_else(wrong)).transpose()
    }

    /// Returns whether the client supports Meet links.
    pub fn supports_conferences(&self) -> bool {
        self.param("conferenceDataVersion") == Some("1")
    }

    /// Returns where a page of a list begins, and its length.
    pub fn page(&self, usual: usize) -> Result<(usize, usize), Rejection> {
        let from = match self.param("pageToken") {
            None => Some(0),
            Some(token) => token.strip_prefix('p').and_then(|text| text.parse().ok()),
        };
        let from = from.ok_or_else(|| rejection::invalid("Invalid page token value."))?;
        Ok((from, self.param("maxResults").and_then(|text| text.parse().ok()).unwrap_or(usual)))
    }

    pub fn first_id(&self) -> &str {
        self.ids.first().map(String::as_str).unwrap_or_default()
    }

    /// Returns the event's id from the path.
    pub fn event(&self) -> &str {
        self.ids.get(1).map(String::as_str).unwrap_or_default()
    }

    /// Returns the calendar from the path, if the caller can read it.
    pub fn calendar(&self, all: &Calendars) -> Result<String, Rejection> {
        let me = &self.account.email;
        let named = if self.first_id() == "primary" { me } else { self.first_id() };
        let owner = all.owner(named).ok_or_else(rejection::not_found)?;
        let has = |scope: &str| self.scopes.contains(&format!("{GOOGLE}{scope}"));
        let own_only = [OWNED, OWNED_READONLY].iter().any(|scope| has(scope))
            && !["calendar", "calendar.readonly", "calendar.events", "calendar.events.readonly"]
                .iter()
                .any(|s| has(s));
        match owner.email == *me || (!own_only && all.is_shared(&owner.email, me)) {
            true => Ok(owner.email.clone()),
            false => Err(rejection::not_found()),
        }
    }

    /// Returns it for writing, which is allowed only to the calendar's owner here.
    pub fn own_calendar(&self, all: &Calendars) -> Result<String, Rejection> {
        let calendar = self.calendar(all)?;
        if calendar == self.account.email { Ok(calendar) } else { Err(rejection::not_a_writer()) }
    }

    pub fn must_match(&self, etag: &str) -> Result<(), Rejection> {
        match self.if_match.as_deref() {
            None | Some("*") => Ok(()),
            Some(given) if given == etag => Ok(()),
            Some(_) => Err(rejection::precondition_failed()),
        }
    }

    /// Returns how the caller sees a calendar.
    pub fn to_view(&self, all: &Calendars, calendar: &str) -> Result<Viewpoint, Rejection> {
        let zone = match self.param("timeZone") {
            Some(name) => zone(name).ok_or_else(|| rejection::invalid("Invalid value for: timeZone"))?,
            None => all.owner(calendar).map(Owner::zone).ok_or_else(rejection::not_found)?,
        };
        let most = self.param("maxAttendees").and_then(|text| text.parse().ok());
        Ok(Viewpoint {
            calendar: calendar.to_owned(),
            reader: self.account.email.clone(),
            zone,
            max_attendees: most,
        })
    }
}

pub(in crate::google) fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/calendar/v3/{*rest}", any(walk_in))
}

async fn walk_in(Shares(shared): Shares<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let rest = path.strip_prefix("/calendar/v3/").unwrap_or_default();
    let segments: Vec<String> = rest.split('/').map(middleware::percent_decode).collect();
    let Some((operation, ids)) = Operation::find(&OPERATIONS, &parts.method, &segments, false) else {
        let what = format!("{} {path} is not known here", parts.method);
        shared.change(|state| state.violations.push(what));
        return rejection::respond(&rejection::not_found(), None);
    };
    let query = parts.uri.query().unwrap_or_default();
    let query: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let body = match to_bytes(body, LARGEST).await {
        Ok(bytes) => Body::read(&parts.headers, None, &bytes).map(|body| body.json),
        Err(_) => Err("The body is too large or broke off".to_owned()),
    };
    middleware::record(&shared, operation, &parts.headers, body.as_ref().ok().cloned().unwrap_or_default());
    match shared.faults.take(operation.id) {
        Some(Fault::Status { code, retry_after }) => {
            rejection::respond(&rejection::status(code), retry_after)
        }
        Some(Fault::ErrorReason { code, reason, retry_after }) => {
            rejection::respond(&rejection::with_reason(code, reason), retry_after)
        }
        fault => {
            let work = async {
                let outcome = validate_and_perform(&shared, operation, &parts.headers, ids, query, body);
                respond(outcome, &parts.headers)
            };
            serve::respond_with_fault(fault, work).await
        }
    }
}

fn validate_and_perform(
    shared: &Shared,
    operation: &Operation,
    headers: &HeaderMap,
    ids: Vec<String>,
    query: Vec<(String, String)>,
    body: Result<Value, String>,
) -> Outcome {
    let (account, scopes) = middleware::enter(shared, operation, headers)?;
    let body = body.map_err(|why| violated(shared, operation, vec![why]))?;
    let mut wrong = shared.rules.query(operation, &query);
    wrong.extend(judge_body(shared, operation, &body));
    if !wrong.is_empty() {
        return Err(violated(shared, operation, wrong));
    }
    let if_match = headers.get(header::IF_MATCH).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let ask = ApiRequest { account, scopes, ids, query, body: &body, if_match, now: jiff_time(shared.now()) };
    let outcome = shared.change(|state| perform(operation.id, &mut state.calendars, &ask));
    middleware::validate_response(shared, operation, outcome?)
}

fn violated(shared: &Shared, operation: &Operation, wrong: Vec<String>) -> Rejection {
    let message = middleware::record_violations(shared, operation, wrong).message;
    rejection::invalid(message)
}

fn judge_body(shared: &Shared, operation: &Operation, body: &Value) -> Vec<String> {
    let takes_json = ["insert", "update", "patch", "query"].iter().any(|end| operation.id.ends_with(end));
    match (body.is_null(), takes_json) {
        (true, false) => Vec::new(),
        (false, false) => vec!["This operation takes no body".to_owned()],
        (true, true) => vec!["The body is missing".to_owned()],
        (false, true) => shared.rules.request(operation, body, false),
    }
}

/// Responds with a resource and its ETag, or with 304 if the caller has that version already.
fn respond(outcome: Outcome, headers: &HeaderMap) -> Response {
    let value = match outcome {
        Ok(Some(value)) => value,
        Ok(None) => return StatusCode::NO_CONTENT.into_response(),
        Err(refusal) => return rejection::respond(&refusal, None),
    };
    let etag = value["etag"].as_str().and_then(|etag| HeaderValue::from_str(etag).ok());
    let known = headers.get(header::IF_NONE_MATCH);
    // A list has an ETag too, but it does not depend on what was requested of the list.
    let is_one = value["items"].is_null();
    let mut response = match is_one && etag.is_some() && known == etag.as_ref() {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => axum::Json(value).into_response(),
    };
    if let Some(etag) = etag {
        response.headers_mut().insert(header::ETAG, etag);
    }
    response
}

fn perform(id: &str, all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    match id {
        "calendar.events.list" => read::list(all, ask),
        "calendar.events.get" => read::get(all, ask),
        "calendar.events.instances" => read::instances(all, ask),
        "calendar.events.insert" => write::insert(all, ask),
        "calendar.events.update" => write::update(all, ask),
        "calendar.events.patch" => write::patch(all, ask),
        "calendar.events.delete" => write::delete(all, ask),
        "calendar.freebusy.query" => read::busy(all, ask),
        "calendar.calendarList.list" => people::list(all, ask),
        "calendar.calendarList.get" => people::get_entry(all, ask),
        "calendar.calendars.get" => people::calendar(all, ask),
        "calendar.settings.get" => people::setting(all, ask),
        other => Err(Rejection::backend(format!("{other} is in the table and has no code"))),
    }
}
