//! Check: an answer for which an ability has kept something is held against it before anybody reads it.

use super::{NodeContext, NodeOutput, Step};
use crate::state::{AgentState, Node};
use nod_contract::model::Turn;
use nod_contract::privacy::Provenance;
use nod_contract::text::fence_untrusted;
use nod_store::ability::{CheckedAnswer, Verdict};

/// How often an answer is sent back.
const MAX_RETRIES: u32 = 1;

pub(super) fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Step {
    let mut outputs = Vec::new();
    for loaded in &cx.checks {
        let text = state.reply.clone().unwrap_or_default();
        let may_retry = state.check_retries < MAX_RETRIES && state.model_turns < cx.step_budget;
        let tools: Vec<&str> = state.turns.iter().filter_map(tool_name).collect();
        let answer = CheckedAnswer {
            text: &text,
            question: state.user_message(),
            tools: &tools,
            audience: state.audience,
            may_retry,
        };
        match loaded.check.check(&answer, &loaded.loaded) {
            Verdict::Retry { problems, instruction } => {
                return send_back(state, cx, &text, &problems, instruction);
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

fn tool_name(turn: &Turn) -> Option<&str> {
    match turn {
        Turn::Tool { name, .. } => Some(name),
        _ => None,
    }
}

/// Calls the model once more. Nobody has read the answer, so it does not become part of the conversation, and what it
/// repeats of untrusted text stays fenced.
fn send_back(
    mut state: AgentState,
    cx: &NodeContext<'_>,
    text: &str,
    problems: &[String],
    instruction: &str,
) -> Step {
    let problems: String = problems.iter().map(|problem| format!("\n- {problem}")).collect();
    let words = format!("{text}\n\nWhat does not hold:{problems}");
    let words = match &state.provenance {
        Provenance::Trusted => words,
        Provenance::Untrusted(sources) => fence_untrusted(&words, sources, &cx.scope().invocation.short()),
    };
    state.turns.pop();
    state.turns.push(Turn::System { text: format!("Your answer was not sent:\n{words}\n\n{instruction}") });
    state.check_retries += 1;
    state.reply = None;
    state.is_written_by_model = false;
    Step::go(state, Node::Think)
}
