//! Changes of an event that apply only if it is unchanged since it was seen (`If-Match`).
//!
//! The generated builders cannot send that header, and the client below them is one concrete type that cannot be
//! wrapped. So these requests are built by hand, over the same connections, with the same types, tokens and errors.

use crate::google::scopes::EVENTS;
use google_calendar3::api::Event;
use google_calendar3::common::{Body, GetToken, Response, remove_json_null_values};
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, IF_MATCH, USER_AGENT};
use hyper::{Method, Request};
use nod_contract::tool::ToolError;
use serde_json::Value;

use super::client::PRIMARY;
use crate::google::api_caller::ApiCaller;
use crate::google::api_error::GoogleApiError;
use crate::google::http::HttpClient;

/// The maximum size of a response; an event with two hundred guests and the longest description is well below.
const MAX_RESPONSE_BYTES: usize = 4 << 20;

/// The change to make to an event.
#[derive(Clone, Copy)]
pub(super) enum EventWrite<'a> {
    /// Changes the fields that this event sets.
    Patch(&'a Event),
    /// Replaces the whole event.
    Update(&'a Event),
    /// Cancels it.
    Delete,
}

/// What a guarded request needs.
pub(super) struct GuardedRequest<'a> {
    pub(super) client: &'a HttpClient,
    pub(super) base: &'a str,
    pub(super) token: &'a dyn GetToken,
    pub(super) calls: &'a ApiCaller,
    /// The ETag of the version that was seen.
    pub(super) etag: &'a str,
}

impl GuardedRequest<'_> {
    /// Sends the change. Returns [`GoogleApiError::Rejected`] with status 412 if the event changed since it was seen.
    /// After a 401 it retries once, with another token.
    pub(super) async fn send(
        &self,
        act: EventWrite<'_>,
        id: &str,
        query: &str,
    ) -> Result<Option<Event>, GoogleApiError> {
        let mut watch = self.calls.watch();
        loop {
            let response = self.client.request(self.build_request(act, id, query).await?).await;
            let response = response.map_err(|error| match error.is_connect() {
                true => GoogleApiError::NotSent("no connection"),
                false => GoogleApiError::NoResponse("the connection broke off".into()),
            })?;
            let (parts, body) = response.into_parts();
            let read = Limited::new(body, MAX_RESPONSE_BYTES).collect().await;
            let bytes =
                read.map_err(|_| GoogleApiError::NoResponse("the answer broke off".into()))?.to_bytes();
            if parts.status.is_success() {
                return match act {
                    EventWrite::Delete => Ok(None),
                    EventWrite::Patch(_) | EventWrite::Update(_) => serde_json::from_slice(&bytes)
                        .map(Some)
                        .map_err(|_| GoogleApiError::NoResponse("the answer could not be read".into())),
                };
            }
            let said: Option<Value> = serde_json::from_slice(&bytes).ok();
            if let Some(trouble) = watch.on_rejection(&Response::from_parts(parts, empty()), said.as_ref()) {
                return Err(trouble);
            }
        }
    }

    async fn build_request(
        &self,
        act: EventWrite<'_>,
        id: &str,
        query: &str,
    ) -> Result<Request<Body>, GoogleApiError> {
        let token = match self.token.get_token(&[EVENTS]).await {
            Ok(Some(token)) => token,
            Ok(None) => return Err(GoogleApiError::NoToken(ToolError::internal("no access token"))),
            Err(error) => return Err(GoogleApiError::no_token(error)),
        };
        let unfit = |_| GoogleApiError::NotSent("the request cannot be written");
        let (method, body) = match act {
            EventWrite::Delete => (Method::DELETE, Vec::new()),
            EventWrite::Patch(event) | EventWrite::Update(event) => {
                let mut change =
                    serde_json::to_value(event).map_err(|_| GoogleApiError::NotSent("no JSON"))?;
                // Like the generated client: missing fields stay unchanged, and Calendar rejects a null.
                remove_json_null_values(&mut change);
                let method = if matches!(act, EventWrite::Update(_)) { Method::PUT } else { Method::PATCH };
                (method, change.to_string().into_bytes())
            }
        };
        let id: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}calendars/{PRIMARY}/events/{id}?{query}", self.base))
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .header(IF_MATCH, self.etag)
            .header(USER_AGENT, "nod");
        if !matches!(act, EventWrite::Delete) {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request.body(Full::new(body.into()).map_err(|never| match never {}).boxed()).map_err(unfit)
    }
}

fn empty() -> Body {
    Full::default().map_err(|never| match never {}).boxed()
}
