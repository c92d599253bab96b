//! An example of an ability: it rolls dice. It has one of everything: a tool for the model, a command, a button, a job
//! and a table. See `docs/design/adding-an-ability.md`.

mod command;
mod job;
mod sql;
mod tool;

use std::sync::Arc;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, Ids, PersonId, TenantId};
use nod_people::ability::Plug;
use nod_store::ability::Ability;
use uuid::Uuid;

/// The table. A real ability's table is a file in `migrations/`; the example's is in no real database.
pub const TABLE: &str = include_str!("../table.sql");

/// The sides of a die if none are given.
const USUAL_SIDES: i32 = 6;
const MAX_SIDES: i32 = 1000;

/// Returns the plug of the dice ability.
pub fn plug() -> Plug {
    Box::new(|chat| Ability {
        tools: vec![tool::roll(chat)],
        jobs: vec![Arc::new(job::Telling(chat.clone()))],
        buttons: vec![Arc::new(command::Again(chat.clone()))],
        commands: vec![Arc::new(command::Rolling(chat.clone()))],
        ..Ability::with_name("dice")
    })
}

/// A stored roll.
struct Roll {
    tenant: TenantId,
    id: Uuid,
    person: PersonId,
    conversation: ConversationId,
    sides: i32,
    rolled: i32,
    at: Timestamp,
}

/// Returns a random number from 1 to `sides`.
fn rolled(ids: &dyn Ids, sides: i32) -> i32 {
    let [a, b, c, d, ..] = ids.secret();
    let any = u32::from_le_bytes([a, b, c, d]);
    // With at most a thousand sides, no number is noticeably more likely than another.
    i32::try_from(any % sides.unsigned_abs()).unwrap_or_default() + 1
}
