//! What else is at that time: double bookings, as lines on the card of the person whose calendar it is. Of others
//! only that they are busy, never with what.

use google_calendar3::api::FreeBusyCalendar;
use jiff::tz::TimeZone;
use nod_core::clock::Timestamp;

use super::diary::Diary;
use super::times::Times;

/// As many calendars as Calendar looks at in one question.
const MOST_LOOKED_AT: usize = 50;
const MOST_NAMED: usize = 5;

/// Who is busy then. `but` is when the event itself takes place so far, which is no double booking. Being free all
/// day is rare, so days are not looked at.
pub(super) async fn with(
    diary: &Diary,
    guests: &[String],
    times: &Times,
    but: Option<&Times>,
    zone: &TimeZone,
) -> Vec<String> {
    let (Times::Timed { .. }, Some((from, until))) = (times, times.stretch(zone)) else { return Vec::new() };
    let but = but.and_then(|but| but.stretch(zone));
    let own = diary.address().to_owned();
    let all: Vec<String> =
        std::iter::once(own.clone()).chain(guests.iter().cloned()).take(MOST_LOOKED_AT).collect();
    let Ok(found) = diary.busy(&all, from, until).await else {
        return vec!["I could not look whether somebody is busy then".to_owned()];
    };
    let found = found.calendars.unwrap_or_default();
    let is_busy = |address: &String| found.get(address).is_some_and(|of| busy(of, from, until, but));
    let mut lines = Vec::new();
    if is_busy(&own) {
        lines.push("your calendar has something else at that time".to_owned());
    }
    let others: Vec<&str> = all.iter().skip(1).filter(|one| is_busy(one)).map(String::as_str).collect();
    match others.as_slice() {
        [] => {}
        [one] => lines.push(format!("{one} is busy then")),
        [first @ .., last] if others.len() <= MOST_NAMED => {
            lines.push(format!("{} and {last} are busy then", first.join(", ")));
        }
        [first, ..] => lines.push(format!("{first} and {} others are busy then", others.len() - 1)),
    }
    lines
}

fn busy(
    calendar: &FreeBusyCalendar,
    from: Timestamp,
    until: Timestamp,
    but: Option<(Timestamp, Timestamp)>,
) -> bool {
    calendar.busy.iter().flatten().any(|period| {
        let (Some(start), Some(end)) = (period.start, period.end) else { return false };
        // Calendar joins what touches, so what is exactly the event itself is the event.
        let itself = but.is_some_and(|but| but == (start, end));
        start < until && end > from && !itself
    })
}
