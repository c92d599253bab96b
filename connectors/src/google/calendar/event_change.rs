//! An approved change of an event: which version of which event, the new values, and how they are shown. Fields that
//! are not named stay unchanged.

use google_calendar3::api::{Event, EventAttendee};
use jiff::tz::TimeZone;
use nod_contract::clock::Timestamp;
use nod_contract::tool::{ASSUMPTIONS_FIELD, ActionLabels, Preview, ToolContext, ToolError};
use nod_when::when::ExactTime;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::CalendarClient;
use super::event_time::{EventTime, MAX_MINUTES};
use super::event_version::{self, EventTarget, SeriesScope};
use super::event_view;
use super::new_event::{self, MAX_GUESTS, PLACE_CHARS, TEXT_CHARS, TITLE_CHARS};
use nod_contract::tool::effect::EffectKey;

const SCHEMA: u32 = 1;

/// The arguments from the model.
#[derive(Debug, Deserialize)]
pub(super) struct EventChangeArguments {
    pub(super) event: String,
    #[serde(default)]
    pub(super) series: bool,
    title: Option<String>,
    when: Option<NewStart>,
    minutes: Option<i64>,
    #[serde(default)]
    add_guests: Vec<String>,
    #[serde(default)]
    remove_guests: Vec<String>,
    place: Option<String>,
    text: Option<String>,
    /// The parts to remove from the event.
    #[serde(default)]
    without: Vec<ClearableField>,
    #[serde(default)]
    meet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ClearableField {
    Place,
    Text,
}

/// When it will begin; an hour without a day means that hour on the event's own day.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum NewStart {
    Hour { hour: String },
    Exact(ExactTime),
}

/// The payload that the person approves; nothing else decides what is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventChange {
    schema: u32,
    tool: String,
    account: String,
    pub(super) event: String,
    /// Fingerprint of the event as it was seen: later changes by other people are not overwritten.
    #[serde(rename = "seen")]
    pub(super) fingerprint: String,
    /// Its title when it was seen.
    #[serde(rename = "known_as")]
    pub(super) event_title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<EventTime>,
    add_guests: Vec<String>,
    remove_guests: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    meet: bool,
    /// What was assumed about the hour, shown on the card.
    #[serde(skip)]
    understood: Option<String>,
    /// The new time had already begun when the change was requested; the card says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(rename = "over")]
    has_started: bool,
}

pub(super) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "event": event_schema(),
            "series": series_schema(),
            "title": {"type": "string", "minLength": 1, "maxLength": TITLE_CHARS},
            "when": {"type": "string", "format": "when-or-hour", "minLength": 1, "maxLength": 200,
                "description": "When it begins now, in the person's own words: “next Friday at 3”, “Mon 9–10:30”. It stays as long as it is. An hour alone (“4pm”) is one of its own day."},
            "minutes": {"type": "integer", "minimum": 1, "maximum": MAX_MINUTES,
                "description": "Only where it shall take longer or shorter than now."},
            "add_guests": new_event::guests_schema("Who is invited too: addresses, or names of people."),
            "remove_guests": new_event::guests_schema("Who is not invited any more."),
            "place": {"type": "string", "maxLength": PLACE_CHARS},
            "text": {"type": "string", "maxLength": TEXT_CHARS,
                "description": "The whole new text, in the place of what stands there."},
            "without": {"type": "array", "maxItems": 2, "uniqueItems": true,
                "items": {"type": "string", "enum": ["place", "text"]},
                "description": "What is taken out of it; only where the person says so."},
            "meet": {"type": "boolean", "description": "True to give it a Google Meet link."},
        },
        "required": ["event"],
        "additionalProperties": false,
    })
}

pub(super) fn event_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 1_100,
        "description": "The event's id, as a list of events gave it."})
}

pub(super) fn series_schema() -> Value {
    json!({"type": "boolean",
        "description": "Of an event that repeats: true for all of its times; only this one if left out."})
}

