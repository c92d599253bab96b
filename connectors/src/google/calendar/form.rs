//! What a person can change in an event before they approve it, and how the result is applied.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use nod_contract::card::{Field, FieldError};
use nod_contract::clock::Timestamp;
use nod_contract::tool::{FieldValue, ToolError};
use nod_when::when::{self, ExactTime};

use super::event_time::{self, EventTime};
use super::new_event::{self, MAX_GUESTS, NewEvent, PLACE_CHARS, TEXT_CHARS, TITLE_CHARS};
use crate::google::form::{field, sentence, store_or_report};

/// Enough for a hundred addresses of the usual length.
const PEOPLE_CHARS: usize = 10_000;
const WHEN_CHARS: usize = 200;

impl NewEvent {
    /// Returns the event as form fields.
    pub(super) fn form(&self, when: &str) -> Vec<Field> {
        let guests = self.guests.join(", ");
        vec![
            field("title", "Title", &self.title, TITLE_CHARS, false),
            field("when", "When", when, WHEN_CHARS, false),
            Field { accepts_recipients: true, ..field("guests", "Guests", &guests, PEOPLE_CHARS, true) },
            field("place", "Place", &self.place, PLACE_CHARS, true),
            Field { multiline: true, ..field("text", "Description", &self.text, TEXT_CHARS, true) },
        ]
    }

    /// Returns the same event with the submitted values; everything else is unchanged.
    ///
    /// # Errors
    /// A sentence for each field with an invalid value.
    pub(super) fn apply_form(
        &self,
        filled: &BTreeMap<String, FieldValue>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut meeting = self.clone();
        if let Some(FieldValue::Text(title)) = filled.get("title") {
            let title = new_event::validate_line("title", title, TITLE_CHARS);
            store_or_report(title.map_err(error_text), &mut meeting.title, "title", &mut errors);
        }
        if let Some(FieldValue::Text(when)) =
            filled.get("when").filter(|when| !self.is_time_unchanged(when, now, zone))
        {
            let times = resolve_time(when, now, zone, &self.times);
            store_or_report(times.map_err(error_text), &mut meeting.times, "when", &mut errors);
        }
        if let Some(FieldValue::Recipients(people)) = filled.get("guests") {
            let guests = new_event::guests(people, &self.account);
            store_or_report(guests.map_err(error_text), &mut meeting.guests, "guests", &mut errors);
        }
        if let Some(FieldValue::Text(place)) = filled.get("place") {
            let place = new_event::validate_line("place", place, PLACE_CHARS);
            store_or_report(place.map_err(error_text), &mut meeting.place, "place", &mut errors);
        }
        if let Some(FieldValue::Text(text)) = filled.get("text") {
            store_or_report(
                new_event::text(text).map_err(error_text),
                &mut meeting.text,
                "text",
                &mut errors,
            );
        }
        if meeting.title.is_empty() {
            errors.push(FieldError::new("title", "An event needs a title."));
        }
        if meeting.guests.len() > MAX_GUESTS {
            errors.push(FieldError::new("guests", format!("{MAX_GUESTS} guests at most.")));
        }
        match meeting.into_writable(zone, now) {
            Ok(meeting) if errors.is_empty() => return Ok(meeting),
            Ok(_) => {}
            Err(fault) => errors.push(FieldError::new("when", sentence(&error_text(fault)))),
        }
        Err(errors)
    }

    /// Returns whether the form field was left unchanged.
    fn is_time_unchanged(&self, filled: &FieldValue, now: Timestamp, zone: &TimeZone) -> bool {
        matches!(filled, FieldValue::Text(when) if when.trim() == self.times.describe(zone, now))
    }
}

/// Resolves the time that was typed; a text with several readings is an error.
fn resolve_time(
    text: &str,
    now: Timestamp,
    zone: &TimeZone,
    was: &EventTime,
) -> Result<EventTime, ToolError> {
    let exact = match when::is_hour_only(text, now, zone) {
        true => was.at_hour(text, (zone, now)).map(|(exact, _)| exact),
        false => {
            let said = when::resolve(text, now, zone).map_err(|why| event_time::unclear(text, &why));
            said.map(|said| ExactTime::from_resolved(said, text, zone))
        }
    };
    was.with_start(&exact.map_err(inline_choices)?, None, zone)
}

/// A form has no buttons to choose between readings, so the error names them.
fn inline_choices(fault: ToolError) -> ToolError {
    let ToolError::Ambiguous { choices, message: Some(why), .. } = fault else { return fault };
    let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
    ToolError::invalid(format!("{why} ({})", labels.join("; ")))
}

/// Returns the reason without the kind of error.
fn error_text(fault: ToolError) -> String {
    match fault {
        ToolError::InvalidArguments { reason } => reason,
        other => other.to_string(),
    }
}
