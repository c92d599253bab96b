//! A person's working hours, by the clocks of their own zone.

use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, ToSpan as _, Zoned};

use super::Interval;

/// The same hours on each of the given weekdays.
#[derive(Debug, Clone, PartialEq)]
pub struct WeeklyHours {
    /// The zone of the hours.
    pub zone: TimeZone,
    /// The weekdays on which the hours begin.
    pub days: Vec<Weekday>,
    /// When work begins.
    pub from: Time,
    /// When work ends; on the next day if it is not later than `from` ("22:00–06:00", and midnight).
    pub to: Time,
}

impl WeeklyHours {
    /// Monday to Friday, 09:00–17:00.
    #[must_use]
    pub fn default_in(zone: TimeZone) -> Self {
        use Weekday::{Friday, Monday, Thursday, Tuesday, Wednesday};
        let (nine, five) = (Time::constant(9, 0, 0, 0), Time::constant(17, 0, 0, 0));
        Self { zone, days: vec![Monday, Tuesday, Wednesday, Thursday, Friday], from: nine, to: five }
    }

    /// Returns whether all of it is working time; for a risk line on an event.
    #[must_use]
    pub fn is_within(&self, from: &Zoned, to: &Zoned) -> bool {
        let slot = Interval { from: from.timestamp(), to: to.timestamp() };
        slot.to.duration_since(slot.from) <= SignedDuration::from_hours(24 * super::MAX_DAYS)
            && super::has_containing(&super::merge_intervals(self.intervals_in(slot)), slot)
    }

    /// Returns the working intervals that touch the window.
    pub(super) fn intervals_in(&self, window: Interval) -> Vec<Interval> {
        if window.to <= window.from {
            return Vec::new();
        }
        let first = self.zone.to_datetime(window.from).date().yesterday();
        let last = self.zone.to_datetime(window.to).date();
        let Ok(first) = first else { return Vec::new() };
        let days = first.series(1.day()).take_while(|day| *day <= last);
        let hours = |day: jiff::civil::Date| {
            let ends = if self.to <= self.from { day.tomorrow().ok()? } else { day };
            // If the clocks skip that time, `compatible` moves it after the gap.
            let at = |day: jiff::civil::Date, time| {
                self.zone.to_ambiguous_timestamp(day.to_datetime(time)).compatible().ok()
            };
            let (from, to) = (at(day, self.from)?, at(ends, self.to)?);
            (from < to).then_some(Interval { from, to })
        };
        days.filter(|day| self.days.contains(&day.weekday())).filter_map(hours).collect()
    }
}
