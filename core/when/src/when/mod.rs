//! What a person says of a time ("next Friday at 3"), resolved by code from their zone: never by a model, and never
//! by arithmetic on offsets. What has two readings is not guessed: it comes back as choices that a person can press.
//!
//! The rules, where English leaves it open:
//!
//! - *Hours* without am or pm: 8 to 11 are in the morning, 12 is noon, 1 to 5 are in the afternoon, and the answer says
//!   so; 6 and 7 are asked, unless one of the two is over already. "03:00" and "15:00" are meant as they are written.
//!   "ten to five" is asked; behind "at" it is ten minutes before five, behind "from" it is from ten until five.
//! - *"Friday"* is the coming one; on a Friday it is asked. *"this Friday"* is the one of this week (Monday to Sunday).
//!   *"next Friday"* is the one of next week. While this week's is three days off or more, many mean that one: asked.
//! - *"6/3"* is asked, "6.3." is the sixth of March. A day without a year is the coming one; one that is over by two
//!   months or less is asked. One that there is not ("31 February") is never taken as another: it is said, and the days
//!   beside it can be picked where they are not over.
//! - *Morning* is 8–12, *afternoon* 12–18, *evening* 18–22, *tonight* 18–24, *end of day* 17:00. "midnight" of a day is
//!   asked, since it may be its beginning or its end.
//! - A day is the asker's also where the hour is said in another zone. A city needs "in" or "time", but for those that
//!   everybody knows. Holidays are known where they have a date of their own; the others are asked for theirs.
//! - What was said of the past ("yesterday", a date with its year) is taken as it was said: whoever uses it says whether
//!   that is of use.
//!
//! No crate does this: those over jiff or chrono (interim, chrono-english, jiff-english, temps, `fuzzydate`,
//! `human-date-parser`, `two_timer`) give one answer whatever was said, take the machine's zone or none, and settle
//! hours that do not exist without a word.

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
pub use format::{format_days, format_span, format_time, minute, second, zone};
pub use local::{local_second, local_time};

/// A time as it was meant.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeSpec {
    /// An instant, in the zone in which it was said.
    At(Zoned),
    /// From one instant to a later one, both said: "Monday 9–10:30".
    Span { from: Zoned, to: Zoned },
    /// A whole day, of the calendar.
    Day(Date),
    /// Several whole days, both included.
    Days { first: Date, last: Date },
    /// Some time in there: "tomorrow afternoon", "next week". Good for looking for a time, too vague for an event.
    Within { from: Zoned, to: Zoned },
}

/// What was said, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedTime {
    /// When.
    pub time: TimeSpec,
    /// How long ("for 45 minutes"), where no end was said. Of an instant it makes a [`When::Span`].
    pub duration: Option<SignedDuration>,
    /// What was taken for granted, as a sentence for the person.
    pub assumption: Option<String>,
}

/// Why it is not known which time was meant.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeError {
    /// It says no time, or one that there is not.
    NotUnderstood { message: String },
    /// The calendar has no such day; near it there are these, where they are not over.
    NoSuchDay { message: String, choices: Vec<Choice> },
    /// The clocks jump over that hour.
    SkippedHour { message: String, choices: Vec<Choice> },
    /// The clocks go back, so that hour is there twice.
    RepeatedHour { message: String, choices: Vec<Choice> },
    /// It can be read in several ways.
    Ambiguous { message: String, choices: Vec<Choice> },
    /// It is over; whoever looks back takes it as it `was` said.
    Past { message: String, resolved: Box<ResolvedTime>, choices: Vec<Choice> },
    /// No zone is called that; these are.
    UnknownZone { name: String, suggestions: Vec<String> },
}

impl TimeError {
    fn not(why: impl Into<String>) -> Self {
        Self::NotUnderstood { message: why.into() }
    }

    /// A sentence for the person.
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
                format!("I know of no time zone or city “{name}”. A name such as “Europe/Berlin” works.")
            }
            Self::UnknownZone { name, suggestions } => {
                format!("I know of no time zone or city “{name}”. There is {}.", suggestions.join(", "))
            }
        }
    }

    /// What the person can press; each value is exact and reads back as what its label says.
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

/// Resolves the words of somebody in that zone. Reads also what [`Said::exact`] writes.
///
/// # Errors
/// Where it is not certain which time was meant, with what can be asked.
pub fn resolve(text: &str, now: Timestamp, zone: &TimeZone) -> Result<ResolvedTime, TimeError> {
    let text = tokens::normalize(text)?;
    let now = to_jiff(now).to_zoned(zone.clone());
    match iso::parse(&text, &now) {
        Some(exact) => exact,
        None => resolve::resolve_phrase(&parse::parse(&text, &now)?, &now),
    }
}

/// Whether the words say an hour and no day: "4pm", "from 3 to 5". Of which day that is, somebody may know better than to
/// take today's.
#[must_use]
pub fn is_hour_only(text: &str, now: Timestamp, zone: &TimeZone) -> bool {
    let now = to_jiff(now).to_zoned(zone.clone());
    let heard = tokens::normalize(text).ok().filter(|text| iso::parse(text, &now).is_none());
    heard.and_then(|text| parse::parse(&text, &now).ok()).is_some_and(|heard| heard.is_hour_only())
}

/// The same hour of that day, wherever it lies.
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

/// What a question about a time is about: the words, in the quotes by which it is told from one about a name.
#[must_use]
pub fn quoted_phrase(words: &str) -> String {
    format!("“{}”", words.trim())
}

/// As jiff counts it.
pub fn to_jiff(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(at.timestamp_micros()).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}
