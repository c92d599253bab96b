//! The rooms that can be booked: a list by the administrator, because Calendar provides none.

use nod_contract::tool::ToolError;
use serde::{Deserialize, Serialize};

use crate::google::gmail::address::Recipient;

/// A room that has a calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Room {
    /// The name that people use.
    pub name: String,
    /// The email address of its calendar.
    pub address: String,
}

impl Room {
    /// Parses `Ada <c_188…@resource.calendar.google.com>`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let Recipient { name, address } = Recipient::parse(text).ok()?;
        Some(Self { name: name?, address })
    }
}

/// Returns the room with this name.
///
/// # Errors
/// [`ToolError::InvalidArguments`] with the names of the rooms that exist.
pub(super) fn find_room(rooms: &[Room], name: &str) -> Result<Room, ToolError> {
    let wanted = name.trim().to_lowercase();
    let called = |room: &&Room| room.name.to_lowercase() == wanted || room.address.to_lowercase() == wanted;
    if let Some(room) = rooms.iter().find(called) {
        return Ok(room.clone());
    }
    let mut alike = rooms.iter().filter(|room| room.name.to_lowercase().contains(&wanted));
    if let (Some(room), None) = (alike.next(), alike.next()) {
        return Ok(room.clone());
    }
    let all: Vec<&str> = rooms.iter().map(|room| room.name.as_str()).collect();
    Err(ToolError::invalid(match all.is_empty() {
        true => "no rooms are set up here, so I can't book one. Put it in as the place instead".to_owned(),
        false => format!("I don't know one room called “{name}”. There's {}", all.join(", ")),
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn room_is_found_by_exact_name() {
        let rooms: Vec<Room> = ["Ada <c_1@r.test>", "Ada Lounge <c_2@r.test>", "Bell <c_3@r.test>"]
            .map(|text| Room::read(text).unwrap())
            .to_vec();
        for (name, found) in
            [("ada", Some("c_1@r.test")), ("lounge", Some("c_2@r.test")), ("a", None), ("", None)]
        {
            assert_eq!(find_room(&rooms, name).ok().map(|room| room.address).as_deref(), found, "{name}");
        }
        assert!(Room::read("c_1@r.test").is_none() && Room::read("Ada").is_none());
    }
}
