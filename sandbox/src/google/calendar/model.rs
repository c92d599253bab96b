//! Calendars as plain values, for readers outside of the protocol.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use jiff::{Timestamp, ToSpan};
use serde::Serialize;
use serde_json::{Value, json};

use super::entry::{Entry, StoredAttendee};
use super::meet::Meet;
use super::moment::{Moment, zone};
use super::store::Calendars;

/// A person's copy of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CalendarEvent {
    pub id: String,
    pub title: String,
    pub description: String,
    pub location: String,
    /// An all-day event begins at midnight in the calendar's zone.
    pub start: DateTime<Utc>,
    pub end: DateTime<Utc>,
    pub all_day: bool,
    /// The zone in which the time was given, or the calendar's.
    pub zone: String,
    pub organizer: String,
    pub guests: Vec<Attendee>,
    /// `confirmed`, `tentative`, `cancelled`: for this person.
    pub status: String,
    pub sequence: i64,
    /// The link of the video meeting.
    pub link: Option<String>,
    pub recurrence: Vec<String>,
    /// The id of the series of which it is an instance.
    pub series: Option<String>,
    /// Whether it does not block time (`transparent`).
    pub free: bool,
    pub private: bool,
    /// In the API's format; null for the calendar's default.
    pub reminders: Value,
    /// Private properties of this person's copy.
    pub properties: BTreeMap<String, String>,
    pub etag: String,
}

/// A guest and their answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attendee {
    pub email: String,
    /// `needsAction`, `accepted`, `tentative`, `declined`.
    pub response: String,
    pub optional: bool,
    #[serde(rename = "room")]
    pub is_room: bool,
    pub comment: Option<String>,
}

impl CalendarEvent {
    /// Returns the answer of a guest, if that person is invited.
    #[must_use]
    pub fn response(&self, email: &str) -> Option<&str> {
        let guest = self.guests.iter().find(|guest| guest.email.eq_ignore_ascii_case(email));
        guest.map(|guest| guest.response.as_str())
    }

    /// `2026-11-24 15:00–16:00 Europe/Lisbon`, `2026-11-24`, or `2026-11-24 to 2026-11-26`.
    #[must_use]
    pub fn describe_time(&self) -> String {
        let zone = zone(&self.zone).unwrap_or(jiff::tz::TimeZone::UTC);
        let start = jiff_time(self.start).to_zoned(zone.clone());
        let end = jiff_time(self.end).to_zoned(zone);
        if self.all_day {
            let last = end.date().checked_sub(1.day()).unwrap_or(end.date());
            return match last == start.date() {
                true => start.date().to_string(),
                false => format!("{} to {last}", start.date()),
            };
        }
        let until = if end.date() == start.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
        format!("{}–{} {}", start.strftime("%Y-%m-%d %H:%M"), end.strftime(until), self.zone)
    }
}

impl Calendars {
    pub(super) fn meeting(&self, entry: &Entry, calendar: &str) -> Option<CalendarEvent> {
        let (owner, copy) = (self.owner(calendar)?, entry.copies.get(calendar)?);
        let zone = owner.zone();
        let said = entry.span.start_zone.clone();
        let invitee = |guest: &StoredAttendee| Attendee {
            email: guest.email.clone(),
            response: guest.response.clone(),
            optional: guest.optional,
            is_room: guest.is_room,
            comment: guest.comment.clone(),
        };
        let status = match (entry.is_gone_for(calendar), entry.text("status")) {
            (true, _) => "cancelled",
            (false, "") => "confirmed",
            (false, other) => other,
        };
        let properties = copy.own.get("private").cloned().unwrap_or_else(|| json!({}));
        Some(CalendarEvent {
            id: entry.id.clone(),
            title: entry.text("summary").to_owned(),
            description: entry.text("description").to_owned(),
            location: entry.text("location").to_owned(),
            start: clock(entry.span.start.at(&zone)),
            end: clock(entry.span.end.at(&zone)),
            all_day: matches!(entry.span.start, Moment::Day(_)),
            zone: said.unwrap_or_else(|| owner.zone.clone()),
            organizer: entry.organizer.clone(),
            guests: entry.guests.iter().map(invitee).collect(),
            status: status.to_owned(),
            sequence: entry.sequence,
            link: entry.meet.as_ref().map(Meet::link),
            recurrence: entry.recurrence.clone(),
            series: entry.series.as_ref().map(|series| series.of.clone()),
            free: copy.own.get("transparency") == Some(&json!("transparent")),
            private: ["private", "confidential"].contains(&entry.text("visibility")),
            reminders: copy.own.get("reminders").cloned().unwrap_or_default(),
            properties: serde_json::from_value(properties).unwrap_or_default(),
            etag: entry.etag(calendar),
        })
    }
}

/// A mail that Calendar sent to a person because of an event (`sendUpdates`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Invitation {
    pub to: String,
    /// The person whose action caused it.
    pub from: String,
    /// The event's id.
    pub event: String,
    pub title: String,
    #[serde(rename = "news")]
    pub kind: InvitationKind,
    pub sequence: i64,
    pub at: DateTime<Utc>,
}

/// What the mail announces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InvitationKind {
    Invited,
    Updated,
    Cancelled,
    /// To the organizer: a guest's answer.
    #[serde(rename = "answered")]
    Responded(String),
}

/// An event that a person adds to a calendar. Start from `Appointment::default()`.
#[derive(Debug, Clone, Default)]
pub struct NewEvent {
    pub title: String,
    /// `2026-11-24 15:00` in the wall clock time of `zone`, or `2026-11-24`.
    pub start: String,
    /// In the same format; for all-day events the day after the last one.
    pub end: String,
    /// The calendar's zone, if `None`.
    pub zone: Option<String>,
    /// The organizer, here or external, if it is not the account. The account then is a guest.
    pub organizer: Option<String>,
    pub guests: Vec<String>,
    pub description: String,
    pub location: String,
    pub recurrence: Vec<String>,
    /// Does not block the person's time.
    pub free: bool,
    pub private: bool,
}

/// What a person changes about an event in Google Calendar itself.
#[derive(Debug, Clone, Default)]
pub struct EventEdit {
    pub title: Option<String>,
    pub description: Option<String>,
    pub location: Option<String>,
    /// The new time, as in [`NewEvent`].
    pub time: Option<(String, String)>,
}

pub(super) fn clock(at: Timestamp) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(at.as_microsecond()).unwrap_or_default()
}

pub(super) fn jiff_time(at: DateTime<Utc>) -> Timestamp {
    Timestamp::from_microsecond(at.timestamp_micros()).unwrap_or_default()
}
