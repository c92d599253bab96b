//! How long a provider asks to wait, in words.

use chrono::TimeDelta;
use jiff::tz::TimeZone;

use nod_contract::clock::Timestamp;
use nod_contract::provider::Provider;
use nod_when::when;

/// Up to so many seconds the provider has no time just now; beyond, it asks to wait.
pub const A_MOMENT: TimeDelta = TimeDelta::seconds(5);

/// "Google asks me to wait until 10:05 CET."
pub fn asks_to_wait(provider: Provider, until: Timestamp, zone: &str) -> String {
    // The minute in which it is over.
    let over = until.checked_add_signed(TimeDelta::seconds(59)).unwrap_or(until);
    let until = when::minute(over, &TimeZone::get(zone).unwrap_or(TimeZone::UTC));
    format!("{} asks me to wait until {until}.", provider.display_name())
}
