//! The text of the inbox's own cards.

use nod_contract::card::Card;
use nod_contract::clock::Timestamp;
use nod_when::when::local_time;

/// Says that Nod was away when the message was written, and that it is too late to act on it.
pub(super) fn missed_message_card(said_at: Timestamp, zone: &str) -> Card {
    Card::from_markdown(format!(
        "I was offline when you wrote this ({}), so I haven't done anything about it. Write again if it \
         still matters.",
        local_time(said_at, zone)
    ))
}
