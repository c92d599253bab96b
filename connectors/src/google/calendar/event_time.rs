//! When an event takes place: an exact range of time in a zone, or whole days.

use chrono::DateTime;
use google_calendar3::api::EventDateTime;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Unit, Zoned};
use nod_contract::clock::Timestamp as Instant;
use nod_contract::tool::{EventDetails, ToolError};
use nod_when::when::{self, ExactTime, TimeError};
use serde::{Deserialize, Serialize};

/// The length of an event if none is given.
const DEFAULT_MINUTES: i64 = 30;
/// Longer events must be all-day events.
pub(super) const MAX_MINUTES: i64 = 14 * 24 * 60;
const MAX_DAYS: i64 = 366;

/// When an event takes place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum EventTime {
    /// In the zone in which it was meant; a repeating event follows this zone.
    Timed { start: Zoned, end: Zoned },
    /// Whole days, including the last.
    Days { day: Date, last_day: Date },
}

impl EventTime {
    /// Builds it from the resolved time that the person said, and a length in minutes.
    ///
    /// # Errors
    /// [`ToolError::InvalidArguments`] if no event could take place then.
    pub(super) fn from_exact(exact: &ExactTime, minutes: Option<i64>) -> Result<Self, ToolError> {
        let timed = |start: &Zoned, minutes: i64| {
            // Absolute minutes: half an hour is half an hour even in the night when the clocks change.
            let end = start
                .checked_add(minutes.minutes())
                .map_err(|_| ToolError::invalid("that's too far away"))?;
            Ok(Self::Timed { start: start.clone(), end })
        };
        match (exact, minutes) {
            (ExactTime::At { at }, minutes) => timed(at, minutes.unwrap_or(DEFAULT_MINUTES)),
            (ExactTime::Span { from, .. }, Some(minutes)) => timed(from, minutes),
            (ExactTime::Span { from, to }, None) => {
                Self::Timed { start: from.clone(), end: to.clone() }.validate()
            }
            (ExactTime::Day { day }, None) => Ok(Self::Days { day: *day, last_day: *day }),
            (ExactTime::Days { first, last }, None) => Self::Days { day: *first, last_day: *last }.validate(),
            (ExactTime::Within { .. }, _) => {
                Err(ToolError::invalid("at what time? That's a stretch it could start anywhere in"))
            }
            (ExactTime::Day { .. } | ExactTime::Days { .. }, Some(_)) => {
                Err(ToolError::invalid("at what time? A day and a length don't say when it starts"))
            }
        }
    }

    /// Returns a range to search. An hour without an end is searched for `minutes`, or half an hour if none are given.
    pub(super) fn search_range(exact: &ExactTime, minutes: Option<i64>) -> Result<Self, ToolError> {
        match exact {
            ExactTime::At { .. } => Self::from_exact(exact, minutes),
            ExactTime::Within { earliest, latest, .. } => {
                Ok(Self::Timed { start: earliest.clone(), end: latest.clone() })
            }
            exact => Self::from_exact(exact, None),
        }
    }

    /// Returns the start and the end; whole days are counted in `zone`.
    pub(super) fn bounds(&self, zone: &TimeZone) -> Result<(Zoned, Zoned), ToolError> {
        match self {
            Self::Timed { start, end } => Ok((start.clone(), end.clone())),
            Self::Days { day, last_day } => {
                let far = |_| ToolError::invalid("that's too far away");
                let after = last_day.tomorrow().map_err(far)?;
                Ok((day.to_zoned(zone.clone()).map_err(far)?, after.to_zoned(zone.clone()).map_err(far)?))
            }
        }
    }

    /// Reads the times of an event from Calendar; `None` if there are none that can be read.
    pub(super) fn read(
        start: Option<&EventDateTime>,
        end: Option<&EventDateTime>,
        zone: &TimeZone,
    ) -> Option<Self> {
        let (start, end) = (start?, end.or(start)?);
        if let Some(day) = start.date {
            let day = date(day)?;
            // Calendar's end is the day after the last; an event without an end takes one day.
            let last = end.date.and_then(date).and_then(|end| end.yesterday().ok()).unwrap_or(day);
            return Some(Self::Days { day, last_day: last.max(day) });
        }
        let own = start.time_zone.as_deref().and_then(|name| TimeZone::get(name).ok());
        let zone = own.unwrap_or_else(|| zone.clone());
        let from = instant(start.date_time?)?.to_zoned(zone.clone());
        let to = end.date_time.and_then(instant).map_or_else(|| from.clone(), |end| end.to_zoned(zone));
        Some(Self::Timed { end: to.max(from.clone()), start: from })
    }

