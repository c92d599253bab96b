//! Parses calendar days: "next Friday", "the first Monday of May", "6 March", "6/3".

use super::{ParseResult, Parser, full_year, is_ordinal_suffix, month, weekday};
use crate::when::TimeError;
use crate::when::dates::{DayPhrase, Month, Relative};

impl Parser<'_> {
    pub(super) fn relative(&mut self) -> ParseResult {
        const WHICH: &[(&str, Relative)] = &[
            ("this coming", Relative::Coming),
            ("the coming", Relative::Coming),
            ("coming", Relative::Coming),
            ("upcoming", Relative::Coming),
            ("this", Relative::This),
            ("next", Relative::Next),
            ("following", Relative::Next),
            ("last", Relative::Last),
            ("past", Relative::Last),
        ];
        let before = self.at;
        let which = self.take_any(WHICH);
        let weeks = match which {
            Some(Relative::Next) => 1,
            Some(Relative::Last) => -1,
            _ => 0,
        };
        let word = self.peek(0).unwrap_or_default().to_owned();
        let day = match (word.as_str(), which) {
            ("week", Some(_)) => Some(DayPhrase::Week(weeks)),
            ("month", Some(_)) => Some(DayPhrase::Month(Month::From(weeks))),
            ("weekend", which) => Some(DayPhrase::Weekend(which.unwrap_or(Relative::Coming))),
            (word, Some(which)) => weekday(word).map(|weekday| DayPhrase::Weekday(weekday, which)),
            _ => None,
        };
        let Some(day) = day else {
            self.at = before;
            return Ok(false);
        };
        self.at += 1;
        if let DayPhrase::Week(weeks) = day
            && let Some(DayPhrase::Weekday(weekday, Relative::Coming)) = self.parsed.day
        {
            self.parsed.day = Some(DayPhrase::OfWeek(weekday, weeks));
            return Ok(true);
        }
        self.set_day(day)
    }

    /// "the first Monday of May", "last Friday of the month".
    pub(super) fn ordinal_weekday(&mut self) -> ParseResult {
        let before = self.at;
        const NTH: &[(&str, i8)] =
            &[("first", 1), ("second", 2), ("third", 3), ("fourth", 4), ("fifth", 5), ("last", -1)];
        let nth = match self.number(0) {
            Some((nth, _)) if (1..=5).contains(&nth) && self.peek(1).is_some_and(is_ordinal_suffix) => {
                self.at += 2;
                i8::try_from(nth).ok()
            }
            _ => self.take_any(NTH),
        };
        let weekday = self.peek(0).and_then(weekday);
        let (Some(nth), Some(weekday)) = (nth, weekday) else {
            self.at = before;
            return Ok(false);
        };
        self.at += 1;
        if !(self.take("of") || self.take("in")) {
            self.at = before;
            return Ok(false);
        }
        let month = if self.take("the month") || self.take("this month") {
            Month::From(0)
        } else if self.take("next month") {
            Month::From(1)
        } else if let Some(month) = self.peek(0).and_then(month) {
            self.at += 1;
            Month::Named(month, self.year())
        } else {
            return Err(TimeError::not_understood("Of which month?"));
        };
        self.set_day(DayPhrase::Nth { nth, weekday, month })
    }

    // Days of the calendar.

    pub(super) fn day(&mut self) -> ParseResult {
        let Some(first) = self.calendar_day()? else { return Ok(false) };
        let before = self.at;
        let to = self.is_sign_ahead(0, &['-']);
        if to {
            self.at += 1;
        }
        if to || self.take("to") || self.take("until") || self.take("till") || self.take("through") {
            self.take("the");
            if let Some(last) = self.calendar_day()? {
                return self.set_day(DayPhrase::Through(Box::new(first), Box::new(last)));
            }
            self.at = before;
        }
        match first {
            DayPhrase::Weekday(weekday, Relative::Coming) => match &self.parsed.day {
                Some(DayPhrase::Week(weeks)) => {
                    self.parsed.day = Some(DayPhrase::OfWeek(weekday, *weeks));
                    Ok(true)
                }
                Some(_) if self.parsed.weekday.is_none() => {
                    self.parsed.weekday = Some(weekday);
                    Ok(true)
                }
                _ => self.set_day(first),
            },
            first => self.set_day(first),
        }
    }

    fn calendar_day(&mut self) -> Result<Option<DayPhrase>, TimeError> {
        if let Some(weekday) = self.peek(0).and_then(weekday) {
            self.at += 1;
            return Ok(Some(DayPhrase::Weekday(weekday, Relative::Coming)));
        }
        if let Some(month) = self.peek(0).and_then(month) {
            return Ok(self.month_first(month));
        }
        if self.peek(0) == Some("in")
            && let Some(month) = self.peek(1).and_then(month)
        {
            self.at += 2;
            return Ok(Some(DayPhrase::Month(Month::Named(month, self.year()))));
        }
        match self.number(0) {
            Some((a, digits)) => self.day_in_digits(a, digits),
            None => Ok(None),
        }
    }

    /// "March 6", "March 10-12", "May".
    fn month_first(&mut self, month: i64) -> Option<DayPhrase> {
        self.at += 1;
        self.at += usize::from(self.is_sign_ahead(0, &['.']));
        let digits = self.number(0).filter(|(day, digits)| (1..=31).contains(day) && *digits <= 2);
        let clock = self.is_sign_ahead(1, &[':']) || matches!(self.peek(1), Some("am" | "pm"));
        let Some((day, _)) = digits.filter(|_| !clock) else {
            return Some(DayPhrase::Month(Month::Named(month, self.year())));
        };
        self.at += 1;
        self.at += usize::from(self.peek(0).is_some_and(is_ordinal_suffix));
        let to = self.number(1).filter(|(last, digits)| *last > day && *last <= 31 && *digits <= 2);
        if let (true, Some((last, _))) = (self.is_sign_ahead(0, &['-']) && !self.is_sign_ahead(2, &[':']), to)
        {
            self.at += 2;
            let year = self.year();
            return Some(days_of(month, day, last, year));
        }
        Some(DayPhrase::Date { year: self.year(), month, day })
    }

    fn day_in_digits(&mut self, a: i64, digits: usize) -> Result<Option<DayPhrase>, TimeError> {
        let b = self.number(2).filter(|(_, digits)| *digits <= 2);
        let third = self.number(4);
        // 2026-03-06, 2026/03/06
        if let (4, Some((month, _)), Some((day, _)), true, true) =
            (digits, b, third, self.is_sign_ahead(1, &['-', '/']), self.is_sign_ahead(3, &['-', '/']))
        {
            self.at += 5;
            return Ok(Some(DayPhrase::Date { year: Some(a), month, day }));
        }
        if digits > 2 {
            return Ok(None);
        }
        // In "6.3. 15:00" the third number is an hour.
        let third =
            third.filter(|(_, digits)| *digits == 4 || (*digits == 2 && !self.is_sign_ahead(5, &[':', '.'])));
        let year = third.filter(|_| !self.is_clock_ahead(4)).map(|(year, digits)| full_year(year, digits));
        if let Some((b, written)) = b {
            // 6.3., 06.03.2026
            if self.is_sign_ahead(1, &['.']) && self.is_sign_ahead(3, &['.']) && self.peek(2).is_none() {
                self.at += if year.is_some() { 5 } else { 4 };
                return Ok(Some(DayPhrase::Date { year, month: b, day: a }));
            }
            if self.is_sign_ahead(1, &['.']) && written == 1 {
                self.at += 3;
                return Ok(Some(DayPhrase::Date { year: None, month: b, day: a }));
            }
            if self.is_sign_ahead(1, &['/'])
                || (self.is_sign_ahead(1, &['-']) && self.is_sign_ahead(3, &['-']) && year.is_some())
            {
                let year = year.filter(|_| self.is_sign_ahead(3, &['/', '-']));
                self.at += if year.is_some() { 5 } else { 3 };
                return Ok(Some(DayPhrase::DayOrMonth { a, b, year }));
            }
        }
        self.day_of_month(a)
    }

    /// "6 March", "6th of March", "10-12 March", "the 14th".
    fn day_of_month(&mut self, day: i64) -> Result<Option<DayPhrase>, TimeError> {
        let before = self.at;
        self.at += 1;
        let ordinal = self.peek(0).is_some_and(is_ordinal_suffix);
        self.at += usize::from(ordinal)
            + usize::from(!ordinal && self.is_sign_ahead(0, &['.']) && self.peek(1).is_some());
        let mut last = None;
        if self.is_sign_ahead(0, &['-']) || matches!(self.peek(0), Some("to" | "until")) {
            let after = self.number(1).filter(|(last, digits)| *last > day && *last <= 31 && *digits <= 2);
            let suffixed = usize::from(self.peek(2).is_some_and(is_ordinal_suffix));
            let of = usize::from(self.peek(2 + suffixed) == Some("of"));
            if let (Some((end, _)), Some(_)) = (after, self.peek(2 + suffixed + of).and_then(month)) {
                last = Some(end);
                self.at += 2 + suffixed;
            }
        }
        self.take("of");
        if let Some(month) = self.peek(0).and_then(month) {
            self.at += 1;
            self.at += usize::from(
                self.is_sign_ahead(0, &['.', ',']) && self.number(1).is_some_and(|(_, d)| d == 4),
            );
            let year = self.year();
            return Ok(Some(match last {
                Some(last) => days_of(month, day, last, year),
                None => DayPhrase::Date { year, month, day },
            }));
        }
        if ordinal && (1..=31).contains(&day) {
            return Ok(Some(DayPhrase::OfMonth(day)));
        }
        self.at = before;
        Ok(None)
    }

    /// Reads a year of four digits, also after a comma, or '27.
    pub(super) fn year(&mut self) -> Option<i64> {
        let apart = usize::from(self.is_sign_ahead(0, &[',', '\'']));
        let quoted = self.is_sign_ahead(0, &['\'']);
        let (year, digits) = self.number(apart)?;
        let fits = (digits == 4 && year >= 1000 && !self.is_clock_ahead(apart)) || (quoted && digits == 2);
        if !fits {
            return None;
        }
        // The number in "6 March 1500" is a year; the one in "6 March 0900" is left to the hours.
        self.at += apart + 1;
        Some(full_year(year, digits))
    }

    fn is_clock_ahead(&self, ahead: usize) -> bool {
        self.peek(ahead + 1).is_some_and(|word| matches!(word, "h" | "hrs" | "hours" | "am" | "pm"))
    }
}

fn days_of(month: i64, first: i64, last: i64, year: Option<i64>) -> DayPhrase {
    let day = |day| Box::new(DayPhrase::Date { year, month, day });
    DayPhrase::Through(day(first), day(last))
}
