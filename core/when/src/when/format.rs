//! Formats times for a person, in the reader's zone, so that each text has only one meaning.

use std::fmt::Write as _;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Zoned, civil::Date};

use super::{ResolvedTime, TimeSpec, to_jiff};
use nod_contract::clock::Timestamp;

const DAY_MINUTES: i64 = 24 * 60;

/// "Fri 6 Mar, 15:00 CET"; with the year if it is not the current one.
#[must_use]
pub fn format_time(at: &Zoned, reader: &TimeZone, now: Timestamp) -> String {
    let at = at.with_time_zone(reader.clone());
    format!("{}, {} {}", day(at.date(), year(reader, now)), at.strftime("%H:%M"), zone_label(&at))
}

/// "Fri 6 Mar, 15:00–15:30 CET"; with both zone abbreviations if the clocks change in between.
#[must_use]
pub fn format_span(from: &Zoned, to: &Zoned, reader: &TimeZone, now: Timestamp) -> String {
    let (from, to) = (from.with_time_zone(reader.clone()), to.with_time_zone(reader.clone()));
    let this = year(reader, now);
    let (begins, ends) = (from.strftime("%H:%M").to_string(), to.strftime("%H:%M").to_string());
    let between =
        if from.offset() == to.offset() { String::new() } else { format!(" {}", zone_label(&from)) };
    let first = day(from.date(), this);
    if from.date() == to.date() {
        return match between.is_empty() {
            true => format!("{first}, {begins}–{ends} {}", zone_label(&to)),
            false => format!("{first}, {begins}{between} – {ends} {}", zone_label(&to)),
        };
    }
    let midnight =
        to.time() == jiff::civil::Time::midnight() && from.date().tomorrow().ok() == Some(to.date());
    if midnight && between.is_empty() {
        return format!("{first}, {begins}–24:00 {}", zone_label(&to));
    }
    format!("{first}, {begins}{between} – {}, {ends} {}", day(to.date(), this), zone_label(&to))
}

/// "Fri 6 Mar", a calendar day, which is the same in every zone.
#[must_use]
pub(crate) fn format_day(date: Date, reader: &TimeZone, now: Timestamp) -> String {
    day(date, year(reader, now))
}

/// "Fri 6 Mar – Sun 8 Mar", both included.
#[must_use]
pub fn format_days(first: Date, last: Date, reader: &TimeZone, now: Timestamp) -> String {
    let this = year(reader, now);
    if first == last { day(first, this) } else { format!("{} – {}", day(first, this), day(last, this)) }
}

/// "Fri 6 Mar 2026, 15:00 CET", for the model and for stored text, where the year matters.
pub(crate) fn with_year(at: Timestamp, zone: &TimeZone) -> String {
    let at = to_jiff(at).to_zoned(zone.clone());
    format!("{} {}", at.strftime("%a %-d %b %Y, %H:%M"), zone_label(&at))
}

/// "15:00:10 CET": for times where seconds matter.
pub fn time_with_seconds(at: Timestamp, zone: &TimeZone) -> String {
    let at = to_jiff(at).to_zoned(zone.clone());
    format!("{} {}", at.strftime("%H:%M:%S"), zone_label(&at))
}

/// "15:00 CET": for times that are soon.
pub fn time_with_minutes(at: Timestamp, zone: &TimeZone) -> String {
    let at = to_jiff(at).to_zoned(zone.clone());
    format!("{} {}", at.strftime("%H:%M"), zone_label(&at))
}

impl TimeSpec {
    /// Formats the time for the reader.
    #[must_use]
    pub fn format(&self, reader: &TimeZone, now: Timestamp) -> String {
        match self {
            Self::At(at) => format_time(at, reader, now),
            Self::Span { from, to } => format_span(from, to, reader, now),
            Self::Day(day) => format_day(*day, reader, now),
            Self::Days { first, last } => format_days(*first, *last, reader, now),
            Self::Within { from, to } => match whole_days(from, to) {
                Some((first, last)) => format_days(first, last, reader, now),
                None => format_span(from, to, reader, now),
            },
        }
    }
}

