//! Calendars as plain values, for those who look at the fake from outside the protocol.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use jiff::{Timestamp, ToSpan};
use serde::Serialize;
use serde_json::{Value, json};

use super::entry::{Entry, Guest};
use super::meet::Meet;
use super::moment::{Moment, zone};
use super::store::Calendars;

/// An event as one person has it in their calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Meeting {
    pub id: String,
    pub title: String,
    pub description: String,
    pub location: String,
    /// An event of whole days begins at midnight where the calendar is.
    pub start: DateTime<Utc>,
    pub end: DateTime<Utc>,
    pub all_day: bool,
    /// In which it was said, or the calendar's.
    pub zone: String,
    pub organizer: String,
    pub guests: Vec<Invitee>,
    /// `confirmed`, `tentative`, `cancelled`: for this person.
    pub status: String,
    pub sequence: i64,
    /// Where it is held by video.
    pub link: Option<String>,
    pub recurrence: Vec<String>,
    /// The id of the series that it is an instance of.
    pub series: Option<String>,
    /// Whether it leaves the person free (`transparent`).
    pub free: bool,
    pub private: bool,
    /// As the API writes them; null for the calendar's own.
    pub reminders: Value,
    /// Private properties of this person's copy.
    pub properties: BTreeMap<String, String>,
    pub etag: String,
}

/// A guest and what they said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Invitee {
    pub email: String,
    /// `needsAction`, `accepted`, `tentative`, `declined`.
    pub response: String,
    pub optional: bool,
    pub room: bool,
    pub comment: Option<String>,
}

impl Meeting {
    /// What somebody said to it; nothing where they are not asked.
    #[must_use]
    pub fn response(&self, email: &str) -> Option<&str> {
        let guest = self.guests.iter().find(|guest| guest.email.eq_ignore_ascii_case(email));
        guest.map(|guest| guest.response.as_str())
    }

    /// `2026-11-24 15:00–16:00 Europe/Lisbon`, `2026-11-24`, or `2026-11-24 to 2026-11-26`.
    #[must_use]
    pub fn when(&self) -> String {
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
    pub(super) fn meeting(&self, entry: &Entry, calendar: &str) -> Option<Meeting> {
        let (owner, copy) = (self.owner(calendar)?, entry.copies.get(calendar)?);
        let zone = owner.zone();
        let said = entry.span.start_zone.clone();
        let invitee = |guest: &Guest| Invitee {
            email: guest.email.clone(),
            response: guest.response.clone(),
            optional: guest.optional,
            room: guest.is_room,
            comment: guest.comment.clone(),
        };
        let status = match (entry.is_gone_for(calendar), entry.text("status")) {
            (true, _) => "cancelled",
            (false, "") => "confirmed",
            (false, other) => other,
        };
        let properties = copy.own.get("private").cloned().unwrap_or_else(|| json!({}));
        Some(Meeting {
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

/// A mail that Calendar wrote to somebody because of an event (`sendUpdates`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Invitation {
    pub to: String,
    /// Whose doing it was.
    pub from: String,
    /// The event's id.
    pub event: String,
    pub title: String,
    pub news: News,
    pub sequence: i64,
    pub at: DateTime<Utc>,
}

/// What such a mail says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    Invited,
    Updated,
    Cancelled,
    /// To the organizer: what a guest said.
    Answered(String),
}

/// An event that somebody puts into their calendar. Start from `Appointment::default()`.
#[derive(Debug, Clone, Default)]
pub struct Appointment {
    pub title: String,
    /// `2026-11-24 15:00` by the wall clock of `zone`, or `2026-11-24`.
    pub start: String,
    /// The same; the day after the last one for whole days.
    pub end: String,
    /// The calendar's, if not said.
    pub zone: Option<String>,
    /// Whose it is, here or elsewhere, if not the account's. The account is a guest then.
    pub organizer: Option<String>,
    pub guests: Vec<String>,
    pub description: String,
    pub location: String,
    pub recurrence: Vec<String>,
    /// Leaves the person free.
    pub free: bool,
    pub private: bool,
}

/// What somebody changes about an event in Google Calendar itself.
#[derive(Debug, Clone, Default)]
pub struct MeetingEdit {
    pub title: Option<String>,
    pub description: Option<String>,
    pub location: Option<String>,
    /// When it is from now on, as in [`Appointment`].
    pub time: Option<(String, String)>,
}

pub(super) fn clock(at: Timestamp) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(at.as_microsecond()).unwrap_or_default()
}

pub(super) fn jiff_time(at: DateTime<Utc>) -> Timestamp {
    Timestamp::from_microsecond(at.timestamp_micros()).unwrap_or_default()
}