    /// Returns times of the same length, beginning then. A day is one in `zone`, the zone of the person who says it.
    pub(super) fn with_start(
        &self,
        exact: &ExactTime,
        minutes: Option<i64>,
        zone: &TimeZone,
    ) -> Result<Self, ToolError> {
        match (self, exact, minutes) {
            (Self::Timed { start, end }, ExactTime::At { at }, None) => {
                let length =
                    start.until((Unit::Second, end)).map_err(|_| ToolError::invalid("that's too long"))?;
                let end = at.checked_add(length).map_err(|_| ToolError::invalid("that's too far away"))?;
                Ok(Self::Timed { start: at.clone(), end })
            }
            (Self::Days { day, last_day }, ExactTime::Day { day: first }, None) => {
                let days = day.until(*last_day).map_err(|_| ToolError::invalid("that's too long"))?;
                let last = first.checked_add(days).map_err(|_| ToolError::invalid("that's too far away"))?;
                Ok(Self::Days { day: *first, last_day: last })
            }
            // “Move it to Friday” keeps the hour.
            (Self::Timed { start, end }, ExactTime::Day { day }, None) => {
                let length =
                    start.until((Unit::Second, end)).map_err(|_| ToolError::invalid("that's too long"))?;
                let there = |at: &Zoned| at.with_time_zone(zone.clone()).date();
                let far = |_| ToolError::invalid("that's too far away");
                let days = there(start).until(*day).map_err(far)?;
                let moved = start.datetime().checked_add(days).map_err(far)?;
                let moved = start.time_zone().to_ambiguous_zoned(moved).unambiguous().ok();
                let start = moved.filter(|moved| there(moved) == *day).ok_or_else(|| {
                    ToolError::invalid(format!("the clocks change on {day}, so please give me a start time"))
                })?;
                let end = start.checked_add(length).map_err(|_| ToolError::invalid("that's too far away"))?;
                Ok(Self::Timed { start, end })
            }
            (_, exact, minutes) => Self::from_exact(exact, minutes),
        }
    }

    /// Resolves an hour that was said without a day, on the day on which this begins in `zone`. Also returns what was
    /// assumed.
    pub(super) fn at_hour(
        &self,
        words: &str,
        (zone, now): (&TimeZone, Instant),
    ) -> Result<(ExactTime, Option<String>), ToolError> {
        let day = self.start_date_in(zone).ok_or_else(|| ToolError::invalid("that's too far away"))?;
        let said = when::resolve_on_day(words, day, now, zone).map_err(|why| unclear(words, &why))?;
        let understood = said.assumption.clone();
        Ok((ExactTime::from_resolved(said, words, zone), understood))
    }

    /// Returns the same start with this length.
    pub(super) fn with_duration(&self, minutes: i64) -> Result<Self, ToolError> {
        match self {
            Self::Timed { start, .. } => {
                Self::from_exact(&ExactTime::At { at: start.clone() }, Some(minutes))
            }
            Self::Days { .. } => {
                Err(ToolError::invalid("it lasts whole days now, so please give me a start time"))
            }
        }
    }

    /// Returns the same hours on that day, in its own zone.
    pub(super) fn on_day(&self, day: Date) -> Result<Self, ToolError> {
        let own = self.zone().cloned().unwrap_or(TimeZone::UTC);
        self.with_start(&ExactTime::Day { day }, None, &own)
    }

    /// Returns the zone in which it takes place; `None` for whole days, which are the same everywhere.
    pub(super) fn zone(&self) -> Option<&TimeZone> {
        match self {
            Self::Timed { start, .. } => Some(start.time_zone()),
            Self::Days { .. } => None,
        }
    }

