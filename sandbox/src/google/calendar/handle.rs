//! What tests and the demo can read and change in calendars, outside of the vendor's protocol.

use chrono::{DateTime, Utc};
use jiff::civil::DateTime as Wall;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::entry::{CalendarCopy, Entry, StoredAttendee};
use super::event_input::EventInput;
use super::model::{CalendarEvent, EventEdit, Invitation, NewEvent, jiff_time};
use super::moment::{stamp, zone};
use super::store::{Calendars, Owner};
use crate::google::Google;

/// Calendars.
impl Google {
    /// Adds an event to the calendar of `account`, made by that person or an external organizer; guests with a calendar
    /// here get a copy. No mail is sent. Returns the event's id.
    ///
    /// # Errors
    /// If the account does not exist, or Google would not accept such an event.
    pub fn add_event(&self, account: &str, what: &NewEvent) -> Result<String, String> {
        let (account, now) = (account.to_lowercase(), jiff_time(self.shared.now()));
        self.shared.change(|state| {
            let all = &mut state.calendars;
            let home = all.owner(&account).map(|owner| owner.zone.clone());
            let home = home.ok_or(format!("{account} has no account here"))?;
            let id = all.next_id();
            let mut entry = entry(all, &account, id, what, &home)?;
            (entry.created, entry.updated) = (now, now);
            all.distribute(&mut entry);
            entry.touch(all.next(), now);
            let id = entry.id.clone();
            all.entries.push(entry);
            all.rooms_answer(&account, &id, now);
            Ok(id)
        })
    }

    /// Returns a calendar's events: a series once, cancelled events not.
    #[must_use]
    pub fn events(&self, email: &str) -> Vec<CalendarEvent> {
        let (state, email) = (self.shared.state(), email.to_lowercase());
        let all = &state.calendars;
        let standing = all.list_in_calendar(&email).filter(|entry| !entry.is_gone_for(&email));
        standing.filter_map(|entry| all.meeting(entry, &email)).collect()
    }

    /// Returns a person's copy of an event, even if cancelled; an instance is found by its own id.
    #[must_use]
    pub fn event(&self, email: &str, id: &str) -> Option<CalendarEvent> {
        let (state, email) = (self.shared.state(), email.to_lowercase());
        let entry = state.calendars.find(&email, id)?;
        state.calendars.meeting(&entry, &email)
    }

