//! One person's calendar: the calls that Nod makes to Calendar, each with a time limit.
//!
//! Reads are retried up to twice if Calendar fails; writes are sent once. An event is created under an id of ours, and
//! changed only if it is unchanged since it was seen, so neither happens twice.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::google::scopes::{EVENTS, FREEBUSY};
use google_calendar3::api::{Event, FreeBusyRequest, FreeBusyRequestItem, FreeBusyResponse};
use google_calendar3::common::GetToken;
use nod_contract::clock::Timestamp;
use tokio::time::Instant;
use url::Url;

use super::guarded_request::{self, GuardedRequest};
use crate::google::api_caller::ApiCaller;
use crate::google::api_error::GoogleApiError;
use crate::google::http::{self, Connector, HttpClient};
use crate::google::reading::Reading;

pub(super) const PRIMARY: &str = "primary";
/// The value of `sendUpdates` that notifies every guest; the approver has seen who they are.
pub(super) const SEND_UPDATES_ALL: &str = "all";
/// The maximum number of pages of an event list, each of at most [`PAGE`] events.
const MAX_PAGES: usize = 4;
const PAGE: i32 = 250;

/// Where Calendar is, and the connection pool to it.
#[derive(Clone)]
pub struct CalendarEndpoint {
    client: HttpClient,
    base: String,
}

impl CalendarEndpoint {
    /// Creates it for this URL, which ends in `/calendar/v3/`.
    #[must_use]
    pub fn new(url: &Url) -> Self {
        Self { client: http::client(), base: format!("{}/", url.as_str().trim_end_matches('/')) }
    }
}

/// One account's calendar, for the duration of one tool call.
pub(in crate::google) struct CalendarClient {
    hub: google_calendar3::CalendarHub<Connector>,
    token: Box<dyn GetToken>,
    client: HttpClient,
    base: String,
    address: String,
    calls: ApiCaller,
    reading: Reading,
}

/// Which events to list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EventQuery<'a> {
    pub(super) from: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    pub(super) query: Option<&'a str>,
    /// The maximum number; one more is requested, to know whether there are more.
    pub(super) max: usize,
}

