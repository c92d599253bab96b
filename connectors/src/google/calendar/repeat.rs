//! How an event repeats: what a model may ask for, the rule that Calendar gets, and the words on the card.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use nod_core::tool::Fault;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::times::Times;

const MOST_TIMES: u32 = 730;
const MOST_APART: u32 = 52;
const DAYS: [(&str, &str, Weekday); 7] = [
    ("mo", "Monday", Weekday::Monday),
    ("tu", "Tuesday", Weekday::Tuesday),
    ("we", "Wednesday", Weekday::Wednesday),
    ("th", "Thursday", Weekday::Thursday),
    ("fr", "Friday", Weekday::Friday),
    ("sa", "Saturday", Weekday::Saturday),
    ("su", "Sunday", Weekday::Sunday),
];

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Repeat {
    every: Every,
    /// Every so many.
    #[serde(default = "one")]
    apart: u32,
    /// On which days of the week, or of a month's first week; the day of the start where there are none.
    #[serde(default)]
    on: Vec<String>,
    times: Option<u32>,
    until: Option<Date>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Every {
    Day,
    Week,
    Month,
    Year,
}

fn one() -> u32 {
    1
}

/// The part of a tool's schema that reads it.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "description": "Only where it repeats. It follows the zone of its start through daylight saving.",
        "properties": {
            "every": {"type": "string", "enum": ["day", "week", "month", "year"]},
            "apart": {"type": "integer", "minimum": 1, "maximum": MOST_APART,
                "description": "2 for every second week; 1 if left out."},
            "on": {"type": "array", "maxItems": 7, "uniqueItems": true,
                "items": {"type": "string", "enum": ["mo", "tu", "we", "th", "fr", "sa", "su"]},
                "description": "With week alone: on which days. The start must be on one of them."},
            "times": {"type": "integer", "minimum": 2, "maximum": MOST_TIMES, "description": "How often in all."},
            "until": {"type": "string", "format": "date", "description": "The last day, YYYY-MM-DD."},
        },
        "required": ["every"],
        "additionalProperties": false,
    })
}

impl Repeat {
    /// Calendar's rule (RFC 5545) for an event that first takes place at `times`.
    ///
    /// # Errors
    /// [`Fault::Invalid`] where the rule would mean something else than it says.
    pub(super) fn rule(&self, times: &Times) -> Result<String, Fault> {
        if self.times.is_some() && self.until.is_some() {
            return Err(Fault::invalid("it repeats `times` times or `until` a day, not both"));
        }
        if !self.on.is_empty() && self.every != Every::Week {
            return Err(Fault::invalid("`on` is for what repeats by the week"));
        }
        let first = times.first_day();
        if !self.on.is_empty() && !self.days().any(|(_, _, day)| *day == first.weekday()) {
            let day = DAYS.iter().find(|(_, _, day)| *day == first.weekday()).map_or("", |(_, name, _)| name);
            return Err(Fault::invalid(format!(
                "it would begin on a {day}, which is none of the days in `on`"
            )));
        }
        if self.until.is_some_and(|until| until < first) {
            return Err(Fault::invalid("it would end before it begins"));
        }
        let every = match self.every {
            Every::Day => "DAILY",
            Every::Week => "WEEKLY",
            Every::Month => "MONTHLY",
            Every::Year => "YEARLY",
        };
        let mut rule = format!("RRULE:FREQ={every}");
        if self.apart > 1 {
            rule.push_str(&format!(";INTERVAL={}", self.apart));
        }
        if !self.on.is_empty() {
            let days: Vec<String> = self.days().map(|(code, ..)| code.to_uppercase()).collect();
            rule.push_str(&format!(";BYDAY={}", days.join(",")));
        }
        if let Some(times) = self.times {
            rule.push_str(&format!(";COUNT={times}"));
        }
        if let Some(until) = self.until {
            rule.push_str(&format!(";UNTIL={}", last(until, times)?));
        }
        Ok(rule)
    }