impl EventChange {
    /// Builds the change from the arguments.
    ///
    /// # Errors
    /// If the person cannot change this event, or nothing would change.
    pub(super) fn new(
        asked: EventChangeArguments,
        meant: &EventTarget,
        tool: &str,
        account: &str,
        (zone, now): (&TimeZone, Timestamp),
    ) -> Result<Self, ToolError> {
        let event = &meant.event;
        if !event_view::is_organized_by_owner(event) && !event.guests_can_modify.unwrap_or(false) {
            let organizer = event.organizer.as_ref().and_then(|organizer| organizer.email.as_deref());
            let whose = organizer.unwrap_or("someone else");
            let reason = format!(
                "it's {whose}'s event, and only they can change it. You can answer it or write to them"
            );
            return Err(ToolError::Forbidden { reason });
        }
        let guests = event_view::other_guests(event);
        let is_in = |list: &[String], one: &String| list.iter().any(|other| other.eq_ignore_ascii_case(one));
        let add = new_event::guests(&asked.add_guests, account)?;
        let remove = new_event::guests(&asked.remove_guests, account)?;
        if let Some(stranger) = remove.iter().find(|one| !is_in(&guests, one)) {
            return Err(ToolError::invalid(format!("{stranger} isn't one of its guests")));
        }
        // Models fill fields that they leave unchanged with empty strings: these remove nothing.
        let given = |part: ClearableField, written: Option<String>| match asked.without.contains(&part) {
            true => Some(String::new()),
            false => written.filter(|written| !written.trim().is_empty()),
        };
        let place = given(ClearableField::Place, asked.place);
        let text = given(ClearableField::Text, asked.text);
        let moved = reschedule(asked.when.as_ref(), asked.minutes, meant, (zone, now))?;
        let change = Self {
            schema: SCHEMA,
            tool: tool.to_owned(),
            account: account.to_owned(),
            event: event.id.clone().unwrap_or_default(),
            fingerprint: event_version::fingerprint(event)?,
            event_title: event_view::title(event),
            title: asked
                .title
                .map(|title| new_event::validate_line("title", &title, TITLE_CHARS))
                .transpose()?,
            times: moved.times,
            add_guests: add.into_iter().filter(|one| !is_in(&guests, one)).collect(),
            remove_guests: remove,
            place: place.map(|place| new_event::validate_line("place", &place, PLACE_CHARS)).transpose()?,
            text: text.map(|text| new_event::text(&text)).transpose()?,
            meet: asked.meet && event.hangout_link.is_none(),
            understood: moved.understood,
            has_started: false,
        };
        if change.title.as_ref().is_some_and(String::is_empty) {
            return Err(ToolError::invalid("an event needs a title"));
        }
        if guests.len() + change.add_guests.len() > MAX_GUESTS {
            return Err(ToolError::invalid(format!("an event can have {MAX_GUESTS} guests at most")));
        }
        if change.is_empty(event, zone) {
            return Err(ToolError::invalid("it's already like that, so nothing would change"));
        }
        let over = change.check_not_started(event, zone, now);
        if !change.new_guests(event).is_empty() {
            over.clone()?;
        }
        Ok(Self { has_started: over.is_err(), ..change })
    }

    /// Rejects a move to a time that has begun. A series is exempt, because its first time is usually past.
    pub(super) fn check_not_started(
        &self,
        event: &Event,
        zone: &TimeZone,
        now: Timestamp,
    ) -> Result<(), ToolError> {
        let begins = |times: &EventTime| times.bounds(zone).ok().map(|(start, _)| start);
        let was = event_view::times(event, zone);
        match &self.times {
            Some(times)
                if self.has_started
                    || event_view::is_series(event)
                    || was.as_ref().and_then(begins) == begins(times) =>
            {
                Ok(())
            }
            Some(times) => times.check_not_started(zone, now),
            None => Ok(()),
        }
    }

    /// Reads the change from an approved payload.
    ///
    /// # Errors
    /// [`ToolError::Internal`] if the payload was not made by `preview`.
    pub(super) fn from_payload(payload: &Value, tool: &str) -> Result<Self, ToolError> {
        let change = Self::deserialize(payload)
            .map_err(|error| ToolError::internal(format!("the approved payload cannot be read: {error}")))?;
        if change.schema != SCHEMA || change.tool != tool {
            return Err(ToolError::internal("I can't read this request any more. Please ask me again"));
        }
        Ok(change)
    }

    /// Rejects an account other than the one on the card.
    pub(super) fn check_account(&self, diary: &CalendarClient) -> Result<(), ToolError> {
        event_version::check_account(&self.account, diary)
    }

    fn is_empty(&self, event: &Event, zone: &TimeZone) -> bool {
        let same = |new: &Option<String>, old: Option<&String>| {
            new.as_ref().is_none_or(|new| *new == old.map(String::as_str).unwrap_or_default())
        };
        same(&self.title, event.summary.as_ref())
            && same(&self.place, event.location.as_ref())
            && same(&self.text, event.description.as_ref())
            && self.times.as_ref().is_none_or(|times| event_view::times(event, zone).as_ref() == Some(times))
            && self.add_guests.is_empty()
            && self.remove_guests.is_empty()
            && !self.meet
    }