impl CalendarClient {
    /// `token` is asked before each request, and no request is waited for after `until`. `refused` tells the token's
    /// source that Google rejected its token.
    pub(in crate::google) fn new<T: GetToken + Clone + 'static>(
        calendar: &CalendarEndpoint,
        token: T,
        address: String,
        until: Instant,
        refused: Arc<AtomicBool>,
        reading: Reading,
    ) -> Self {
        let mut hub = google_calendar3::CalendarHub::new(calendar.client.clone(), token.clone());
        hub.base_url(calendar.base.clone());
        hub.root_url(calendar.base.clone());
        hub.user_agent("nod".into());
        let (client, base) = (calendar.client.clone(), calendar.base.clone());
        let calls = ApiCaller::new(until).with_token_rejected_flag(refused);
        Self { hub, token: Box::new(token), client, base, address, calls, reading }
    }

    /// Returns the reader for text that others wrote.
    pub(super) fn reading(&self) -> &Reading {
        &self.reading
    }

    /// Returns the account's email address.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Lists events by start time; repeating events as their single instances.
    pub(super) async fn list_events(&self, wanted: EventQuery<'_>) -> Result<Vec<Event>, GoogleApiError> {
        let mut found: Vec<Event> = Vec::new();
        let mut page: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let size = i32::try_from(wanted.max + 1 - found.len()).map_or(PAGE, |size| size.min(PAGE));
            let list = self
                .calls
                .read(|| async {
                    let mut watch = self.calls.watch();
                    let mut call = self.hub.events().list(PRIMARY).clear_scopes().add_scope(EVENTS);
                    call = call.single_events(true).order_by("startTime").max_results(size);
                    if let Some(from) = wanted.from {
                        call = call.time_min(from);
                    }
                    if let Some(until) = wanted.until {
                        call = call.time_max(until);
                    }
                    if let Some(query) = wanted.query {
                        call = call.q(query);
                    }
                    if let Some(page) = &page {
                        call = call.page_token(page);
                    }
                    let done = call.delegate(&mut watch).doit().await;
                    watch.outcome(done)
                })
                .await?;
            found.extend(list.items.unwrap_or_default());
            page = list.next_page_token;
            if page.is_none() || found.len() > wanted.max {
                break;
            }
        }
        Ok(found)
    }

    /// Reads the current version of one event, even if it was cancelled.
    pub(super) async fn fetch_event(&self, id: &str) -> Result<Event, GoogleApiError> {
        self.calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let call = self.hub.events().get(PRIMARY, id).clear_scopes().add_scope(EVENTS);
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await
    }

    /// Creates an event, which carries its id, and invites its guests.
    pub(super) async fn insert_event(&self, event: Event) -> Result<Event, GoogleApiError> {
        let conference = i32::from(event.conference_data.is_some());
        self.calls
            .write(async {
                let mut watch = self.calls.watch();
                let call = self.hub.events().insert(event, PRIMARY).clear_scopes().add_scope(EVENTS);
                let call = call.send_updates(SEND_UPDATES_ALL).conference_data_version(conference);
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await
    }

    /// Changes an event if it is unchanged since it was seen, and notifies its guests. Fields missing in `event` stay.
    pub(super) async fn patch_event(
        &self,
        id: &str,
        seen: &str,
        event: &Event,
    ) -> Result<Event, GoogleApiError> {
        let conference = i32::from(event.conference_data.is_some());
        self.send_guarded(id, seen, guarded_request::EventWrite::Patch(event), conference).await
    }

    /// Like `patch`, but fields missing in `event` are removed, except for an existing video call.
    pub(super) async fn update_event(
        &self,
        id: &str,
        seen: &str,
        event: &Event,
    ) -> Result<Event, GoogleApiError> {
        self.send_guarded(id, seen, guarded_request::EventWrite::Update(event), 1).await
    }

    async fn send_guarded(
        &self,
        id: &str,
        seen: &str,
        act: guarded_request::EventWrite<'_>,
        conference: i32,
    ) -> Result<Event, GoogleApiError> {
        let query = format!("sendUpdates={SEND_UPDATES_ALL}&conferenceDataVersion={conference}");
        let written = self.calls.write(self.guarded_request(seen).send(act, id, &query)).await?;
        written.ok_or_else(|| GoogleApiError::NoResponse("the answer had no event".into()))
    }

    /// Cancels an event if it is unchanged since it was seen, and notifies its guests.
    pub(super) async fn delete_event(&self, id: &str, seen: &str) -> Result<(), GoogleApiError> {
        let query = format!("sendUpdates={SEND_UPDATES_ALL}");
        self.calls
            .write(self.guarded_request(seen).send(guarded_request::EventWrite::Delete, id, &query))
            .await
            .map(|_| ())
    }

    /// Returns when these calendars are busy, without any details.
    pub(super) async fn query_free_busy(
        &self,
        calendars: &[String],
        from: Timestamp,
        until: Timestamp,
    ) -> Result<FreeBusyResponse, GoogleApiError> {
        self.calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let item = |id: &String| FreeBusyRequestItem { id: Some(id.clone()) };
                let request = FreeBusyRequest {
                    items: Some(calendars.iter().map(item).collect()),
                    time_min: Some(from),
                    time_max: Some(until),
                    ..FreeBusyRequest::default()
                };
                let call = self.hub.freebusy().query(request).clear_scopes().add_scope(FREEBUSY);
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await
    }

    fn guarded_request<'a>(&'a self, seen: &'a str) -> GuardedRequest<'a> {
        GuardedRequest {
            client: &self.client,
            base: &self.base,
            token: self.token.as_ref(),
            calls: &self.calls,
            etag: seen,
        }
    }
}
