//! An event as it is approved: the exact payload, its checks, and how it is shown.

use google_calendar3::api::{
    ConferenceData, ConferenceSolutionKey, CreateConferenceRequest, Event, EventAttendee, EventReminder,
    EventReminders,
};
use jiff::Zoned;
use jiff::tz::TimeZone;
use nod_contract::address::sorted_addresses;
use nod_contract::clock::Timestamp;
use nod_contract::tool::{ActionLabels, Preview, ToolError};
use nod_when::when::ExactTime;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::CalendarClient;
use super::event_time::{EventTime, MAX_MINUTES};
use super::event_version::{self, SeriesScope};
use super::event_view;
use super::recurrence::{self, Recurrence};
use super::room::{self, Room};
use crate::google::gmail::address::Recipient;
use nod_contract::tool::effect::EffectKey;

pub(super) const MAX_GUESTS: usize = 100;
pub(super) const TITLE_CHARS: usize = 500;
pub(super) const TEXT_CHARS: usize = 8_000;
pub(super) const PLACE_CHARS: usize = 500;
/// Calendar's limits for reminders.
const MAX_REMINDERS: usize = 5;
const MAX_REMINDER_MINUTES: i64 = 40_320;
const SCHEMA: u32 = 1;

/// The arguments from the model.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct NewEventArguments {
    pub(super) title: String,
    pub(super) when: ExactTime,
    pub(super) minutes: Option<i64>,
    #[serde(default)]
    pub(super) guests: Vec<String>,
    #[serde(default)]
    place: String,
    #[serde(default)]
    text: String,
    repeats: Option<Recurrence>,
    #[serde(default)]
    meet: bool,
    reminders: Option<Vec<i64>>,
    room: Option<String>,
}

/// The payload that the person approves; nothing else decides what is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewEvent {
    schema: u32,
    tool: String,
    pub(super) account: String,
    pub(super) title: String,
    pub(super) times: EventTime,
    pub(super) guests: Vec<String>,
    pub(super) place: String,
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) repeats: Option<Recurrence>,
    pub(super) meet: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) room: Option<Room>,
    /// Minutes before the start; the calendar's default reminders if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reminders: Option<Vec<i64>>,
    /// It had already begun when it was requested; the card says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(rename = "over")]
    has_started: bool,
}

pub(super) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": TITLE_CHARS},
            "when": {"type": "string", "format": "when", "minLength": 1, "maxLength": 200,
                "description": "When it begins, in the person's own words: “next Friday at 3”, “Mon 9–10:30”, “6 March” for a whole day."},
            "minutes": {"type": "integer", "minimum": 1, "maximum": MAX_MINUTES,
                "description": "How long, where `when` does not say it; 30 if left out."},
            "guests": guests_schema("Addresses, or names of people, exactly as the person gave them."),
            "place": {"type": "string", "maxLength": PLACE_CHARS},
            "text": {"type": "string", "maxLength": TEXT_CHARS, "description": "What the guests read in it."},
            "repeats": recurrence::schema(),
            "meet": {"type": "boolean", "description": "With a Google Meet link."},
            "room": {"type": "string", "minLength": 1, "maxLength": 200,
                "description": "A meeting room to book, as the person called it."},
            "reminders": {"type": "array", "maxItems": MAX_REMINDERS, "uniqueItems": true,
                "items": {"type": "integer", "minimum": 0, "maximum": MAX_REMINDER_MINUTES},
                "description": "Minutes before it; only where the person wants other reminders than usual."},
        },
        "required": ["title", "when"],
        "additionalProperties": false,
    })
}

pub(super) fn guests_schema(description: &str) -> Value {
    json!({"type": "array", "maxItems": MAX_GUESTS, "description": description,
        "items": {"type": "string", "minLength": 1, "maxLength": 320, "format": "recipient"}})
}

impl NewEventArguments {
    /// Returns the same arguments for that time.
    pub(super) fn with_start(self, at: Zoned, minutes: i64) -> Self {
        Self { when: ExactTime::At { at }, minutes: Some(minutes), ..self }
    }

    /// Returns the requested room.
    pub(super) fn find_room(&self, rooms: &[Room]) -> Result<Option<Room>, ToolError> {
        self.room.as_ref().map(|name| room::find_room(rooms, name)).transpose()
    }
}

