//! Events as the model reads them: private to their owner, and untrusted if other people wrote in them.

use google_calendar3::api::{Event, EventAttendee};
use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};
use nod_contract::clock::Timestamp;
use nod_contract::privacy::Provenance;
use nod_contract::tool::{Principal, Summary, ToolContext, ToolOutput, join_emails};
use serde_json::{Value, json};

use super::client::CalendarClient;
use super::create_event;
use super::event_time::EventTime;
use super::event_version::SeriesScope;
use crate::google::reading::Texts;
use nod_contract::address;
use nod_contract::wire::Kind;

const DESCRIPTION_CHARS: usize = 1_000;
const TITLE_CHARS: usize = 300;
const MAX_GUESTS: usize = 30;
const NO_TITLE: &str = "(no title)";

/// Returns the zone in which this person reads.
pub(super) fn zone(principal: &Principal) -> TimeZone {
    TimeZone::get(&principal.zone).unwrap_or(TimeZone::UTC)
}

/// Returns a list of events.
pub(super) async fn list(
    cx: &ToolContext,
    diary: &CalendarClient,
    events: &[Event],
    more: bool,
) -> ToolOutput {
    let zone = zone(&cx.principal);
    let (mut shown, mut texts) = (Vec::with_capacity(events.len()), diary.reading().open_session());
    for event in events {
        let text = text(&mut texts, event.description.as_deref().unwrap_or_default()).await;
        shown.push(event_json(event, text, &zone, cx.now));
    }
    let mut content = json!({"events": shown, "zone": cx.principal.zone});
    if more {
        content["more"] = json!("there are more; ask for a shorter time to see them");
    }
    output(cx, content, events)
}

/// Wraps content of a person's calendar, which is private to them.
pub(super) fn output(cx: &ToolContext, content: Value, events: &[Event]) -> ToolOutput {
    ToolOutput::trusted(content).with_provenance(provenance(events)).private_to(cx.principal.person)
}

/// Events count as written by others if another person made them, if their guests can change them, or if an outsider
/// booked them: a booking page writes the outsider's text in the person's name.
pub(super) fn provenance(events: &[Event]) -> Provenance {
    let source = |event| match external_guest(event).filter(|_| is_organized_by_owner(event)) {
        Some(stranger) => format!("a calendar event with {stranger}"),
        None => format!("a calendar event from {}", creator(event).unwrap_or("someone without a name")),
    };
    Provenance::from_sources(events.iter().filter(|event| !is_own_content(event)).map(source))
}

/// Returns whether only the person wrote in it, or Nod with their approval.
fn is_own_content(event: &Event) -> bool {
    let ours = is_organized_by_owner(event) && !event.guests_can_modify.unwrap_or(false);
    ours && (create_event::was_created_by_nod(event) || external_guest(event).is_none())
}

/// Returns a guest from outside the organisation.
fn external_guest(event: &Event) -> Option<String> {
    let home = creator(event).unwrap_or_default();
    other_guests(event).into_iter().find(|guest| address::is_outside(guest, home))
}

fn creator(event: &Event) -> Option<&str> {
    event.organizer.as_ref().and_then(|organizer| organizer.email.as_deref())
}

/// Returns whether the person is its organiser.
pub(super) fn is_organized_by_owner(event: &Event) -> bool {
    event.organizer.as_ref().is_none_or(|organizer| organizer.self_.unwrap_or(false))
}

/// Returns who is notified of an answer. A shared calendar's own address is read by no one, so it is the event's
/// creator.
pub(super) fn organizer(event: &Event) -> Option<String> {
    let shared = |address: &&String| address.to_lowercase().ends_with(".calendar.google.com");
    let organizer = event.organizer.as_ref().and_then(|organizer| organizer.email.as_ref());
    let creator = event.creator.as_ref().and_then(|creator| creator.email.as_ref());
    organizer.filter(|address| !shared(address)).or(creator).filter(|address| !shared(address)).cloned()
}

/// Returns when it takes place, if Calendar says so.
pub(super) fn times(event: &Event, zone: &TimeZone) -> Option<EventTime> {
    EventTime::read(event.start.as_ref(), event.end.as_ref(), zone)
}

/// Formats the time as the person reads it.
pub(super) fn describe_event_time(cx: &ToolContext, event: &Event) -> Option<String> {
    let zone = zone(&cx.principal);
    Some(times(event, &zone)?.describe(&zone, cx.now))
}

/// Returns whether an all-day event falls on one of these days in the person's zone: Calendar counts days in the zone
/// that it has stored for the person, and can return an event that ended the day before.
pub(super) fn overlaps_days(event: &Event, from: &Zoned, until: Option<&Zoned>, zone: &TimeZone) -> bool {
    let Some(EventTime::Days { day, last_day }) = times(event, zone) else { return true };
    let date = |at: &Zoned| at.with_time_zone(zone.clone()).date();
    // A range that ends at midnight does not include the day that begins then.
    let last = until.and_then(|until| until.checked_sub(1.nanosecond()).ok());
    last_day >= date(from) && last.is_none_or(|last| day <= date(&last))
}