    /// Returns the same instants in this zone.
    pub(super) fn in_time_zone(self, zone: &TimeZone) -> Self {
        match self {
            Self::Timed { start, end } => Self::Timed {
                start: start.with_time_zone(zone.clone()),
                end: end.with_time_zone(zone.clone()),
            },
            days @ Self::Days { .. } => days,
        }
    }

    /// Makes it valid for Calendar: times said with an offset from UTC are converted to the zone of the person who said
    /// them.
    pub(super) fn with_named_zone(self, own: &TimeZone) -> Result<Self, ToolError> {
        let placed = if self.has_fixed_offset() { self.in_time_zone(own) } else { self };
        placed.to_calendar().map(|_| placed)
    }

    /// Returns whether it was said with an offset from UTC, which names no place and has no summer time.
    pub(super) fn has_fixed_offset(&self) -> bool {
        self.zone().is_some_and(|zone| zone.iana_name().is_none())
    }

    /// Returns the place of its zone ("New York"), if that is not the reader's zone.
    pub(super) fn foreign_zone_label(&self, reader: &TimeZone) -> Option<String> {
        let name = self.zone()?.iana_name().filter(|name| Some(*name) != reader.iana_name())?;
        Some(name.rsplit('/').next().unwrap_or(name).replace('_', " "))
    }

    /// Returns whether it has begun; whole days count as begun when they have ended in `zone`.
    pub(super) fn has_begun(&self, zone: &TimeZone, now: Instant) -> bool {
        let exact = match self {
            Self::Timed { start, .. } => ExactTime::At { at: start.clone() },
            Self::Days { last_day, .. } => ExactTime::Day { day: *last_day },
        };
        exact.has_begun(zone, now)
    }

    /// Rejects times that have begun: a late approval must not invite people to them.
    pub(super) fn check_not_started(&self, zone: &TimeZone, now: Instant) -> Result<(), ToolError> {
        let late =
            || format!("it was meant to be {}, and that has already started", self.describe(zone, now));
        if self.has_begun(zone, now) { Err(ToolError::invalid(late())) } else { Ok(()) }
    }

    fn validate(self) -> Result<Self, ToolError> {
        let long = match &self {
            Self::Timed { start, end } => {
                if end <= start {
                    return Err(ToolError::invalid("it would end before it starts"));
                }
                end.timestamp().as_second() - start.timestamp().as_second() > MAX_MINUTES * 60
            }
            Self::Days { day, last_day } => {
                if last_day < day {
                    return Err(ToolError::invalid("it would end before it starts"));
                }
                day.until(*last_day).is_ok_and(|days| i64::from(days.get_days()) > MAX_DAYS)
            }
        };
        if long { Err(ToolError::invalid("that's too long for one event")) } else { Ok(self) }
    }

    /// Returns the start and the end for Calendar.
    pub(super) fn to_calendar(&self) -> Result<(EventDateTime, EventDateTime), ToolError> {
        match self {
            Self::Timed { start, end } => Ok((moment(start)?, moment(end)?)),
            Self::Days { day, last_day } => {
                let after = last_day.tomorrow().map_err(|_| ToolError::invalid("that's too far away"))?;
                Ok((whole_day(*day)?, whole_day(after)?))
            }
        }
    }

    /// Returns the instants of its start and end, to look up what else is then. Whole days are counted in `zone`.
    pub(super) fn instant_range(&self, zone: &TimeZone) -> Option<(Instant, Instant)> {
        let (start, end) = self.bounds(zone).ok()?;
        Some((utc(start.timestamp())?, utc(end.timestamp())?))
    }

    /// Returns the event details with these guests, for readers in other zones; whole days are the same everywhere.
    pub(super) fn to_event_details(&self, guests: Vec<String>) -> Option<EventDetails> {
        match self {
            Self::Timed { start, end } => {
                Some(EventDetails { from: utc(start.timestamp())?, to: utc(end.timestamp())?, guests })
            }
            Self::Days { .. } => None,
        }
    }

    /// Formats it for a reader in `zone`: "Fri 6 Mar, 15:00–15:30 CET".
    pub(super) fn describe(&self, zone: &TimeZone, now: Instant) -> String {
        match self {
            Self::Timed { start, end } => when::format_span(start, end, zone, now),
            Self::Days { day, last_day } => when::format_days(*day, *last_day, zone, now),
        }
    }