impl NewEvent {
    /// Checks the arguments and converts them to their exact form.
    ///
    /// # Errors
    /// [`ToolError::InvalidArguments`] with the first thing that is wrong.
    pub(super) fn new(
        asked: NewEventArguments,
        tool: &str,
        account: &str,
        rooms: &[Room],
        zone: &TimeZone,
        now: Timestamp,
    ) -> Result<Self, ToolError> {
        let room = asked.find_room(rooms)?;
        let meeting = Self {
            schema: SCHEMA,
            tool: tool.to_owned(),
            account: account.to_owned(),
            title: validate_line("title", &asked.title, TITLE_CHARS)?,
            times: EventTime::from_exact(&asked.when, asked.minutes)?,
            guests: guests(&asked.guests, account)?,
            place: validate_line("place", &asked.place, PLACE_CHARS)?,
            text: text(&asked.text)?,
            repeats: asked.repeats,
            meet: asked.meet,
            room,
            reminders: asked.reminders,
            has_started: false,
        };
        if meeting.title.is_empty() {
            return Err(ToolError::invalid("an event needs a title"));
        }
        meeting.into_writable(zone, now)
    }

    /// Checks as far as possible before approval that the event can be written. No guests can be invited to a past
    /// event, but the person can record one in their own calendar.
    pub(super) fn into_writable(self, zone: &TimeZone, now: Timestamp) -> Result<Self, ToolError> {
        self.rule()?;
        let over = self.times.has_begun(zone, now);
        if over && !self.guests.is_empty() {
            self.times.check_not_started(zone, now)?;
        }
        Ok(Self { times: self.times.with_named_zone(zone)?, has_started: over, ..self })
    }

    /// Rejects an event that has begun since it was requested.
    pub(super) fn check_not_started(&self, zone: &TimeZone, now: Timestamp) -> Result<(), ToolError> {
        if self.has_started { Ok(()) } else { self.times.check_not_started(zone, now) }
    }

    /// Reads the meeting from an approved payload.
    ///
    /// # Errors
    /// [`ToolError::Internal`] if the payload was not made by `preview`.
    pub(super) fn from_payload(payload: &Value, tool: &str) -> Result<Self, ToolError> {
        let meeting = Self::deserialize(payload)
            .map_err(|error| ToolError::internal(format!("the approved payload cannot be read: {error}")))?;
        if meeting.schema != SCHEMA || meeting.tool != tool {
            return Err(ToolError::internal("I can't read this request any more. Please ask me again"));
        }
        Ok(meeting)
    }

    /// Rejects an account other than the one on the card.
    pub(super) fn check_account(&self, diary: &CalendarClient) -> Result<(), ToolError> {
        event_version::check_account(&self.account, diary)
    }

    pub(super) fn repeats(&self) -> bool {
        self.repeats.is_some()
    }

    pub(super) fn rule(&self) -> Result<Option<String>, ToolError> {
        self.repeats.as_ref().map(|repeats| repeats.rule(&self.times)).transpose()
    }

    /// Builds the event for Calendar.
    pub(super) fn to_event(&self, id: &str, key: EffectKey) -> Result<Event, ToolError> {
        let (start, end) = self.times.to_calendar()?;
        let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let guest = |address: &String| EventAttendee { email: Some(address.clone()), ..Default::default() };
        let room =
            self.room.iter().map(|room| EventAttendee { resource: Some(true), ..guest(&room.address) });
        let guests: Vec<EventAttendee> = self.guests.iter().map(guest).chain(room).collect();
        Ok(Event {
            id: Some(id.to_owned()),
            summary: Some(self.title.clone()),
            start: Some(start),
            end: Some(end),
            attendees: Some(guests).filter(|guests| !guests.is_empty()),
            location: some(&self.place),
            description: some(&self.text),
            recurrence: self.rule()?.map(|rule| vec![rule]),
            conference_data: self.meet.then(|| meet_conference_data(key)),
            reminders: self.reminders.as_ref().map(|minutes| reminders(minutes)),
            extended_properties: Some(event_version::effect_properties(key)),
            ..Event::default()
        })
    }

