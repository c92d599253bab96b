//! Parses ISO 8601 and RFC 9557, and what [`super::ResolvedTime::exact`] writes.

use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::{Pieces, PiecesOffset};
use jiff::{SignedDuration, Zoned};

use super::resolve::{self, Reading};
use super::{ResolvedTime, TimeError, TimeSpec, parse, zones};

/// Returns `None` if the text has another form. `now` is in the requester's zone.
pub(super) fn parse(text: &str, now: &Zoned) -> Option<Result<ResolvedTime, TimeError>> {
    let (text, lasts) = match text.split_once(" for ") {
        Some((text, lasts)) => (text, Some(minutes(lasts)?)),
        None => (text, None),
    };
    let said = match text.strip_prefix("within ") {
        Some(both) => interval(both, now)?.and_then(|(from, to)| window_between(from, to)),
        None => match interval(text, now) {
            Some(both) => both.and_then(|(from, to)| between(from, to)),
            None => parse_instant(text, now)?,
        },
    };
    Some(match said {
        Ok(said) if lasts.is_some() => Ok(said.with_duration(lasts)),
        Err(unclear) => Err(resolve::with_duration(unclear, lasts)),
        said => said,
    })
}

fn minutes(lasts: &str) -> Option<SignedDuration> {
    let minutes: i64 = lasts.strip_suffix(" minutes")?.parse().ok()?;
    (1..=resolve::MAX_DURATION_MINUTES).contains(&minutes).then(|| SignedDuration::from_mins(minutes))
}

fn interval(text: &str, now: &Zoned) -> Option<Result<(ResolvedTime, ResolvedTime), TimeError>> {
    // Zone names in brackets contain slashes too.
    let mut depth = 0;
    let at = text.char_indices().find_map(|(at, c)| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        (c == '/' && depth == 0).then_some(at)
    })?;
    let (from, to) = (parse_instant(&text[..at], now)?, parse_instant(&text[at + 1..], now)?);
    // The choices for one end are not choices for the whole interval.
    let alone = |unclear: TimeError| match unclear {
        TimeError::NoSuchDay { message: why, .. } => {
            TimeError::NoSuchDay { message: why, choices: Vec::new() }
        }
        other => other,
    };
    Some(from.and_then(|from| to.map(|to| (from, to))).map_err(alone))
}

fn between(from: ResolvedTime, to: ResolvedTime) -> Result<ResolvedTime, TimeError> {
    match (from.time, to.time) {
        (TimeSpec::At(from), TimeSpec::At(to)) if from < to => Ok(TimeSpec::Span { from, to }.into()),
        (TimeSpec::Day(first), TimeSpec::Day(last)) if first < last => {
            Ok(TimeSpec::Days { first, last }.into())
        }
        (TimeSpec::Day(first), TimeSpec::Day(last)) if first == last => Ok(TimeSpec::Day(first).into()),
        _ => Err(TimeError::not_understood("That ends before it starts.")),
    }
}

fn window_between(from: ResolvedTime, to: ResolvedTime) -> Result<ResolvedTime, TimeError> {
    match (from.time, to.time) {
        (TimeSpec::At(from), TimeSpec::At(to)) if from < to => Ok(TimeSpec::Within { from, to }.into()),
        _ => Err(TimeError::not_understood("That ends before it starts.")),
    }
}

/// `2026-03-06`, `2026-03-06T15:00`, `2026-03-06T15:00+01:00`, `2026-03-06T15:00[Europe/Berlin]`.
fn parse_instant(text: &str, now: &Zoned) -> Option<Result<ResolvedTime, TimeError>> {
    let written = text.get(..10)?;
    if written
        .bytes()
        .enumerate()
        .any(|(at, b)| if matches!(at, 4 | 7) { b != b'-' } else { !b.is_ascii_digit() })
    {
        return None;
    }
    let pieces = match Pieces::parse(text) {
        Ok(pieces) => pieces,
        // Only text of exactly this form is handled here: "2026-02-30" has it, but is not a day.
        Err(_) if text.len() == 10 || text.as_bytes()[10] == b'T' => return Some(nearest_days(text, now)),
        Err(_) => return None,
    };
    Some(exact(&pieces, text, now))
}

/// Reads text that has the form but is not valid as an ordinary phrase: a missing day gets its neighbours as choices.
fn nearest_days(text: &str, now: &Zoned) -> Result<ResolvedTime, TimeError> {
    let none = || TimeError::not_understood(format!("“{text}” isn't a date in the calendar."));
    let number = |at: std::ops::Range<usize>| text.get(at).and_then(|digits| digits.parse::<i64>().ok());
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return Err(none());
    };
    if date(year, month, day).is_some() {
        return Err(none());
    }
    let hour = text.get(11..16).map(|hour| format!(" {hour}")).unwrap_or_default();
    let heard = parse::parse(&format!("{day}.{month}.{year}{hour}"), now)?;
    match resolve::resolve_phrase(&heard, now) {
        // Text after the hour was not read; a zone there might not be the requester's.
        Err(TimeError::NoSuchDay { message: why, .. }) if text.len() > 16 => {
            Err(TimeError::NoSuchDay { message: why, choices: Vec::new() })
        }
        said => said,
    }
}

fn exact(pieces: &Pieces<'_>, text: &str, now: &Zoned) -> Result<ResolvedTime, TimeError> {
    let date = resolve::check_range(pieces.date(), now)?;
    let Some(time) = pieces.time() else { return Ok(TimeSpec::Day(date).into()) };
    let zone = match pieces.time_zone_annotation() {
        Some(named) => named.to_time_zone().map_err(|_| zones::unknown_zone_error(text))?,
        None => now.time_zone().clone(),
    };
    let time = Time::new(time.hour(), time.minute(), 0, 0).unwrap_or(Time::midnight());
    let civil = DateTime::from_parts(date, time);
    let offset = match pieces.offset() {
        None => return resolve::single_or_ambiguous(vec![Reading::at(civil, &zone)], now, true),
        Some(PiecesOffset::Zulu) => jiff::tz::Offset::UTC,
        Some(numeric) => match numeric {
            PiecesOffset::Numeric(numeric) => numeric.offset(),
            _ => jiff::tz::Offset::UTC,
        },
    };
    let at = offset
        .to_timestamp(civil)
        .map_err(|_| TimeError::not_understood("That's too far away."))?
        .to_zoned(zone);
    if pieces.time_zone_annotation().is_some() && at.offset() != offset {
        return Err(TimeError::not_understood(format!(
            "“{text}” gives two different times: the offset doesn't match that zone."
        )));
    }
    Ok(TimeSpec::At(at).into())
}

/// Builds a date from numbers, also for the other modules.
pub(super) fn date(year: i64, month: i64, day: i64) -> Option<Date> {
    Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}