    /// Builds the patch for Calendar; `now` is the event in the version that was seen.
    pub(super) fn to_patch(&self, now: &Event, key: EffectKey) -> Result<Event, ToolError> {
        let (start, end) = match &self.times {
            Some(times) => {
                let (start, end) = times.to_calendar()?;
                (Some(start), Some(end))
            }
            None => (None, None),
        };
        let guests = !self.add_guests.is_empty() || !self.remove_guests.is_empty();
        Ok(Event {
            summary: self.title.clone(),
            start,
            end,
            attendees: guests.then(|| self.guests(now)),
            location: self.place.clone(),
            description: self.text.clone(),
            conference_data: self.meet.then(|| new_event::meet_conference_data(key)),
            extended_properties: Some(event_version::effect_properties(key)),
            ..Event::default()
        })
    }

    /// Returns the whole event with this change if it turns a timed event into an all-day one or back. A patch of the
    /// named fields would leave the old kind of time next to the new one.
    pub(super) fn replacement_event(now: &Event, change: &Event) -> Option<Event> {
        let is_day = |event: &Event| event.start.as_ref().map(|start| start.date.is_some());
        if change.start.is_none() || is_day(change) == is_day(now) {
            return None;
        }
        let mut event = Event {
            start: change.start.clone(),
            end: change.end.clone(),
            extended_properties: now
                .extended_properties
                .clone()
                .or_else(|| change.extended_properties.clone()),
            ..now.clone()
        };
        let private = change.extended_properties.iter().filter_map(|all| all.private.as_ref()).flatten();
        if let Some(kept) = &mut event.extended_properties {
            let marks = private.map(|(name, value)| (name.clone(), value.clone()));
            kept.private.get_or_insert_default().extend(marks);
        }
        let given = |new: &Option<String>, old: Option<String>| new.clone().or(old);
        event.summary = given(&change.summary, event.summary);
        event.location = given(&change.location, event.location);
        event.description = given(&change.description, event.description);
        event.attendees = change.attendees.clone().or(event.attendees);
        event.conference_data = change.conference_data.clone().or(event.conference_data);
        Some(event)
    }

    /// Returns the whole new guest list; guests who stay keep their answers.
    fn guests(&self, now: &Event) -> Vec<EventAttendee> {
        let goes = |guest: &EventAttendee| {
            let address = guest.email.as_deref().unwrap_or_default();
            self.remove_guests.iter().any(|one| one.eq_ignore_ascii_case(address))
        };
        let stay = now.attendees.iter().flatten().filter(|guest| !goes(guest)).cloned();
        let new = self.add_guests.iter();
        stay.chain(new.map(|one| EventAttendee { email: Some(one.clone()), ..Default::default() })).collect()
    }

    pub(super) fn preview(&self, cx: &ToolContext, meant: &EventTarget) -> Result<Preview, ToolError> {
        let event = &meant.event;
        let payload = serde_json::to_value(self).map_err(|error| ToolError::internal(error.to_string()))?;
        let words = ActionLabels {
            approve: "Approve & update".into(),
            in_progress: "Updating…".into(),
            done: "Updated".into(),
            not_done: "Not updated".into(),
            noun: "event".into(),
        };
        let question = if meant.times == SeriesScope::WholeSeries {
            "Update every time of this event?"
        } else {
            "Update this event?"
        };
        let mut recipients = event_view::other_guests(event);
        recipients.extend(self.add_guests.iter().cloned());
        let zone = event_view::zone(&cx.principal);
        let gone = |one: &String| self.remove_guests.iter().any(|other| other.eq_ignore_ascii_case(one));
        let there: Vec<String> = recipients.iter().filter(|one| !gone(one)).cloned().collect();
        let when = self.describe_times(event, &zone, cx.now);
        let times = self.times.clone().or_else(|| event_view::times(event, &zone));
        Ok(Preview {
            summary: Some(event_view::event_summary("Update", meant.times, &self.event_title, &when, &there)),
            event_details: times.and_then(|times| times.to_event_details(there)),
            fields: self.fields(meant, &zone, cx.now),
            topic: Some(self.event.clone()),
            body: self.text.clone().filter(|text| !text.is_empty()),
            account: self.account.clone(),
            recipients,
            audience: nod_contract::privacy::Audience::Person(cx.principal.person),
            provenance: event_view::provenance(std::slice::from_ref(event)),
            risks: self.has_started.then(|| "That time has already passed".to_owned()).into_iter().collect(),
            ..Preview::new(payload, question, words)
        })
    }

    /// Describes when it takes place, and when it will.
    fn describe_times(&self, event: &Event, zone: &TimeZone, now: Timestamp) -> String {
        let was = event_view::times(event, zone).map_or_else(String::new, |times| times.describe(zone, now));
        describe_change(&was, self.times.as_ref().map(|times| times.describe(zone, now)))
    }

