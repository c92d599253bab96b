//! English as people write it, from left to right, into what was heard: day, hours, zone, how long. Strict: a word
//! that it does not know is said, since it may have been the one that mattered.

use jiff::SignedDuration;
use jiff::Zoned;
use jiff::civil::Weekday;
use jiff::tz::{Offset, TimeZone};

use super::Unclear;
use super::clocks::{Clock, Half, Hours, Part};
use super::dates::{Day, Month, Unit, Which};
use super::settle::LONGEST_MINUTES;
use super::words::{Token, tokens};
use super::zones::{self, Named};

/// What was said.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard {
    pub(super) day: Option<Day>,
    /// A weekday said beside a date, which must agree.
    pub(super) weekday: Option<Weekday>,
    pub(super) hours: Option<Hours>,
    pub(super) part: Option<Part>,
    pub(super) zone: Option<Named>,
    pub(super) lasts: Option<SignedDuration>,
    /// Minutes from now, negative where it is over.
    pub(super) from_now: Option<i64>,
    pub(super) all_day: bool,
}

/// Reads cleaned text, said at `now` by somebody in that zone.
pub(super) fn read(text: &str, now: &Zoned) -> Result<Heard, Unclear> {
    let mut reader = Reader { tokens: tokens(text)?, at: 0, heard: Heard::default(), now };
    while reader.at < reader.tokens.len() {
        reader.piece()?;
    }
    reader.heard.settled()
}

impl Heard {
    /// What only the whole tells: a weekday beside a week, or beside nothing.
    fn settled(mut self) -> Result<Self, Unclear> {
        match (&self.day, self.weekday.take()) {
            (None, Some(weekday)) => self.day = Some(Day::Weekday(weekday, Which::Coming)),
            (Some(Day::Week(weeks)), Some(weekday)) => self.day = Some(Day::OfWeek(weekday, *weeks)),
            (_, weekday) => self.weekday = weekday,
        }
        Ok(self)
    }
}

/// Words that say nothing of the time.
const FILLING: &[&str] = &[
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

struct Reader<'a> {
    tokens: Vec<Token>,
    at: usize,
    heard: Heard,
    now: &'a Zoned,
}

/// Whether something was read here.
type Read = Result<bool, Unclear>;