/// Returns its title on one line.
pub(super) fn title(event: &Event) -> String {
    let title = on_one_line(event.summary.as_ref());
    if title.is_empty() { NO_TITLE.to_owned() } else { title }
}

/// Returns where it takes place, on one line: other people write it, and a line break could fake a line of the card.
pub(super) fn event_location(event: &Event) -> String {
    on_one_line(event.location.as_ref())
}

fn on_one_line(text: Option<&String>) -> String {
    let words: Vec<&str> = text.map(|text| text.split_whitespace().collect()).unwrap_or_default();
    truncate(&words.join(" "), TITLE_CHARS)
}

fn event_json(event: &Event, text: String, zone: &TimeZone, now: Timestamp) -> Value {
    let when = times(event, zone);
    let guests: Vec<Value> = event.attendees.iter().flatten().take(MAX_GUESTS).map(guest).collect();
    let fields = [
        ("id", json!(event.id)),
        ("title", json!(title(event))),
        ("when", when.as_ref().map_or(Value::Null, |times| json!(times.describe(zone, now)))),
        ("exact", when.map_or(Value::Null, |times| json!(times))),
        ("place", json!(event.location)),
        ("organizer", json!(event.organizer.as_ref().and_then(|organizer| organizer.email.as_deref()))),
        ("yours", json!(is_organized_by_owner(event))),
        ("guests", if guests.is_empty() { Value::Null } else { json!(guests) }),
        ("your_answer", json!(own_attendee(event).and_then(|own| own.response_status.as_deref()))),
        ("meet_link", json!(event.hangout_link)),
        ("repeats", if repeats(event) { json!(true) } else { Value::Null }),
        ("cancelled", if is_cancelled(event) { json!(true) } else { Value::Null }),
        ("link", json!(event.html_link)),
        ("text", if text.is_empty() { Value::Null } else { json!(text) }),
    ];
    fields
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The names and comments of guests are left out: the organiser did not write them.
fn guest(guest: &EventAttendee) -> Value {
    json!({"address": guest.email, "answer": guest.response_status})
}

/// Describes an action: "Cancel “Standup” on Mon 9 Mar, 10:00–10:30 WET, with bo@acme.test"; for a whole series, `when`
/// is its first time.
pub(super) fn event_summary(
    does: &str,
    which: SeriesScope,
    title: &str,
    when: &str,
    with: &[String],
) -> Summary {
    let (all, on) =
        if which == SeriesScope::WholeSeries { ("every time of ", ", starting ") } else { ("", " on ") };
    let when = if when.is_empty() { String::new() } else { format!("{on}{when}") };
    let with = if with.is_empty() { String::new() } else { format!(", with {}", join_emails(with)) };
    Summary::from_title(title, "an event", |what| format!("{does} {all}{what}{when}{with}"))
}

/// Returns the person among the guests.
pub(super) fn own_attendee(event: &Event) -> Option<&EventAttendee> {
    event.attendees.iter().flatten().find(|guest| guest.self_.unwrap_or(false))
}

/// Returns all other guests, without rooms.
pub(super) fn other_guests(event: &Event) -> Vec<String> {
    let people = event.attendees.iter().flatten();
    let people = people.filter(|guest| !guest.self_.unwrap_or(false) && !guest.resource.unwrap_or(false));
    people.filter_map(|guest| guest.email.clone()).collect()
}

/// Returns whether it is an instance of a series, or a series.
pub(super) fn repeats(event: &Event) -> bool {
    event.recurring_event_id.is_some() || is_series(event)
}

/// Returns whether it is a whole series.
pub(super) fn is_series(event: &Event) -> bool {
    event.recurrence.as_ref().is_some_and(|rules| !rules.is_empty())
}

/// Returns whether the person is busy then: they did not decline it, nor mark it as free.
pub(super) fn takes_time(event: &Event) -> bool {
    let declined = own_attendee(event).is_some_and(|own| own.response_status.as_deref() == Some("declined"));
    !declined && !is_cancelled(event) && event.transparency.as_deref() != Some("transparent")
}

pub(super) fn is_cancelled(event: &Event) -> bool {
    event.status.as_deref() == Some("cancelled")
}

/// Descriptions can be HTML.
async fn text(texts: &mut Texts, text: &str) -> String {
    let text = match text.contains('<') {
        true => texts
            .html(Kind::Description, text)
            .await
            .unwrap_or_else(|unread| format!("(not read: {})", unread.sentence(Kind::Description))),
        false => text.to_owned(),
    };
    truncate(text.trim(), DESCRIPTION_CHARS)
}

fn truncate(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
