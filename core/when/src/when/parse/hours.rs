//! Parses hours: "3", "half past two", "9-10:30", "between 2 and 4".

use super::{ParseResult, Parser};
use crate::when::TimeError;
use crate::when::time_of_day::{ClockTime, DayHalf, SpokenHours};
use crate::when::tokens::Token;

impl Parser<'_> {
    pub(super) fn hours(&mut self) -> ParseResult {
        let before = self.at;
        if self.take("between") {
            let from = self.clock()?;
            if let Some(from) = from
                && (self.take("and") || self.dash())
                && let Some(to) = self.clock()?
            {
                return self.set_hours(SpokenHours::Between(from, to));
            }
            return Err(TimeError::not_understood("Between which hours? For example “between 2 and 4”."));
        }
        if let Some(either) = self.parse_minutes_to_or_range()? {
            return self.set_hours(either);
        }
        let after = self.take("after");
        let before_that = !after && (self.take("before") || self.take("until") || self.take("till"));
        let Some(from) = self.clock()? else {
            self.at = before;
            return Ok(false);
        };
        if after {
            return self.set_hours(SpokenHours::After(from));
        }
        if before_that {
            return self.set_hours(SpokenHours::Before(from));
        }
        let here = self.at;
        if self.dash() || self.take("to") || self.take("until") || self.take("till") {
            if let Some(to) = self.clock()? {
                return self.set_hours(SpokenHours::Range(from, to));
            }
            if self.take("midnight") {
                return self
                    .set_hours(SpokenHours::Range(from, ClockTime::new(0, 0, DayHalf::TwentyFourHour)?));
            }
            self.at = here;
        }
        self.set_hours(SpokenHours::At(from))
    }

    fn dash(&mut self) -> bool {
        let dash = self.is_sign_ahead(0, &['-']);
        self.at += usize::from(dash);
        dash
    }

    /// "3", "3pm", "3:30 pm", "15:00", "1500", "15h30", "noon", "half past two", "3 o'clock".
    fn clock(&mut self) -> Result<Option<ClockTime>, TimeError> {
        let before = self.at;
        if self.take("noon") || self.take("midday") {
            return ClockTime::new(12, 0, DayHalf::TwentyFourHour).map(Some);
        }
        if let Some(told) = self.parse_spoken_clock()? {
            return Ok(Some(told));
        }
        let Some((value, digits)) = self.number(0) else {
            self.at = before;
            return Ok(None);
        };
        self.at += 1;
        if digits >= 3 {
            let marked = self.at;
            let hours = self.take("hrs") || self.take("hours") || self.take("h");
            let half = self.half();
            if digits == 4 || half != DayHalf::Unspecified {
                let half = if half == DayHalf::Unspecified { DayHalf::TwentyFourHour } else { half };
                return ClockTime::new(value / 100, value % 100, half).map(Some);
            }
            self.at = if hours { marked } else { before };
            return Err(TimeError::not_understood(format!("“{value}” isn't a time of day.")));
        }
        let minutes = self.minutes(value)?;
        let oclock = self.take("oclock") || self.take("o clock");
        let whole = digits == 2 && value < 10;
        let half = match self.half() {
            DayHalf::Unspecified if whole => DayHalf::TwentyFourHour,
            half => half,
        };
        if !oclock && minutes.is_none() {
            self.take("hrs");
        }
        ClockTime::new(value, minutes.unwrap_or(0), half).map(Some)
    }

    /// Reads the minutes after an hour: ":30", ".30", "h30".
    fn minutes(&mut self, hour: i64) -> Result<Option<i64>, TimeError> {
        let Some((minutes, digits)) = self.number(1) else {
            if self.take("h") {
                return Ok(Some(0));
            }
            return Ok(None);
        };
        let (colon, dot) = (self.is_sign_ahead(0, &[':']), self.is_sign_ahead(0, &['.']));
        let h = self.peek(0) == Some("h");
        if !(colon || dot || h) || digits != 2 {
            if h {
                self.at += 1;
                return Ok(Some(0));
            }
            return Ok(None);
        }
        self.at += 2;
        if dot && (1..=12).contains(&minutes) && !matches!(self.peek(0), Some("am" | "pm" | "h" | "hrs")) {
            let said = format!(
                "“{hour}.{minutes:02}” could be a time or a date. For a time, write {hour}:{minutes:02}."
            );
            return Err(TimeError::not_understood(said));
        }
        if colon && self.is_sign_ahead(0, &[':']) && self.number(1).is_some() {
            self.at += 2;
        }
        Ok(Some(minutes))
    }

    /// "ten to five" can be one time or a range; "at ten to five" is one time, "from ten to five" is a range.
    fn parse_minutes_to_or_range(&mut self) -> Result<Option<SpokenHours>, TimeError> {
        let before = self.at;
        if self.is_preceded_by("at") || self.is_preceded_by("from") {
            return Ok(None);
        }
        let hours = (self.number(0), self.peek(1), self.number(2));
        let (Some((from @ (5 | 10), 0)), Some("to"), Some((_, _))) = hours else { return Ok(None) };
        let Some(told) = self.parse_spoken_clock()? else { return Ok(None) };
        let after = std::mem::replace(&mut self.at, before + 2);
        let to = self.clock()?;
        // "ten to five thirty" is a range.
        let Some(to) = to.filter(|_| self.at == after) else {
            self.at = before + 2;
            let to = self.clock()?;
            let from = ClockTime::new(from, 0, DayHalf::Unspecified)?;
            return Ok(to.map(|to| SpokenHours::Range(from, to)));
        };
        Ok(Some(SpokenHours::Either(told, (ClockTime::new(from, 0, DayHalf::Unspecified)?, to))))
    }

    /// Whether that word comes right before.
    fn is_preceded_by(&self, word: &str) -> bool {
        matches!(self.at.checked_sub(1).map(|at| &self.tokens[at]), Some(Token::Word(behind)) if behind == word)
    }

    /// "half past two", "quarter to 4", "ten to five".
    fn parse_spoken_clock(&mut self) -> Result<Option<ClockTime>, TimeError> {
        let before = self.at;
        // "from ten to twelve" is a range.
        let ranged = self.is_preceded_by("from");
        self.take("a");
        let letters = self.number(0).is_some_and(|(_, digits)| digits == 0);
        let amount = if self.take("half") {
            Some(30)
        } else if self.take("quarter") {
            Some(15)
        } else if let Some((minutes, _)) = self.number(0).filter(|(minutes, _)| (1..=30).contains(minutes)) {
            self.at += 1;
            self.take("minutes");
            Some(minutes)
        } else {
            None
        };
        let past = self.take("past") || (amount == Some(15) && self.take("after"));
        let to =
            !past && (self.take("to") || (amount == Some(15) && (self.take("of") || self.take("before"))));
        let told = match amount {
            // "9 to 5" is a range, "ten to five" is one time.
            Some(30) if to => None,
            Some(15) => (past || to).then_some(15),
            Some(minutes) if past => Some(minutes),
            Some(minutes @ (5 | 10 | 20)) if to && letters && !ranged => Some(minutes),
            Some(30) => matches!(self.tokens.get(before), Some(Token::Word(w)) if w == "half").then_some(30),
            _ => None,
        };
        let hour = self.number(0).filter(|(hour, _)| (1..=12).contains(hour));
        let (Some(minutes), Some((hour, _))) = (told, hour) else {
            self.at = before;
            return Ok(None);
        };
        self.at += 1;
        let half = self.half();
        let (hour, minutes) = match (to, hour) {
            (true, 1) => (12, 60 - minutes),
            (true, hour) => (hour - 1, 60 - minutes),
            (false, hour) => (hour, minutes),
        };
        ClockTime::new(hour, minutes, half).map(Some)
    }

    fn half(&mut self) -> DayHalf {
        const HALVES: &[(&str, DayHalf)] =
            &[("am", DayHalf::Am), ("pm", DayHalf::Pm), ("a", DayHalf::Am), ("p", DayHalf::Pm)];
        match self.take_any(HALVES) {
            Some(half) => {
                self.at += usize::from(self.is_sign_ahead(0, &['.']));
                half
            }
            None => DayHalf::Unspecified,
        }
    }
}
