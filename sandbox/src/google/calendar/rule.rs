//! One RRULE: its parts, parsed strictly, and the days that it produces.

use std::collections::BTreeMap;

use jiff::Span as Long;
use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;

use super::moment::{Moment, Span};

/// How many days, weeks, months or years are examined, so that a rule without any matching day ends.
const PERIODS: i64 = 20_000;
/// The limit of expanded instances.
pub(super) const MAX_INSTANCES: usize = 5_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frequency {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleEnd {
    Never,
    After(usize),
    Until(Moment),
}

#[derive(Debug, Clone)]
pub(super) struct Rule {
    frequency: Frequency,
    interval: i64,
    pub end: RuleEnd,
    /// With the ordinal within the month, if it is given.
    weekdays: Vec<(Option<i8>, Weekday)>,
    month_days: Vec<i8>,
    months: Vec<i8>,
    week_start: Weekday,
}

impl Rule {
    pub fn read(text: &str, span: &Span) -> Result<Self, String> {
        let mut parts = BTreeMap::new();
        for part in text.split(';') {
            let (name, value) = part.split_once('=').ok_or(format!("{part} is no part of a rule"))?;
            if parts.insert(name, value).is_some() {
                return Err(format!("{name} is given twice"));
            }
        }
        let mut take = |name: &str| parts.remove(name);
        let frequency = match take("FREQ") {
            Some("DAILY") => Frequency::Daily,
            Some("WEEKLY") => Frequency::Weekly,
            Some("MONTHLY") => Frequency::Monthly,
            Some("YEARLY") => Frequency::Yearly,
            other => return Err(format!("FREQ={} is not known here", other.unwrap_or_default())),
        };
        let rule = Self {
            frequency,
            interval: number(take("INTERVAL").unwrap_or("1"), 1, 999)?,
            end: end(take("COUNT"), take("UNTIL"), span)?,
            weekdays: list(take("BYDAY"), weekday)?,
            month_days: list(take("BYMONTHDAY"), |text| signed(text, 31))?,
            months: list(take("BYMONTH"), |text| signed(text, 12).filter(|month| *month > 0))?,
            week_start: take("WKST")
                .map_or(Some(Weekday::Monday), plain_weekday)
                .ok_or("WKST is no weekday")?,
        };
        match parts.keys().next() {
            Some(other) => Err(format!("{other} is not known here")),
            None => rule.fits_together(),
        }
    }

    fn fits_together(self) -> Result<Self, String> {
        let numbered = self.weekdays.iter().any(|(which, _)| which.is_some());
        let (days, months) = (!self.month_days.is_empty(), !self.months.is_empty());
        let fits = match self.frequency {
            Frequency::Daily | Frequency::Weekly => !numbered && !days && !months,
            Frequency::Monthly => !months,
            Frequency::Yearly => months || (self.weekdays.is_empty() && !days),
        };
        fits.then_some(self).ok_or("parts of the rule do not go together".to_owned())
    }

    pub fn reaches(&self, start: Moment) -> bool {
        match (self.end, start) {
            (RuleEnd::Until(Moment::Day(last)), Moment::Day(day)) => day <= last,
            (RuleEnd::Until(Moment::At(last)), Moment::At(at)) => at <= last,
            (RuleEnd::Until(_), _) => false,
            _ => true,
        }
    }

    /// Returns the days that it produces, from `start` on.
    pub fn days(&self, start: Date) -> impl Iterator<Item = Date> + '_ {
        let periods = (0..PERIODS).map_while(move |number| self.period(start, number * self.interval));
        periods.flatten().filter(move |day| *day >= start)
    }

    /// Returns the days in one day, week, month or year; `None` beyond the last supported date.
    fn period(&self, start: Date, number: i64) -> Option<Vec<Date>> {
        let long = Long::new();
        match self.frequency {
            Frequency::Daily => {
                let day = start.checked_add(long.try_days(number).ok()?).ok()?;
                let is_one = self.weekdays.is_empty() || self.weekdays.contains(&(None, day.weekday()));
                Some(if is_one { vec![day] } else { Vec::new() })
            }
            Frequency::Weekly => {
                let into = i64::from(start.weekday().since(self.week_start));
                let week = start.checked_add(long.try_days(number.checked_mul(7)? - into).ok()?).ok()?;
                let mut days: Vec<i8> =
                    self.weekdays.iter().map(|(_, day)| day.since(self.week_start)).collect();
                if days.is_empty() {
                    days.push(start.weekday().since(self.week_start));
                }
                days.sort_unstable();
                days.into_iter().map(|day| week.checked_add(Long::new().days(day)).ok()).collect()
            }
            Frequency::Monthly => {
                let month = start.first_of_month().checked_add(long.try_months(number).ok()?).ok()?;
                Some(self.in_month(month, start.day()))
            }
            Frequency::Yearly => {
                let year = i16::try_from(i64::from(start.year()) + number).ok()?;
                let own = [start.month()];
                let months = if self.months.is_empty() { &own[..] } else { &self.months };
                let firsts: Option<Vec<Date>> =
                    months.iter().map(|month| Date::new(year, *month, 1).ok()).collect();
                Some(firsts?.into_iter().flat_map(|first| self.in_month(first, start.day())).collect())
            }
        }
    }

    fn in_month(&self, first: Date, usual: i8) -> Vec<Date> {
        let length = first.days_in_month();
        let falls = |day: &Date| {
            let (number, weekday) = (day.day(), day.weekday());
            let counted = self.month_days.is_empty()
                || self.month_days.iter().any(|d| *d == number || *d == number - length - 1);
            let named = self.weekdays.is_empty()
                || self.weekdays.iter().any(|(which, name)| {
                    let (from_start, from_end) = ((number - 1) / 7 + 1, -((length - number) / 7 + 1));
                    *name == weekday && which.is_none_or(|which| which == from_start || which == from_end)
                });
            let plain = self.month_days.is_empty() && self.weekdays.is_empty();
            if plain { number == usual } else { counted && named }
        };
        let days = (1..=length).filter_map(|day| Date::new(first.year(), first.month(), day).ok());
        days.filter(falls).collect()
    }
}

