//! Recall: what was said before, as far as this person may know it, and what already waits for their nod.

use super::{Node, NodeContext, Step};
use crate::model::Turn;
use crate::privacy::Provenance;
use crate::run::AgentState;

/// Characters of earlier talk that are brought into view, about 2,000 tokens.
const MOST_CHARACTERS: usize = 8_000;
/// Characters of one earlier message.
const LONGEST: usize = 2_000;

/// What the runner loaded for this node.
pub(crate) struct Memory {
    /// Oldest first.
    pub(crate) said: Vec<crate::run::sql::Said>,
    /// A line for each approval that waits.
    pub(crate) waiting: Vec<String>,
    /// Who is meant by each mention, by name.
    pub(crate) mentioned: Vec<(String, String)>,
}

pub(super) fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Step {
    if let Some(memory) = &cx.memory {
        let mut room = MOST_CHARACTERS;
        let mut history = Vec::new();
        for said in memory.said.iter().rev() {
            let turn = clipped(spoken(&said.turn, said.speaker.as_deref()));
            let length = text_of(&turn).chars().count();
            if length > room {
                break;
            }
            room -= length;
            if !said.outside.is_empty() {
                state.provenance = state.provenance.with(Provenance::Outside(said.outside.clone()));
            }
            // What was told to this person alone is in view again: so is whatever is said with it.
            state.audience = state.audience.narrow(said.audience);
            history.push(turn);
        }
        history.reverse();
        state.history = history;
        state.waiting.clone_from(&memory.waiting);
        state.working.extracted_info.extend(memory.mentioned.iter().cloned());
    }
    Step::go(state, Node::Route)
}

/// Several people talk in a thread: each sentence says whose it is.
fn spoken(turn: &Turn, speaker: Option<&str>) -> Turn {
    match (turn, speaker) {
        (Turn::Human { text }, Some(name)) => Turn::Human { text: format!("{name}: {text}") },
        // An earlier answer's tool calls have no results here, so only its words are kept.
        (Turn::Ai { text, .. }, _) => Turn::Ai { text: text.clone(), calls: Vec::new() },
        (turn, _) => turn.clone(),
    }
}

/// One long message does not push everything else out of view.
fn clipped(turn: Turn) -> Turn {
    let clip = |text: String| match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… (cut)", &text[..end]),
        None => text,
    };
    match turn {
        Turn::Human { text } => Turn::Human { text: clip(text) },
        Turn::Ai { text, calls } => Turn::Ai { text: clip(text), calls },
        turn @ (Turn::System { .. } | Turn::Tool { .. }) => turn,
    }
}

fn text_of(turn: &Turn) -> &str {
    match turn {
        Turn::System { text } | Turn::Human { text } | Turn::Ai { text, .. } => text,
        Turn::Tool { content, .. } => content,
    }
}
