//! Parses the event of a write, field by field: unknown fields are rejected.

use serde_json::{Map, Value, json};

use super::entry::StoredAttendee;
use super::moment::Span;
use super::recurrence::Recurrence;
use super::rejection;
use crate::google::response::Rejection;

/// Set by Google; a client may send them back unchanged.
const READ_ONLY: [&str; 14] = [
    "etag",
    "kind",
    "id",
    "htmlLink",
    "created",
    "updated",
    "creator",
    "organizer",
    "iCalUID",
    "hangoutLink",
    "recurringEventId",
    "originalStartTime",
    "locked",
    "attendeesOmitted",
];

/// The maximum length of each text.
const TEXTS: [(&str, usize); 3] = [("summary", 1024), ("description", 8192), ("location", 1024)];
/// The values of omitted fields.
const DEFAULTS: [(&str, bool); 3] =
    [("guestsCanInviteOthers", true), ("guestsCanModify", false), ("guestsCanSeeOtherGuests", true)];
const COLOURS: [&str; 11] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"];
const MAX_GUESTS: usize = 200;
const MAX_REMINDERS: usize = 5;
const MAX_REMINDER_MINUTES: i64 = 40_320;

#[derive(Debug, Default)]
pub(super) struct EventFields {
    /// Fields that all people see.
    pub fields: Map<String, Value>,
    /// Fields of the writer's own copy.
    pub own: Map<String, Value>,
}

#[derive(Debug)]
pub(super) struct EventInput {
    pub fields: EventFields,
    pub span: Span,
    pub recurrence: Vec<String>,
    pub guests: Vec<StoredAttendee>,
    pub sequence: Option<i64>,
    pub omits_guests: bool,
}

impl EventInput {
    /// `zone` is the calendar's: it applies to times without a zone of their own.
    pub fn read(event: &Map<String, Value>, zone: &str) -> Result<Self, Rejection> {
        let mut words = EventFields::default();
        for (name, value) in event {
            words.take(name, value)?;
        }
        let mut span = Span::read(event)?;
        let recurrence = lines(event.get("recurrence"), &span)?;
        for said in [&mut span.start_zone, &mut span.end_zone] {
            *said = match matches!(span.start, super::moment::Moment::Day(_)) {
                true => None,
                false => said.take().or_else(|| Some(zone.to_owned())),
            };
        }
        if !recurrence.is_empty() {
            Recurrence::read(&recurrence, &span)
                .map_err(|why| rejection::invalid(format!("Invalid recurrence rule. ({why})")))?;
        }
        Ok(Self {
            fields: words,
            span,
            recurrence,
            guests: guests(event.get("attendees"))?,
            sequence: event.get("sequence").and_then(Value::as_i64),
            omits_guests: event.get("attendeesOmitted") == Some(&json!(true)),
        })
    }
}

impl EventFields {
    fn take(&mut self, name: &str, value: &Value) -> Result<(), Rejection> {
        let wrong = || rejection::invalid(format!("Invalid value for: {name}"));
        let keep = |map: &mut Map<String, Value>, usual: &Value| {
            if value != usual {
                map.insert(name.to_owned(), value.clone());
            }
        };
        let one_of = |allowed: &[&str]| value.as_str().is_some_and(|text| allowed.contains(&text));
        match name {
            "summary" | "description" | "location" => {
                let most = TEXTS.iter().find(|(text, _)| *text == name).map_or(0, |(_, most)| *most);
                let text = value.as_str().ok_or_else(wrong)?;
                if text.chars().count() > most {
                    return Err(rejection::invalid(format!("{name} is longer than {most} characters")));
                }
                keep(&mut self.fields, &json!(""));
            }
            "status" if one_of(&["confirmed", "tentative"]) => keep(&mut self.fields, &json!("confirmed")),
            "visibility" if one_of(&["default", "public", "private", "confidential"]) => {
                keep(&mut self.fields, &json!("default"));
            }
            "guestsCanInviteOthers" | "guestsCanModify" | "guestsCanSeeOtherGuests" => {
                let usual = DEFAULTS.iter().find(|(flag, _)| *flag == name).is_some_and(|(_, usual)| *usual);
                keep(&mut self.fields, &json!(usual));
            }
            "transparency" if one_of(&["opaque", "transparent"]) => keep(&mut self.own, &json!("opaque")),
            "colorId" if one_of(&COLOURS) => keep(&mut self.own, &Value::Null),
            "reminders" => {
                reminders(value)?;
                keep(&mut self.own, &json!({"useDefault": true}));
            }
            "extendedProperties" => self.properties(value)?,
            "eventType" if one_of(&["default"]) => {}
            "start" | "end" | "recurrence" | "attendees" | "conferenceData" | "sequence" => {}
            known if READ_ONLY.contains(&known) => {}
            "status" | "visibility" | "transparency" | "colorId" | "eventType" => return Err(wrong()),
            other => return Err(rejection::invalid(format!("{other} is not known here"))),
        }
        Ok(())
    }

