//! The entry of Gmail v1: finds the operation, checks the token, and validates the request and the answer.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body as HttpBody, to_bytes};
use axum::extract::{Request, State as Shares};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::any;
use serde_json::Value;

use super::middleware::record_violations;
use super::response::{Outcome, Rejection, respond};
use super::rules::{OPERATIONS, Operation, is_metadata_only};
use super::upload::Body;
use super::{Account, Shared, State, drafts, labels, messages, middleware};
use crate::{Fault, serve};

const LARGEST: usize = 36_700_160;

/// A validated request.
#[derive(Debug)]
pub(super) struct ApiRequest<'a> {
    pub account: Account,
    /// Whether the grant allows headers only.
    pub metadata_only: bool,
    pub ids: Vec<String>,
    pub query: Vec<(String, String)>,
    pub body: &'a Body,
}

impl ApiRequest<'_> {
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn params(&self, name: &str) -> Vec<String> {
        self.query.iter().filter(|(n, _)| n == name).map(|(_, value)| value.clone()).collect()
    }

    pub fn id(&self) -> &str {
        self.ids.first().map(String::as_str).unwrap_or_default()
    }
}

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/gmail/v1/users/{user}/{*rest}", any(walk_in))
        .route("/upload/gmail/v1/users/{user}/{*rest}", any(walk_in))
        .route("/resumable/upload/gmail/v1/users/{user}/{*rest}", any(resumable))
}

async fn resumable() -> Response {
    Rejection::bad_request("Resumable uploads are not known here").respond(None)
}

async fn walk_in(Shares(shared): Shares<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let upload = path.starts_with("/upload/");
    let rest = path.split("/users/").nth(1).unwrap_or_default();
    let mut segments = rest.split('/').map(middleware::percent_decode);
    let user = segments.next().unwrap_or_default();
    let segments: Vec<String> = segments.collect();
    let Some((operation, ids)) = Operation::find(&OPERATIONS, &parts.method, &segments, upload) else {
        let what = format!("{} {path} is not known here", parts.method);
        shared.change(|state| state.violations.push(what));
        return Rejection::not_found().respond(None);
    };
    let query = parts.uri.query().unwrap_or_default();
    let query: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let way = RequestRoute { operation, ids, user, query, upload };
    let read = way.read(&parts.headers, body).await;
    let noted = read.as_ref().map(|body| body.json.clone()).unwrap_or_default();
    middleware::record(&shared, operation, &parts.headers, noted);
    match shared.faults.take(operation.id) {
        Some(Fault::Status { code, retry_after }) => Rejection::status(code).respond(retry_after),
        Some(Fault::ErrorReason { code, reason, retry_after }) => {
            Rejection { reason, ..Rejection::status(code) }.respond(retry_after)
        }
        fault => {
            serve::respond_with_fault(fault, async {
                respond(way.validate_and_perform(&shared, &parts.headers, read))
            })
            .await
        }
    }
}

struct RequestRoute {
    operation: &'static Operation,
    ids: Vec<String>,
    user: String,
    query: Vec<(String, String)>,
    upload: bool,
}

impl RequestRoute {
    async fn read(&self, headers: &HeaderMap, body: HttpBody) -> Result<Body, String> {
        let bytes = to_bytes(body, LARGEST).await.map_err(|_| "The body is too large or broke off")?;
        let kind = self.query.iter().find(|(name, _)| name == "uploadType").map(|(_, value)| value.as_str());
        match (self.upload, kind) {
            (true, None) => Err("Upload request without uploadType".to_owned()),
            (true, kind) => Body::read(headers, kind, &bytes),
            (false, Some(_)) if self.operation.upload => {
                Err("uploadType was given, but the path is not /upload/…".to_owned())
            }
            (false, _) => Body::read(headers, None, &bytes),
        }
    }

    fn validate_and_perform(
        &self,
        shared: &Shared,
        headers: &HeaderMap,
        body: Result<Body, String>,
    ) -> Outcome {
        let (account, metadata_only) = self.enter(shared, headers)?;
        let body = body.map_err(|why| record_violations(shared, self.operation, vec![why]))?;
        let mut wrong = shared.rules.query(self.operation, &self.query);
        wrong.extend(self.judge_body(shared, &body));
        if !wrong.is_empty() {
            return Err(record_violations(shared, self.operation, wrong));
        }
        let ask = ApiRequest {
            account,
            metadata_only,
            ids: self.ids.clone(),
            query: self.query.clone(),
            body: &body,
        };
        let now = shared.now();
        let outcome = shared.change(|state| perform(self.operation.id, state, &ask, now))?;
        middleware::validate_response(shared, self.operation, outcome)
    }

    fn enter(&self, shared: &Shared, headers: &HeaderMap) -> Result<(Account, bool), Rejection> {
        let (account, scopes) = middleware::enter(shared, self.operation, headers)?;
        if self.user != "me" && !self.user.eq_ignore_ascii_case(&account.email) {
            return Err(Rejection::forbidden(format!("Delegation denied for {}", account.email)));
        }
        Ok((account, is_metadata_only(&scopes)))
    }

    fn judge_body(&self, shared: &Shared, body: &Body) -> Vec<String> {
        let takes_json = self.operation.takes_json();
        match (&body.json, takes_json) {
            (Value::Null, false) => Vec::new(),
            (_, false) => vec!["This operation takes no body".to_owned()],
            (Value::Null, true) if body.media.is_some() => Vec::new(),
            (Value::Null, true) => vec!["The body is missing".to_owned()],
            (json, true) => shared.rules.request(self.operation, json, body.media.is_some()),
        }
    }
}

fn perform(id: &str, state: &mut State, ask: &ApiRequest<'_>, now: chrono::DateTime<chrono::Utc>) -> Outcome {
    let mail = &mut state.mail;
    match id {
        "gmail.users.getProfile" => messages::profile(mail, ask),
        "gmail.users.messages.list" => messages::list(mail, ask, now),
        "gmail.users.messages.get" => messages::get(mail, ask),
        "gmail.users.messages.send" => messages::send(mail, ask, now),
        "gmail.users.messages.modify" => labels::modify(mail, ask),
        "gmail.users.messages.batchModify" => labels::batch_modify(mail, ask),
        "gmail.users.messages.attachments.get" => messages::attachment(mail, ask),
        "gmail.users.threads.list" => messages::threads(mail, ask, now),
        "gmail.users.threads.get" => messages::thread(mail, ask),
        "gmail.users.drafts.list" => drafts::list(mail, ask, now),
        "gmail.users.drafts.create" => drafts::create(mail, ask, now),
        "gmail.users.drafts.get" => drafts::get(mail, ask),
        "gmail.users.drafts.update" => drafts::update(mail, ask, now),
        "gmail.users.drafts.send" => drafts::send(mail, ask, now),
        "gmail.users.drafts.delete" => drafts::delete(mail, ask),
        "gmail.users.labels.list" => labels::list(mail, ask),
        "gmail.users.labels.get" => labels::get(mail, ask),
        "gmail.users.labels.create" => labels::create(mail, ask),
        "gmail.users.settings.sendAs.list" => messages::send_as(ask),
        other => Err(Rejection::backend(format!("{other} is in the table and has no code"))),
    }
}