    /// Returns the day on which it begins in `zone`.
    pub(super) fn start_date_in(&self, zone: &TimeZone) -> Option<Date> {
        self.bounds(zone).ok().map(|(start, _)| start.with_time_zone(zone.clone()).date())
    }

    /// Returns the first of its days in its own zone.
    pub(super) fn first_day(&self) -> Date {
        match self {
            Self::Timed { start, .. } => start.date(),
            Self::Days { day, .. } => *day,
        }
    }
}

/// Returns the choices for an ambiguous time, or why it is none.
pub(super) fn unclear(words: &str, unclear: &TimeError) -> ToolError {
    match unclear.choices() {
        [] => ToolError::invalid(unclear.message()),
        choices => ToolError::Ambiguous {
            name: when::quoted_phrase(words),
            choices: choices.to_vec(),
            message: Some(unclear.message()),
        },
    }
}

fn moment(at: &Zoned) -> Result<EventDateTime, ToolError> {
    let zone = at.time_zone().iana_name().ok_or_else(|| ToolError::invalid("the time has no zone"))?;
    let utc = utc(at.timestamp()).ok_or_else(|| ToolError::invalid("that's too far away"))?;
    Ok(EventDateTime { date_time: Some(utc), time_zone: Some(zone.to_owned()), date: None })
}

fn whole_day(day: Date) -> Result<EventDateTime, ToolError> {
    let (month, of_month) = (day.month().unsigned_abs(), day.day().unsigned_abs());
    let date = chrono::NaiveDate::from_ymd_opt(day.year().into(), month.into(), of_month.into());
    let date = date.ok_or_else(|| ToolError::invalid("that's too far away"))?;
    Ok(EventDateTime { date: Some(date), ..EventDateTime::default() })
}

fn date(day: chrono::NaiveDate) -> Option<Date> {
    day.to_string().parse().ok()
}

/// Converts to jiff's type.
pub(super) fn instant(at: Instant) -> Option<Timestamp> {
    Timestamp::from_microsecond(at.timestamp_micros()).ok()
}

