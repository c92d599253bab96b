//! Times of events: a day or an instant, with the time zones in which they were given.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use serde_json::{Map, Value, json};

use super::rejection;
use crate::google::response::Rejection;

/// The start or the end of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Day(Date),
    At(Timestamp),
}

impl Moment {
    /// Converts to an instant; a day begins at midnight in `zone`.
    pub fn at(self, zone: &TimeZone) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Day(day) => day.to_zoned(zone.clone()).map_or(Timestamp::MIN, |zoned| zoned.timestamp()),
        }
    }

    /// Returns the suffix that an instance's id adds to the id of its series.
    pub fn key(self) -> String {
        match self {
            Self::Day(day) => day.strftime("%Y%m%d").to_string(),
            Self::At(at) => at.strftime("%Y%m%dT%H%M%SZ").to_string(),
        }
    }

    fn is_before(self, other: Self) -> Option<bool> {
        match (self, other) {
            (Self::Day(one), Self::Day(two)) => Some(one < two),
            (Self::At(one), Self::At(two)) => Some(one < two),
            _ => None,
        }
    }

    /// Returns the API's format; an instant in zone `shown`, with the zone `said` in which it was given.
    pub fn show(self, said: Option<&str>, shown: &TimeZone) -> Value {
        match self {
            Self::Day(day) => json!({"date": day.to_string()}),
            Self::At(at) => json!({"dateTime": stamp(at, shown), "timeZone": said.unwrap_or(name(shown))}),
        }
    }
}

/// Formats an instant with the offset of a zone.
pub(super) fn stamp(at: Timestamp, zone: &TimeZone) -> String {
    match zone == &TimeZone::UTC {
        true => at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        false => at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
    }
}

/// Returns a zone by its exact name in the IANA database.
pub(super) fn zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok().filter(|zone| zone.iana_name() == Some(name))
}

fn name(zone: &TimeZone) -> &str {
    zone.iana_name().unwrap_or("UTC")
}

/// Start, end, and the zones in which they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub start: Moment,
    pub end: Moment,
    pub start_zone: Option<String>,
    pub end_zone: Option<String>,
}

impl Span {
    /// Parses `start` and `end` of an event.
    pub fn read(event: &Map<String, Value>) -> Result<Self, Rejection> {
        let (start, start_zone) = moment(event.get("start"), "start")?;
        let (end, end_zone) = moment(event.get("end"), "end")?;
        let ordered = start.is_before(end).ok_or_else(|| {
            rejection::invalid("Start and end times must either both be date or both be dateTime.")
        })?;
        if !ordered {
            return Err(rejection::empty_range());
        }
        Ok(Self { start, end, start_zone, end_zone })
    }

    pub fn is_all_day(&self) -> bool {
        matches!(self.start, Moment::Day(_))
    }

    pub fn overlaps(&self, from: Option<Timestamp>, to: Option<Timestamp>, zone: &TimeZone) -> bool {
        from.is_none_or(|from| self.end.at(zone) > from) && to.is_none_or(|to| self.start.at(zone) < to)
    }

    /// Returns a span of the same length with another start.
    pub fn with_start(&self, start: Moment) -> Option<Self> {
        let end = match (self.start, self.end, start) {
            (Moment::Day(from), Moment::Day(to), Moment::Day(day)) => {
                Moment::Day(day.checked_add(from.until(to).ok()?.get_days().days()).ok()?)
            }
            (Moment::At(from), Moment::At(to), Moment::At(at)) => {
                let long: SignedDuration = to.duration_since(from);
                Moment::At(at.checked_add(long).ok()?)
            }
            _ => return None,
        };
        Some(Self { start, end, ..self.clone() })
    }

    /// Returns `start` and `end` in the API's format.
    pub fn show(&self, shown: &TimeZone) -> (Value, Value) {
        (self.start.show(self.start_zone.as_deref(), shown), self.end.show(self.end_zone.as_deref(), shown))
    }
}

fn moment(value: Option<&Value>, which: &str) -> Result<(Moment, Option<String>), Rejection> {
    let missing = || rejection::required(format!("Missing {which} time."));
    let value = value.ok_or_else(missing)?;
    let named = value["timeZone"].as_str();
    let unknown = || rejection::invalid(format!("Invalid time zone definition for {which} time."));
    if named.is_some_and(|name| zone(name).is_none()) {
        return Err(unknown());
    }
    let wrong = || rejection::invalid(format!("Invalid {which} time."));
    let moment = match (value["date"].as_str(), value["dateTime"].as_str()) {
        (Some(day), None) => Moment::Day(day.parse().map_err(|_| wrong())?),
        (None, Some(at)) => Moment::At(instant(at).ok_or_else(wrong)?),
        (Some(_), Some(_)) => return Err(wrong()),
        (None, None) => return Err(missing()),
    };
    Ok((moment, named.map(str::to_owned)))
}

/// Parses an instant with its offset; like Google, it keeps whole seconds.
pub(super) fn instant(text: &str) -> Option<Timestamp> {
    let at: Timestamp = text.parse().ok()?;
    Timestamp::from_second(at.as_second()).ok()
}