    fn properties(&mut self, value: &Value) -> Result<(), Rejection> {
        for (kind, map) in [("shared", &mut self.fields), ("private", &mut self.own)] {
            let Some(some) = value[kind].as_object().filter(|some| !some.is_empty()) else { continue };
            let fits = |(name, value): (&String, &Value)| {
                (1..=44).contains(&name.len()) && value.as_str().is_some_and(|value| value.len() <= 1024)
            };
            if some.len() > 300 || !some.iter().all(fits) {
                return Err(rejection::invalid("Extended properties are too many, too long or no text"));
            }
            map.insert(kind.to_owned(), json!(some));
        }
        Ok(())
    }
}

fn reminders(value: &Value) -> Result<(), Rejection> {
    let overrides = value["overrides"].as_array().map(Vec::as_slice).unwrap_or_default();
    if value["useDefault"] == true && !overrides.is_empty() {
        return Err(rejection::reminders(
            "Cannot specify both default reminders and overrides at the same time.",
        ));
    }
    if overrides.len() > MAX_REMINDERS {
        return Err(rejection::invalid("The number of override reminders is more than 5"));
    }
    for one in overrides {
        let minutes =
            one["minutes"].as_i64().ok_or_else(|| rejection::required("Missing reminder minutes."))?;
        let method = one["method"].as_str().ok_or_else(|| rejection::required("Missing reminder method."))?;
        if !(0..=MAX_REMINDER_MINUTES).contains(&minutes) || !["email", "popup"].contains(&method) {
            return Err(rejection::invalid("Invalid reminder"));
        }
    }
    Ok(())
}

fn lines(value: Option<&Value>, span: &Span) -> Result<Vec<String>, Rejection> {
    let lines = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let lines: Vec<String> = lines.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let zoned = span.is_all_day() || (span.start_zone.is_some() && span.end_zone.is_some());
    if !lines.is_empty() && !zoned {
        return Err(rejection::required("Missing time zone definition for start time."));
    }
    Ok(lines)
}

fn guests(value: Option<&Value>) -> Result<Vec<StoredAttendee>, Rejection> {
    let all = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if all.len() > MAX_GUESTS {
        return Err(rejection::invalid(format!("The event has more than {MAX_GUESTS} attendees")));
    }
    let mut guests: Vec<StoredAttendee> = Vec::new();
    for one in all {
        let guest = guest(one)?;
        if guests.iter().any(|earlier| earlier.email == guest.email) {
            return Err(rejection::invalid(format!("{} is invited twice", guest.email)));
        }
        guests.push(guest);
    }
    Ok(guests)
}

fn guest(value: &Value) -> Result<StoredAttendee, Rejection> {
    let email = value["email"].as_str().ok_or_else(|| rejection::required("Missing attendee email."))?;
    if !is_address(email) {
        return Err(rejection::invalid("Invalid attendee email."));
    }
    // An omitted answer is kept distinct from `needsAction` until the writer is known.
    let response = value["responseStatus"].as_str().unwrap_or_default();
    if !["", "needsAction", "declined", "tentative", "accepted"].contains(&response) {
        return Err(rejection::invalid("Invalid value for: responseStatus"));
    }
    let brings = value["additionalGuests"].as_i64().unwrap_or_default();
    if brings < 0 {
        return Err(rejection::invalid("Invalid value for: additionalGuests"));
    }
    Ok(StoredAttendee {
        name: value["displayName"].as_str().filter(|name| !name.is_empty()).map(str::to_owned),
        optional: value["optional"] == true,
        is_room: value["resource"] == true,
        brings,
        response: response.to_owned(),
        comment: value["comment"].as_str().filter(|text| !text.is_empty()).map(str::to_owned),
        ..StoredAttendee::new(email)
    })
}

fn is_address(text: &str) -> bool {
    let plain = text.chars().all(|c| c.is_ascii_graphic() && !"<>,;:\"()[]\\".contains(c));
    let parts = text.split_once('@');
    plain
        && text.len() <= 254
        && parts.is_some_and(|(local, domain)| {
            !local.is_empty()
                && domain.split('.').all(|label| !label.is_empty())
                && domain.contains('.')
                && !domain.contains('@')
        })
}
