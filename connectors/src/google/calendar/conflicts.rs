//! Double bookings, as lines on the card. Events of the person's own calendar are named to that person only; for other
//! people it says only that they are busy. Every reader of the card sees whether a room is taken.

use google_calendar3::api::{Event, FreeBusyCalendar};
use jiff::tz::TimeZone;
use nod_contract::clock::Timestamp;
use nod_contract::tool::quote_title;

use super::client::{CalendarClient, EventQuery};
use super::event_time::EventTime;
use super::event_view;
use super::room::Room;

/// The limit of calendars in one free/busy query of Calendar.
const MAX_CALENDARS: usize = 50;
const MAX_NAMED: usize = 5;
/// The maximum number of events read from the person's own calendar, to name them.
const MAX_OWN_EVENTS: usize = 20;

/// Returns a line if the room is taken then, or if that cannot be seen.
pub(super) async fn room_conflict(
    diary: &CalendarClient,
    room: &Room,
    times: &EventTime,
    zone: &TimeZone,
) -> Option<String> {
    let (from, until) = times.instant_range(zone)?;
    let found = diary.query_free_busy(std::slice::from_ref(&room.address), from, until).await;
    let calendars = found.ok().and_then(|found| found.calendars);
    let of = calendars.as_ref().and_then(|all| all.get(&room.address));
    match of.filter(|of| of.errors.as_ref().is_none_or(Vec::is_empty)) {
        Some(of) => busy(of, from, until, None).then(|| format!("The room {} is taken then", room.name)),
        None => Some(format!("I can't see whether the room {} is free then", room.name)),
    }
}

/// Returns who is busy then. `but` is the current version of the event itself, which is no double booking. All-day
/// times are not checked, because being free all day is rare.
pub(super) async fn describe_conflicts(
    diary: &CalendarClient,
    guests: &[String],
    times: &EventTime,
    but: Option<&Event>,
    (zone, now): (&TimeZone, Timestamp),
) -> Vec<String> {
    let (EventTime::Timed { .. }, Some((from, until))) = (times, times.instant_range(zone)) else {
        return Vec::new();
    };
    let was = but.and_then(|but| event_view::times(but, zone)?.instant_range(zone));
    let own = diary.address().to_owned();
    let all: Vec<String> =
        std::iter::once(own.clone()).chain(guests.iter().cloned()).take(MAX_CALENDARS).collect();
    let Ok(found) = diary.query_free_busy(&all, from, until).await else {
        return vec!["I couldn't check whether anyone is busy then".to_owned()];
    };
    let found = found.calendars.unwrap_or_default();
    let is_busy = |address: &String| found.get(address).is_some_and(|of| busy(of, from, until, was));
    let mut lines = Vec::new();
    if is_busy(&own) {
        let there = own_conflicts(diary, (from, until), but, zone).await;
        lines.push(describe_own_events(&there, zone, now));
    }
    let unseen = |address: &&String| {
        found.get(*address).is_none_or(|of| of.errors.as_ref().is_some_and(|errors| !errors.is_empty()))
    };
    let hidden: Vec<&str> = all.iter().skip(1).filter(unseen).map(String::as_str).collect();
    let not_looked_at = guests.len() + 1 - all.len();
    let others: Vec<&str> = all.iter().skip(1).filter(|one| is_busy(one)).map(String::as_str).collect();
    if !others.is_empty() {
        let are = if others.len() == 1 { "is" } else { "are" };
        lines.push(format!("{} {are} busy then", join_names(&others)));
    }
    if !hidden.is_empty() {
        lines.push(format!(
            "I can't see whether {} {} free then",
            join_names(&hidden),
            if hidden.len() == 1 { "is" } else { "are" }
        ));
    }
    if not_looked_at > 0 {
        lines.push(format!("I didn't check whether {not_looked_at} more are free then"));
    }
    lines
}

fn join_names(all: &[&str]) -> String {
    match all {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] if all.len() <= MAX_NAMED => format!("{} and {last}", first.join(", ")),
        [first, ..] => format!("{first} and {} others", all.len() - 1),
    }
}

/// Lists the events of the person's own calendar at that time; empty if they cannot be read, and the line then names
/// none.
async fn own_conflicts(
    diary: &CalendarClient,
    (from, until): (Timestamp, Timestamp),
    but: Option<&Event>,
    zone: &TimeZone,
) -> Vec<Event> {
    let wanted = EventQuery { from: Some(from), until: Some(until), query: None, max: MAX_OWN_EVENTS };
    let mut events = diary.list_events(wanted).await.unwrap_or_default();
    events.retain(|event| {
        let then = event_view::times(event, zone).and_then(|times| times.instant_range(zone));
        let itself = but.is_some_and(|but| but.id == event.id);
        event_view::takes_time(event)
            && !itself
            && then.is_some_and(|(start, end)| start < until && end > from)
    });
    events
}

/// Names them: "your calendar has “Dentist” at that time (Mon 9 Mar, 15:00–16:00 WET)".
fn describe_own_events(there: &[Event], zone: &TimeZone, now: Timestamp) -> String {
    let Some(first) = there.first() else {
        return "You have something else at that time".to_owned();
    };
    let more = match there.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let when = event_view::times(first, zone).map_or_else(String::new, |times| times.describe(zone, now));
    format!("You have {} at that time ({when}){more}", quote_title(&event_view::title(first)))
}

fn busy(
    calendar: &FreeBusyCalendar,
    from: Timestamp,
    until: Timestamp,
    but: Option<(Timestamp, Timestamp)>,
) -> bool {
    calendar.busy.iter().flatten().any(|period| {
        let (Some(start), Some(end)) = (period.start, period.end) else { return false };
        // Calendar merges adjacent busy periods and clips them to the query. The part of a period outside the event
        // itself belongs to another event.
        let before = but.map_or((start, end), |(begins, _)| (start, end.min(begins)));
        let after = but.map_or((start, end), |(_, ends)| (start.max(ends), end));
        [before, after].iter().any(|&(start, end)| start < end && start < until && end > from)
    })
}
