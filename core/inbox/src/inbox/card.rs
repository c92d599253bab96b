//! What the door itself has to say.

use nod_contract::card::Card;
use nod_contract::clock::Timestamp;
use nod_when::when::local_time;

/// Nod was not there when something was said, and it is too late to act on it.
pub(super) fn away(said_at: Timestamp, zone: &str) -> Card {
    Card::from_markdown(format!(
        "I was away when you wrote this ({}), and did not act on it. Write again if it still matters.",
        local_time(said_at, zone)
    ))
}