impl ResolvedTime {
    /// Formats the time for the reader, with the duration.
    #[must_use]
    pub fn format(&self, reader: &TimeZone, now: Timestamp) -> String {
        let when = self.time.format(reader, now);
        match self.duration {
            Some(lasts) => format!("{when}, for {} minutes", lasts.as_mins()),
            None => when,
        }
    }

    /// Returns the time as text whose meaning never changes; [`super::resolve`] reads it back in any zone.
    #[must_use]
    pub fn to_parseable_text(&self) -> String {
        let mut exact = match &self.time {
            TimeSpec::At(at) => at.to_string(),
            TimeSpec::Span { from, to } => format!("{from}/{to}"),
            TimeSpec::Day(day) => day.to_string(),
            TimeSpec::Days { first, last } => format!("{first}/{last}"),
            TimeSpec::Within { from, to } => format!("within {from}/{to}"),
        };
        if let Some(lasts) = self.duration {
            let _ = write!(exact, " for {} minutes", lasts.as_mins());
        }
        exact
    }
}

impl From<TimeSpec> for ResolvedTime {
    fn from(when: TimeSpec) -> Self {
        Self { time: when, duration: None, assumption: None }
    }
}

impl ResolvedTime {
    /// Adds a duration: an instant becomes a span, and a day with whole days becomes that many days.
    pub(super) fn with_duration(self, lasts: Option<SignedDuration>) -> Self {
        match (&self.time, lasts) {
            (TimeSpec::Day(first), Some(lasts)) if lasts.as_mins() % DAY_MINUTES == 0 => {
                let more = Span::new().try_days(lasts.as_mins() / DAY_MINUTES - 1);
                match more.and_then(|more| first.checked_add(more)) {
                    Ok(last) if last > *first => {
                        Self { time: TimeSpec::Days { first: *first, last }, ..self }
                    }
                    _ => self,
                }
            }
            (TimeSpec::At(from), Some(lasts)) => match from.checked_add(lasts) {
                Ok(to) => Self { time: TimeSpec::Span { from: from.clone(), to }, ..self },
                Err(_) => self,
            },
            _ => Self { duration: lasts, ..self },
        }
    }
}

impl ResolvedTime {
    /// Replaces an offset that is how Nod writes the requester's zone ("16:00 UTC+8" in Singapore) with that zone.
    pub(super) fn in_own_zone(self, own: &TimeZone) -> Self {
        let at = |at: Zoned| {
            let there = at.with_time_zone(own.clone());
            if at.time_zone().iana_name().is_none() && zone_label(&there) == zone_label(&at) {
                there
            } else {
                at
            }
        };
        let when = match self.time {
            TimeSpec::At(instant) => TimeSpec::At(at(instant)),
            TimeSpec::Span { from, to } => TimeSpec::Span { from: at(from), to: at(to) },
            TimeSpec::Within { from, to } => TimeSpec::Within { from: at(from), to: at(to) },
            days => days,
        };
        Self { time: when, ..self }
    }
}

fn whole_days(from: &Zoned, to: &Zoned) -> Option<(Date, Date)> {
    let begins = from.start_of_day().ok()? == *from && to.start_of_day().ok()? == *to;
    let last = to.date().yesterday().ok()?;
    begins.then_some((from.date(), last))
}

fn year(reader: &TimeZone, now: Timestamp) -> i16 {
    to_jiff(now).to_zoned(reader.clone()).year()
}

fn day(date: Date, this_year: i16) -> String {
    let format = if date.year() == this_year { "%a %-d %b" } else { "%a %-d %b %Y" };
    date.strftime(format).to_string()
}

/// "CET", or "UTC+5:45" if the zone has no abbreviation.
pub fn zone_label(at: &Zoned) -> String {
    let named = at.strftime("%Z").to_string();
    if named.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return named;
    }
    let seconds = at.offset().seconds();
    let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() / 60 % 60);
    let sign = if seconds < 0 { '-' } else { '+' };
    if minutes == 0 { format!("UTC{sign}{hours}") } else { format!("UTC{sign}{hours}:{minutes:02}") }
}

/// "in Berlin"
pub(super) fn place(at: &Zoned) -> String {
    match at.time_zone().iana_name() {
        Some(name) => format!("in {}", name.rsplit('/').next().unwrap_or(name).replace('_', " ")),
        None => "there".to_owned(),
    }
}