fn end(count: Option<&str>, until: Option<&str>, span: &Span) -> Result<RuleEnd, String> {
    match (count, until) {
        (None, None) => Ok(RuleEnd::Never),
        (Some(count), None) => {
            Ok(RuleEnd::After(usize::try_from(number(count, 1, 9999)?).unwrap_or(MAX_INSTANCES)))
        }
        (None, Some(until)) => {
            let read = if span.is_all_day() { day(until).map(Moment::Day) } else { instant(until) };
            read.map(RuleEnd::Until).ok_or(format!("UNTIL={until} does not fit the event's start"))
        }
        (Some(_), Some(_)) => Err("COUNT and UNTIL exclude each other".to_owned()),
    }
}

fn number(text: &str, least: i64, most: i64) -> Result<i64, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or(format!("{text} is not a number between {least} and {most}"))
}

fn signed(text: &str, most: i8) -> Option<i8> {
    text.parse().ok().filter(|number: &i8| *number != 0 && (-most..=most).contains(number))
}

fn list<T>(text: Option<&str>, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    let Some(text) = text else { return Ok(Vec::new()) };
    text.split(',').map(|one| read(one).ok_or(format!("{one} is not known in a rule"))).collect()
}

fn weekday(text: &str) -> Option<(Option<i8>, Weekday)> {
    let (number, name) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let which = match number {
        "" => None,
        number => Some(signed(number, 5)?),
    };
    Some((which, plain_weekday(name)?))
}

fn plain_weekday(name: &str) -> Option<Weekday> {
    Some(match name {
        "MO" => Weekday::Monday,
        "TU" => Weekday::Tuesday,
        "WE" => Weekday::Wednesday,
        "TH" => Weekday::Thursday,
        "FR" => Weekday::Friday,
        "SA" => Weekday::Saturday,
        "SU" => Weekday::Sunday,
        _ => return None,
    })
}

pub(super) fn day(text: &str) -> Option<Date> {
    (text.len() == 8).then(|| Date::strptime("%Y%m%d", text).ok())?
}

pub(super) fn parse_local_date_time(text: &str) -> Option<DateTime> {
    (text.len() == 15).then(|| DateTime::strptime("%Y%m%dT%H%M%S", text).ok())?
}

pub(super) fn instant(text: &str) -> Option<Moment> {
    let at = parse_local_date_time(text.strip_suffix('Z')?)?;
    TimeZone::UTC.to_timestamp(at).ok().map(Moment::At)
}
