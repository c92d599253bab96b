//! Resolves what a person writes about a time ("next Friday at 3") in their zone: in code, never by a model, and never
//! by arithmetic on offsets. An ambiguous phrase is not guessed: it returns choices that the person can click.
//!
//! The rules for what English leaves open ("asks": returns choices):
//!
//! - *Hours* without am or pm: 8 to 11 are in the morning, 12 is noon, 1 to 5 are in the afternoon, and the answer says
//!   so; 6 and 7 ask, unless one of the two has passed. "03:00" and "15:00" are on the 24-hour clock. "ten to five"
//!   asks; after "at" it is ten minutes before five, after "from" it is from ten until five.
//! - *"Friday"* is the coming one; on a Friday it asks. *"this Friday"* is the one of this week (Monday to Sunday).
//!   *"next Friday"* is the one of next week. If this week's is at least three days ahead, it asks, because many people
//!   mean that one.
//! - *"6/3"* asks, "6.3." is the sixth of March. A date without a year is the coming one; one that passed at most two
//!   months ago asks. A date that does not exist ("31 February") is never replaced: the error says so, and offers the
//!   neighbouring days that have not passed.
//! - *Morning* is 8–12, *afternoon* 12–18, *evening* 18–22, *tonight* 18–24, *end of day* 17:00. "midnight" of a day
//!   asks, because it can be its beginning or its end.
//! - A day is in the requester's zone even if the hour is given in another zone. A city needs "in" or "time", except
//!   for well-known ones. Holidays with a fixed date are known; for the others, the person has to give the date.
//! - A phrase about the past ("yesterday", a date with its year) is accepted: the caller decides whether it is useful.
//!
//! No crate does this: those on top of jiff or chrono (interim, chrono-english, jiff-english, temps, `fuzzydate`,
//! `human-date-parser`, `two_timer`) return one answer for any input, use the machine's zone or none, and silently
//! resolve hours that do not exist.

mod dates;
mod exact;
mod format;
mod iso;
mod local;
mod parse;
mod resolve;
mod time_of_day;
mod tokens;
pub mod zones;

#[cfg(test)]
mod tests;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned, civil::Date};

use nod_contract::clock::Timestamp;
use nod_contract::tool::Choice;

pub use exact::ExactTime;
pub(crate) use format::with_year;
pub use format::{format_days, format_span, format_time, time_with_minutes, time_with_seconds, zone_label};
pub use local::{local_second, local_time};

/// A resolved time, as precise as the phrase.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeSpec {
    /// An instant, in the zone of the phrase.
    At(Zoned),
    /// From one instant to a later one, both given: "Monday 9–10:30".
    Span { from: Zoned, to: Zoned },
    /// A whole calendar day.
    Day(Date),
    /// Several whole days, both included.
    Days { first: Date, last: Date },
    /// Some time in this range: "tomorrow afternoon", "next week". Enough for a slot search, too vague for an event.
    Within { from: Zoned, to: Zoned },
}

/// A resolved phrase.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedTime {
    pub time: TimeSpec,
    /// The duration ("for 45 minutes") if no end was given. It turns an instant into a [`TimeSpec::Span`].
    pub duration: Option<SignedDuration>,
    /// What was assumed, as a sentence for the person.
    pub assumption: Option<String>,
}

/// Why a phrase could not be resolved to one time.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeError {
    /// It contains no time, or one that does not exist.
    NotUnderstood { message: String },
    /// The calendar has no such day; the choices are the neighbouring days that have not passed.
    NoSuchDay { message: String, choices: Vec<Choice> },
    /// The clocks skip that hour.
    SkippedHour { message: String, choices: Vec<Choice> },
    /// The clocks go back, so that hour occurs twice.
    RepeatedHour { message: String, choices: Vec<Choice> },
    /// It can be read in several ways.
    Ambiguous { message: String, choices: Vec<Choice> },
    /// It has passed; a caller that looks back uses `resolved`.
    Past { message: String, resolved: Box<ResolvedTime>, choices: Vec<Choice> },
    /// No zone has that name.
    UnknownZone { name: String, suggestions: Vec<String> },
}

impl TimeError {
    fn not_understood(why: impl Into<String>) -> Self {
        Self::NotUnderstood { message: why.into() }
    }

    /// Returns a sentence for the person.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::NotUnderstood { message }
            | Self::NoSuchDay { message, .. }
            | Self::SkippedHour { message, .. }
            | Self::RepeatedHour { message, .. }
            | Self::Ambiguous { message, .. }
            | Self::Past { message, .. } => message.clone(),
            Self::UnknownZone { name, suggestions } if suggestions.is_empty() => {
                format!("I don't know the time zone or city “{name}”. Try a name like “Europe/Berlin”.")
            }
            Self::UnknownZone { name, suggestions } => {
                format!(
                    "I don't know the time zone or city “{name}”. Did you mean {}?",
                    suggestions.join(", ")
                )
            }
        }
    }

    /// Returns what the person can click; each value is exact and reads back as its label.
    #[must_use]
    pub fn choices(&self) -> &[Choice] {
        match self {
            Self::NotUnderstood { .. } | Self::UnknownZone { .. } => &[],
            Self::NoSuchDay { choices, .. }
            | Self::SkippedHour { choices, .. }
            | Self::RepeatedHour { choices, .. }
            | Self::Ambiguous { choices, .. }
            | Self::Past { choices, .. } => choices,
        }
    }
}

/// Resolves a phrase of a person in that zone. Also reads the output of [`ResolvedTime::exact`].
///
/// # Errors
/// If it is not certain which time is meant; the error holds the choices.
pub fn resolve(text: &str, now: Timestamp, zone: &TimeZone) -> Result<ResolvedTime, TimeError> {
    let text = tokens::normalize(text)?;
    let now = to_jiff(now).to_zoned(zone.clone());
    match iso::parse(&text, &now) {
        Some(exact) => exact,
        None => resolve::resolve_phrase(&parse::parse(&text, &now)?, &now),
    }
}

/// Returns whether the phrase gives an hour and no day: "4pm", "from 3 to 5". The caller might then know a better day
/// than today.
#[must_use]
pub fn is_hour_only(text: &str, now: Timestamp, zone: &TimeZone) -> bool {
    let now = to_jiff(now).to_zoned(zone.clone());
    let heard = tokens::normalize(text).ok().filter(|text| iso::parse(text, &now).is_none());
    heard.and_then(|text| parse::parse(&text, &now).ok()).is_some_and(|heard| heard.is_hour_only())
}

/// Resolves the hour on that day, even if it has passed.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_on_day(
    text: &str,
    day: Date,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<ResolvedTime, TimeError> {
    let now = to_jiff(now).to_zoned(zone.clone());
    let heard = parse::parse(&tokens::normalize(text)?, &now)?;
    match resolve::resolve_phrase(&heard.with_day(day), &now) {
        Err(TimeError::Past { resolved: was, .. }) => Ok(*was),
        said => said,
    }
}

/// Returns the subject of a question about a time: the phrase in quotes, unlike in a question about a name.
#[must_use]
pub fn quoted_phrase(words: &str) -> String {
    format!("“{}”", words.trim())
}

/// Converts to jiff's timestamp.
pub fn to_jiff(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(at.timestamp_micros()).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}
