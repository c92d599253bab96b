//! Days: which Friday, which sixth of March, which first Monday.

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan as _};

use super::{Unclear, iso};

/// A day, or several, as they were said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Day {
    /// So many days from today.
    From(i64),
    Weekday(Weekday, Which),
    /// A weekday of the week so many weeks on.
    OfWeek(Weekday, i64),
    Date {
        year: Option<i64>,
        month: i64,
        day: i64,
    },
    /// "6/3"
    Either {
        a: i64,
        b: i64,
        year: Option<i64>,
    },
    /// "the 14th"
    OfMonth(i64),
    /// "the first Monday of May"; the last one is -1.
    Nth {
        nth: i8,
        weekday: Weekday,
        month: Month,
    },
    /// So much later (or earlier) than a day.
    Later {
        amount: i64,
        unit: Unit,
        from: Box<Day>,
    },
    Week(i64),
    Weekend(Which),
    Month(Month),
    EndOfMonth(Month),
    /// From the one to the other.
    Through(Box<Day>, Box<Day>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
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
    /// So many months from this one.
    From(i64),
    Named(i64, Option<i64>),
}

/// Days on the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    Day(Date),
    /// Both included.
    Days(Date, Date),
    /// Some time in there; the end is not in it.
    Within(Date, Date),
}

/// What the words can mean.
#[derive(Debug, Default)]
pub(super) struct Dates {
    pub(super) readings: Vec<Range>,
    /// Why there are several.
    pub(super) why: Option<String>,
    /// The day that was said is none, for this reason: the readings are those beside it.
    pub(super) no_such: Option<String>,
    pub(super) assumed: Option<String>,
    /// It was said of something that is over.
    pub(super) back: bool,
    /// What it may mean instead, should it be over.
    pub(super) instead: Vec<Date>,
}

/// Days a week begins on Monday with.
const WEEK: i64 = 7;

/// Said of a day without a year that is over by so many days, it may well be meant as it is.
const JUST_OVER: i64 = 60;

fn too_far<E>(_: E) -> Unclear {
    Unclear::not("That is too far off.")
}

fn plus(date: Date, days: i64) -> Result<Date, Unclear> {
    Span::new().try_days(days).and_then(|span| date.checked_add(span)).map_err(too_far)
}

fn monday(today: Date) -> Result<Date, Unclear> {
    plus(today, -i64::from(today.weekday().to_monday_zero_offset()))
}

fn single(day: Date) -> Dates {
    Dates { readings: vec![Range::Day(day)], ..Dates::default() }
}

/// The days that are meant, today being `today`.
pub(super) fn dates(day: &Day, today: Date) -> Result<Dates, Unclear> {
    match day {
        Day::From(days) => Ok(Dates {
            back: *days < 0,
            instead: if *days == 0 { vec![plus(today, 1)?] } else { Vec::new() },
            ..single(plus(today, *days)?)
        }),
        Day::Weekday(weekday, which) => of_weekday(*weekday, *which, today),
        Day::OfWeek(weekday, weeks) => {
            let day = i64::from(weekday.to_monday_zero_offset());
            Ok(Dates { back: *weeks < 0, ..single(plus(monday(today)?, weeks * WEEK + day)?) })
        }
        Day::Date { year, month, day } => of_date(*year, *month, *day, today),
        Day::Either { a, b, year } => either(*a, *b, *year, today),
        Day::OfMonth(day) => of_month(*day, today),
        Day::Nth { nth, weekday, month } => nth_of(*nth, *weekday, *month, today),
        Day::Later { amount, unit, from } => later(*amount, *unit, from, today),
        Day::Week(weeks) => {
            let from = plus(monday(today)?, weeks * WEEK)?;
            let readings = vec![Range::Within(from, plus(from, WEEK)?)];
            Ok(Dates { readings, back: *weeks < 0, ..Dates::default() })
        }
        Day::Weekend(which) => weekend(*which, today),
        Day::Month(month) => {
            let (first, back) = first_of(*month, today)?;
            let readings = vec![Range::Within(first, first.checked_add(1.month()).map_err(too_far)?)];
            Ok(Dates { readings, back, ..Dates::default() })
        }
        Day::EndOfMonth(month) => {
            let (first, back) = first_of(*month, today)?;
            Ok(Dates { back, ..single(first.last_of_month()) })
        }
        Day::Through(first, last) => through(first, last, today),
    }
}