    fn fields(&self, meant: &EventTarget, zone: &TimeZone, now: Timestamp) -> Vec<(String, String)> {
        let event = &meant.event;
        let place = event_view::event_location(event);
        let mut fields = vec![
            ("Calendar".into(), self.account.clone()),
            ("Title".into(), describe_change(&self.event_title, self.title.clone())),
            (meant.times.time_label(), self.describe_times(event, zone, now)),
        ];
        let times = self.times.clone().or_else(|| event_view::times(event, zone));
        let clocks =
            times.filter(|_| event_view::is_series(event)).and_then(|times| times.foreign_zone_label(zone));
        let by = clocks.map(|place| format!(", {place} time")).unwrap_or_default();
        fields.extend(meant.times.field().map(|(name, which)| (name, which + &by)));
        fields.push(("Guests".into(), self.describe_guest_changes(event)));
        if !place.is_empty() || self.place.is_some() {
            fields.push(("Place".into(), describe_change(&place, self.place.clone())));
        }
        let had_text = event.description.as_deref().is_some_and(|text| !text.trim().is_empty());
        fields.extend(self.text.as_ref().and_then(|text| match (had_text, text.is_empty()) {
            (true, false) => Some(("Description".to_owned(), "replaces the current one".to_owned())),
            (true, true) => Some(("Description".to_owned(), "removed".to_owned())),
            (false, _) => None,
        }));
        fields.extend(self.meet.then(|| ("Meet".into(), "adds a Google Meet link".into())));
        fields.extend(self.understood.iter().map(|said| (ASSUMPTIONS_FIELD.to_owned(), said.clone())));
        fields
    }

    /// Describes the guests: "bo@example.com, + cho@example.com, − dan@example.com".
    fn describe_guest_changes(&self, event: &Event) -> String {
        let stay = event_view::other_guests(event);
        let gone = |one: &String| self.remove_guests.iter().any(|other| other.eq_ignore_ascii_case(one));
        let stay = stay.iter().filter(|one| !gone(one)).cloned();
        let new = self.add_guests.iter().map(|one| format!("+ {one}"));
        let gone = self.remove_guests.iter().map(|one| format!("− {one}"));
        stay.chain(new).chain(gone).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn new_times(&self) -> Option<&EventTime> {
        self.times.as_ref()
    }

    pub(super) fn new_guests(&self, event: &Event) -> Vec<String> {
        event_view::other_guests(event).into_iter().chain(self.add_guests.iter().cloned()).collect()
    }
}

/// Formats a change: "Standup → Late standup", or the old value if it stays.
fn describe_change(old: &str, new: Option<String>) -> String {
    match new {
        Some(new) if new != old => format!("{} → {new}", if old.is_empty() { "—" } else { old }),
        _ => old.to_owned(),
    }
}

/// The new times, and what was assumed about them.
#[derive(Default)]
struct Reschedule {
    times: Option<EventTime>,
    understood: Option<String>,
}

/// Computes the new times. All times of a series move by as much as the named one does, by the clocks that the series
/// follows.
fn reschedule(
    when: Option<&NewStart>,
    minutes: Option<i64>,
    meant: &EventTarget,
    (zone, now): (&TimeZone, Timestamp),
) -> Result<Reschedule, ToolError> {
    let (event, instance) = (&meant.event, meant.instance.as_ref());
    let unreadable = || ToolError::invalid("Calendar doesn't say when it takes place");
    let first = event_view::times(event, zone).ok_or_else(unreadable)?;
    let was = match instance {
        Some(instance) => event_view::times(instance, zone).ok_or_else(unreadable)?,
        None => first.clone(),
    };
    let (exact, understood) = match when {
        Some(NewStart::Hour { hour }) => {
            let (exact, understood) = was.at_hour(hour, (zone, now))?;
            (Some(exact), understood)
        }
        Some(NewStart::Exact(exact)) => (Some(exact.clone()), None),
        None => (None, None),
    };
    let found = |times: EventTime| Ok(Reschedule { times: Some(times), understood });
    let new = match (exact, minutes) {
        (None, None) => return Ok(Reschedule::default()),
        (Some(exact), minutes) => was.with_start(&exact, minutes, zone)?,
        // An instance that was moved by itself does not say when the others begin.
        (None, Some(minutes)) if meant.times == SeriesScope::WholeSeries => {
            return found(first.with_duration(minutes)?.with_named_zone(zone)?);
        }
        (None, Some(minutes)) => was.with_duration(minutes)?,
    };
    if meant.times != SeriesScope::WholeSeries {
        return found(new.with_named_zone(zone)?);
    }
    let new = new.in_time_zone(was.zone().unwrap_or(zone));
    if new.first_day() != was.first_day() {
        let clocks =
            was.foreign_zone_label(zone).map(|place| format!(" in {place} time")).unwrap_or_default();
        return Err(ToolError::invalid(format!(
            "I can change the hour of a whole series, but not its day{clocks}. Move just this one, or cancel \
             the series and make a new one"
        )));
    }
    found(new.on_day(first.first_day())?)
}
