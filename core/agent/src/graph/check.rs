//! Check: an answer for which an ability has kept something is held against it before anybody reads it.

use super::{NodeContext, NodeOutput, Step};
use crate::state::{AgentState, Node};
use nod_contract::model::Turn;
use nod_store::ability::{CheckedAnswer, Verdict};

pub(super) fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Step {
    let mut outputs = Vec::new();
    for loaded in &cx.checks {
        let text = state.reply.clone().unwrap_or_default();
        let answer =
            CheckedAnswer { text: &text, question: state.user_message(), retries: state.check_retries };
        match loaded.check.check(&answer, &loaded.loaded) {
            Verdict::Retry { reason } => {
                // Nobody has read the answer, so it does not become part of the conversation.
                state.turns.pop();
                let text = format!("Your answer was not sent:\n{text}\n\n{reason}");
                state.turns.push(Turn::System { text });
                state.check_retries += 1;
                state.reply = None;
                return Step::go(state, Node::Think);
            }
            Verdict::Send { text, notes, buttons, rows } => {
                if let Some(Turn::Ai { text: said, .. }) = state.turns.last_mut() {
                    said.clone_from(&text);
                }
                state.reply = Some(text);
                notes.iter().for_each(|note| state.add_note(note));
                state.buttons.extend(buttons);
                outputs.extend(rows.map(|rows| NodeOutput::CheckRows { check: loaded.check.name(), rows }));
            }
        }
    }
    Step { outputs, ..Step::go(state, Node::Reply) }
}
