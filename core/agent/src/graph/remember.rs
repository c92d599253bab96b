//! Remember: requests a memory update if the conversation is worth one. It is a job of its own, after the reply.

use super::{Emit, Next, Step};
use crate::state::AgentState;
use nod_contract::model::Turn;
use nod_memory::memory::view::SUMMARISE_FROM;
use nod_memory::memory::{asks_to_forget, asks_to_remember};

pub(super) fn step(state: AgentState) -> Step {
    let said = state.turns.iter().filter(|turn| match turn {
        Turn::Human { text } | Turn::Ai { text, .. } => !text.is_empty(),
        Turn::System { .. } | Turn::Tool { .. } => false,
    });
    let long = state.unfolded + said.count() >= SUMMARISE_FROM;
    let wished = asks_to_remember(state.said()) || asks_to_forget(state.said());
    let emits = if long || wished { vec![Emit::Remember] } else { Vec::new() };
    Step { state, emits, next: Next::Done }
}
