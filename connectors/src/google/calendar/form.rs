//! What a person can change in an event before they approve it, and how the result is applied.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use nod_contract::card::{Field, FieldError};
use nod_contract::clock::Timestamp;
use nod_contract::tool::{FieldValue, ToolError};
use nod_when::when::{self, ExactTime};

use super::meeting::{self, MOST_GUESTS, Meeting, PLACE_CHARS, TEXT_CHARS, TITLE_CHARS};
use super::times::{self, Times};
use crate::google::form::{field, keep, sentence};

/// Enough for a hundred addresses of the usual length.
const PEOPLE_CHARS: usize = 10_000;
const WHEN_CHARS: usize = 200;

impl Meeting {
    /// Returns the event as form fields.
    pub(super) fn form(&self, when: &str) -> Vec<Field> {
        let guests = self.guests.join(", ");
        vec![
            field("title", "Title", &self.title, TITLE_CHARS, false),
            field("when", "When", when, WHEN_CHARS, false),
            Field { accepts_recipients: true, ..field("guests", "Guests", &guests, PEOPLE_CHARS, true) },
            field("place", "Place", &self.place, PLACE_CHARS, true),
            Field { multiline: true, ..field("text", "Text", &self.text, TEXT_CHARS, true) },
        ]
    }

    /// Returns the same event with the submitted values; everything else is unchanged.
    ///
    /// # Errors
    /// A sentence for each field with an invalid value.
    pub(super) fn revised(
        &self,
        filled: &BTreeMap<String, FieldValue>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut meeting = self.clone();
        if let Some(FieldValue::Text(title)) = filled.get("title") {
            let title = meeting::line("title", title, TITLE_CHARS);
            keep(title.map_err(why), &mut meeting.title, "title", &mut errors);
        }
        if let Some(FieldValue::Text(when)) = filled.get("when").filter(|when| !self.says(when, now, zone)) {
            let times = resolved(when, now, zone, &self.times);
            keep(times.map_err(why), &mut meeting.times, "when", &mut errors);
        }
        if let Some(FieldValue::Recipients(people)) = filled.get("guests") {
            let guests = meeting::guests(people, &self.account);
            keep(guests.map_err(why), &mut meeting.guests, "guests", &mut errors);
        }
        if let Some(FieldValue::Text(place)) = filled.get("place") {
            let place = meeting::line("place", place, PLACE_CHARS);
            keep(place.map_err(why), &mut meeting.place, "place", &mut errors);
        }
        if let Some(FieldValue::Text(text)) = filled.get("text") {
            keep(meeting::text(text).map_err(why), &mut meeting.text, "text", &mut errors);
        }
        if meeting.title.is_empty() {
            errors.push(FieldError::new("title", "An event needs a title."));
        }
        if meeting.guests.len() > MOST_GUESTS {
            errors.push(FieldError::new("guests", format!("{MOST_GUESTS} guests are allowed at most.")));
        }
        match meeting.settled(zone, now) {
            Ok(meeting) if errors.is_empty() => return Ok(meeting),
            Ok(_) => {}
            Err(fault) => errors.push(FieldError::new("when", sentence(&why(fault)))),
        }
        Err(errors)
    }

    /// Returns whether the form field was left unchanged.
    fn says(&self, filled: &FieldValue, now: Timestamp, zone: &TimeZone) -> bool {
        matches!(filled, FieldValue::Text(when) if when.trim() == self.times.said(zone, now))
    }
}

/// Resolves the time that was typed; a text with several readings is an error.
fn resolved(text: &str, now: Timestamp, zone: &TimeZone, was: &Times) -> Result<Times, ToolError> {
    let exact = match when::is_hour_only(text, now, zone) {
        true => was.hour_of_its_day(text, (zone, now)).map(|(exact, _)| exact),
        false => {
            let said = when::resolve(text, now, zone).map_err(|why| times::unclear(text, &why));
            said.map(|said| ExactTime::from_resolved(said, text, zone))
        }
    };
    was.moved_to(&exact.map_err(with_choices)?, None, zone)
}

/// A form has no buttons to choose between readings, so the error names them.
fn with_choices(fault: ToolError) -> ToolError {
    let ToolError::Ambiguous { choices, message: Some(why), .. } = fault else { return fault };
    let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
    ToolError::invalid(format!("{why} ({})", labels.join("; ")))
}

/// Returns the reason without the kind of error.
fn why(fault: ToolError) -> String {
    match fault {
        ToolError::InvalidArguments { reason } => reason,
        other => other.to_string(),
    }
}
