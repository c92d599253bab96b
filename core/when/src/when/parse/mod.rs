//! Parses English as people write it, from left to right, into day, hours, zone and duration. Strict: an unknown word
//! is an error, because it might have been the one that mattered.

mod days;
mod durations;
mod hours;
mod named_times;
mod zones;

use jiff::civil::{Date, Weekday};
use jiff::{SignedDuration, Zoned};

use super::TimeError;
use super::dates::{DayPhrase, Relative};
use super::time_of_day::{Part, SpokenHours};
use super::tokens::{Token, tokens};
use super::zones::NamedZone;

/// A phrase before it is resolved.
#[derive(Debug, Clone, Default)]
pub(super) struct ParsedPhrase {
    pub(super) day: Option<DayPhrase>,
    /// A weekday next to a date; the two must agree.
    pub(super) weekday: Option<Weekday>,
    pub(super) hours: Option<SpokenHours>,
    pub(super) part: Option<Part>,
    pub(super) zone: Option<NamedZone>,
    pub(super) duration: Option<SignedDuration>,
    /// Minutes from now, negative for the past.
    pub(super) from_now: Option<i64>,
    pub(super) all_day: bool,
}

/// Parses normalized text; `now` is in the requester's zone.
pub(super) fn parse(text: &str, now: &Zoned) -> Result<ParsedPhrase, TimeError> {
    let mut reader = Parser { tokens: tokens(text)?, at: 0, parsed: ParsedPhrase::default(), now };
    while reader.at < reader.tokens.len() {
        reader.piece()?;
    }
    reader.parsed.validate()
}

impl ParsedPhrase {
    /// Whether it gives hours, but no day.
    pub(super) fn is_hour_only(&self) -> bool {
        let says_day =
            self.day.is_some() || self.weekday.is_some() || self.from_now.is_some() || self.all_day;
        self.hours.is_some() && !says_day
    }

    /// Replaces the day.
    pub(super) fn with_day(self, day: Date) -> Self {
        let (year, month, of_month) = (day.year().into(), day.month().into(), day.day().into());
        Self { day: Some(DayPhrase::Date { year: Some(year), month, day: of_month }), ..self }
    }

    /// Handles what only the whole shows: a weekday with a week, or on its own.
    fn validate(mut self) -> Result<Self, TimeError> {
        match (&self.day, self.weekday.take()) {
            (None, Some(weekday)) => self.day = Some(DayPhrase::Weekday(weekday, Relative::Coming)),
            (Some(DayPhrase::Week(weeks)), Some(weekday)) => {
                self.day = Some(DayPhrase::OfWeek(weekday, *weeks))
            }
            (_, weekday) => self.weekday = weekday,
        }
        Ok(self)
    }
}

/// Words that say nothing about the time.
const FILLER_WORDS: &[&str] = &[
    "on",
    "at",
    "the",
    "please",
    "around",
    "about",
    "approximately",
    "by",
    "starting",
    "from",
    "sharp",
    "and",
    "of",
    "exactly",
    "then",
    "my",
    "local",
];

struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    parsed: ParsedPhrase,
    now: &'a Zoned,
}

/// Whether tokens were consumed.
type ParseResult = Result<bool, TimeError>;

impl Parser<'_> {
    fn piece(&mut self) -> Result<(), TimeError> {
        let read = self.parse_named_time()?
            || self.parse_duration()?
            || self.ordinal_weekday()?
            || self.relative()?
            || self.day()?
            || self.hours()?
            || self.zone()?
            || self.skip_filler();
        if read { Ok(()) } else { Err(self.unknown_word_error()) }
    }

    fn unknown_word_error(&self) -> TimeError {
        let said = match &self.tokens[self.at] {
            Token::Word(word) | Token::Zone(word) => word.chars().take(40).collect(),
            Token::Number(number, _) => number.to_string(),
            Token::Sign(sign) => sign.to_string(),
        };
        TimeError::not_understood(format!("I don't understand “{said}” as a time."))
    }

    fn skip_filler(&mut self) -> bool {
        let filling = match self.tokens.get(self.at) {
            Some(Token::Word(word)) => FILLER_WORDS.contains(&word.as_str()) || word == "time",
            Some(Token::Sign(sign)) => matches!(sign, ',' | '@' | ';' | '.'),
            _ => false,
        };
        self.at += usize::from(filling);
        filling
    }

    // The next tokens.

    fn peek(&self, ahead: usize) -> Option<&str> {
        match self.tokens.get(self.at + ahead) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn number(&self, ahead: usize) -> Option<(i64, usize)> {
        match self.tokens.get(self.at + ahead) {
            Some(Token::Number(value, digits)) => Some((*value, *digits)),
            _ => None,
        }
    }

    fn is_sign_ahead(&self, ahead: usize, signs: &[char]) -> bool {
        matches!(self.tokens.get(self.at + ahead), Some(Token::Sign(sign)) if signs.contains(sign))
    }

    /// Consumes these words if all of them come next.
    fn take(&mut self, words: &str) -> bool {
        let words: Vec<&str> = words.split(' ').collect();
        let there = words.iter().enumerate().all(|(ahead, word)| self.peek(ahead) == Some(word));
        if there {
            self.at += words.len();
        }
        there
    }

    fn take_any<T: Copy>(&mut self, of: &[(&str, T)]) -> Option<T> {
        of.iter().find(|(words, _)| self.take(words)).map(|(_, what)| *what)
    }

    // Setters: each part can be given only once.

    fn set_day(&mut self, day: DayPhrase) -> ParseResult {
        match (&self.parsed.day, &day) {
            (None, _) => self.parsed.day = Some(day),
            // "Monday, tomorrow": both are given, and must agree.
            (Some(DayPhrase::Weekday(weekday, Relative::Coming)), _) if self.parsed.weekday.is_none() => {
                self.parsed.weekday = Some(*weekday);
                self.parsed.day = Some(day);
            }
            _ => return Err(TimeError::not_understood("That gives two different days.")),
        }
        Ok(true)
    }

    fn set_hours(&mut self, hours: SpokenHours) -> ParseResult {
        if self.parsed.hours.replace(hours).is_some() {
            return Err(TimeError::not_understood("That gives two different times."));
        }
        Ok(true)
    }

    fn set_day_part(&mut self, part: Part) -> ParseResult {
        if self.parsed.part.replace(part).is_some() {
            return Err(TimeError::not_understood("That gives two different times."));
        }
        Ok(true)
    }
}

/// 26 is 2026.
fn full_year(year: i64, digits: usize) -> i64 {
    if digits == 2 { 2000 + year } else { year }
}

fn is_ordinal_suffix(word: &str) -> bool {
    matches!(word, "st" | "nd" | "rd" | "th")
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" | "mon" => Weekday::Monday,
        "tuesday" | "tue" | "tues" => Weekday::Tuesday,
        "wednesday" | "wed" | "weds" => Weekday::Wednesday,
        "thursday" | "thu" | "thur" | "thurs" => Weekday::Thursday,
        "friday" | "fri" => Weekday::Friday,
        "saturday" | "sat" => Weekday::Saturday,
        "sunday" | "sun" => Weekday::Sunday,
        _ => return None,
    })
}

fn month(word: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let short = word.len() == 3 || word == "sept" || word == "june" || word == "july";
    let at = MONTHS.iter().position(|month| *month == word || (short && month.starts_with(word)))?;
    i64::try_from(at + 1).ok()
}
