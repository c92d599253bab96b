//! Exact times in the form of ISO 8601 and RFC 9557, also what [`super::Said::exact`] writes.

use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::{Pieces, PiecesOffset};
use jiff::{SignedDuration, Zoned};

use super::settle::{self, Reading};
use super::{Said, Unclear, When, read, zones};

/// `None` where it is written otherwise. `now` is in the asker's zone.
pub(super) fn read(text: &str, now: &Zoned) -> Option<Result<Said, Unclear>> {
    let (text, lasts) = match text.split_once(" for ") {
        Some((text, lasts)) => (text, Some(minutes(lasts)?)),
        None => (text, None),
    };
    let said = match text.strip_prefix("within ") {
        Some(both) => interval(both, now)?.and_then(|(from, to)| within(from, to)),
        None => match interval(text, now) {
            Some(both) => both.and_then(|(from, to)| between(from, to)),
            None => one(text, now)?,
        },
    };
    Some(match said {
        Ok(said) if lasts.is_some() => Ok(said.lasting(lasts)),
        Err(unclear) => Err(settle::with_length(unclear, lasts)),
        said => said,
    })
}

fn minutes(lasts: &str) -> Option<SignedDuration> {
    let minutes: i64 = lasts.strip_suffix(" minutes")?.parse().ok()?;
    (1..=settle::LONGEST_MINUTES).contains(&minutes).then(|| SignedDuration::from_mins(minutes))
}

fn interval(text: &str, now: &Zoned) -> Option<Result<(Said, Said), Unclear>> {
    // Zone names in brackets have slashes of their own.
    let mut depth = 0;
    let at = text.char_indices().find_map(|(at, c)| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        (c == '/' && depth == 0).then_some(at)
    })?;
    let (from, to) = (one(&text[..at], now)?, one(&text[at + 1..], now)?);
    // What stands beside one end is not the whole that was said.
    let alone = |unclear: Unclear| match unclear {
        Unclear::NoSuchDay { why, .. } => Unclear::NoSuchDay { why, choices: Vec::new() },
        other => other,
    };
    Some(from.and_then(|from| to.map(|to| (from, to))).map_err(alone))
}

fn between(from: Said, to: Said) -> Result<Said, Unclear> {
    match (from.when, to.when) {
        (When::At(from), When::At(to)) if from < to => Ok(When::Span { from, to }.into()),
        (When::Day(first), When::Day(last)) if first < last => Ok(When::Days { first, last }.into()),
        (When::Day(first), When::Day(last)) if first == last => Ok(When::Day(first).into()),
        _ => Err(Unclear::not("That ends before it begins.")),
    }
}

fn within(from: Said, to: Said) -> Result<Said, Unclear> {
    match (from.when, to.when) {
        (When::At(from), When::At(to)) if from < to => Ok(When::Within { from, to }.into()),
        _ => Err(Unclear::not("That ends before it begins.")),
    }
}

/// `2026-03-06`, `2026-03-06T15:00`, `2026-03-06T15:00+01:00`, `2026-03-06T15:00[Europe/Berlin]`.
fn one(text: &str, now: &Zoned) -> Option<Result<Said, Unclear>> {
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
        // Only what has the very form is answered here: "2026-02-30" has, and is no day.
        Err(_) if text.len() == 10 || text.as_bytes()[10] == b'T' => return Some(no_such(text, now)),
        Err(_) => return None,
    };
    Some(exact(&pieces, text, now))
}

/// What has the form and is none, as anybody would have written it: a day that there is not has others beside it.
fn no_such(text: &str, now: &Zoned) -> Result<Said, Unclear> {
    let none = || Unclear::not(format!("There is no “{text}” in the calendar."));
    let number = |at: std::ops::Range<usize>| text.get(at).and_then(|digits| digits.parse::<i64>().ok());
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return Err(none());
    };
    if date(year, month, day).is_some() {
        return Err(none());
    }
    let hour = text.get(11..16).map(|hour| format!(" {hour}")).unwrap_or_default();
    let heard = read::read(&format!("{day}.{month}.{year}{hour}"), now)?;
    match settle::settle(&heard, now) {
        // What is said after the hour, such as a zone, is not known to be the asker's.
        Err(Unclear::NoSuchDay { why, .. }) if text.len() > 16 => {
            Err(Unclear::NoSuchDay { why, choices: Vec::new() })
        }
        said => said,
    }
}

fn exact(pieces: &Pieces<'_>, text: &str, now: &Zoned) -> Result<Said, Unclear> {
    let date = settle::not_too_far(pieces.date(), now)?;
    let Some(time) = pieces.time() else { return Ok(When::Day(date).into()) };
    let zone = match pieces.time_zone_annotation() {
        Some(named) => named.to_time_zone().map_err(|_| zones::unknown(text))?,
        None => now.time_zone().clone(),
    };
    let time = Time::new(time.hour(), time.minute(), 0, 0).unwrap_or(Time::midnight());
    let civil = DateTime::from_parts(date, time);
    let offset = match pieces.offset() {
        None => return settle::one_of(vec![Reading::at(civil, &zone)], now, true),
        Some(PiecesOffset::Zulu) => jiff::tz::Offset::UTC,
        Some(numeric) => match numeric {
            PiecesOffset::Numeric(numeric) => numeric.offset(),
            _ => jiff::tz::Offset::UTC,
        },
    };
    let at = offset.to_timestamp(civil).map_err(|_| Unclear::not("That is too far off."))?.to_zoned(zone);
    if pieces.time_zone_annotation().is_some() && at.offset() != offset {
        return Err(Unclear::not(format!("“{text}” says two times: that zone has another offset then.")));
    }
    Ok(When::At(at).into())
}

/// The day, for what is written in digits elsewhere.
pub(super) fn date(year: i64, month: i64, day: i64) -> Option<Date> {
    Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}
