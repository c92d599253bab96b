//! How an event repeats: the arguments of a model, the rule for Calendar, and the text on the card.

use jiff::Span;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use nod_contract::tool::ToolError;
use nod_when::when::ExactTime;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::event_time::EventTime;

const MAX_COUNT: u32 = 730;
const MAX_INTERVAL: u32 = 52;
/// The card warns about a series that lasts longer than this.
const LONG_RECURRENCE_YEARS: i64 = 5;
const WEEKDAYS: [(&str, &str, Weekday); 7] = [
    ("mo", "Monday", Weekday::Monday),
    ("tu", "Tuesday", Weekday::Tuesday),
    ("we", "Wednesday", Weekday::Wednesday),
    ("th", "Thursday", Weekday::Thursday),
    ("fr", "Friday", Weekday::Friday),
    ("sa", "Saturday", Weekday::Saturday),
    ("su", "Sunday", Weekday::Sunday),
];

/// The repetition that the model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recurrence {
    every: Frequency,
    /// Every `apart` units.
    #[serde(default = "default_interval")]
    #[serde(rename = "apart")]
    interval: u32,
    /// The days of the week; the weekday of the start if empty.
    #[serde(default)]
    on: Vec<String>,
    times: Option<u32>,
    /// The last day. A model gives it in words, and the gate resolves them.
    #[serde(default, deserialize_with = "last_day")]
    until: Option<Date>,
}

/// The last day as it was approved, or as it was said.
#[derive(Deserialize)]
#[serde(untagged)]
enum Until {
    Approved(Date),
    Said(ExactTime),
}

fn last_day<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Date>, D::Error> {
    Ok(match Option::<Until>::deserialize(from)? {
        None => None,
        Some(
            Until::Approved(day) | Until::Said(ExactTime::Day { day } | ExactTime::Days { last: day, .. }),
        ) => Some(day),
        Some(Until::Said(ExactTime::At { at } | ExactTime::Span { to: at, .. })) => Some(at.date()),
        Some(Until::Said(ExactTime::Within { phrase: said, .. })) => {
            return Err(D::Error::custom(format!("“{said}” isn't a day. Until which day should it repeat?")));
        }
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Frequency {
    Day,
    Week,
    Month,
    Year,
}

fn default_interval() -> u32 {
    1
}

/// Returns the JSON schema of this argument.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "description": "Only where it repeats. It follows the zone of its start through daylight saving.",
        "properties": {
            "every": {"type": "string", "enum": ["day", "week", "month", "year"]},
            "apart": {"type": "integer", "minimum": 1, "maximum": MAX_INTERVAL,
                "description": "2 for every second week; 1 if left out."},
            "on": {"type": "array", "maxItems": 7, "uniqueItems": true,
                "items": {"type": "string", "enum": ["mo", "tu", "we", "th", "fr", "sa", "su"]},
                "description": "With week alone: on which days. The start must be on one of them."},
            "times": {"type": "integer", "minimum": 2, "maximum": MAX_COUNT, "description": "How often in all."},
            "until": {"type": "string", "format": "when", "minLength": 1, "maxLength": 200,
                "description": "The last day, in the person's own words: “the end of June”."},
        },
        "required": ["every"],
        "additionalProperties": false,
    })
}

impl Recurrence {
    /// Returns Calendar's rule (RFC 5545) for an event that first takes place at `times`.
    ///
    /// # Errors
    /// [`ToolError::InvalidArguments`] if the rule would mean something other than it says.
    pub(super) fn rule(&self, times: &EventTime) -> Result<String, ToolError> {
        if self.times.is_some() && self.until.is_some() {
            return Err(ToolError::invalid("it repeats `times` times or `until` a day, not both"));
        }
        if times.has_fixed_offset() {
            return Err(ToolError::invalid(
                "which place's time should it follow? A UTC offset doesn't say when the clocks change",
            ));
        }
        if !self.on.is_empty() && self.every != Frequency::Week {
            return Err(ToolError::invalid("`on` is for what repeats by the week"));
        }
        let first = times.first_day();
        if !self.on.is_empty() && !self.days().any(|(_, _, day)| *day == first.weekday()) {
            let day =
                WEEKDAYS.iter().find(|(_, _, day)| *day == first.weekday()).map_or("", |(_, name, _)| name);
            return Err(ToolError::invalid(format!(
                "it would start on a {day}, but it doesn't repeat on that day"
            )));
        }
        if self.until.is_some_and(|until| until < first) {
            return Err(ToolError::invalid("it would end before it starts"));
        }
        let every = match self.every {
            Frequency::Day => "DAILY",
            Frequency::Week => "WEEKLY",
            Frequency::Month => "MONTHLY",
            Frequency::Year => "YEARLY",
        };
        let mut rule = format!("RRULE:FREQ={every}");
        if self.interval > 1 {
            rule.push_str(&format!(";INTERVAL={}", self.interval));
        }
        if !self.on.is_empty() {
            let days: Vec<String> = self.days().map(|(code, ..)| code.to_uppercase()).collect();
            rule.push_str(&format!(";BYDAY={}", days.join(",")));
        }
        if let Some(times) = self.times {
            rule.push_str(&format!(";COUNT={times}"));
        }
        if let Some(until) = self.until {
            rule.push_str(&format!(";UNTIL={}", format_until(until, times)?));
        }
        Ok(rule)
    }

