//! When several people have time together: pure, from their busy times and working hours to the best slots. It knows
//! no calendar and no titles, only from when to when somebody is busy.

mod weekly_hours;

#[cfg(test)]
mod tests;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

pub use weekly_hours::WeeklyHours;

/// More people are not looked at together.
pub const MAX_PEOPLE: usize = 50;
/// Days that are looked at.
pub const MAX_DAYS: i64 = 62;
/// Busy times of one person that are looked at: a calendar that has more in two months is no person's.
pub(crate) const MAX_BUSY_INTERVALS: usize = 5_000;
/// Slots that are given.
pub const MAX_SLOTS: usize = 20;

/// From an instant until right before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    pub from: Timestamp,
    pub to: Timestamp,
}

/// One of those who should have time.
#[derive(Debug, Clone)]
pub struct Attendee {
    /// As whoever reads the slots knows them.
    pub name: String,
    /// When they work; `None` where nobody knows (somebody from outside), which holds against no slot.
    pub hours: Option<WeeklyHours>,
    /// When they are busy, in any order.
    pub busy: Vec<Interval>,
    /// What they want free around everything else they have.
    pub buffer: SignedDuration,
    /// How long before it they want to know.
    pub notice: SignedDuration,
}

/// What is looked for.
#[derive(Debug, Clone)]
pub struct SlotQuery {
    /// The present.
    pub now: Timestamp,
    /// Where to look.
    pub window: Interval,
    /// How long it takes.
    pub duration: SignedDuration,
    /// It begins at multiples of this since midnight, in [`Self::zone`]: "every half hour".
    pub step: SignedDuration,
    /// It may begin then, too, whatever the step: somebody named that hour.
    pub preferred_start: Option<Timestamp>,
    /// The zone of whoever asks.
    pub zone: TimeZone,
    /// How many to give, at most [`MAX_SLOTS`].
    pub limit: usize,
}

/// A time at which nobody is busy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    pub from: Timestamp,
    pub to: Timestamp,
    /// Names of those who do not work then, as they came in.
    pub out_of_hours: Vec<String>,
}

/// Why nothing was looked for; a sentence each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlotQueryError {
    /// More people than are looked at.
    #[error("I look for a time for at most {MAX_PEOPLE} people at once.")]
    TooManyPeople,
    /// It ends before it begins, or is too long.
    #[error("I look for a time within at most {MAX_DAYS} days.")]
    Window,
    /// It takes no time, or more than a day.
    #[error("I look for a time of five minutes to one day.")]
    Length,
    /// The step is none.
    #[error("A slot can begin every five minutes at most, and once a day at least.")]
    Step,
    /// A calendar that is too full to be somebody's.
    #[error("The calendar of {0} is too full for me to look at.")]
    TooBusy(String),
}

/// The best slots, best first: where everybody works, then where the fewest do not, and of equals the earlier one.
/// No two overlap.
///
/// # Errors
/// Where the wish is none that can be looked for.
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
    // The hour more is for the autumn.
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

/// A person's busy times with their buffer around.
fn blocked_intervals(person: &Attendee) -> impl Iterator<Item = Interval> {
    let buffer = person.buffer.max(SignedDuration::ZERO);
    let wider = move |busy: &Interval| Interval {
        from: busy.from.saturating_sub(buffer).unwrap_or(Timestamp::MIN),
        to: busy.to.saturating_add(buffer).unwrap_or(Timestamp::MAX),
    };
    person.busy.iter().filter(|busy| busy.from < busy.to).map(wider)
}

/// In order, and none touching the next.
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

/// Every step of every day of the window, as the clocks in the asker's zone show it; what they jump over is left out.
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

/// The days that the window touches there.
fn days(window: Interval, zone: &TimeZone) -> impl Iterator<Item = Date> {
    let first = zone.to_datetime(window.from).date();
    let last = zone.to_datetime(window.to).date();
    first.series(1.day()).take_while(move |day| *day <= last)
}

fn clock(day: Date, minute: i64) -> Option<DateTime> {
    let (hour, minute) = (i8::try_from(minute / 60).ok()?, i8::try_from(minute % 60).ok()?);
    Some(day.to_datetime(Time::new(hour, minute, 0, 0).ok()?))
}

/// Those that do not overlap with a better one.
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
