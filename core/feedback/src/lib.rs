//! What people thought of Nod's answers: two buttons below each answer that a model wrote, and a form that asks what was
//! wrong. Each person has one rating of an answer, which a change of mind replaces.

mod ability;
mod card;
mod export;
mod sql;

pub use ability::plug;
pub use export::{Ratings, send_export};

use uuid::Uuid;

use nod_contract::clock::Timestamp;

/// The longest text about what was wrong, in characters.
const MAX_WHY_CHARS: usize = 1_000;

/// A stored rating.
#[derive(Debug, Clone)]
struct Rating {
    run: Uuid,
    person: String,
    is_up: bool,
    why: Option<String>,
    at: Timestamp,
}
