//! Formats a time in a person's own zone.

use jiff::tz::TimeZone;

use super::{time_with_seconds, with_year};
use nod_contract::clock::Timestamp;

/// "Fri 6 Mar 2026, 15:00 CET"; UTC if the zone is unknown.
pub fn local_time(now: Timestamp, zone: &str) -> String {
    with_year(now, &TimeZone::get(zone).unwrap_or(TimeZone::UTC))
}

/// "09:30:10 WET": for times where seconds matter.
pub fn local_second(now: Timestamp, zone: &str) -> String {
    time_with_seconds(now, &TimeZone::get(zone).unwrap_or(TimeZone::UTC))
}
