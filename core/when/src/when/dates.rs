//! Resolves days to dates: "Friday", "6 March", "the first Monday".

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan as _};

use super::{TimeError, iso};

/// One day or several, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DayPhrase {
    /// This many days from today.
    From(i64),
    Weekday(Weekday, Relative),
    /// A weekday, this many weeks from this week.
    OfWeek(Weekday, i64),
    Date {
        year: Option<i64>,
        month: i64,
        day: i64,
    },
    /// "6/3"
    DayOrMonth {
        a: i64,
        b: i64,
        year: Option<i64>,
    },
    /// "the 14th"
    OfMonth(i64),
    /// "the first Monday of May"; `nth` is -1 for the last one.
    Nth {
        nth: i8,
        weekday: Weekday,
        month: Month,
    },
    /// This much later (or earlier) than another day.
    Offset {
        amount: i64,
        unit: Unit,
        from: Box<DayPhrase>,
    },
    Week(i64),
    Weekend(Relative),
    Month(Month),
    EndOfMonth(Month),
    /// From one to the other, both included.
    Through(Box<DayPhrase>, Box<DayPhrase>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relative {
    Coming,
    This,
    Next,
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Days,
    Weeks,
    Months,
    Years,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Month {
    /// This many months from the current one.
    From(i64),
    Named(i64, Option<i64>),
}

/// Resolved calendar days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    Day(Date),
    /// Both included.
    Days(Date, Date),
    /// Some time in this range; the end is excluded.
    Within(Date, Date),
}

/// The possible readings of a phrase.
#[derive(Debug, Default)]
pub(super) struct DateReadings {
    pub(super) readings: Vec<Range>,
    /// Why there are several readings.
    pub(super) why: Option<String>,
    /// The reason if the day does not exist; the readings are then its neighbours.
    pub(super) no_such_day: Option<String>,
    pub(super) assumption: Option<String>,
    /// The phrase itself refers to the past: "last Friday".
    pub(super) is_past: bool,
    /// Other readings, for when the first has passed.
    pub(super) alternatives: Vec<Date>,
}

/// Days in a week, which begins on Monday.
const WEEK: i64 = 7;

/// A date without a year that passed at most this many days ago can still mean that day.
const RECENT_PAST_DAYS: i64 = 60;

fn out_of_range<E>(_: E) -> TimeError {
    TimeError::not_understood("That's too far away.")
}

fn plus(date: Date, days: i64) -> Result<Date, TimeError> {
    Span::new().try_days(days).and_then(|span| date.checked_add(span)).map_err(out_of_range)
}

fn monday(today: Date) -> Result<Date, TimeError> {
    plus(today, -i64::from(today.weekday().to_monday_zero_offset()))
}

fn single(day: Date) -> DateReadings {
    DateReadings { readings: vec![Range::Day(day)], ..DateReadings::default() }
}

/// Resolves a day phrase relative to `today`.
pub(super) fn dates(day: &DayPhrase, today: Date) -> Result<DateReadings, TimeError> {
    match day {
        DayPhrase::From(days) => Ok(DateReadings {
            is_past: *days < 0,
            alternatives: if *days == 0 { vec![plus(today, 1)?] } else { Vec::new() },
            ..single(plus(today, *days)?)
        }),
        DayPhrase::Weekday(weekday, which) => of_weekday(*weekday, *which, today),
        DayPhrase::OfWeek(weekday, weeks) => {
            let day = i64::from(weekday.to_monday_zero_offset());
            Ok(DateReadings { is_past: *weeks < 0, ..single(plus(monday(today)?, weeks * WEEK + day)?) })
        }
        DayPhrase::Date { year, month, day } => of_date(*year, *month, *day, today),
        DayPhrase::DayOrMonth { a, b, year } => resolve_day_or_month(*a, *b, *year, today),
        DayPhrase::OfMonth(day) => of_month(*day, today),
        DayPhrase::Nth { nth, weekday, month } => nth_of(*nth, *weekday, *month, today),
        DayPhrase::Offset { amount, unit, from } => later(*amount, *unit, from, today),
        DayPhrase::Week(weeks) => {
            let from = plus(monday(today)?, weeks * WEEK)?;
            let readings = vec![Range::Within(from, plus(from, WEEK)?)];
            Ok(DateReadings { readings, is_past: *weeks < 0, ..DateReadings::default() })
        }
        DayPhrase::Weekend(which) => weekend(*which, today),
        DayPhrase::Month(month) => {
            let (first, back) = first_of(*month, today)?;
            let readings = vec![Range::Within(first, first.checked_add(1.month()).map_err(out_of_range)?)];
            Ok(DateReadings { readings, is_past: back, ..DateReadings::default() })
        }
        DayPhrase::EndOfMonth(month) => {
            let (first, back) = first_of(*month, today)?;
            Ok(DateReadings { is_past: back, ..single(first.last_of_month()) })
        }
        DayPhrase::Through(first, last) => through(first, last, today),
    }
}

fn of_weekday(weekday: Weekday, which: Relative, today: Date) -> Result<DateReadings, TimeError> {
    let this = plus(monday(today)?, i64::from(weekday.to_monday_zero_offset()))?;
    let ahead =
        i64::from(weekday.to_monday_zero_offset()) - i64::from(today.weekday().to_monday_zero_offset());
    let name = this.strftime("%A");
    match which {
        Relative::This => Ok(DateReadings { alternatives: vec![plus(this, WEEK)?], ..single(this) }),
        Relative::Coming if ahead == 0 => Ok(DateReadings {
            readings: vec![Range::Day(today), Range::Day(plus(today, WEEK)?)],
            why: Some(format!("Today is {name}, so this could be today or next week.")),
            ..DateReadings::default()
        }),
        Relative::Coming => Ok(single(plus(this, if ahead < 0 { WEEK } else { 0 })?)),
        Relative::Next if ahead >= 3 => Ok(DateReadings {
            readings: vec![Range::Day(this), Range::Day(plus(this, WEEK)?)],
            why: Some(format!("“next {name}” could be this week or next week.")),
            ..DateReadings::default()
        }),
        Relative::Next => {
            let taken = || format!("“next {name}”: I took the one next week");
            Ok(DateReadings { assumption: (ahead > 0).then(taken), ..single(plus(this, WEEK)?) })
        }
        Relative::Last => {
            Ok(DateReadings { is_past: true, ..single(plus(this, if ahead >= 0 { -WEEK } else { 0 })?) })
        }
    }
}

fn weekend(which: Relative, today: Date) -> Result<DateReadings, TimeError> {
    let saturday = plus(monday(today)?, 5)?;
    let of = |weeks: i64| -> Result<Range, TimeError> {
        let first = plus(saturday, weeks * WEEK)?;
        Ok(Range::Within(first, plus(first, 2)?))
    };
    let (readings, why) = match which {
        Relative::Coming | Relative::This => (vec![of(0)?], None),
        Relative::Last => (vec![of(-1)?], None),
        Relative::Next if today < saturday => {
            let why = "“next weekend” could be the coming one or the one after.";
            (vec![of(0)?, of(1)?], Some(why.to_owned()))
        }
        Relative::Next => (vec![of(1)?], None),
    };
    Ok(DateReadings { readings, why, is_past: which == Relative::Last, ..DateReadings::default() })
}

/// Returns the date. If the month is too short, the error holds its last day and the day after it.
fn date_or_neighbours(year: i64, month: i64, day: i64) -> Result<Date, Box<DateReadings>> {
    if let Some(date) = iso::date(year, month, day) {
        return Ok(date);
    }
    let Some(first) = iso::date(year, month, 1).filter(|_| (29..=31).contains(&day)) else {
        return Err(
            DateReadings { no_such_day: Some(NO_SUCH_DAY.to_owned()), ..DateReadings::default() }.into()
        );
    };
    let last = first.last_of_month();
    let next = last.tomorrow().unwrap_or(last);
    let why = format!("There's no {day} {} in {year}.", first.strftime("%B"));
    let near = vec![Range::Day(last), Range::Day(next)];
    Err(DateReadings { readings: near, no_such_day: Some(why), ..DateReadings::default() }.into())
}

const NO_SUCH_DAY: &str = "There's no such day.";

fn no_such_day() -> TimeError {
    TimeError::NoSuchDay { message: NO_SUCH_DAY.to_owned(), choices: Vec::new() }
}

fn of_date(year: Option<i64>, month: i64, day: i64, today: Date) -> Result<DateReadings, TimeError> {
    let none = |dates: Box<DateReadings>| match dates.readings.is_empty() {
        true => Err(no_such_day()),
        false => Ok(*dates),
    };
    let this = i64::from(today.year());
    if let Some(year) = year {
        return match date_or_neighbours(year, month, day) {
            Ok(date) => Ok(DateReadings { is_past: date < today, ..single(date) }),
            Err(dates) => none(dates),
        };
    }
    if (month, day) == (2, 29) {
        // The next year that has one.
        let leap = (this..this + 9).filter_map(|year| iso::date(year, 2, 29)).find(|date| *date >= today);
        return leap.map(single).ok_or_else(no_such_day);
    }
    match date_or_neighbours(this, month, day) {
        Err(dates) => {
            let over = dates.readings.iter().all(|range| matches!(range, Range::Day(day) if *day < today));
            none(if over { date_or_neighbours(this + 1, month, day).err().unwrap_or(dates) } else { dates })
        }
        Ok(date) if date >= today => Ok(single(date)),
        Ok(date) => {
            let next = date_or_neighbours(this + 1, month, day).unwrap_or(date);
            match plus(date, RECENT_PAST_DAYS)? >= today {
                true => Ok(DateReadings { alternatives: vec![next, date], ..single(date) }),
                false => Ok(single(next)),
            }
        }
    }
}

fn resolve_day_or_month(a: i64, b: i64, year: Option<i64>, today: Date) -> Result<DateReadings, TimeError> {
    match (of_date(year, b, a, today), of_date(year, a, b, today)) {
        (Ok(one), Ok(other)) if a != b && a <= 12 && b <= 12 => Ok(DateReadings {
            readings: [one.readings, other.readings].concat(),
            why: Some(format!("“{a}/{b}” could be day first or month first.")),
            is_past: one.is_past && other.is_past,
            alternatives: [one.alternatives, other.alternatives].concat(),
            assumption: None,
            no_such_day: one.no_such_day.or(other.no_such_day),
        }),
        (Ok(one), _) if b <= 12 => Ok(one),
        (_, Ok(other)) if a <= 12 => Ok(other),
        (Err(why), _) | (_, Err(why)) => Err(why),
        _ => Err(no_such_day()),
    }
}

fn of_month(day: i64, today: Date) -> Result<DateReadings, TimeError> {
    let mut first = today.first_of_month();
    for _ in 0..12 {
        let date = iso::date(first.year().into(), first.month().into(), day);
        if let Some(date) = date.filter(|date| *date >= today) {
            let skipped = (date.month() != today.month() && day > 28)
                .then(|| format!("“the {day}th”: I took {}", date.strftime("%-d %B")));
            return Ok(DateReadings { assumption: skipped, ..single(date) });
        }
        first = first.checked_add(1.month()).map_err(out_of_range)?;
    }
    Err(TimeError::not_understood(format!("No month has a day {day}.")))
}

/// Returns the first of the month, and whether the phrase names a past month.
fn first_of(month: Month, today: Date) -> Result<(Date, bool), TimeError> {
    let this = today.first_of_month();
    match month {
        Month::From(months) => {
            let first = Span::new().try_months(months).and_then(|span| this.checked_add(span));
            Ok((first.map_err(out_of_range)?, months < 0))
        }
        Month::Named(month, year) => {
            let of = |year: i64| {
                iso::date(year, month, 1).ok_or_else(|| TimeError::not_understood("There's no such month."))
            };
            let this_year = i64::from(today.year());
            match year {
                Some(year) => of(year).map(|first| (first, first < this)),
                None if of(this_year)? < this => Ok((of(this_year + 1)?, false)),
                None => Ok((of(this_year)?, false)),
            }
        }
    }
}

fn nth_of(nth: i8, weekday: Weekday, month: Month, today: Date) -> Result<DateReadings, TimeError> {
    let of = |first: Date| {
        first.nth_weekday_of_month(nth, weekday).map_err(|_| {
            TimeError::not_understood(format!("{} doesn't have five of those.", first.strftime("%B %Y")))
        })
    };
    let (first, back) = first_of(month, today)?;
    let date = of(first)?;
    match month {
        // If that weekday of the current month has passed, next year's is a choice too.
        Month::Named(_, None) if date < today => {
            let next = of(first.checked_add(1.year()).map_err(out_of_range)?)?;
            Ok(DateReadings { alternatives: vec![next, date], ..single(date) })
        }
        _ => Ok(DateReadings { is_past: back, ..single(date) }),
    }
}

fn later(amount: i64, unit: Unit, from: &DayPhrase, today: Date) -> Result<DateReadings, TimeError> {
    let begins = dates(from, today)?;
    let span = match unit {
        Unit::Days => Span::new().try_days(amount),
        Unit::Weeks => Span::new().try_weeks(amount),
        Unit::Months => Span::new().try_months(amount),
        Unit::Years => Span::new().try_years(amount),
    };
    let span = span.map_err(out_of_range)?;
    let moved = begins.readings.iter().map(|range| match range {
        Range::Day(date) => date.checked_add(span).map(Range::Day).map_err(out_of_range),
        _ => Err(TimeError::not_understood("From which day?")),
    });
    let readings = moved.collect::<Result<_, _>>()?;
    Ok(DateReadings { readings, is_past: amount < 0, alternatives: Vec::new(), ..begins })
}

fn through(first: &DayPhrase, last: &DayPhrase, today: Date) -> Result<DateReadings, TimeError> {
    let begins = dates(first, today)?;
    let mut readings = Vec::new();
    for range in &begins.readings {
        let Range::Day(from) = *range else {
            return Err(TimeError::not_understood("From which day to which?"));
        };
        // The end is resolved relative to the start: "Friday to Monday" is one weekend.
        let ends = dates(last, from)?;
        if let Some(why) = ends.no_such_day {
            return Err(TimeError::NoSuchDay { message: why, choices: Vec::new() });
        }
        let day = |range: &Range| match range {
            Range::Day(date) => Some(*date),
            _ => None,
        };
        let to = ends.readings.iter().filter_map(day).find(|date| *date > from);
        readings.push(Range::Days(
            from,
            to.ok_or_else(|| TimeError::not_understood("That ends before it starts."))?,
        ));
    }
    Ok(DateReadings { readings, alternatives: Vec::new(), ..begins })
}
