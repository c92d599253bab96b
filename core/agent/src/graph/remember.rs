//! Remember: requests a memory update if the conversation is worth one. It is a job of its own, after the reply.

use super::{Next, NodeOutput, Step};
use crate::state::AgentState;
use nod_contract::model::Turn;
use nod_memory::memory::prompt_context::SUMMARISE_FROM;
use nod_memory::memory::{is_correction, is_forget_request, is_remember_request};

pub(super) fn step(state: AgentState) -> Step {
    let said = state.turns.iter().filter(|turn| match turn {
        Turn::Human { text } | Turn::Ai { text, .. } => !text.is_empty(),
        Turn::System { .. } | Turn::Tool { .. } => false,
    });
    let long = state.recalled.unsummarised + said.count() >= SUMMARISE_FROM;
    let wished = is_remember_request(state.user_message()) || is_forget_request(state.user_message());
    // Where tools were used, "no, …" corrects what was done, such as a draft.
    let talked = !state.turns.iter().any(|turn| matches!(turn, Turn::Tool { .. }));
    let corrected = talked && is_correction(state.user_message());
    // What was pressed says nothing to remember, and what was typed with it is for somebody else.
    let pressed = state.taken_action.is_some();
    let emits = if pressed {
        Vec::new()
    } else if long || wished || corrected {
        vec![NodeOutput::MemoryUpdate]
    } else {
        Vec::new()
    };
    Step { state, outputs: emits, next: Next::Done }
}
