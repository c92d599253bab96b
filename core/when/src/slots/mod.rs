//! Finds slots at which several people are free: a pure function from busy times and working hours to the best slots.
//! It reads no calendar and no event titles, only busy intervals.

mod weekly_hours;

#[cfg(test)]
mod tests;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

pub use weekly_hours::WeeklyHours;

/// The most people in one search.
pub const MAX_PEOPLE: usize = 50;
/// The longest search window, in days.
pub const MAX_DAYS: i64 = 62;
/// The most busy intervals of one attendee: no person's calendar has more in two months.
pub(crate) const MAX_BUSY_INTERVALS: usize = 5_000;
/// The most slots that a search returns.
pub const MAX_SLOTS: usize = 20;

/// A half-open interval: `from` is included, `to` is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    pub from: Timestamp,
    pub to: Timestamp,
}

/// A person who has to be free.
#[derive(Debug, Clone)]
pub struct Attendee {
    /// The name by which the reader of the slots knows them.
    pub name: String,
    /// Working hours; `None` if they are unknown (an external person), which counts against no slot.
    pub hours: Option<WeeklyHours>,
    /// Busy times, in any order.
    pub busy: Vec<Interval>,
    /// Free time that is required before and after each busy interval.
    pub buffer: SignedDuration,
    /// The shortest time from now to the start of a slot.
    pub notice: SignedDuration,
}

/// A search for slots.
#[derive(Debug, Clone)]
pub struct SlotQuery {
    /// The current time.
    pub now: Timestamp,
    /// Where to look.
    pub window: Interval,
    /// The length of a slot.
    pub duration: SignedDuration,
    /// A slot starts at multiples of this after midnight in [`Self::zone`]: "every half hour".
    pub step: SignedDuration,
    /// An additional start, whatever the step, because the requester named that hour.
    pub preferred_start: Option<Timestamp>,
    /// The requester's zone.
    pub zone: TimeZone,
    /// How many slots to return, at most [`MAX_SLOTS`].
    pub limit: usize,
}

/// A time at which no attendee is busy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    pub from: Timestamp,
    pub to: Timestamp,
    /// Names of the attendees who do not work then, in input order.
    pub out_of_hours: Vec<String>,
}

/// Why a search is rejected; each message is a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlotQueryError {
    /// More than [`MAX_PEOPLE`] attendees.
    #[error("I can look for a time for up to {MAX_PEOPLE} people.")]
    TooManyPeople,
    /// The window ends before it begins, or is too long.
    #[error("I can look for a time within {MAX_DAYS} days at most.")]
    Window,
    /// The length is under five minutes or over a day.
    #[error("I can look for anything from five minutes to a day.")]
    Length,
    /// The step is under five minutes or over a day.
    #[error("I can try a start every five minutes at most, and once a day at least.")]
    Step,
    /// A calendar with more intervals than a person's can have.
    #[error("{0}'s calendar is too full for me to read.")]
    TooBusy(String),
}

/// Returns the best slots, best first: with the fewest attendees outside their hours, and of equals the earlier one.
/// No two overlap.
///
/// # Errors
/// If the query is invalid.
pub fn find_slots(wish: &SlotQuery, people: &[Attendee]) -> Result<Vec<Slot>, SlotQueryError> {
    validate(wish, people)?;
    let notice = people.iter().map(|person| person.notice).max().unwrap_or_default();
    let earliest = wish.now.saturating_add(notice.max(SignedDuration::ZERO)).unwrap_or(Timestamp::MAX);
    let window = Interval { from: wish.window.from.max(earliest), to: wish.window.to };
    let busy = merge_intervals(people.iter().flat_map(blocked_intervals).collect());
    let working: Vec<Option<Vec<Interval>>> = people
        .iter()
        .map(|person| person.hours.as_ref().map(|hours| merge_intervals(hours.intervals_in(window))))
        .collect();
    let mut slots: Vec<Slot> = starts(wish, window)
        .into_iter()
        .filter_map(|from| Some(Interval { from, to: from.checked_add(wish.duration).ok()? }))
        .filter(|slot| slot.from >= window.from && slot.to <= window.to && !has_overlap(&busy, *slot))
        .map(|slot| Slot { from: slot.from, to: slot.to, out_of_hours: out_of_hours(people, &working, slot) })
        .collect();
    slots.sort_by_key(|slot| (slot.out_of_hours.len(), slot.from));
    Ok(select_non_overlapping(slots, wish.limit.min(MAX_SLOTS)))
}

