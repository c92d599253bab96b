//! A resolved time as tools receive it: JSON whose meaning never changes.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned, civil::Date};
use serde::{Deserialize, Serialize};

use super::{ResolvedTime, TimeSpec};
use nod_contract::clock::Timestamp;

/// An event that starts "now" has already started when it is approved. This much delay is accepted.
pub(crate) const START_TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// A fully resolved time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum ExactTime {
    /// An instant.
    At { at: Zoned },
    /// From one instant to a later one.
    Span { from: Zoned, to: Zoned },
    /// A whole day.
    Day { day: Date },
    /// Whole days, both included.
    Days { first: Date, last: Date },
    /// Some time in this range: too vague for an event, but enough for a slot search. Holds the original phrase, and
    /// the duration in minutes if the phrase gave one.
    Within {
        earliest: Zoned,
        latest: Zoned,
        #[serde(rename = "said")]
        phrase: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        minutes: Option<i64>,
    },
}

impl ExactTime {
    /// Converts a resolved phrase (`words`) of a person in `zone`. A duration without an hour ("an hour on Friday")
    /// becomes [`Self::Within`].
    #[must_use]
    pub fn from_resolved(said: ResolvedTime, words: &str, zone: &TimeZone) -> Self {
        let minutes = said.duration.map(|lasts| lasts.as_mins());
        let within =
            |earliest, latest| Self::Within { earliest, latest, phrase: words.trim().to_owned(), minutes };
        let (first, last) = match said.time {
            TimeSpec::At(at) => return Self::At { at },
            TimeSpec::Span { from, to } => return Self::Span { from, to },
            TimeSpec::Within { from, to } => return within(from, to),
            TimeSpec::Day(day) => (day, day),
            TimeSpec::Days { first, last } => (first, last),
        };
        let midnight = |day: Date| day.to_zoned(zone.clone()).ok();
        let both = minutes.and_then(|_| midnight(first).zip(midnight(last.tomorrow().ok()?)));
        match both {
            Some((earliest, latest)) => within(earliest, latest),
            None if first == last => Self::Day { day: first },
            None => Self::Days { first, last },
        }
    }

    /// The duration, if it was given without an hour.
    #[must_use]
    pub fn minutes(&self) -> Option<i64> {
        if let Self::Within { minutes, .. } = self { *minutes } else { None }
    }

    /// Returns whether it began more than [`START_TOLERANCE`] before `now`. Days and ranges have begun once they are
    /// over; days end at midnight in `zone`.
    #[must_use]
    pub fn has_begun(&self, zone: &TimeZone, now: Timestamp) -> bool {
        let now = super::to_jiff(now).to_zoned(zone.clone());
        match self {
            Self::At { at } | Self::Span { from: at, .. } => now.duration_since(at) > START_TOLERANCE,
            Self::Day { day: last } | Self::Days { last, .. } => *last < now.date(),
            Self::Within { latest, .. } => *latest <= now,
        }
    }
}
