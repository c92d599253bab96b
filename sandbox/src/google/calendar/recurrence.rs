//! Recurrence: RRULE and EXDATE lines, parsed strictly and expanded in the event's own zone.
//!
//! The crate `rrule` is not used: it depends on chrono-tz, a second time zone database next to the one that the rest of
//! the code uses. The rules that people use are supported; every other part of a rule is rejected.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::moment::{Moment, Span, zone};
use super::rule::{MAX_INSTANCES, Rule, RuleEnd, day, instant, parse_local_date_time};

#[derive(Debug, Clone)]
pub(super) struct Recurrence {
    rule: Rule,
    except: Vec<Moment>,
}

impl Recurrence {
    /// Parses the recurrence lines of an event whose first instance is `span`.
    pub fn read(lines: &[String], span: &Span) -> Result<Self, String> {
        let mut rule = None;
        let mut except = Vec::new();
        for line in lines {
            let (head, value) = line.split_once(':').ok_or(format!("{line} is no line of a recurrence"))?;
            match head.split_once(';').unwrap_or((head, "")) {
                ("RRULE", "") if rule.is_none() => rule = Some(Rule::read(value, span)?),
                ("RRULE", _) => return Err("there is more than one rule".to_owned()),
                ("EXDATE", how) => except.extend(dates(how, value, span)?),
                (other, _) => return Err(format!("{other} is not known here")),
            }
        }
        let rule = rule.ok_or("there is no rule")?;
        let first = first_day(span);
        if rule.days(first).next() != Some(first) {
            return Err("the rule does not begin where the event does".to_owned());
        }
        Ok(Self { rule, except })
    }

    /// Returns the instances that begin before `until`.
    pub fn instances(&self, span: &Span, until: Timestamp) -> Vec<Span> {
        let zone = zone_of(span);
        let days = self.rule.days(first_day(span));
        let count =
            if let RuleEnd::After(count) = self.rule.end { count.min(MAX_INSTANCES) } else { MAX_INSTANCES };
        let starts = days.take(count).map(|day| on_day(span, day, &zone));
        let within = starts.take_while(|start| self.rule.reaches(*start) && start.at(&zone) < until);
        let left = within.filter(|start| !self.except.contains(start));
        left.filter_map(|start| span.with_start(start)).collect()
    }

    /// Returns the instance with this key, if the rule produces it.
    pub fn instance(&self, span: &Span, key: &str) -> Option<Span> {
        self.instances(span, Timestamp::MAX).into_iter().find(|one| one.start.key() == key)
    }
}

fn zone_of(span: &Span) -> TimeZone {
    span.start_zone.as_deref().and_then(zone).unwrap_or(TimeZone::UTC)
}

fn first_day(span: &Span) -> Date {
    match span.start {
        Moment::Day(day) => day,
        Moment::At(at) => at.to_zoned(zone_of(span)).date(),
    }
}

/// Returns the same wall clock time on another day; a time skipped by daylight saving moves forward.
fn on_day(span: &Span, day: Date, zone: &TimeZone) -> Moment {
    let Moment::At(first) = span.start else { return Moment::Day(day) };
    let time = first.to_zoned(zone.clone()).time();
    zone.to_timestamp(day.to_datetime(time)).map_or(Moment::Day(day), Moment::At)
}

/// Parses the value of EXDATE: days, instants, or wall clock times of the zone that it names.
fn dates(how: &str, value: &str, span: &Span) -> Result<Vec<Moment>, String> {
    let wrong = || format!("EXDATE;{how}:{value} does not fit the event");
    let read = |one: &str| match (how.split_once('='), span.is_all_day()) {
        (None | Some(("VALUE", "DATE")), true) => day(one).map(Moment::Day),
        (None, false) => instant(one),
        (Some(("TZID", name)), false) => {
            zone(name)?.to_timestamp(parse_local_date_time(one)?).ok().map(Moment::At)
        }
        _ => None,
    };
    value.split(',').map(|one| read(one).ok_or_else(wrong)).collect()
}
