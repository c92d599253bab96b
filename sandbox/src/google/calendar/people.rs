//! Calendars, the calendar list, and the one supported setting.

use serde_json::{Value, json};

use super::middleware::ApiRequest;
use super::rejection;
use super::store::{Calendars, Owner};
use crate::google::response::Outcome;

fn entry(owner: &Owner, me: &str) -> Value {
    let own = owner.email == me;
    let mut entry = json!({
        "kind": "calendar#calendarListEntry",
        "etag": "\"1700000000000000\"",
        "id": owner.email,
        "summary": owner.name,
        "timeZone": owner.zone,
        "colorId": "14",
        "backgroundColor": "#9fe1e7",
        "foregroundColor": "#000000",
        "selected": true,
        "accessRole": if own { "owner" } else { "reader" },
        "defaultReminders": [],
        "conferenceProperties": {"allowedConferenceSolutionTypes": ["hangoutsMeet"]},
    });
    if own {
        entry["primary"] = json!(true);
    }
    entry
}

pub(super) fn list(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    let me = &ask.account.email;
    let shared = all.shares.iter().filter(|(_, reader)| reader == me).map(|(owner, _)| owner);
    let owners = std::iter::once(me).chain(shared).filter_map(|email| all.owner(email));
    let may = |owner: &&Owner| match ask.param("minAccessRole") {
        Some("owner" | "writer" | "writerWithoutPrivateAccess") => owner.email == *me,
        _ => true,
    };
    let items: Vec<Value> = owners.filter(may).map(|owner| entry(owner, me)).collect();
    let (from, size) = ask.page(100)?;
    let total = items.len();
    let items: Vec<Value> = items.into_iter().skip(from).take(size).collect();
    let mut answer =
        json!({"kind": "calendar#calendarList", "etag": "\"p1700000000000000\"", "items": items});
    if from + size < total {
        answer["nextPageToken"] = json!(format!("p{}", from + size));
    }
    Ok(Some(answer))
}

pub(super) fn get_entry(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    let owner = all.owner(&ask.calendar(all)?).ok_or_else(rejection::not_found)?;
    Ok(Some(entry(owner, &ask.account.email)))
}

pub(super) fn calendar(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    let owner = all.owner(&ask.calendar(all)?).ok_or_else(rejection::not_found)?;
    Ok(Some(json!({
        "kind": "calendar#calendar",
        "etag": "\"1700000000000000\"",
        "id": owner.email,
        "summary": owner.name,
        "timeZone": owner.zone,
        "conferenceProperties": {"allowedConferenceSolutionTypes": ["hangoutsMeet"]},
    })))
}

pub(super) fn setting(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    let owner = all.owner(&ask.account.email).ok_or_else(rejection::not_found)?;
    match ask.first_id() {
        "timezone" => Ok(Some(json!({
            "kind": "calendar#setting",
            "etag": "\"1700000000000000\"",
            "id": "timezone",
            "value": owner.zone,
        }))),
        _ => Err(rejection::not_found()),
    }
}