    fn days(&self) -> impl Iterator<Item = &(&'static str, &'static str, Weekday)> {
        WEEKDAYS.iter().filter(|(code, ..)| self.on.iter().any(|on| on == code))
    }

    /// Describes it: "every 2 weeks on Monday and Friday, 10 times", for an event that first takes place at `times`.
    pub(super) fn describe(&self, times: &EventTime) -> String {
        let unit = match self.every {
            Frequency::Day => "day",
            Frequency::Week => "week",
            Frequency::Month => "month",
            Frequency::Year => "year",
        };
        let mut said = match self.interval {
            1 => format!("every {unit}"),
            apart => format!("every {apart} {unit}s"),
        };
        let names: Vec<&str> = self.days().map(|(_, name, _)| *name).collect();
        match names.as_slice() {
            [] => {}
            [one] => said.push_str(&format!(" on {one}")),
            [first @ .., last] => said.push_str(&format!(" on {} and {last}", first.join(", "))),
        }
        said.push_str(&self.skips(times.first_day()).unwrap_or_default());
        match (self.times, self.until) {
            (Some(times), _) => said.push_str(&format!(", {times} times")),
            (None, Some(until)) => said.push_str(&format!(", until {}", until.strftime("%a %-d %b %Y"))),
            (None, None) => said.push_str(", no end date"),
        }
        said
    }

    /// Describes which months or years are left out because they lack that day: Calendar uses no other day instead.
    fn skips(&self, first: Date) -> Option<String> {
        match (self.every, first.day()) {
            (Frequency::Month, day @ 29..=31) => Some(format!(" on day {day}, skipping shorter months")),
            (Frequency::Year, 29) if first.month() == 2 => {
                Some(" on 29 February, leap years only".to_owned())
            }
            _ => None,
        }
    }

    /// Returns a risk line if it repeats without an end, or for longer than people usually plan.
    pub(super) fn length_risk(&self, times: &EventTime) -> Option<String> {
        let first = times.first_day();
        let last = match (self.times, self.until) {
            (None, None) => return Some("It repeats with no end date".to_owned()),
            (_, Some(until)) => Some(until),
            (Some(times), None) => self.date_after(first, i64::from(times.saturating_sub(1))),
        };
        let long = first.checked_add(Span::new().years(LONG_RECURRENCE_YEARS)).ok();
        let last = last.filter(|last| long.is_none_or(|long| *last <= long));
        last.is_none().then(|| format!("It repeats for more than {LONG_RECURRENCE_YEARS} years"))
    }

    /// Returns the day at most this many steps later; `None` if it is beyond the range of dates.
    fn date_after(&self, first: Date, steps: i64) -> Option<Date> {
        // With several days per week, the same number of times takes fewer weeks.
        let steps = steps / i64::try_from(self.on.len().max(1)).ok()? * i64::from(self.interval);
        let span = match self.every {
            Frequency::Day => Span::new().try_days(steps),
            Frequency::Week => Span::new().try_weeks(steps),
            Frequency::Month => Span::new().try_months(steps),
            Frequency::Year => Span::new().try_years(steps),
        };
        first.checked_add(span.ok()?).ok()
    }
}