fn of_weekday(weekday: Weekday, which: Which, today: Date) -> Result<Dates, Unclear> {
    let this = plus(monday(today)?, i64::from(weekday.to_monday_zero_offset()))?;
    let ahead =
        i64::from(weekday.to_monday_zero_offset()) - i64::from(today.weekday().to_monday_zero_offset());
    let name = this.strftime("%A");
    match which {
        Which::This => Ok(Dates { instead: vec![plus(this, WEEK)?], ..single(this) }),
        Which::Coming if ahead == 0 => Ok(Dates {
            readings: vec![Range::Day(today), Range::Day(plus(today, WEEK)?)],
            why: Some(format!("Today is {name}, so it may be today or in a week.")),
            ..Dates::default()
        }),
        Which::Coming => Ok(single(plus(this, if ahead < 0 { WEEK } else { 0 })?)),
        Which::Next if ahead >= 3 => Ok(Dates {
            readings: vec![Range::Day(this), Range::Day(plus(this, WEEK)?)],
            why: Some(format!("“next {name}” can be the one of this week or of next week.")),
            ..Dates::default()
        }),
        Which::Next => {
            let taken = || format!("“next {name}” is taken as the one of next week.");
            Ok(Dates { assumed: (ahead > 0).then(taken), ..single(plus(this, WEEK)?) })
        }
        Which::Last => Ok(Dates { back: true, ..single(plus(this, if ahead >= 0 { -WEEK } else { 0 })?) }),
    }
}

fn weekend(which: Which, today: Date) -> Result<Dates, Unclear> {
    let saturday = plus(monday(today)?, 5)?;
    let of = |weeks: i64| -> Result<Range, Unclear> {
        let first = plus(saturday, weeks * WEEK)?;
        Ok(Range::Within(first, plus(first, 2)?))
    };
    let (readings, why) = match which {
        Which::Coming | Which::This => (vec![of(0)?], None),
        Which::Last => (vec![of(-1)?], None),
        Which::Next if today < saturday => {
            let why = "“next weekend” can be the coming one or the one after it.";
            (vec![of(0)?, of(1)?], Some(why.to_owned()))
        }
        Which::Next => (vec![of(1)?], None),
    };
    Ok(Dates { readings, why, back: which == Which::Last, ..Dates::default() })
}

/// The day; where the month has not so many, its last day and the day after it are near.
fn on(year: i64, month: i64, day: i64) -> Result<Date, Box<Dates>> {
    if let Some(date) = iso::date(year, month, day) {
        return Ok(date);
    }
    let Some(first) = iso::date(year, month, 1).filter(|_| (29..=31).contains(&day)) else {
        return Err(Dates { no_such: Some(NO_SUCH_DAY.to_owned()), ..Dates::default() }.into());
    };
    let last = first.last_of_month();
    let next = last.tomorrow().unwrap_or(last);
    let why = format!("There is no {day} {} in {year}.", first.strftime("%B"));
    let near = vec![Range::Day(last), Range::Day(next)];
    Err(Dates { readings: near, no_such: Some(why), ..Dates::default() }.into())
}

const NO_SUCH_DAY: &str = "There is no such day in the calendar.";

fn no_such_day() -> Unclear {
    Unclear::NoSuchDay { why: NO_SUCH_DAY.to_owned(), choices: Vec::new() }
}

fn of_date(year: Option<i64>, month: i64, day: i64, today: Date) -> Result<Dates, Unclear> {
    let none = |dates: Box<Dates>| match dates.readings.is_empty() {
        true => Err(no_such_day()),
        false => Ok(*dates),
    };
    let this = i64::from(today.year());
    if let Some(year) = year {
        return match on(year, month, day) {
            Ok(date) => Ok(Dates { back: date < today, ..single(date) }),
            Err(dates) => none(dates),
        };
    }
    if (month, day) == (2, 29) {
        // The next one that there is.
        let leap = (this..this + 9).filter_map(|year| iso::date(year, 2, 29)).find(|date| *date >= today);
        return leap.map(single).ok_or_else(no_such_day);
    }
    match on(this, month, day) {
        Err(dates) => {
            let over = dates.readings.iter().all(|range| matches!(range, Range::Day(day) if *day < today));
            none(if over { on(this + 1, month, day).err().unwrap_or(dates) } else { dates })
        }
        Ok(date) if date >= today => Ok(single(date)),
        Ok(date) => {
            let next = on(this + 1, month, day).unwrap_or(date);
            match plus(date, JUST_OVER)? >= today {
                true => Ok(Dates { instead: vec![next, date], ..single(date) }),
                false => Ok(single(next)),
            }
        }
    }
}

