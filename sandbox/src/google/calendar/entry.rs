//! An event: its shared fields, and each person's own.
//!
//! It is stored once. Each person who has it in their calendar has a copy with only their own fields.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::meet::Meet;
use super::moment::{Moment, Span};
use super::recurrence::Recurrence;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct StoredAttendee {
    pub email: String,
    pub name: Option<String>,
    pub optional: bool,
    pub is_room: bool,
    pub brings: i64,
    /// In the API's format.
    pub response: String,
    pub comment: Option<String>,
}

impl StoredAttendee {
    pub fn new(email: &str) -> Self {
        Self {
            email: email.to_lowercase(),
            name: None,
            optional: false,
            is_room: false,
            brings: 0,
            response: "needsAction".to_owned(),
            comment: None,
        }
    }
}

/// A calendar's own copy of an event.
#[derive(Debug, Clone, Default)]
pub(super) struct CalendarCopy {
    /// Colour, reminders, transparency, private properties, in the API's format.
    pub own: Map<String, Value>,
    /// The person removed it, or is no longer a guest.
    pub is_removed: bool,
    pub etag: u64,
}

/// The series of an instance, and its original start time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Series {
    pub of: String,
    pub original: Moment,
    pub zone: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub id: String,
    pub uid: String,
    pub organizer: String,
    /// Title, description and other fields that all people see, in the API's format.
    pub fields: Map<String, Value>,
    pub span: Span,
    pub recurrence: Vec<String>,
    pub series: Option<Series>,
    pub guests: Vec<StoredAttendee>,
    pub meet: Option<Meet>,
    pub sequence: i64,
    pub cancelled: bool,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub copies: BTreeMap<String, CalendarCopy>,
}

impl Entry {
    pub fn guest(&self, email: &str) -> Option<&StoredAttendee> {
        self.guests.iter().find(|guest| guest.email == email)
    }

    pub fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn is_gone_for(&self, calendar: &str) -> bool {
        self.cancelled || self.copies.get(calendar).is_none_or(|copy| copy.is_removed)
    }

    pub fn etag(&self, calendar: &str) -> String {
        let number = self.copies.get(calendar).map_or(0, |copy| copy.etag);
        format!("\"{}\"", 3_400_000_000_000_000 + number)
    }

    /// Gives every copy a new ETag.
    pub fn touch(&mut self, number: u64, now: Timestamp) {
        self.updated = now;
        for copy in self.copies.values_mut() {
            copy.etag = number;
        }
    }

    pub fn rule(&self) -> Option<Recurrence> {
        Recurrence::read(&self.recurrence, &self.span).ok()
    }

    /// Returns one of its unchanged instances.
    pub fn instance(&self, span: Span) -> Self {
        Self {
            id: format!("{}_{}", self.id, span.start.key()),
            recurrence: Vec::new(),
            series: Some(Series { of: self.id.clone(), original: span.start, zone: span.start_zone.clone() }),
            span,
            ..self.clone()
        }
    }

    pub fn is_instance_of(&self, series: &Self) -> bool {
        self.uid == series.uid && self.series.as_ref().is_some_and(|own| own.of == series.id)
    }
}
