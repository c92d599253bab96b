//! Parses durations and offsets: "in two weeks", "for 45 minutes", "3 days ago".

use jiff::SignedDuration;

use super::{ParseResult, Parser, is_ordinal_suffix, month, weekday};
use crate::when::TimeError;
use crate::when::dates::{DayPhrase, Relative, Unit};
use crate::when::resolve::MAX_DURATION_MINUTES;
use crate::when::tokens::Token;

impl Parser<'_> {
    pub(super) fn parse_duration(&mut self) -> ParseResult {
        let before = self.at;
        let (within, lasting) = (self.take("in") || self.take("within"), self.take("for"));
        let Some(amount) = self.amount()? else {
            self.at = before;
            return Ok(false);
        };
        if lasting {
            return self.set_duration(amount);
        }
        // "ten minutes to five" is a time of day.
        if matches!(self.peek(0), Some("to" | "past")) && self.number(1).is_some() && !within {
            self.at = before;
            return Ok(false);
        }
        if self.take("ago") {
            return self.set_offset(amount, -1, DayPhrase::From(0));
        }
        if self.take("from now") || self.take("later") {
            return self.set_offset(amount, 1, DayPhrase::From(0));
        }
        if within {
            return self.set_offset(amount, 1, DayPhrase::From(0));
        }
        if self.peek(0) == Some("from") || self.peek(0) == Some("after") || self.peek(0) == Some("on") {
            return self.parse_offset_from_day(amount, before);
        }
        match amount {
            Amount::Minutes(_) => self.set_duration(amount),
            Amount::Days(..) => Err(TimeError::not_understood("Starting when? For example “in 3 days”.")),
        }
    }

    /// "two weeks from Friday", "a week on Monday"; "an hour on Monday" is a duration.
    fn parse_offset_from_day(&mut self, amount: Amount, before: usize) -> ParseResult {
        if let Amount::Minutes(_) = amount {
            return self.set_duration(amount);
        }
        self.at += 1;
        let day = match self.peek(0) {
            Some("today") => Some(DayPhrase::From(0)),
            Some("tomorrow") => Some(DayPhrase::From(1)),
            Some(word) => weekday(word).map(|weekday| DayPhrase::Weekday(weekday, Relative::Coming)),
            None => None,
        };
        let Some(day) = day else {
            self.at = before;
            return Err(TimeError::not_understood("From which day?"));
        };
        self.at += 1;
        self.set_offset(amount, 1, day)
    }

    fn set_offset(&mut self, amount: Amount, sign: i64, from: DayPhrase) -> ParseResult {
        match amount {
            Amount::Minutes(minutes) => {
                if self.parsed.from_now.replace(sign * minutes).is_some() {
                    return Err(TimeError::not_understood("That gives two different times."));
                }
                Ok(true)
            }
            Amount::Days(amount, unit) => {
                self.set_day(DayPhrase::Offset { amount: sign * amount, unit, from: Box::new(from) })
            }
        }
    }

    fn set_duration(&mut self, amount: Amount) -> ParseResult {
        let minutes = match amount {
            Amount::Minutes(minutes) => minutes,
            Amount::Days(days, Unit::Days) => days * 24 * 60,
            Amount::Days(..) => MAX_DURATION_MINUTES + 1,
        };
        if !(1..=MAX_DURATION_MINUTES).contains(&minutes) {
            return Err(TimeError::not_understood("I can plan anything from a minute to two weeks."));
        }
        if self.parsed.duration.replace(SignedDuration::from_mins(minutes)).is_some() {
            return Err(TimeError::not_understood("That gives two different lengths."));
        }
        Ok(true)
    }

    /// "an hour and a half", "1h30", "45 minutes", "two weeks"; advances only if there is one.
    fn amount(&mut self) -> Result<Option<Amount>, TimeError> {
        let before = self.at;
        if self.take("half an hour") || self.take("half a hour") || self.take("half hour") {
            return Ok(Some(Amount::Minutes(30)));
        }
        if self.take("quarter of an hour") || self.take("a quarter of an hour") {
            return Ok(Some(Amount::Minutes(15)));
        }
        let Some((value, tenths)) = self.quantity() else { return Ok(None) };
        let Some(word) = self.peek(0) else {
            self.at = before;
            return Ok(None);
        };
        let minutes = match word {
            "minute" | "minutes" | "min" | "mins" | "m" => Some(1),
            "hour" | "hours" | "hr" | "hrs" | "h" => Some(60),
            _ => None,
        };
        if let Some(each) = minutes {
            // "15h" is a time of day, unless "in" or "for" precedes it.
            let led = before > 0
                && matches!(&self.tokens[before - 1], Token::Word(word) if word == "in" || word == "for");
            if word == "h" && value >= 7 && !led {
                self.at = before;
                return Ok(None);
            }
            self.at += 1;
            let mut minutes = value * each + tenths * each / 10;
            if each == 60 {
                minutes += self.parse_extra_minutes();
            }
            return Ok(Some(Amount::Minutes(minutes)));
        }
        let unit = match word {
            "day" | "days" => Some((Unit::Days, 1)),
            "week" | "weeks" | "wk" | "wks" => Some((Unit::Weeks, 1)),
            "fortnight" | "fortnights" => Some((Unit::Weeks, 2)),
            "month" | "months" => Some((Unit::Months, 1)),
            "year" | "years" => Some((Unit::Years, 1)),
            _ => None,
        };
        match unit {
            Some((unit, each)) if tenths == 0 => {
                self.at += 1;
                Ok(Some(Amount::Days(value * each, unit)))
            }
            Some(_) => Err(TimeError::not_understood("Use whole days, weeks or months.")),
            None => {
                self.at = before;
                Ok(None)
            }
        }
    }

    /// "a", "2", "1.5", "a couple of".
    fn quantity(&mut self) -> Option<(i64, i64)> {
        if self.take("a couple of") || self.take("couple of") {
            return Some((2, 0));
        }
        if self.take("an") || self.take("a") {
            return Some((1, 0));
        }
        let (value, _) = self.number(0)?;
        self.at += 1;
        if let (true, Some((tenths, 1))) = (self.is_sign_ahead(0, &['.', ',']), self.number(1)) {
            self.at += 2;
            return Some((value, tenths));
        }
        Some((value, 0))
    }

    /// Reads what follows the hours: "and a half", "30 minutes", "30".
    fn parse_extra_minutes(&mut self) -> i64 {
        if self.take("and a half") {
            return 30;
        }
        let before = self.at;
        self.take("and");
        if let Some((minutes, _)) = self.number(0).filter(|(minutes, _)| *minutes < 60) {
            if matches!(self.peek(1), Some("minute" | "minutes" | "min" | "mins" | "m")) {
                self.at += 2;
                return minutes;
            }
            if self.number(0).is_some_and(|(_, digits)| digits == 2)
                && self.at == before
                && !self.is_clock_continued()
            {
                self.at += 1;
                return minutes;
            }
        }
        self.at = before;
        0
    }

    fn is_clock_continued(&self) -> bool {
        self.is_sign_ahead(1, &[':', '.', '/', '-'])
            || self.peek(1).is_some_and(|w| month(w).is_some() || is_ordinal_suffix(w))
    }
}

/// An amount of time: on the clock, or on the calendar.
#[derive(Debug, Clone, Copy)]
enum Amount {
    Minutes(i64),
    Days(i64, Unit),
}