/// Formats the end of that day in the event's zone, as the rule requires.
fn format_until(until: Date, times: &EventTime) -> Result<String, ToolError> {
    let EventTime::Timed { start, .. } = times else { return Ok(until.strftime("%Y%m%d").to_string()) };
    let far = |_| ToolError::invalid("that's too far away");
    let end = until.tomorrow().map_err(far)?.to_zoned(start.time_zone().clone()).map_err(far)?;
    let end = end.with_time_zone(TimeZone::UTC).saturating_sub(Span::new().seconds(1));
    Ok(end.strftime("%Y%m%dT%H%M%SZ").to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn friday() -> EventTime {
        let start = "2026-03-06T15:00:00+01:00[Europe/Berlin]".parse().unwrap();
        EventTime::Timed { end: "2026-03-06T15:30:00+01:00[Europe/Berlin]".parse().unwrap(), start }
    }

    fn recurrence(value: Value) -> Recurrence {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn recurrence_becomes_a_rule_and_a_description() {
        let table = [
            (json!({"every": "day", "times": 5}), "RRULE:FREQ=DAILY;COUNT=5", "every day, 5 times"),
            (
                json!({"every": "week", "apart": 2, "on": ["mo", "fr"]}),
                "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR",
                "every 2 weeks on Monday and Friday, no end date",
            ),
            // Summer time applies on the last day: it ends two hours before midnight UTC.
            (
                json!({"every": "month", "until": "2026-06-30"}),
                "RRULE:FREQ=MONTHLY;UNTIL=20260630T215959Z",
                "every month, until Tue 30 Jun 2026",
            ),
        ];
        for (value, rule, said) in table {
            let repeat = recurrence(value);
            assert_eq!(
                (repeat.rule(&friday()).unwrap().as_str(), repeat.describe(&friday()).as_str()),
                (rule, said)
            );
        }
        let days = |day: &str| EventTime::Days { day: day.parse().unwrap(), last_day: day.parse().unwrap() };
        let monthly = recurrence(json!({"every": "month", "times": 12}));
        assert_eq!(
            monthly.describe(&days("2026-01-31")),
            "every month on day 31, skipping shorter months, 12 times"
        );
        assert_eq!(monthly.describe(&days("2026-01-28")), "every month, 12 times");
        assert_eq!(
            recurrence(json!({"every": "year"})).describe(&days("2028-02-29")),
            "every year on 29 February, leap years only, no end date"
        );
        let days =
            EventTime::Days { day: "2026-03-06".parse().unwrap(), last_day: "2026-03-06".parse().unwrap() };
        let yearly = recurrence(json!({"every": "year", "until": "2030-12-31"})).rule(&days).unwrap();
        assert_eq!(yearly, "RRULE:FREQ=YEARLY;UNTIL=20301231");
    }

    #[test]
    fn endless_recurrence_is_a_risk() {
        let risk = |value: Value| recurrence(value).length_risk(&friday());
        let long = Some("It repeats for more than 5 years".to_owned());
        assert_eq!(risk(json!({"every": "week"})).as_deref(), Some("It repeats with no end date"));
        assert_eq!(risk(json!({"every": "week", "until": "2031-03-06"})), None);
        assert_eq!(risk(json!({"every": "week", "until": "9999-12-31"})), long);
        assert_eq!(risk(json!({"every": "year", "times": 730})), long);
        assert_eq!(risk(json!({"every": "week", "times": 4_000_000_000_u32})), long);
        assert_eq!(risk(json!({"every": "day", "times": 730})), None);
        assert_eq!(risk(json!({"every": "week", "on": ["mo", "fr"], "times": 400})), None);
    }

    #[test]
    fn until_is_read_as_resolved() {
        let until = |value: Value| {
            let repeat: Result<Recurrence, _> =
                serde_json::from_value(json!({"every": "week", "until": value}));
            repeat.map(|repeat| repeat.until.unwrap().to_string()).map_err(|error| error.to_string())
        };
        let june = json!({"earliest": "2026-06-01T00:00:00+02:00[Europe/Berlin]",
            "latest": "2026-07-01T00:00:00+02:00[Europe/Berlin]", "said": "June"});
        assert_eq!(until(json!({"day": "2026-06-30"})).unwrap(), "2026-06-30");
        assert_eq!(until(json!({"at": "2026-06-30T17:00:00+02:00[Europe/Berlin]"})).unwrap(), "2026-06-30");
        assert!(until(june).unwrap_err().contains("“June” isn't a day"));
        let by_offset = EventTime::Timed {
            start: "2026-03-06T15:00:00+02:00[+02:00]".parse().unwrap(),
            end: "2026-03-06T15:30:00+02:00[+02:00]".parse().unwrap(),
        };
        assert!(recurrence(json!({"every": "week"})).rule(&by_offset).is_err());
    }

    #[test]
    fn ambiguous_recurrence_is_rejected() {
        for value in [
            json!({"every": "week", "on": ["mo"]}),
            json!({"every": "month", "on": ["fr"]}),
            json!({"every": "day", "times": 2, "until": "2026-04-01"}),
            json!({"every": "day", "until": "2026-03-05"}),
        ] {
            assert!(
                matches!(recurrence(value.clone()).rule(&friday()), Err(ToolError::InvalidArguments { .. })),
                "{value}"
            );
        }
    }
}