    /// Returns the events between two times in order, with series expanded.
    #[must_use]
    pub fn events_between(&self, email: &str, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<CalendarEvent> {
        self.shared.meetings(email, from, to)
    }

    /// Answers an invitation in Google Calendar. Returns false if the person is not invited.
    #[must_use]
    pub fn respond_as(&self, email: &str, event: &str, response: &str) -> bool {
        self.edit(email, event, |entry, email| {
            let known = ["needsAction", "accepted", "tentative", "declined"].contains(&response);
            let guest = entry.guests.iter_mut().find(|guest| known && guest.email == email);
            guest.map(|guest| response.clone_into(&mut guest.response)).is_some()
        })
    }

    /// Cancels an event in Google Calendar, or removes it from a guest's own calendar. Returns false if it does not
    /// exist.
    #[must_use]
    pub fn cancel_event(&self, email: &str, event: &str) -> bool {
        self.edit(email, event, |entry, email| {
            if entry.organizer == email {
                entry.cancelled = true;
                entry.sequence += 1;
                return true;
            }
            for guest in entry.guests.iter_mut().filter(|guest| guest.email == email) {
                "declined".clone_into(&mut guest.response);
            }
            entry.copies.get_mut(email).map(|copy| copy.is_removed = true).is_some()
        })
    }

    /// Changes an event in Google Calendar as its organizer. Returns false if it does not exist or the change is not
    /// allowed.
    #[must_use]
    pub fn edit_event(&self, email: &str, event: &str, edit: &EventEdit) -> bool {
        self.edit(email, event, |entry, _| {
            let texts =
                [("summary", &edit.title), ("description", &edit.description), ("location", &edit.location)];
            for (name, text) in texts {
                if let Some(text) = text {
                    entry.fields.insert(name.to_owned(), json!(text));
                }
            }
            if let Some((start, end)) = &edit.time {
                let said = entry.span.start_zone.clone().unwrap_or_else(|| "UTC".to_owned());
                let times = times(start, end, &said).and_then(|times| EventInput::read(&times, &said).ok());
                let Some(draft) = times else { return false };
                entry.span = draft.span;
            }
            entry.sequence += 1;
            true
        })
    }

    fn edit(&self, email: &str, event: &str, change: impl FnOnce(&mut Entry, &str) -> bool) -> bool {
        let (email, now) = (email.to_lowercase(), jiff_time(self.shared.now()));
        self.shared.change(|state| {
            let number = state.calendars.next();
            let Some(entry) = state.calendars.find_mut(&email, event) else { return false };
            let done = !entry.is_gone_for(&email) && change(entry, &email);
            if done {
                entry.touch(number, now);
            }
            done
        })
    }

    /// Returns the mails that Calendar sent to a person, oldest first.
    #[must_use]
    pub fn invitations(&self, email: &str) -> Vec<Invitation> {
        let all = self.list_all_invitations().into_iter();
        all.filter(|one| one.to.eq_ignore_ascii_case(email)).collect()
    }

    /// Returns all mails that Calendar sent, oldest first.
    #[must_use]
    pub fn list_all_invitations(&self) -> Vec<Invitation> {
        self.shared.state().calendars.notices.clone()
    }

    /// Adds a room (`c_…@resource.calendar.google.com`), which people of `domain` can see and book. It accepts if it is
    /// free, and otherwise declines.
    pub fn add_room(&self, email: &str, name: &str, domain: &str) {
        let room = Owner {
            email: email.to_lowercase(),
            name: name.to_owned(),
            zone: "UTC".to_owned(),
            is_room: true,
            domain: domain.to_owned(),
        };
        self.shared.change(|state| state.calendars.open(room));
    }

    /// Lets `reader` see the events in the calendar of `owner` from now on.
    pub fn share_calendar(&self, owner: &str, reader: &str) {
        let pair = (owner.to_lowercase(), reader.to_lowercase());
        self.shared.change(|state| state.calendars.shares.insert(pair));
    }

    /// Sets a person's time zone. Returns false if there is no such zone or account.
    #[must_use]
    pub fn set_time_zone(&self, email: &str, name: &str) -> bool {
        self.shared.change(|state| match (zone(name), state.calendars.owner_mut(email)) {
            (Some(_), Some(owner)) => {
                name.clone_into(&mut owner.zone);
                true
            }
            _ => false,
        })
    }
}

fn entry(all: &Calendars, account: &str, id: String, what: &NewEvent, home: &str) -> Result<Entry, String> {
    let said = what.zone.as_deref().unwrap_or(home);
    let mut event = times(&what.start, &what.end, said).ok_or(format!("{} to {}", what.start, what.end))?;
    let mut say = |name: &str, value: Value| event.insert(name.to_owned(), value);
    say("summary", json!(what.title));
    say("description", json!(what.description));
    say("location", json!(what.location));
    say("recurrence", json!(what.recurrence));
    if what.free {
        say("transparency", json!("transparent"));
    }
    if what.private {
        say("visibility", json!("private"));
    }
    let draft = EventInput::read(&event, home).map_err(|refusal| refusal.message)?;
    let organizer = what.organizer.as_deref().unwrap_or(account).to_lowercase();
    let mut emails: Vec<String> = what.guests.iter().map(|email| email.to_lowercase()).collect();
    if organizer != account && !emails.iter().any(|email| email == account) {
        emails.push(account.to_owned());
    }
    let own = CalendarCopy { own: draft.fields.own, ..CalendarCopy::default() };
    let mut entry = Entry {
        uid: format!("{id}@google.com"),
        id,
        fields: draft.fields.fields,
        span: draft.span,
        recurrence: draft.recurrence,
        series: None,
        guests: Vec::new(),
        meet: None,
        sequence: 0,
        cancelled: false,
        created: jiff::Timestamp::UNIX_EPOCH,
        updated: jiff::Timestamp::UNIX_EPOCH,
        copies: std::iter::once((account.to_owned(), own)).collect(),
        organizer,
    };
    let asked = emails
        .iter()
        .map(|email| StoredAttendee { response: String::new(), ..StoredAttendee::new(email) })
        .collect();
    entry.guests = all.validate_guests(&entry, account, asked).map_err(|refusal| refusal.message)?;
    Ok(entry)
}

/// Returns `start` and `end` in the API's format.
fn times(start: &str, end: &str, said: &str) -> Option<Map<String, Value>> {
    let place: TimeZone = zone(said)?;
    let one = |text: &str| {
        if text.len() == 10 {
            return Some(json!({"date": text}));
        }
        let wall: Wall = text.parse().ok()?;
        let at = place.to_timestamp(wall).ok()?;
        Some(json!({"dateTime": stamp(at, &place), "timeZone": said}))
    };
    Some([("start".to_owned(), one(start)?), ("end".to_owned(), one(end)?)].into_iter().collect())
}