fn either(a: i64, b: i64, year: Option<i64>, today: Date) -> Result<Dates, Unclear> {
    match (of_date(year, b, a, today), of_date(year, a, b, today)) {
        (Ok(one), Ok(other)) if a != b && a <= 12 && b <= 12 => Ok(Dates {
            readings: [one.readings, other.readings].concat(),
            why: Some(format!("“{a}/{b}” can be read day first or month first.")),
            back: one.back && other.back,
            instead: [one.instead, other.instead].concat(),
            assumed: None,
            no_such: one.no_such.or(other.no_such),
        }),
        (Ok(one), _) if b <= 12 => Ok(one),
        (_, Ok(other)) if a <= 12 => Ok(other),
        (Err(why), _) | (_, Err(why)) => Err(why),
        _ => Err(no_such_day()),
    }
}

fn of_month(day: i64, today: Date) -> Result<Dates, Unclear> {
    let mut first = today.first_of_month();
    for _ in 0..12 {
        let date = iso::date(first.year().into(), first.month().into(), day);
        if let Some(date) = date.filter(|date| *date >= today) {
            let skipped = (date.month() != today.month() && day > 28)
                .then(|| format!("“the {day}th” is taken as {}.", date.strftime("%-d %B")));
            return Ok(Dates { assumed: skipped, ..single(date) });
        }
        first = first.checked_add(1.month()).map_err(too_far)?;
    }
    Err(Unclear::not(format!("No month has a day {day}.")))
}

/// The first of that month, and whether it was said of one that is over.
fn first_of(month: Month, today: Date) -> Result<(Date, bool), Unclear> {
    let this = today.first_of_month();
    match month {
        Month::From(months) => {
            let first = Span::new().try_months(months).and_then(|span| this.checked_add(span));
            Ok((first.map_err(too_far)?, months < 0))
        }
        Month::Named(month, year) => {
            let of =
                |year: i64| iso::date(year, month, 1).ok_or_else(|| Unclear::not("There is no such month."));
            let this_year = i64::from(today.year());
            match year {
                Some(year) => of(year).map(|first| (first, first < this)),
                None if of(this_year)? < this => Ok((of(this_year + 1)?, false)),
                None => Ok((of(this_year)?, false)),
            }
        }
    }
}

fn nth_of(nth: i8, weekday: Weekday, month: Month, today: Date) -> Result<Dates, Unclear> {
    let of = |first: Date| {
        first
            .nth_weekday_of_month(nth, weekday)
            .map_err(|_| Unclear::not(format!("{} has no fifth one of those.", first.strftime("%B %Y"))))
    };
    let (first, back) = first_of(month, today)?;
    let date = of(first)?;
    match month {
        // Said in May of a Monday of May that is over, it is next year's.
        Month::Named(_, None) if date < today => {
            let next = of(first.checked_add(1.year()).map_err(too_far)?)?;
            Ok(Dates { instead: vec![next, date], ..single(date) })
        }
        _ => Ok(Dates { back, ..single(date) }),
    }
}

fn later(amount: i64, unit: Unit, from: &Day, today: Date) -> Result<Dates, Unclear> {
    let begins = dates(from, today)?;
    let span = match unit {
        Unit::Days => Span::new().try_days(amount),
        Unit::Weeks => Span::new().try_weeks(amount),
        Unit::Months => Span::new().try_months(amount),
        Unit::Years => Span::new().try_years(amount),
    };
    let span = span.map_err(too_far)?;
    let moved = begins.readings.iter().map(|range| match range {
        Range::Day(date) => date.checked_add(span).map(Range::Day).map_err(too_far),
        _ => Err(Unclear::not("Say from which day on.")),
    });
    let readings = moved.collect::<Result<_, _>>()?;
    Ok(Dates { readings, back: amount < 0, instead: Vec::new(), ..begins })
}

fn through(first: &Day, last: &Day, today: Date) -> Result<Dates, Unclear> {
    let begins = dates(first, today)?;
    let mut readings = Vec::new();
    for range in &begins.readings {
        let Range::Day(from) = *range else { return Err(Unclear::not("Say from which day to which.")) };
        // The end is counted from the beginning on: "Friday to Monday" is one weekend.
        let ends = dates(last, from)?;
        if let Some(why) = ends.no_such {
            return Err(Unclear::NoSuchDay { why, choices: Vec::new() });
        }
        let day = |range: &Range| match range {
            Range::Day(date) => Some(*date),
            _ => None,
        };
        let to = ends.readings.iter().filter_map(day).find(|date| *date > from);
        readings.push(Range::Days(from, to.ok_or_else(|| Unclear::not("That ends before it begins."))?));
    }
    Ok(Dates { readings, instead: Vec::new(), ..begins })
}