fn validate(wish: &SlotQuery, people: &[Attendee]) -> Result<(), SlotQueryError> {
    let (minutes, day) = (SignedDuration::from_mins, SignedDuration::from_hours(24));
    if people.len() > MAX_PEOPLE {
        return Err(SlotQueryError::TooManyPeople);
    }
    let long = wish.window.to.duration_since(wish.window.from);
    // The additional hour is for the end of summer time.
    if long <= SignedDuration::ZERO || long > SignedDuration::from_hours(24 * MAX_DAYS + 1) {
        return Err(SlotQueryError::Window);
    }
    if !(minutes(5)..=day).contains(&wish.duration) {
        return Err(SlotQueryError::Length);
    }
    if !(minutes(5)..=day).contains(&wish.step) {
        return Err(SlotQueryError::Step);
    }
    match people.iter().find(|person| person.busy.len() > MAX_BUSY_INTERVALS) {
        Some(person) => Err(SlotQueryError::TooBusy(person.name.clone())),
        None => Ok(()),
    }
}

/// Returns a person's busy times, widened by their buffer.
fn blocked_intervals(person: &Attendee) -> impl Iterator<Item = Interval> {
    let buffer = person.buffer.max(SignedDuration::ZERO);
    let wider = move |busy: &Interval| Interval {
        from: busy.from.saturating_sub(buffer).unwrap_or(Timestamp::MIN),
        to: busy.to.saturating_add(buffer).unwrap_or(Timestamp::MAX),
    };
    person.busy.iter().filter(|busy| busy.from < busy.to).map(wider)
}

/// Sorts, and merges those that overlap or touch.
fn merge_intervals(mut all: Vec<Interval>) -> Vec<Interval> {
    all.sort_unstable();
    let mut merged: Vec<Interval> = Vec::with_capacity(all.len());
    for next in all {
        match merged.last_mut() {
            Some(last) if next.from <= last.to => last.to = last.to.max(next.to),
            _ => merged.push(next),
        }
    }
    merged
}

fn has_overlap(busy: &[Interval], slot: Interval) -> bool {
    let after = busy.partition_point(|busy| busy.to <= slot.from);
    busy.get(after).is_some_and(|busy| busy.from < slot.to)
}

fn has_containing(working: &[Interval], slot: Interval) -> bool {
    let after = working.partition_point(|working| working.to < slot.to);
    working.get(after).is_some_and(|working| working.from <= slot.from)
}

fn out_of_hours(people: &[Attendee], working: &[Option<Vec<Interval>>], slot: Interval) -> Vec<String> {
    let off = people.iter().zip(working).filter(|(_, working)| match working {
        Some(working) => !has_containing(working, slot),
        None => false,
    });
    off.map(|(person, _)| person.name.clone()).collect()
}

/// Returns every step of every day in the window by the clocks of the requester's zone, except times that they skip.
fn starts(wish: &SlotQuery, window: Interval) -> Vec<Timestamp> {
    let step = usize::try_from(wish.step.as_mins()).unwrap_or(30).max(5);
    let mut starts = Vec::new();
    for day in days(window, &wish.zone) {
        for minute in (0..24 * 60_i64).step_by(step) {
            let Some(at) = clock(day, minute) else { continue };
            let there = wish.zone.to_ambiguous_timestamp(at);
            let both = match there.offset() {
                jiff::tz::AmbiguousOffset::Gap { .. } => continue,
                _ => [there.earlier(), there.later()],
            };
            starts.extend(both.into_iter().flatten());
        }
    }
    starts.extend(wish.preferred_start);
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Returns the days that the window touches.
fn days(window: Interval, zone: &TimeZone) -> impl Iterator<Item = Date> {
    let first = zone.to_datetime(window.from).date();
    let last = zone.to_datetime(window.to).date();
    first.series(1.day()).take_while(move |day| *day <= last)
}

fn clock(day: Date, minute: i64) -> Option<DateTime> {
    let (hour, minute) = (i8::try_from(minute / 60).ok()?, i8::try_from(minute % 60).ok()?);
    Some(day.to_datetime(Time::new(hour, minute, 0, 0).ok()?))
}

/// Keeps the slots that do not overlap with a better one.
fn select_non_overlapping(slots: Vec<Slot>, most: usize) -> Vec<Slot> {
    let mut apart: Vec<Slot> = Vec::new();
    for slot in slots {
        if apart.len() == most {
            break;
        }
        if apart.iter().all(|other| other.to <= slot.from || slot.to <= other.from) {
            apart.push(slot);
        }
    }
    apart
}
