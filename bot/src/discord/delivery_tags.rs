//! How a posted message is found again: its first two components carry numbers derived from its key.
//!
//! Discord's nonce prevents a second post for some minutes and is not in the history; the components' ids are. A card
//! in a container and an answer of several texts carry 62 bits; an answer of one text has one component and carries 31:
//! another message has the same with a probability of one in two thousand million, and the search covers only one
//! place, after a post with an unknown outcome.

use nod_contract::ids::DeliveryId;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Discord numbers the other components from 1; these numbers stay free for them.
const RESERVED_IDS: u32 = 1_000;

/// Returns the numbers of the first and the second component of a message with this key.
#[must_use]
pub fn component_ids_for_delivery(key: DeliveryId) -> (i32, i32) {
    let hash = Sha256::digest(key.0.as_bytes());
    let number = |at: usize| {
        let bytes = [hash[at], hash[at + 1], hash[at + 2], hash[at + 3]];
        i32::try_from((u32::from_be_bytes(bytes) >> 1).max(RESERVED_IDS)).unwrap_or(i32::MAX)
    };
    let (first, second) = (number(0), number(4));
    (first, if first == second { first - 1 } else { second })
}

/// Returns whether a message of the history was posted with this key.
#[must_use]
pub fn has_delivery_tags(message: &Value, key: DeliveryId) -> bool {
    let (first, second) = component_ids_for_delivery(key);
    let mut ids = tagged_components(message).into_iter().map(|component| component["id"].as_i64());
    ids.next() == Some(Some(first.into())) && ids.next().is_none_or(|id| id == Some(second.into()))
}

/// Returns the first component and, if there is one, the second, counted from the outside in.
fn tagged_components(message: &Value) -> Vec<&Value> {
    let inside =
        |value: &'_ Value, n: usize| value["components"].as_array().and_then(|all| all.get(n)).is_some();
    let Some(first) = message["components"].get(0) else { return Vec::new() };
    if inside(first, 0) {
        return vec![first, &first["components"][0]];
    }
    if inside(message, 1) { vec![first, &message["components"][1]] } else { vec![first] }
}

/// Writes the marks into the components of a message.
pub(super) fn write_delivery_tags(components: &mut [Value], key: DeliveryId) {
    let (first, second) = component_ids_for_delivery(key);
    let Some((head, others)) = components.split_first_mut() else { return };
    head["id"] = first.into();
    let inner = head.get_mut("components").and_then(|all| all.get_mut(0));
    if let Some(next) = inner.or(others.first_mut()) {
        next["id"] = second.into();
    }
}
