//! The JSON of an event as a person sees it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::entry::{Entry, StoredAttendee};
use super::moment::stamp;
use super::store::Calendars;

/// The calendar in which a person reads an event, and how.
#[derive(Debug, Clone)]
pub(super) struct Viewpoint {
    pub calendar: String,
    /// The person who reads.
    pub reader: String,
    pub zone: TimeZone,
    pub max_attendees: Option<usize>,
}

impl Calendars {
    pub(super) fn show(&self, entry: &Entry, look: &Viewpoint) -> Value {
        let mine = look.calendar == look.reader;
        let gone = entry.is_gone_for(&look.calendar);
        let mut shown = json!({
            "kind": "calendar#event",
            "etag": entry.etag(&look.calendar),
            "id": entry.id,
            "status": if gone { "cancelled" } else { "confirmed" },
        });
        if let Some(series) = &entry.series {
            shown["recurringEventId"] = json!(series.of);
            shown["originalStartTime"] = series.original.show(series.zone.as_deref(), &look.zone);
        }
        // For cancelled events Google guarantees only the ids, except for the organizer's own.
        if gone && (entry.series.is_some() || entry.organizer != look.calendar) {
            return shown;
        }
        let (start, end) = entry.span.show(&look.zone);
        shown["start"] = start;
        shown["end"] = end;
        shown["eventType"] = json!("default");
        shown["iCalUID"] = json!(entry.uid);
        let is_private = ["private", "confidential"].contains(&entry.text("visibility"));
        if is_private && !mine && entry.guest(&look.reader).is_none() {
            shown["visibility"] = json!("private");
            return shown;
        }
        self.fill(&mut shown, entry, look);
        shown
    }

    fn fill(&self, shown: &mut Value, entry: &Entry, look: &Viewpoint) {
        let own = entry.copies.get(&look.calendar).map(|copy| &copy.own);
        for (name, value) in entry.fields.iter().chain(own.into_iter().flatten()) {
            match name.as_str() {
                "shared" | "private" => shown["extendedProperties"][name] = value.clone(),
                "status" if shown["status"] == "cancelled" => {}
                _ => shown[name] = value.clone(),
            }
        }
        let eid = STANDARD_NO_PAD.encode(format!("{} {}", entry.id, look.calendar));
        shown["htmlLink"] = json!(format!("https://www.google.com/calendar/event?eid={eid}"));
        shown["created"] = json!(stamp(entry.created, &TimeZone::UTC));
        shown["updated"] = json!(entry.updated.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string());
        shown["creator"] = self.person(&entry.organizer, look);
        shown["organizer"] = self.person(&entry.organizer, look);
        shown["sequence"] = json!(entry.sequence);
        if shown.get("reminders").is_none() {
            shown["reminders"] = json!({"useDefault": true});
        }
        if !entry.recurrence.is_empty() {
            shown["recurrence"] = json!(entry.recurrence);
        }
        if let Some(meet) = &entry.meet {
            shown["hangoutLink"] = json!(meet.link());
            shown["conferenceData"] = meet.show();
        }
        self.show_guests(shown, entry, look);
    }

    fn person(&self, email: &str, look: &Viewpoint) -> Value {
        let mut person = json!({"email": email});
        if let Some(owner) = self.owner(email) {
            person["displayName"] = json!(owner.name);
        }
        if email == look.calendar {
            person["self"] = json!(true);
        }
        person
    }

    fn show_guests(&self, shown: &mut Value, entry: &Entry, look: &Viewpoint) {
        let hidden = entry.fields.get("guestsCanSeeOtherGuests") == Some(&json!(false))
            && entry.organizer != look.calendar;
        let too_many = look.max_attendees.is_some_and(|most| entry.guests.len() > most);
        let seen = |guest: &&StoredAttendee| !(hidden || too_many) || guest.email == look.calendar;
        let seen: Vec<Value> =
            entry.guests.iter().filter(seen).map(|guest| self.show_guest(guest, entry, look)).collect();
        if seen.len() < entry.guests.len() {
            shown["attendeesOmitted"] = json!(true);
        }
        if !seen.is_empty() {
            shown["attendees"] = json!(seen);
        }
    }

    fn show_guest(&self, guest: &StoredAttendee, entry: &Entry, look: &Viewpoint) -> Value {
        let mut shown = Map::new();
        let mut say = |name: &str, value: Value| shown.insert(name.to_owned(), value);
        say("email", json!(guest.email));
        say("responseStatus", json!(guest.response));
        if let Some(name) = &guest.name {
            say("displayName", json!(name));
        }
        if let Some(comment) = &guest.comment {
            say("comment", json!(comment));
        }
        if guest.brings > 0 {
            say("additionalGuests", json!(guest.brings));
        }
        let flags = [
            ("optional", guest.optional),
            ("resource", guest.is_room),
            ("organizer", guest.email == entry.organizer),
            ("self", guest.email == look.calendar),
        ];
        for (name, _) in flags.into_iter().filter(|(_, is)| *is) {
            say(name, json!(true));
        }
        Value::Object(shown)
    }
}
