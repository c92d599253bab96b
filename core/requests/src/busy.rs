//! The sentence that says how long a provider asks Nod to wait.

use chrono::TimeDelta;
use jiff::tz::TimeZone;

use nod_contract::clock::Timestamp;
use nod_contract::provider::Provider;
use nod_when::when;

/// A wait of up to this length is not shown to people.
pub const SHORT_WAIT: TimeDelta = TimeDelta::seconds(5);

/// Returns "Google asks me to wait until 10:05 CET."
pub fn wait_sentence(provider: Provider, until: Timestamp, zone: &str) -> String {
    // Rounds up to the minute in which the wait is over.
    let over = until.checked_add_signed(TimeDelta::seconds(59)).unwrap_or(until);
    let until = when::time_with_minutes(over, &TimeZone::get(zone).unwrap_or(TimeZone::UTC));
    format!("{} has asked me to wait until {until}.", provider.display_name())
}
