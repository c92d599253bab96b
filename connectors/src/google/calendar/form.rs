//! What a person may change of an event before they nod, and what becomes of it then.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use nod_core::card::{Field, FieldError};
use nod_core::clock::Timestamp;
use nod_core::tool::{Fault, Filled};
use nod_core::when::{self, Exact};

use super::meeting::{self, MOST_GUESTS, Meeting, PLACE_CHARS, TEXT_CHARS, TITLE_CHARS};
use super::times::Times;

/// A hundred addresses of the usual length.
const PEOPLE_CHARS: usize = 10_000;
const WHEN_CHARS: usize = 200;

impl Meeting {
    /// The event as fields to fill in.
    pub(super) fn form(&self, when: &str) -> Vec<Field> {
        let guests = self.guests.join(", ");
        vec![
            field("title", "Title", &self.title, TITLE_CHARS, false),
            field("when", "When", when, WHEN_CHARS, false),
            Field { people: true, ..field("guests", "Guests", &guests, PEOPLE_CHARS, true) },
            field("place", "Place", &self.place, PLACE_CHARS, true),
            Field { lines: true, ..field("text", "Text", &self.text, TEXT_CHARS, true) },
        ]
    }

    /// The same event with what was filled in; everything else stays as it was.
    ///
    /// # Errors
    /// A sentence for each field that cannot be so.
    pub(super) fn revised(
        &self,
        filled: &BTreeMap<String, Filled>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut meeting = self.clone();
        if let Some(Filled::Text(title)) = filled.get("title") {
            let title = meeting::line("title", title, TITLE_CHARS);
            keep(title, &mut meeting.title, "title", &mut errors);
        }
        if let Some(Filled::Text(when)) = filled.get("when").filter(|when| !self.says(when, now, zone)) {
            keep(resolved(when, now, zone, &self.times), &mut meeting.times, "when", &mut errors);
        }
        if let Some(Filled::People(people)) = filled.get("guests") {
            keep(meeting::guests(people, &self.account), &mut meeting.guests, "guests", &mut errors);
        }
        if let Some(Filled::Text(place)) = filled.get("place") {
            let place = meeting::line("place", place, PLACE_CHARS);
            keep(place, &mut meeting.place, "place", &mut errors);
        }
        if let Some(Filled::Text(text)) = filled.get("text") {
            keep(meeting::text(text), &mut meeting.text, "text", &mut errors);
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
            Err(fault) => errors.push(FieldError::new("when", sentence(&fault))),
        }
        Err(errors)
    }

    /// What stood in the form's field and was left as it was.
    fn says(&self, filled: &Filled, now: Timestamp, zone: &TimeZone) -> bool {
        matches!(filled, Filled::Text(when) if when.trim() == self.times.said(zone, now))
    }
}

/// What was typed for its time, exactly; a text that has several readings is not guessed at.
fn resolved(text: &str, now: Timestamp, zone: &TimeZone, times: &Times) -> Result<Times, Fault> {
    let said = when::resolve(text, now, zone).map_err(|unclear| {
        let labels: Vec<&str> = unclear.choices().iter().map(|choice| choice.label.as_str()).collect();
        let choices = if labels.is_empty() { String::new() } else { format!(" ({})", labels.join("; ")) };
        Fault::invalid(format!("{}{choices}", unclear.why()))
    })?;
    times.moved_to(&Exact::of(said, text, zone), None, zone)
}

pub(super) fn field(id: &str, label: &str, value: &str, limit: usize, optional: bool) -> Field {
    Field {
        id: id.to_owned(),
        label: label.to_owned(),
        value: value.to_owned(),
        lines: false,
        limit,
        optional,
        people: false,
    }
}

fn keep<T>(read: Result<T, Fault>, place: &mut T, id: &str, errors: &mut Vec<FieldError>) {
    match read {
        Ok(value) => *place = value,
        Err(fault) => errors.push(FieldError::new(id, sentence(&fault))),
    }
}

/// What is said to a model, as it is said to a person.
fn sentence(fault: &Fault) -> String {
    let why = match fault {
        Fault::Invalid { reason } => reason.clone(),
        other => other.to_string(),
    };
    let mut letters = why.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
