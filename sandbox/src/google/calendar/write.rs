//! Creates, changes and cancels events, if the caller is allowed to.

use serde_json::{Map, Value, json};

use super::entry::{CalendarCopy, Entry};
use super::event_input::EventInput;
use super::event_json::Viewpoint;
use super::guests::{Change, Tells};
use super::middleware::ApiRequest;
use super::store::Calendars;
use super::{meet, rejection};
use crate::google::response::{Outcome, Rejection};

/// Fields that Google sets, which a new event cannot contain.
const NOT_YET: [&str; 13] = [
    "etag",
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
    "sequence",
];

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// Returns the view with all guests, so that none is lost when the event is written back.
fn full_viewpoint(all: &Calendars, me: &str) -> Viewpoint {
    let zone = all.owner(me).map_or(jiff::tz::TimeZone::UTC, super::store::Owner::zone);
    Viewpoint { calendar: me.to_owned(), reader: me.to_owned(), zone, max_attendees: None }
}

pub(super) fn insert(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    let me = ask.own_calendar(all)?;
    let body = object(ask.body);
    if let Some(name) = NOT_YET.iter().find(|name| body.contains_key(**name)) {
        return Err(rejection::invalid(format!("{name} cannot be said of a new event")));
    }
    let id = match body.get("id").and_then(Value::as_str) {
        Some(id) => fresh_id(all, &me, id)?,
        None => all.next_id(),
    };
    let zone = all.owner(&me).map(|owner| owner.zone.clone()).unwrap_or_default();
    let draft = EventInput::read(&body, &zone)?;
    let mut entry = Entry {
        uid: format!("{id}@google.com"),
        id,
        organizer: me.clone(),
        fields: draft.fields.fields,
        span: draft.span,
        recurrence: draft.recurrence,
        series: None,
        guests: Vec::new(),
        meet: None,
        sequence: 0,
        cancelled: false,
        created: ask.now,
        updated: ask.now,
        copies: std::iter::once((me.clone(), CalendarCopy { own: draft.fields.own, ..Default::default() }))
            .collect(),
    };
    entry.guests = all.validate_guests(&entry, &me, draft.guests)?;
    entry.meet = meet::link_after_write(all, ask, None, body.get("conferenceData"))?;
    // These checks come before the writes, so a rejected request changes nothing.
    let (tells, look) = (Tells::read(ask)?, ask.to_view(all, &me)?);
    all.distribute(&mut entry);
    entry.touch(all.next(), ask.now);
    all.entries.push(entry.clone());
    all.tell(&tells, &me, None, &entry, ask.now);
    let shown = all.show(&entry, &look);
    // Rooms answer after the response is computed, so the response shows them as not answered yet.
    all.rooms_answer(&me, &entry.id, ask.now);
    Ok(Some(shown))
}

fn fresh_id(all: &Calendars, me: &str, id: &str) -> Result<String, Rejection> {
    let fits = |c: char| matches!(c, 'a'..='v' | '0'..='9');
    if !(5..=1024).contains(&id.len()) || !id.chars().all(fits) {
        return Err(rejection::invalid("Invalid resource id value."));
    }
    match all.list_in_calendar(me).any(|entry| entry.id == id) {
        true => Err(rejection::duplicate()),
        false => Ok(id.to_owned()),
    }
}

/// Removes fields that are not given.
pub(super) fn update(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    change(all, ask, |_, body| Value::Object(body))
}

/// Keeps fields that are not given; lists are replaced as a whole.
pub(super) fn patch(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    change(all, ask, |mut current, body| {
        merge(&mut current, Value::Object(body));
        current
    })
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                match value {
                    Value::Null => drop(into.remove(&name)),
                    value => merge(into.entry(name).or_insert(Value::Null), value),
                }
            }
        }
        (into, from) => *into = from,
    }
}

/// Returns an event that can be written, as it is before the write.
fn find_writable_event(all: &Calendars, ask: &ApiRequest<'_>, me: &str) -> Result<Entry, Rejection> {
    let old = all.find(me, ask.event()).ok_or_else(rejection::not_found)?;
    if old.is_gone_for(me) {
        return Err(rejection::resource_deleted());
    }
    ask.must_match(&old.etag(me))?;
    Ok(old)
}