impl Reader<'_> {
    fn piece(&mut self) -> Result<(), Unclear> {
        let read = self.words()?
            || self.span_of_time()?
            || self.ordinal_weekday()?
            || self.relative()?
            || self.day()?
            || self.hours()?
            || self.zone()?
            || self.filling();
        if read { Ok(()) } else { Err(self.unknown()) }
    }

    fn unknown(&self) -> Unclear {
        let said = match &self.tokens[self.at] {
            Token::Word(word) | Token::Zone(word) => word.chars().take(40).collect(),
            Token::Number(number, _) => number.to_string(),
            Token::Sign(sign) => sign.to_string(),
        };
        Unclear::not(format!("I do not understand “{said}” as part of a time."))
    }

    fn filling(&mut self) -> bool {
        let filling = match self.tokens.get(self.at) {
            Some(Token::Word(word)) => FILLING.contains(&word.as_str()) || word == "time",
            Some(Token::Sign(sign)) => matches!(sign, ',' | '@' | ';' | '.'),
            _ => false,
        };
        self.at += usize::from(filling);
        filling
    }

    // What stands next.

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

    fn sign(&self, ahead: usize, signs: &[char]) -> bool {
        matches!(self.tokens.get(self.at + ahead), Some(Token::Sign(sign)) if signs.contains(sign))
    }

    /// Takes these words, if they all stand next.
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

    // What was heard, once of each kind.

    fn hear_day(&mut self, day: Day) -> Read {
        match (&self.heard.day, &day) {
            (None, _) => self.heard.day = Some(day),
            // "Monday, tomorrow": both are said, and must agree.
            (Some(Day::Weekday(weekday, Which::Coming)), _) if self.heard.weekday.is_none() => {
                self.heard.weekday = Some(*weekday);
                self.heard.day = Some(day);
            }
            _ => return Err(Unclear::not("It says two days.")),
        }
        Ok(true)
    }

    fn hear_hours(&mut self, hours: Hours) -> Read {
        if self.heard.hours.replace(hours).is_some() {
            return Err(Unclear::not("It says two times."));
        }
        Ok(true)
    }

    fn hear_part(&mut self, part: Part) -> Read {
        if self.heard.part.replace(part).is_some() {
            return Err(Unclear::not("It says two times."));
        }
        Ok(true)
    }

    // What stands for itself.

    fn words(&mut self) -> Read {
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
            return self.hear_day(Day::From(days));
        }
        if self.take("all day") || self.take("whole day") || self.take("full day") || self.take("allday") {
            self.heard.all_day = true;
            return Ok(true);
        }
        if self.peek(0) == Some("all") && self.sign(1, &['-']) && self.peek(2) == Some("day") {
            self.at += 3;
            self.heard.all_day = true;
            return Ok(true);
        }
        if self.take("tonight") {
            self.hear_part(Part::Night)?;
            return self.hear_day(Day::From(0));
        }
        if self.take("last night") {
            self.hear_part(Part::Night)?;
            return self.hear_day(Day::From(-1));
        }
        if self.take("right now") || self.take("now") {
            self.heard.from_now = Some(0);
            return Ok(true);
        }
        if ["end of the day", "end of day", "eod", "cob", "close of business"].iter().any(|w| self.take(w)) {
            return self.hear_hours(Hours::EndOfDay);
        }
        if ["end of the week", "end of week", "end of this week", "eow"].iter().any(|w| self.take(w)) {
            self.hear_hours(Hours::EndOfDay)?;
            return self.hear_day(Day::OfWeek(Weekday::Friday, 0));
        }
        if ["end of the month", "end of month", "end of this month", "eom"].iter().any(|w| self.take(w)) {
            return self.hear_day(Day::EndOfMonth(Month::From(0)));
        }
        if self.take("end of next month") {
            return self.hear_day(Day::EndOfMonth(Month::From(1)));
        }
        if self.take("end of next week") {
            self.hear_hours(Hours::EndOfDay)?;
            return self.hear_day(Day::OfWeek(Weekday::Friday, 1));
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
            return self.hear_day(Day::Date { year, month: 12, day: 31 });
        }
        if let Some(month) = self.peek(2).and_then(month).filter(|_| self.peek(0) == Some("end")) {
            self.at += 3;
            let year = self.year();
            return self.hear_day(Day::EndOfMonth(Month::Named(month, year)));
        }
        if self.take("midnight") {
            return self.hear_hours(Hours::Midnight);
        }
        if self.holiday()? {
            return Ok(true);
        }
        self.parts()
    }

    /// Those that have a date of their own. The others are not guessed at: when they are hangs on the year, and often
    /// on the country.
    fn holiday(&mut self) -> Read {
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
            return self.hear_day(Day::Date { year, month, day });
        }
        let moving = MOVING.iter().find(|name| self.take(name));
        match moving {
            Some(name) => Err(Unclear::not(format!(
                "I do not know on which day “{name}” is, so please say the date, like “6 April”."
            ))),
            None => {
                self.at = before;
                Ok(false)
            }
        }
    }

    fn parts(&mut self) -> Read {
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
                    self.hear_day(Day::From(0))?;
                }
                self.hear_part(part)
            }
            None => {
                self.at = before;
                Ok(false)
            }
        }
    }

    // "in two weeks", "for 45 minutes", "3 days ago".

    fn span_of_time(&mut self) -> Read {
        let before = self.at;
        let (within, lasting) = (self.take("in") || self.take("within"), self.take("for"));
        let Some(amount) = self.amount()? else {
            self.at = before;
            return Ok(false);
        };
        if lasting {
            return self.hear_length(amount);
        }
        // "ten minutes to five" is a time of day.
        if matches!(self.peek(0), Some("to" | "past")) && self.number(1).is_some() && !within {
            self.at = before;
            return Ok(false);
        }
        if self.take("ago") {
            return self.hear_later(amount, -1, Day::From(0));
        }
        if self.take("from now") || self.take("later") {
            return self.hear_later(amount, 1, Day::From(0));
        }
        if within {
            return self.hear_later(amount, 1, Day::From(0));
        }
        if self.peek(0) == Some("from") || self.peek(0) == Some("after") || self.peek(0) == Some("on") {
            return self.later_than(amount, before);
        }
        match amount {
            Amount::Minutes(_) => self.hear_length(amount),
            Amount::Days(..) => Err(Unclear::not("Say from when on, like “in 3 days”.")),
        }
    }

    /// "two weeks from Friday", "a week on Monday"; not "an hour on Monday", which is how long.
    fn later_than(&mut self, amount: Amount, before: usize) -> Read {
        if let Amount::Minutes(_) = amount {
            return self.hear_length(amount);
        }
        self.at += 1;
        let day = match self.peek(0) {
            Some("today") => Some(Day::From(0)),
            Some("tomorrow") => Some(Day::From(1)),
            Some(word) => weekday(word).map(|weekday| Day::Weekday(weekday, Which::Coming)),
            None => None,
        };
        let Some(day) = day else {
            self.at = before;
            return Err(Unclear::not("Say from which day on."));
        };
        self.at += 1;
        self.hear_later(amount, 1, day)
    }

    fn hear_later(&mut self, amount: Amount, sign: i64, from: Day) -> Read {
        match amount {
            Amount::Minutes(minutes) => {
                if self.heard.from_now.replace(sign * minutes).is_some() {
                    return Err(Unclear::not("It says two times."));
                }
                Ok(true)
            }
            Amount::Days(amount, unit) => {
                self.hear_day(Day::Later { amount: sign * amount, unit, from: Box::new(from) })
            }
        }
    }

    fn hear_length(&mut self, amount: Amount) -> Read {
        let minutes = match amount {
            Amount::Minutes(minutes) => minutes,
            Amount::Days(days, Unit::Days) => days * 24 * 60,
            Amount::Days(..) => LONGEST_MINUTES + 1,
        };
        if !(1..=LONGEST_MINUTES).contains(&minutes) {
            return Err(Unclear::not("That is no length that I can plan for: a minute to two weeks."));
        }
        if self.heard.lasts.replace(SignedDuration::from_mins(minutes)).is_some() {
            return Err(Unclear::not("It says two lengths."));
        }
        Ok(true)
    }

    /// "an hour and a half", "1h30", "45 minutes", "two weeks"; moves on only where there is one.
    fn amount(&mut self) -> Result<Option<Amount>, Unclear> {
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
            // "15h" is a time of day, unless a word before it says otherwise.
            let led = before > 0
                && matches!(&self.tokens[before - 1], Token::Word(word) if word == "in" || word == "for");
            if word == "h" && value >= 7 && !led {
                self.at = before;
                return Ok(None);
            }
            self.at += 1;
            let mut minutes = value * each + tenths * each / 10;
            if each == 60 {
                minutes += self.and_minutes();
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
            Some(_) => Err(Unclear::not("Say it in whole days, weeks or months.")),
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
        if let (true, Some((tenths, 1))) = (self.sign(0, &['.', ',']), self.number(1)) {
            self.at += 2;
            return Some((value, tenths));
        }
        Some((value, 0))
    }

    /// What follows the hours: "and a half", "30 minutes", "30".
    fn and_minutes(&mut self) -> i64 {
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
                && !self.clock_goes_on()
            {
                self.at += 1;
                return minutes;
            }
        }
        self.at = before;
        0
    }

    fn clock_goes_on(&self) -> bool {
        self.sign(1, &[':', '.', '/', '-']) || self.peek(1).is_some_and(|w| month(w).is_some() || suffix(w))
    }

    // "next Friday", "this month", "last weekend".

    fn relative(&mut self) -> Read {
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
    fn ordinal_weekday(&mut self) -> Read {
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

    fn day(&mut self) -> Read {
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
    fn year(&mut self) -> Option<i64> {
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

    // Hours.

    fn hours(&mut self) -> Read {
        let before = self.at;
        if self.take("between") {
            let from = self.clock()?;
            if let Some(from) = from
                && (self.take("and") || self.dash())
                && let Some(to) = self.clock()?
            {
                return self.hear_hours(Hours::Between(from, to));
            }
            return Err(Unclear::not("Say between which hours, like “between 2 and 4”."));
        }
        if let Some(either) = self.either()? {
            return self.hear_hours(either);
        }
        let after = self.take("after");
        let before_that = !after && (self.take("before") || self.take("until") || self.take("till"));
        let Some(from) = self.clock()? else {
            self.at = before;
            return Ok(false);
        };
        if after {
            return self.hear_hours(Hours::After(from));
        }
        if before_that {
            return self.hear_hours(Hours::Before(from));
        }
        let here = self.at;
        if self.dash() || self.take("to") || self.take("until") || self.take("till") {
            if let Some(to) = self.clock()? {
                return self.hear_hours(Hours::Range(from, to));
            }
            if self.take("midnight") {
                return self.hear_hours(Hours::Range(from, Clock::new(0, 0, Half::Whole)?));
            }
            self.at = here;
        }
        self.hear_hours(Hours::At(from))
    }

    fn dash(&mut self) -> bool {
        let dash = self.sign(0, &['-']);
        self.at += usize::from(dash);
        dash
    }

    /// "3", "3pm", "3:30 pm", "15:00", "1500", "15h30", "noon", "half past two", "3 o'clock".
    fn clock(&mut self) -> Result<Option<Clock>, Unclear> {
        let before = self.at;
        if self.take("noon") || self.take("midday") {
            return Clock::new(12, 0, Half::Whole).map(Some);
        }
        if let Some(told) = self.told()? {
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
            if digits == 4 || half != Half::Open {
                let half = if half == Half::Open { Half::Whole } else { half };
                return Clock::new(value / 100, value % 100, half).map(Some);
            }
            self.at = if hours { marked } else { before };
            return Err(Unclear::not(format!("“{value}” is no time of day.")));
        }
        let minutes = self.minutes(value)?;
        let oclock = self.take("oclock") || self.take("o clock");
        let whole = digits == 2 && value < 10;
        let half = match self.half() {
            Half::Open if whole => Half::Whole,
            half => half,
        };
        if !oclock && minutes.is_none() {
            self.take("hrs");
        }
        Clock::new(value, minutes.unwrap_or(0), half).map(Some)
    }

    /// What follows an hour: ":30", ".30", "h30".
    fn minutes(&mut self, hour: i64) -> Result<Option<i64>, Unclear> {
        let Some((minutes, digits)) = self.number(1) else {
            if self.take("h") {
                return Ok(Some(0));
            }
            return Ok(None);
        };
        let (colon, dot) = (self.sign(0, &[':']), self.sign(0, &['.']));
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
            let said =
                format!("“{hour}.{minutes:02}” can be a time or a day. Write it as {hour}:{minutes:02}.");
            return Err(Unclear::not(said));
        }
        if colon && self.sign(0, &[':']) && self.number(1).is_some() {
            self.at += 2;
        }
        Ok(Some(minutes))
    }

    /// "ten to five" alone can be one time, or two hours; "at ten to five" is one, and "from ten to five" are two.
    fn either(&mut self) -> Result<Option<Hours>, Unclear> {
        let before = self.at;
        if self.is_behind("at") || self.is_behind("from") {
            return Ok(None);
        }
        let hours = (self.number(0), self.peek(1), self.number(2));
        let (Some((from @ (5 | 10), 0)), Some("to"), Some((_, _))) = hours else { return Ok(None) };
        let Some(told) = self.told()? else { return Ok(None) };
        let after = std::mem::replace(&mut self.at, before + 2);
        let to = self.clock()?;
        // "ten to five thirty" are two hours.
        let Some(to) = to.filter(|_| self.at == after) else {
            self.at = before + 2;
            let to = self.clock()?;
            let from = Clock::new(from, 0, Half::Open)?;
            return Ok(to.map(|to| Hours::Range(from, to)));
        };
        Ok(Some(Hours::Either(told, (Clock::new(from, 0, Half::Open)?, to))))
    }

    /// That word stands right before.
    fn is_behind(&self, word: &str) -> bool {
        matches!(self.at.checked_sub(1).map(|at| &self.tokens[at]), Some(Token::Word(behind)) if behind == word)
    }

    /// "half past two", "quarter to 4", "ten to five".
    fn told(&mut self) -> Result<Option<Clock>, Unclear> {
        let before = self.at;
        // "from ten to twelve" are two hours.
        let ranged = self.is_behind("from");
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
            // "9 to 5" are two hours, "ten to five" is one.
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
        Clock::new(hour, minutes, half).map(Some)
    }

    fn half(&mut self) -> Half {
        const HALVES: &[(&str, Half)] =
            &[("am", Half::Am), ("pm", Half::Pm), ("a", Half::Am), ("p", Half::Pm)];
        match self.take_any(HALVES) {
            Some(half) => {
                self.at += usize::from(self.sign(0, &['.']));
                half
            }
            None => Half::Open,
        }
    }

    // Zones.

    fn zone(&mut self) -> Read {
        if let Some(Token::Zone(name)) = self.tokens.get(self.at).cloned() {
            self.at += 1;
            return self.hear_zone(Named::Place(zones::known(&name)?));
        }
        if self.sign(0, &['+']) && self.heard.hours.is_some() {
            return self.offset();
        }
        let before = self.at;
        let told = self.take("in");
        for length in (1..=3).rev() {
            let words: Option<Vec<&str>> = (0..length).map(|ahead| self.peek(ahead)).collect();
            let Some(words) = words.map(|words| words.join(" ")) else { continue };
            let place = told || self.peek(length) == Some("time");
            let Some(named) = zones::named(&words, place, self.now) else { continue };
            self.at += length;
            self.take("time");
            self.take("time zone");
            if matches!(words.as_str(), "utc" | "gmt")
                && self.sign(0, &['+', '-'])
                && self.number(1).is_some()
            {
                return self.offset();
            }
            return self.hear_zone(named);
        }
        let word = self.peek(0).unwrap_or_default().to_owned();
        let time = self.peek(1) == Some("time") && !FILLING.contains(&word.as_str());
        self.at = before;
        if (told || time) && !word.is_empty() {
            return Err(zones::unknown(&word));
        }
        Ok(false)
    }

    /// "+2", "-03:30", "+0530".
    fn offset(&mut self) -> Read {
        let east = self.sign(0, &['+']);
        let Some((value, digits)) = self.number(1) else { return Ok(false) };
        self.at += 2;
        let (hours, mut minutes) = if digits == 4 { (value / 100, value % 100) } else { (value, 0) };
        if let (true, Some((more, 2))) = (self.sign(0, &[':']), self.number(1)) {
            self.at += 2;
            minutes = more;
        }
        let seconds = (hours * 60 + minutes) * 60 * if east { 1 } else { -1 };
        let fits = hours <= 14 && minutes < 60;
        let offset = i32::try_from(seconds).ok().filter(|_| fits).and_then(|s| Offset::from_seconds(s).ok());
        match offset {
            Some(offset) => self.hear_zone(Named::Place(TimeZone::fixed(offset))),
            None => Err(Unclear::not("There is no such offset from UTC.")),
        }
    }

    fn hear_zone(&mut self, zone: Named) -> Read {
        if self.heard.zone.replace(zone).is_some() {
            return Err(Unclear::not("It says two time zones."));
        }
        Ok(true)
    }
}

/// So much time: on the clock, or on the calendar.
#[derive(Debug, Clone, Copy)]
enum Amount {
    Minutes(i64),
    Days(i64, Unit),
}

fn days_of(month: i64, first: i64, last: i64, year: Option<i64>) -> Day {
    let day = |day| Box::new(Day::Date { year, month, day });
    Day::Through(day(first), day(last))
}

/// 26 is 2026.
fn full(year: i64, digits: usize) -> i64 {
    if digits == 2 { 2000 + year } else { year }
}

fn suffix(word: &str) -> bool {
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