/// Converts to the type used in rows and by Calendar's client.
pub(super) fn utc(at: Timestamp) -> Option<Instant> {
    DateTime::from_timestamp_micros(at.as_microsecond())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parse_zoned(text: &str) -> Zoned {
        text.parse().unwrap()
    }

    fn days(first: &str, last: &str) -> EventTime {
        EventTime::Days { day: first.parse().unwrap(), last_day: last.parse().unwrap() }
    }

    #[test]
    fn duration_survives_clock_changes() {
        let at = parse_zoned("2026-03-29T01:45:00+01:00[Europe/Berlin]");
        let EventTime::Timed { end, .. } = EventTime::from_exact(&ExactTime::At { at }, None).unwrap() else {
            panic!("a day")
        };
        assert_eq!(end, parse_zoned("2026-03-29T03:15:00+02:00[Europe/Berlin]"));
    }

    #[test]
    fn moved_event_keeps_duration_and_hour() {
        let start = parse_zoned("2026-03-06T15:00:00+01:00[Europe/Berlin]");
        let end = parse_zoned("2026-03-06T16:30:00+01:00[Europe/Berlin]");
        let meeting = EventTime::Timed { start, end };
        let at = parse_zoned("2026-04-02T09:00:00+02:00[Europe/Berlin]");
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let moved = meeting.with_start(&ExactTime::At { at: at.clone() }, None, &berlin).unwrap();
        let end = parse_zoned("2026-04-02T10:30:00+02:00[Europe/Berlin]");
        assert_eq!(moved, EventTime::Timed { start: at, end });
        let moved = meeting.with_start(&ExactTime::Day { day: "2026-04-02".parse().unwrap() }, None, &berlin);
        let moved = moved.unwrap();
        let (start, end) =
            ("2026-04-02T15:00:00+02:00[Europe/Berlin]", "2026-04-02T16:30:00+02:00[Europe/Berlin]");
        assert_eq!(moved, EventTime::Timed { start: parse_zoned(start), end: parse_zoned(end) });
        let day = ExactTime::Day { day: "2026-04-02".parse().unwrap() };
        assert_eq!(
            days("2026-03-06", "2026-03-08").with_start(&day, None, &berlin).unwrap(),
            days("2026-04-02", "2026-04-04")
        );
    }

    #[test]
    fn all_day_events_use_the_speakers_zone() {
        // Thursday evening in New York is Friday in Berlin, and Friday evening there is Saturday.
        let meeting = |start: &str| {
            let start = parse_zoned(start);
            EventTime::Timed { end: start.checked_add(1.hours()).unwrap(), start }
        };
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let saturday = ExactTime::Day { day: "2026-03-07".parse().unwrap() };
        let moved = meeting("2026-03-05T20:00:00-05:00[America/New_York]")
            .with_start(&saturday, None, &berlin)
            .unwrap();
        assert_eq!(moved, meeting("2026-03-06T20:00:00-05:00[America/New_York]"));
        assert_eq!(moved.foreign_zone_label(&berlin).as_deref(), Some("New York"));
    }

    #[test]
    fn utc_offset_becomes_the_speakers_zone() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let at = parse_zoned("2026-03-06T15:00:00+02:00[+02:00]");
        let said = EventTime::from_exact(&ExactTime::At { at }, None).unwrap();
        assert!(said.has_fixed_offset() && said.to_calendar().is_err());
        let placed = said.with_named_zone(&berlin).unwrap();
        assert_eq!(placed.zone().and_then(TimeZone::iana_name), Some("Europe/Berlin"));
        let EventTime::Timed { start, .. } = placed else { panic!("a day") };
        assert_eq!(start, parse_zoned("2026-03-06T14:00:00+01:00[Europe/Berlin]"));
    }

    #[test]
    fn partial_calendar_times_are_read() {
        let zone = TimeZone::get("Asia/Tokyo").unwrap();
        let at = |utc: &str| EventDateTime { date_time: Some(utc.parse().unwrap()), ..Default::default() };
        let on = |day: &str| EventDateTime { date: Some(day.parse().unwrap()), ..Default::default() };
        let read = |start: EventDateTime, end: Option<EventDateTime>| {
            EventTime::read(Some(&start), end.as_ref(), &zone)
        };
        let day = read(on("2026-03-06"), Some(on("2026-03-08"))).unwrap();
        assert_eq!(day, days("2026-03-06", "2026-03-07"));
        assert_eq!(read(on("2026-03-06"), None).unwrap(), days("2026-03-06", "2026-03-06"));
        let start = parse_zoned("2026-03-06T18:00:00+09:00[Asia/Tokyo]");
        let endless = read(at("2026-03-06T09:00:00Z"), None).unwrap();
        assert_eq!(endless, EventTime::Timed { start: start.clone(), end: start.clone() });
        let backwards = read(at("2026-03-06T09:00:00Z"), Some(at("2026-03-06T08:00:00Z"))).unwrap();
        assert_eq!(backwards, EventTime::Timed { start: start.clone(), end: start.clone() });
        let nowhere = EventDateTime { time_zone: Some("Mars/Base".into()), ..at("2026-03-06T09:00:00Z") };
        assert_eq!(read(nowhere, None).unwrap(), EventTime::Timed { start: start.clone(), end: start });
        assert_eq!(EventTime::read(None, None, &zone), None);
        assert_eq!(EventTime::read(Some(&EventDateTime::default()), None, &zone), None);
    }

    #[test]
    fn calendar_times_round_trip() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let start = parse_zoned("2026-10-25T02:30:00+01:00[Europe/Berlin]");
        let end = parse_zoned("2026-10-25T03:30:00+01:00[Europe/Berlin]");
        for times in [EventTime::Timed { start, end }, days("2026-12-31", "2027-01-01")] {
            let (start, end) = times.to_calendar().unwrap();
            assert_eq!(EventTime::read(Some(&start), Some(&end), &zone), Some(times.clone()));
            let kept: EventTime = serde_json::from_value(serde_json::to_value(&times).unwrap()).unwrap();
            assert_eq!(kept, times);
        }
    }
}
