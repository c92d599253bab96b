//! Parses time zones: "CET", "London time", "UTC+2".

use jiff::tz::{Offset, TimeZone};

use super::{FILLER_WORDS, ParseResult, Parser};
use crate::when::TimeError;
use crate::when::tokens::Token;
use crate::when::zones::{self, NamedZone};

impl Parser<'_> {
    pub(super) fn zone(&mut self) -> ParseResult {
        if let Some(Token::Zone(name)) = self.tokens.get(self.at).cloned() {
            self.at += 1;
            return self.set_zone(NamedZone::Place(zones::find_zone(&name)?));
        }
        if self.is_sign_ahead(0, &['+']) && self.parsed.hours.is_some() {
            return self.offset();
        }
        let before = self.at;
        let told = self.take("in");
        for length in (1..=3).rev() {
            let words: Option<Vec<&str>> = (0..length).map(|ahead| self.peek(ahead)).collect();
            let Some(words) = words.map(|words| words.join(" ")) else { continue };
            let place = told || self.peek(length) == Some("time");
            let Some(named) = zones::find_named_zone(&words, place, self.now) else { continue };
            self.at += length;
            self.take("time");
            self.take("time zone");
            if matches!(words.as_str(), "utc" | "gmt")
                && self.is_sign_ahead(0, &['+', '-'])
                && self.number(1).is_some()
            {
                return self.offset();
            }
            return self.set_zone(named);
        }
        let word = self.peek(0).unwrap_or_default().to_owned();
        let time = self.peek(1) == Some("time") && !FILLER_WORDS.contains(&word.as_str());
        self.at = before;
        if (told || time) && !word.is_empty() {
            return Err(zones::unknown_zone_error(&word));
        }
        Ok(false)
    }

    /// "+2", "-03:30", "+0530".
    fn offset(&mut self) -> ParseResult {
        let east = self.is_sign_ahead(0, &['+']);
        let Some((value, digits)) = self.number(1) else { return Ok(false) };
        self.at += 2;
        let (hours, mut minutes) = if digits == 4 { (value / 100, value % 100) } else { (value, 0) };
        if let (true, Some((more, 2))) = (self.is_sign_ahead(0, &[':']), self.number(1)) {
            self.at += 2;
            minutes = more;
        }
        let seconds = (hours * 60 + minutes) * 60 * if east { 1 } else { -1 };
        let fits = hours <= 14 && minutes < 60;
        let offset = i32::try_from(seconds).ok().filter(|_| fits).and_then(|s| Offset::from_seconds(s).ok());
        match offset {
            Some(offset) => self.set_zone(NamedZone::Place(TimeZone::fixed(offset))),
            None => Err(TimeError::not_understood("That UTC offset doesn't exist.")),
        }
    }

    fn set_zone(&mut self, zone: NamedZone) -> ParseResult {
        if self.parsed.zone.replace(zone).is_some() {
            return Err(TimeError::not_understood("That gives two different time zones."));
        }
        Ok(true)
    }
}