fn change(
    all: &mut Calendars,
    ask: &ApiRequest<'_>,
    merged: impl FnOnce(Value, Map<String, Value>) -> Value,
) -> Outcome {
    let me = ask.own_calendar(all)?;
    let old = find_writable_event(all, ask, &me)?;
    let body = object(ask.body);
    if body.get("id").is_some_and(|id| *id != json!(old.id)) {
        return Err(rejection::invalid("Invalid resource id value."));
    }
    let said = body.get("conferenceData").cloned();
    let omits = body.get("attendeesOmitted") == Some(&json!(true));
    let merged = object(&merged(all.show(&old, &full_viewpoint(all, &me)), body));
    let zone = all.owner(&me).map(|owner| owner.zone.clone()).unwrap_or_default();
    let draft = EventInput::read(&merged, &zone)?;
    let kept = if ask.supports_conferences() { merged.get("conferenceData").cloned() } else { said };
    let new = rewritten(all, ask, &old, &me, EventInput { omits_guests: omits, ..draft }, kept.as_ref())?;
    let change = Change::between(&old, &new, &me);
    let answer = all.commit(ask, &me, &old, new, &change)?;
    all.rooms_answer(&me, &old.id, ask.now);
    Ok(Some(answer))
}

fn rewritten(
    all: &mut Calendars,
    ask: &ApiRequest<'_>,
    old: &Entry,
    me: &str,
    draft: EventInput,
    conference: Option<&Value>,
) -> Result<Entry, Rejection> {
    if old.series.is_some() && !draft.recurrence.is_empty() {
        return Err(rejection::invalid("An instance has no recurrence of its own"));
    }
    if draft.sequence.is_some_and(|given| given < old.sequence) {
        let why = "Invalid sequence value. The specified sequence number is below the current sequence number \
                   of the resource.";
        return Err(rejection::invalid(why));
    }
    let mut new = old.clone();
    let leads = old.organizer == me || old.fields.get("guestsCanModify") == Some(&json!(true));
    new.guests = match leads && !draft.omits_guests {
        true => all.validate_guests(old, me, draft.guests)?,
        false => all.answered(old, me, &draft.guests, draft.omits_guests)?,
    };
    new.meet = meet::link_after_write(all, ask, old.meet.as_ref(), conference)?;
    new.fields = draft.fields.fields;
    new.span = draft.span;
    new.recurrence = draft.recurrence;
    if let Some(copy) = new.copies.get_mut(me) {
        copy.own = draft.fields.own;
    }
    let change = Change::between(old, &new, me);
    if change.is_shared() && !leads {
        return Err(rejection::not_the_organizer());
    }
    if change.moved {
        // A room's answer applies to one time only, so it is asked again.
        for room in new.guests.iter_mut().filter(|guest| guest.is_room) {
            room.response = "needsAction".to_owned();
        }
    }
    new.sequence = draft.sequence.unwrap_or(old.sequence) + i64::from(change.is_shared());
    Ok(new)
}

impl Calendars {
    fn commit(
        &mut self,
        ask: &ApiRequest<'_>,
        me: &str,
        old: &Entry,
        mut new: Entry,
        change: &Change,
    ) -> Result<Value, Rejection> {
        let tells = Tells::read(ask)?;
        let look = ask.to_view(self, me)?;
        if change.is_any() {
            for guest in new.guests.iter().filter(|guest| old.guest(&guest.email).is_none()) {
                // A new invitation restores an event that the guest removed.
                if new.copies.get(&guest.email).is_some_and(|copy| copy.is_removed) {
                    new.copies.remove(&guest.email);
                }
            }
            self.distribute(&mut new);
            new.touch(self.next(), ask.now);
        } else if change.own {
            let number = self.next();
            new.copies.entry(me.to_owned()).or_default().etag = number;
        }
        if change.moved && old.series.is_none() {
            // Exceptions of the previous series no longer apply.
            self.entries.retain(|entry| !entry.is_instance_of(old));
        }
        if (change.is_any() || change.own)
            && let Some(entry) = self.find_mut(me, &old.id)
        {
            *entry = new.clone();
        }
        self.tell(&tells, me, Some(old), &new, ask.now);
        Ok(self.show(&new, &look))
    }
}

/// Cancels the event for all people if the caller is the organizer; a guest removes it from their own calendar and so
/// declines.
pub(super) fn delete(all: &mut Calendars, ask: &ApiRequest<'_>) -> Outcome {
    let me = ask.own_calendar(all)?;
    let old = find_writable_event(all, ask, &me)?;
    let tells = Tells::read(ask)?;
    let number = all.next();
    let mut ids = vec![old.id.clone()];
    ids.extend(all.exceptions(&old).map(|entry| entry.id.clone()));
    for id in ids {
        let Some(entry) = all.find_mut(&me, &id) else { continue };
        if entry.organizer == me {
            entry.cancelled = true;
            entry.sequence += 1;
        } else {
            for guest in entry.guests.iter_mut().filter(|guest| guest.email == me) {
                guest.response = "declined".to_owned();
            }
            entry.copies.entry(me.clone()).or_default().is_removed = true;
        }
        entry.touch(number, ask.now);
    }
    let new = all.find(&me, &old.id).ok_or_else(rejection::not_found)?;
    all.tell(&tells, &me, Some(&old), &new, ask.now);
    Ok(None)
}
