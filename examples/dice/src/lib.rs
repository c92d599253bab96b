//! A toy that shows how an ability is made: it rolls dice. It has one of everything: a tool for the model, a command, a
//! button, a job and a table. See `docs/design/adding-an-ability.md`.

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

/// The table. That of a real ability is a file in `migrations/`; a toy has none in anybody's database.
pub const TABLE: &str = include_str!("../table.sql");

/// The sides of a die where nobody says how many.
const USUAL_SIDES: i32 = 6;
const MOST_SIDES: i32 = 1000;

/// Dice.
pub fn plug() -> Plug {
    Box::new(|chat| Ability {
        tools: vec![tool::roll(chat)],
        jobs: vec![Arc::new(job::Telling(chat.clone()))],
        buttons: vec![Arc::new(command::Again(chat.clone()))],
        commands: vec![Arc::new(command::Rolling(chat.clone()))],
        ..Ability::named("dice")
    })
}

/// A roll, as its row has it.
struct Roll {
    tenant: TenantId,
    id: Uuid,
    person: PersonId,
    conversation: ConversationId,
    sides: i32,
    rolled: i32,
    at: Timestamp,
}

/// A number from 1 to `sides`.
fn rolled(ids: &dyn Ids, sides: i32) -> i32 {
    let [a, b, c, d, ..] = ids.secret();
    let any = u32::from_le_bytes([a, b, c, d]);
    // At most a thousand sides: no number is noticeably likelier than another.
    i32::try_from(any % sides.unsigned_abs()).unwrap_or_default() + 1
}