    fn days(&self) -> impl Iterator<Item = &(&'static str, &'static str, Weekday)> {
        DAYS.iter().filter(|(code, ..)| self.on.iter().any(|on| on == code))
    }

    /// "every 2 weeks on Monday and Friday, 10 times".
    pub(super) fn said(&self) -> String {
        let unit = match self.every {
            Every::Day => "day",
            Every::Week => "week",
            Every::Month => "month",
            Every::Year => "year",
        };
        let mut said = match self.apart {
            1 => format!("every {unit}"),
            apart => format!("every {apart} {unit}s"),
        };
        let names: Vec<&str> = self.days().map(|(_, name, _)| *name).collect();
        match names.as_slice() {
            [] => {}
            [one] => said.push_str(&format!(" on {one}")),
            [first @ .., last] => said.push_str(&format!(" on {} and {last}", first.join(", "))),
        }
        match (self.times, self.until) {
            (Some(times), _) => said.push_str(&format!(", {times} times")),
            (None, Some(until)) => said.push_str(&format!(", until {}", until.strftime("%a %-d %b %Y"))),
            (None, None) => said.push_str(", without an end"),
        }
        said
    }

    /// It goes on for ever.
    pub(super) fn is_endless(&self) -> bool {
        self.times.is_none() && self.until.is_none()
    }
}

/// The end of that day in the event's zone, as the rule wants it.
fn last(until: Date, times: &Times) -> Result<String, Fault> {
    let Times::Timed { start, .. } = times else { return Ok(until.strftime("%Y%m%d").to_string()) };
    let far = |_| Fault::invalid("that is too far off");
    let end = until.tomorrow().map_err(far)?.to_zoned(start.time_zone().clone()).map_err(far)?;
    let end = end.with_time_zone(TimeZone::UTC).saturating_sub(jiff::Span::new().seconds(1));
    Ok(end.strftime("%Y%m%dT%H%M%SZ").to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn friday() -> Times {
        let start = "2026-03-06T15:00:00+01:00[Europe/Berlin]".parse().unwrap();
        Times::Timed { end: "2026-03-06T15:30:00+01:00[Europe/Berlin]".parse().unwrap(), start }
    }

    fn asked(value: Value) -> Repeat {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_is_asked_for_becomes_a_rule_and_words() {
        let table = [
            (json!({"every": "day", "times": 5}), "RRULE:FREQ=DAILY;COUNT=5", "every day, 5 times"),
            (
                json!({"every": "week", "apart": 2, "on": ["mo", "fr"]}),
                "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR",
                "every 2 weeks on Monday and Friday, without an end",
            ),
            // Summer time holds on the last day: its end is two hours before midnight UTC.
            (
                json!({"every": "month", "until": "2026-06-30"}),
                "RRULE:FREQ=MONTHLY;UNTIL=20260630T215959Z",
                "every month, until Tue 30 Jun 2026",
            ),
        ];
        for (value, rule, said) in table {
            let repeat = asked(value);
            assert_eq!((repeat.rule(&friday()).unwrap().as_str(), repeat.said().as_str()), (rule, said));
        }
        let days =
            Times::Days { day: "2026-03-06".parse().unwrap(), last_day: "2026-03-06".parse().unwrap() };
        let yearly = asked(json!({"every": "year", "until": "2030-12-31"})).rule(&days).unwrap();
        assert_eq!(yearly, "RRULE:FREQ=YEARLY;UNTIL=20301231");
    }

    #[test]
    fn what_would_mean_something_else_is_refused() {
        for value in [
            json!({"every": "week", "on": ["mo"]}),
            json!({"every": "month", "on": ["fr"]}),
            json!({"every": "day", "times": 2, "until": "2026-04-01"}),
            json!({"every": "day", "until": "2026-03-05"}),
        ] {
            assert!(matches!(asked(value.clone()).rule(&friday()), Err(Fault::Invalid { .. })), "{value}");
        }
    }
}
