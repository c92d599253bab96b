//! Converse: one model call and no tools; on failure, the full agent.

use super::{NodeContext, NodeError, Step, prompt, think};
use crate::state::{AgentState, Node};
use nod_contract::model::{ModelError, Turn};

pub(super) async fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Result<Step, NodeError> {
    let ask = prompt::converse(&state, cx);
    let next = match think::complete_streaming(&ask, &state, cx).await {
        Ok(answer) if answer.calls.is_empty() && !answer.text.trim().is_empty() => {
            state.turns.push(Turn::Ai { text: answer.text.clone(), calls: Vec::new() });
            state.reply = Some(think::with_truncation_note(answer.text, answer.truncated));
            state.is_written_by_model = true;
            Node::Reply
        }
        // A retry would be withheld again.
        Err(withheld @ ModelError::Withheld) => return Err(withheld.into()),
        _ => {
            state.routed_via = Some("fallback".to_owned());
            Node::Think
        }
    };
    Ok(Step::go(state, next))
}
