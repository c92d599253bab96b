//! Tests of Calendar v3.

mod guests;
mod reading;
mod recurring;
mod writing;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ANA, BO, Fixture, fixture};
use crate::google::{Account, NewEvent};

const CALENDAR: &str = "https://www.googleapis.com/auth/calendar.events";
const BUSY: &str = "https://www.googleapis.com/auth/calendar.freebusy";
const CAT: &str = "cat@acme.test";
const EVE: &str = "eve@else.test";
const ROOM: &str = "c_porto@resource.calendar.google.com";

/// Ana, Bo and Cat in three zones, Eve outside, a room, and the token of the caller.
async fn company() -> Fixture {
    let mut world = fixture().await;
    let google = &world.google;
    google.add_account(Account::new(CAT, "Cat Ito").with_time_zone("Asia/Tokyo"));
    google.add_account(Account::new("dan@other.test", "Dan"));
    google.add_room(ROOM, "Porto", "acme.test");
    assert!(google.set_time_zone(ANA, "Europe/Lisbon"));
    assert!(google.set_time_zone(BO, "America/New_York"));
    world.token = google.grant_as(ANA, &[CALENDAR, BUSY]).access_token;
    world
}

/// Returns the world with another person's token.
fn as_who(world: &Fixture, email: &str) -> Fixture {
    let token = world.google.grant_as(email, &[CALENDAR, BUSY]).access_token;
    Fixture { google: world.google.clone(), http: world.http.clone(), token }
}

struct Answer {
    status: StatusCode,
    etag: Option<String>,
    json: Value,
}

impl Answer {
    fn reason(&self) -> (u16, &str) {
        (self.status.as_u16(), self.json["error"]["errors"][0]["reason"].as_str().unwrap_or_default())
    }
}

async fn ask(
    world: &Fixture,
    method: Method,
    path: &str,
    body: Option<Value>,
    header: &[(&str, &str)],
) -> Answer {
    let url = format!("{}/calendar/v3/{path}", world.google.url());
    let mut request = world.http.request(method, url).bearer_auth(&world.token);
    for (name, value) in header {
        request = request.header(*name, *value);
    }
    if let Some(body) = body {
        request = request.json(&body);
    }
    let response = request.send().await.unwrap();
    let etag = response.headers().get("etag").map(|etag| etag.to_str().unwrap().to_owned());
    Answer { status: response.status(), etag, json: response.json().await.unwrap_or_default() }
}

async fn get(world: &Fixture, path: &str) -> Answer {
    ask(world, Method::GET, path, None, &[]).await
}

async fn insert(world: &Fixture, query: &str, body: Value) -> Answer {
    ask(world, Method::POST, &format!("calendars/primary/events?{query}"), Some(body), &[]).await
}

async fn patch(world: &Fixture, path: &str, body: Value) -> Answer {
    ask(world, Method::PATCH, &format!("calendars/primary/events/{path}"), Some(body), &[]).await
}

async fn delete(world: &Fixture, path: &str) -> Answer {
    ask(world, Method::DELETE, &format!("calendars/primary/events/{path}"), None, &[]).await
}

/// Returns that time on Tuesday, 24 November, in Lisbon.
fn at(hours: &str) -> Value {
    json!({"dateTime": format!("2026-11-24T{hours}:00Z"), "timeZone": "Europe/Lisbon"})
}

fn lunch() -> Value {
    json!({"summary": "Lunch", "start": at("12:00"), "end": at("13:00")})
}

fn with_fields(mut event: Value, more: Value) -> Value {
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event
}

fn appointment(title: &str, start: &str, end: &str) -> NewEvent {
    NewEvent { title: title.into(), start: start.into(), end: end.into(), ..NewEvent::default() }
}

fn assert_kept(world: &Fixture) {
    assert!(world.google.violations().is_empty(), "{:?}", world.google.violations());
}
