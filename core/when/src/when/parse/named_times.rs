//! Parses words that are a time on their own: "tomorrow", "tonight", "end of the month", "Christmas".

use jiff::civil::Weekday;

use super::{ParseResult, Parser, month};
use crate::when::TimeError;
use crate::when::dates::{DayPhrase, Month};
use crate::when::time_of_day::{Part, SpokenHours};

impl Parser<'_> {
    pub(super) fn parse_named_time(&mut self) -> ParseResult {
        const DAYS: &[(&str, i64)] = &[
            ("day after tomorrow", 2),
            ("overmorrow", 2),
            ("day before yesterday", -2),
            ("today", 0),
            ("tomorrow", 1),
            ("tomorow", 1),
            ("tommorow", 1),
            ("tommorrow", 1),
            ("tmrw", 1),
            ("tmr", 1),
            ("yesterday", -1),
        ];
        if let Some(days) = self.take_any(DAYS) {
            return self.set_day(DayPhrase::From(days));
        }
        if self.take("all day") || self.take("whole day") || self.take("full day") || self.take("allday") {
            self.parsed.all_day = true;
            return Ok(true);
        }
        if self.peek(0) == Some("all") && self.is_sign_ahead(1, &['-']) && self.peek(2) == Some("day") {
            self.at += 3;
            self.parsed.all_day = true;
            return Ok(true);
        }
        if self.take("tonight") {
            self.set_day_part(Part::Night)?;
            return self.set_day(DayPhrase::From(0));
        }
        if self.take("last night") {
            self.set_day_part(Part::Night)?;
            return self.set_day(DayPhrase::From(-1));
        }
        if self.take("right now") || self.take("now") {
            self.parsed.from_now = Some(0);
            return Ok(true);
        }
        if ["end of the day", "end of day", "eod", "cob", "close of business"].iter().any(|w| self.take(w)) {
            return self.set_hours(SpokenHours::EndOfDay);
        }
        if ["end of the week", "end of week", "end of this week", "eow"].iter().any(|w| self.take(w)) {
            self.set_hours(SpokenHours::EndOfDay)?;
            return self.set_day(DayPhrase::OfWeek(Weekday::Friday, 0));
        }
        if ["end of the month", "end of month", "end of this month", "eom"].iter().any(|w| self.take(w)) {
            return self.set_day(DayPhrase::EndOfMonth(Month::From(0)));
        }
        if self.take("end of next month") {
            return self.set_day(DayPhrase::EndOfMonth(Month::From(1)));
        }
        if self.take("end of next week") {
            self.set_hours(SpokenHours::EndOfDay)?;
            return self.set_day(DayPhrase::OfWeek(Weekday::Friday, 1));
        }
        const YEARS: &[(&str, i64)] = &[
            ("end of the year", 0),
            ("end of this year", 0),
            ("end of year", 0),
            ("eoy", 0),
            ("end of next year", 1),
        ];
        if let Some(years) = self.take_any(YEARS) {
            let year = Some(i64::from(self.now.year()) + years);
            return self.set_day(DayPhrase::Date { year, month: 12, day: 31 });
        }
        if let Some(month) = self.peek(2).and_then(month).filter(|_| self.peek(0) == Some("end")) {
            self.at += 3;
            let year = self.year();
            return self.set_day(DayPhrase::EndOfMonth(Month::Named(month, year)));
        }
        if self.take("midnight") {
            return self.set_hours(SpokenHours::Midnight);
        }
        if self.holiday()? {
            return Ok(true);
        }
        self.parse_day_part()
    }

    /// Reads holidays with a fixed date. The others are not guessed, because they depend on the year, and often on the
    /// country.
    fn holiday(&mut self) -> ParseResult {
        const DATED: &[(&str, (i64, i64))] = &[
            ("christmas day", (12, 25)),
            ("christmas eve", (12, 24)),
            ("christmas", (12, 25)),
            ("boxing day", (12, 26)),
            ("new year day", (1, 1)),
            ("new years day", (1, 1)),
            ("new year eve", (12, 31)),
            ("new years eve", (12, 31)),
        ];
        const MOVING: &[&str] = &[
            "good friday",
            "easter",
            "ascension",
            "pentecost",
            "whit",
            "corpus christi",
            "thanksgiving",
            "labor day",
            "labour day",
            "memorial day",
            "independence day",
            "bank holiday",
            "carnival",
            "ramadan",
            "eid",
            "hanukkah",
            "passover",
            "diwali",
            "new year",
        ];
        let before = self.at;
        self.take("in");
        if let Some((month, day)) = self.take_any(DATED) {
            let year = self.year();
            return self.set_day(DayPhrase::Date { year, month, day });
        }
        let moving = MOVING.iter().find(|name| self.take(name));
        match moving {
            Some(name) => Err(TimeError::not_understood(format!(
                "I don't know which day “{name}” is. Give me the date, like “6 April”."
            ))),
            None => {
                self.at = before;
                Ok(false)
            }
        }
    }

    fn parse_day_part(&mut self) -> ParseResult {
        const PARTS: &[(&str, Part)] = &[
            ("morning", Part::Morning),
            ("lunchtime", Part::Lunch),
            ("lunch time", Part::Lunch),
            ("lunch", Part::Lunch),
            ("afternoon", Part::Afternoon),
            ("evening", Part::Evening),
            ("night", Part::Night),
        ];
        let before = self.at;
        let this = self.take("this");
        if !this && self.take("in") {
            self.take("the");
        }
        match self.take_any(PARTS) {
            Some(part) => {
                if this {
                    self.set_day(DayPhrase::From(0))?;
                }
                self.set_day_part(part)
            }
            None => {
                self.at = before;
                Ok(false)
            }
        }
    }
}
