//! Days of the calendar: "next Friday", "the first Monday of May", "6 March", "6/3".

use super::{Read, Reader, full, month, suffix, weekday};
use crate::when::Unclear;
use crate::when::dates::{Day, Month, Which};

impl Reader<'_> {
    pub(super) fn relative(&mut self) -> Read {
        const WHICH: &[(&str, Which)] = &[
            ("this coming", Which::Coming),
            ("the coming", Which::Coming),
            ("coming", Which::Coming),
            ("upcoming", Which::Coming),
            ("this", Which::This),
            ("next", Which::Next),
            ("following", Which::Next),
            ("last", Which::Last),
            ("past", Which::Last),
        ];
        let before = self.at;
        let which = self.take_any(WHICH);
        let weeks = match which {
            Some(Which::Next) => 1,
            Some(Which::Last) => -1,
            _ => 0,
        };
        let word = self.peek(0).unwrap_or_default().to_owned();
        let day = match (word.as_str(), which) {
            ("week", Some(_)) => Some(Day::Week(weeks)),
            ("month", Some(_)) => Some(Day::Month(Month::From(weeks))),
            ("weekend", which) => Some(Day::Weekend(which.unwrap_or(Which::Coming))),
            (word, Some(which)) => weekday(word).map(|weekday| Day::Weekday(weekday, which)),
            _ => None,
        };
        let Some(day) = day else {
            self.at = before;
            return Ok(false);
        };
        self.at += 1;
        if let Day::Week(weeks) = day
            && let Some(Day::Weekday(weekday, Which::Coming)) = self.heard.day
        {
            self.heard.day = Some(Day::OfWeek(weekday, weeks));
            return Ok(true);
        }
        self.hear_day(day)
    }

    /// "the first Monday of May", "last Friday of the month".
    pub(super) fn ordinal_weekday(&mut self) -> Read {
        let before = self.at;
        const NTH: &[(&str, i8)] =
            &[("first", 1), ("second", 2), ("third", 3), ("fourth", 4), ("fifth", 5), ("last", -1)];
        let nth = match self.number(0) {
            Some((nth, _)) if (1..=5).contains(&nth) && self.peek(1).is_some_and(suffix) => {
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
            return Err(Unclear::not("Say of which month."));
        };
        self.hear_day(Day::Nth { nth, weekday, month })
    }

    // Days of the calendar.

    pub(super) fn day(&mut self) -> Read {
        let Some(first) = self.calendar_day()? else { return Ok(false) };
        let before = self.at;
        let to = self.sign(0, &['-']);
        if to {
            self.at += 1;
        }
        if to || self.take("to") || self.take("until") || self.take("till") || self.take("through") {
            self.take("the");
            if let Some(last) = self.calendar_day()? {
                return self.hear_day(Day::Through(Box::new(first), Box::new(last)));
            }
            self.at = before;
        }
        match first {
            Day::Weekday(weekday, Which::Coming) => match &self.heard.day {
                Some(Day::Week(weeks)) => {
                    self.heard.day = Some(Day::OfWeek(weekday, *weeks));
                    Ok(true)
                }
                Some(_) if self.heard.weekday.is_none() => {
                    self.heard.weekday = Some(weekday);
                    Ok(true)
                }
                _ => self.hear_day(first),
            },
            first => self.hear_day(first),
        }
    }

    fn calendar_day(&mut self) -> Result<Option<Day>, Unclear> {
        if let Some(weekday) = self.peek(0).and_then(weekday) {
            self.at += 1;
            return Ok(Some(Day::Weekday(weekday, Which::Coming)));
        }
        if let Some(month) = self.peek(0).and_then(month) {
            return Ok(self.month_first(month));
        }
        if self.peek(0) == Some("in")
            && let Some(month) = self.peek(1).and_then(month)
        {
            self.at += 2;
            return Ok(Some(Day::Month(Month::Named(month, self.year()))));
        }
        match self.number(0) {
            Some((a, digits)) => self.day_in_digits(a, digits),
            None => Ok(None),
        }
    }

    /// "March 6", "March 10-12", "May".
    fn month_first(&mut self, month: i64) -> Option<Day> {
        self.at += 1;
        self.at += usize::from(self.sign(0, &['.']));
        let digits = self.number(0).filter(|(day, digits)| (1..=31).contains(day) && *digits <= 2);
        let clock = self.sign(1, &[':']) || matches!(self.peek(1), Some("am" | "pm"));
        let Some((day, _)) = digits.filter(|_| !clock) else {
            return Some(Day::Month(Month::Named(month, self.year())));
        };
        self.at += 1;
        self.at += usize::from(self.peek(0).is_some_and(suffix));
        let to = self.number(1).filter(|(last, digits)| *last > day && *last <= 31 && *digits <= 2);
        if let (true, Some((last, _))) = (self.sign(0, &['-']) && !self.sign(2, &[':']), to) {
            self.at += 2;
            let year = self.year();
            return Some(days_of(month, day, last, year));
        }
        Some(Day::Date { year: self.year(), month, day })
    }

    fn day_in_digits(&mut self, a: i64, digits: usize) -> Result<Option<Day>, Unclear> {
        let b = self.number(2).filter(|(_, digits)| *digits <= 2);
        let third = self.number(4);
        // 2026-03-06, 2026/03/06
        if let (4, Some((month, _)), Some((day, _)), true, true) =
            (digits, b, third, self.sign(1, &['-', '/']), self.sign(3, &['-', '/']))
        {
            self.at += 5;
            return Ok(Some(Day::Date { year: Some(a), month, day }));
        }
        if digits > 2 {
            return Ok(None);
        }
        // "6.3. 15:00" says an hour there.
        let third = third.filter(|(_, digits)| *digits == 4 || (*digits == 2 && !self.sign(5, &[':', '.'])));
        let year = third.filter(|_| !self.clock_after(4)).map(|(year, digits)| full(year, digits));
        if let Some((b, written)) = b {
            // 6.3., 06.03.2026
            if self.sign(1, &['.']) && self.sign(3, &['.']) && self.peek(2).is_none() {
                self.at += if year.is_some() { 5 } else { 4 };
                return Ok(Some(Day::Date { year, month: b, day: a }));
            }
            if self.sign(1, &['.']) && written == 1 {
                self.at += 3;
                return Ok(Some(Day::Date { year: None, month: b, day: a }));
            }
            if self.sign(1, &['/']) || (self.sign(1, &['-']) && self.sign(3, &['-']) && year.is_some()) {
                let year = year.filter(|_| self.sign(3, &['/', '-']));
                self.at += if year.is_some() { 5 } else { 3 };
                return Ok(Some(Day::Either { a, b, year }));
            }
        }
        self.day_of_month(a)
    }

    /// "6 March", "6th of March", "10-12 March", "the 14th".
    fn day_of_month(&mut self, day: i64) -> Result<Option<Day>, Unclear> {
        let before = self.at;
        self.at += 1;
        let ordinal = self.peek(0).is_some_and(suffix);
        self.at +=
            usize::from(ordinal) + usize::from(!ordinal && self.sign(0, &['.']) && self.peek(1).is_some());
        let mut last = None;
        if self.sign(0, &['-']) || matches!(self.peek(0), Some("to" | "until")) {
            let after = self.number(1).filter(|(last, digits)| *last > day && *last <= 31 && *digits <= 2);
            let suffixed = usize::from(self.peek(2).is_some_and(suffix));
            let of = usize::from(self.peek(2 + suffixed) == Some("of"));
            if let (Some((end, _)), Some(_)) = (after, self.peek(2 + suffixed + of).and_then(month)) {
                last = Some(end);
                self.at += 2 + suffixed;
            }
        }
        self.take("of");
        if let Some(month) = self.peek(0).and_then(month) {
            self.at += 1;
            self.at += usize::from(self.sign(0, &['.', ',']) && self.number(1).is_some_and(|(_, d)| d == 4));
            let year = self.year();
            return Ok(Some(match last {
                Some(last) => days_of(month, day, last, year),
                None => Day::Date { year, month, day },
            }));
        }
        if ordinal && (1..=31).contains(&day) {
            return Ok(Some(Day::OfMonth(day)));
        }
        self.at = before;
        Ok(None)
    }

    /// A year of four digits, also behind a comma or as '27.
    pub(super) fn year(&mut self) -> Option<i64> {
        let apart = usize::from(self.sign(0, &[',', '\'']));
        let quoted = self.sign(0, &['\'']);
        let (year, digits) = self.number(apart)?;
        let fits = (digits == 4 && year >= 1000 && !self.clock_after(apart)) || (quoted && digits == 2);
        if !fits {
            return None;
        }
        // "6 March 1500" is a time of day to nobody; "6 March 0900" has been left to the hours.
        self.at += apart + 1;
        Some(full(year, digits))
    }

    fn clock_after(&self, ahead: usize) -> bool {
        self.peek(ahead + 1).is_some_and(|word| matches!(word, "h" | "hrs" | "hours" | "am" | "pm"))
    }
}

fn days_of(month: i64, first: i64, last: i64, year: Option<i64>) -> Day {
    let day = |day| Box::new(Day::Date { year, month, day });
    Day::Through(day(first), day(last))
}
