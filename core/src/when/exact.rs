//! A resolved time as tools get it: JSON that has one reading for ever.

use jiff::{Zoned, civil::Date};
use serde::{Deserialize, Serialize};

use super::{Said, When};

/// A time without anything left to resolve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Exact {
    /// An instant.
    At { at: Zoned },
    /// From one instant to a later one.
    Span { from: Zoned, to: Zoned },
    /// A whole day.
    Day { day: Date },
    /// Whole days, both included.
    Days { first: Date, last: Date },
    /// Some time in there: too vague for an event, good for looking for one. With the words that said so.
    Within { earliest: Zoned, latest: Zoned, said: String },
}

impl Exact {
    /// What was said in these words, resolved.
    #[must_use]
    pub fn of(said: Said, words: &str) -> Self {
        match said.when {
            When::At(at) => Self::At { at },
            When::Span { from, to } => Self::Span { from, to },
            When::Day(day) => Self::Day { day },
            When::Days { first, last } => Self::Days { first, last },
            When::Within { from, to } => {
                Self::Within { earliest: from, latest: to, said: words.trim().to_owned() }
            }
        }
    }
}