    pub(super) fn preview(&self, zone: &TimeZone, now: Timestamp) -> Result<Preview, ToolError> {
        let payload = serde_json::to_value(self).map_err(|error| ToolError::internal(error.to_string()))?;
        let (approve, thing) = match self.guests.is_empty() {
            true => ("Approve & create", "event"),
            false => ("Approve & invite", "invitation"),
        };
        let words = ActionLabels {
            approve: approve.into(),
            in_progress: "Creating…".into(),
            done: "Created".into(),
            not_done: "Not created".into(),
            noun: thing.into(),
        };
        let question = if self.guests.is_empty() { "Create this event?" } else { "Send this invitation?" };
        // Events without guests are told apart by their time.
        let about = match self.guests.is_empty() {
            true => format!("{} {}", self.title, self.times.describe(&TimeZone::UTC, now)),
            false => [vec![self.title.clone()], sorted_addresses(&self.guests)].concat().join("\n"),
        };
        let long = self.repeats.as_ref().and_then(|repeats| repeats.length_risk(&self.times));
        let over = self.has_started.then(|| "That time has already passed".to_owned());
        let every = self
            .repeats
            .as_ref()
            .map_or_else(String::new, |repeats| format!(", {}", repeats.describe(&self.times)));
        let when = format!("{}{every}", self.times.describe(zone, now));
        Ok(Preview {
            summary: Some(event_view::event_summary(
                "Create",
                SeriesScope::Single,
                &self.title,
                &when,
                &self.guests,
            )),
            fields: self.fields(zone, now),
            body: Some(self.text.clone()).filter(|text| !text.is_empty()),
            account: self.account.clone(),
            recipients: self.guests.clone(),
            topic: Some(about.to_lowercase()),
            event_details: self.times.to_event_details(self.guests.clone()),
            form: self.form(&self.times.describe(zone, now)),
            risks: long.into_iter().chain(over).collect(),
            ..Preview::new(payload, question, words)
        })
    }

    fn fields(&self, zone: &TimeZone, now: Timestamp) -> Vec<(String, String)> {
        let mut fields = vec![
            ("Calendar".into(), self.account.clone()),
            ("Title".into(), self.title.clone()),
            ("When".into(), self.times.describe(zone, now)),
        ];
        let clocks =
            self.times.foreign_zone_label(zone).map(|place| format!(", {place} time")).unwrap_or_default();
        let repeats =
            self.repeats.as_ref().map(|repeats| format!("{}{clocks}", repeats.describe(&self.times)));
        fields.extend(repeats.map(|repeats| ("Repeats".into(), repeats)));
        fields.push(("Guests".into(), self.guests.join(", ")));
        fields.extend(Some(("Place".into(), self.place.clone())).filter(|_| !self.place.is_empty()));
        fields.extend(self.room.as_ref().map(|room| ("Room".into(), room.name.clone())));
        fields.extend(self.meet.then(|| ("Meet".into(), "Google Meet link".into())));
        fields.extend(self.reminders.as_ref().map(|all| ("Reminders".into(), describe_reminders(all))));
        fields
    }
}

/// Formats the reminders: "10 min, 60 min before", or "none".
fn describe_reminders(minutes: &[i64]) -> String {
    let all: Vec<String> = minutes.iter().map(|minutes| format!("{minutes} min")).collect();
    if all.is_empty() { "none".to_owned() } else { format!("{} before", all.join(", ")) }
}

pub(super) fn meet_conference_data(key: EffectKey) -> ConferenceData {
    let kind = ConferenceSolutionKey { type_: Some("hangoutsMeet".into()) };
    let create = CreateConferenceRequest {
        conference_solution_key: Some(kind),
        request_id: Some(key.id.to_string()),
        status: None,
    };
    ConferenceData { create_request: Some(create), ..ConferenceData::default() }
}

fn reminders(minutes: &[i64]) -> EventReminders {
    let one = |minutes: &i64| EventReminder {
        method: Some("popup".into()),
        minutes: Some(i32::try_from(*minutes).unwrap_or_default()),
    };
    EventReminders { use_default: Some(false), overrides: Some(minutes.iter().map(one).collect()) }
}

/// Returns the guests' addresses, without the owner of the calendar, who attends anyway.
pub(super) fn guests(asked: &[String], account: &str) -> Result<Vec<String>, ToolError> {
    let mut all: Vec<String> = Vec::new();
    for one in asked {
        let address = Recipient::parse(one).map_err(ToolError::invalid)?.address;
        let known = all.iter().any(|known| known.eq_ignore_ascii_case(&address));
        if !known && !address.eq_ignore_ascii_case(account) {
            all.push(address);
        }
    }
    Ok(all)
}

pub(super) fn validate_line(what: &str, text: &str, most: usize) -> Result<String, ToolError> {
    let text = text.trim();
    if text.chars().any(char::is_control) {
        return Err(ToolError::invalid(format!("a {what} has to fit on one line")));
    }
    if text.chars().count() > most {
        return Err(ToolError::invalid(format!("a {what} can have {most} characters at most")));
    }
    Ok(text.to_owned())
}

pub(super) fn text(text: &str) -> Result<String, ToolError> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    if text.chars().count() > TEXT_CHARS {
        return Err(ToolError::invalid(format!("the description can have {TEXT_CHARS} characters at most")));
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(ToolError::invalid("the description contains characters that can't be used"));
    }
    Ok(text.trim().to_owned())
}
