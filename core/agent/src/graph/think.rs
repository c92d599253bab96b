//! Think: calls the reasoner with the offered tools. It answers or calls tools; the step budget ends a loop with an
//! honest message.

use super::{NodeContext, NodeError, Step, prompt};
use crate::state::{AgentState, Node, PendingCall, Results};
use nod_contract::model::{Completion, CompletionRequest, ModelError, TokenSender, ToolCall, Turn};
use nod_store::steps::StepRecord;

/// The most calls of one turn that are made; further ones are dropped.
const MAX_TOOL_CALLS: usize = 16;

pub(super) async fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Result<Step, NodeError> {
    if state.model_turns >= cx.step_budget {
        return Ok(stop_at_budget(state, cx.step_budget));
    }
    let answer = complete_streaming(&prompt::think(&state, cx), &state, cx).await?;
    state.model_turns += 1;
    state.results = Results::default();
    let mut calls = answer.calls;
    calls.truncate(MAX_TOOL_CALLS);
    make_call_ids_unique(&mut calls);
    state.turns.push(Turn::Ai { text: answer.text.clone(), calls: calls.clone() });
    if calls.is_empty() {
        state.reply = Some(with_truncation_note(answer.text, answer.truncated));
        state.is_written_by_model = true;
        let next = if state.check_parts.is_empty() { Node::Reply } else { Node::Check };
        return Ok(Step::go(state, next));
    }
    state.pending_calls = calls
        .into_iter()
        .map(|call| PendingCall {
            call,
            picked_values: std::collections::BTreeMap::new(),
            waiting_for: None,
            user_edits: serde_json::Map::new(),
            closed_as: None,
        })
        .collect();
    Ok(Step::go(state, Node::Gate))
}

/// Returns the text of an answer, with a note if it was cut.
pub(super) fn with_truncation_note(text: String, truncated: bool) -> String {
    if truncated { text + "\n\n… (the answer was cut off at its length limit)" } else { text }
}

/// Makes the call ids unique: a result finds its call by id, and some endpoints use an id twice in one turn.
fn make_call_ids_unique(calls: &mut [ToolCall]) {
    for at in 1..calls.len() {
        let (before, rest) = calls.split_at_mut(at);
        if before.iter().any(|call| call.id == rest[0].id) {
            rest[0].id = format!("{}_{at}", rest[0].id);
        }
    }
}

fn stop_at_budget(mut state: AgentState, budget: u32) -> Step {
    let done = progress_summary(&state);
    let words = match state.goal {
        Some(_) => format!("I stopped after {budget} thoughts without a result. {done}"),
        None => {
            format!("I stopped after {budget} steps without an answer. {done} Try asking something narrower.")
        }
    };
    state.turns.push(Turn::Ai { text: words.clone(), calls: Vec::new() });
    state.reply = Some(words);
    Step::go(state, Node::Reply)
}

/// Describes what was and was not done outside Nod.
pub fn progress_summary(state: &AgentState) -> String {
    if state.unknown_outcomes > 0 {
        return "I can't tell whether anything went through before that. Please check its card above."
            .to_owned();
    }
    match state.changes_made {
        0 if state.goal.is_some() => "This step sent and changed nothing.".to_owned(),
        0 => "Nothing was sent or changed.".to_owned(),
        1 => "One thing was done before that. Its receipt is above.".to_owned(),
        n => format!("{n} things were done before that. Their receipts are above."),
    }
}

/// Calls the model for an answer that no person reads.
pub(super) async fn complete_silently(
    ask: &CompletionRequest,
    state: &AgentState,
    cx: &NodeContext<'_>,
) -> Result<Completion, ModelError> {
    complete_recorded(ask, state, cx, &TokenSender::disconnected()).await
}

/// Calls the model for an answer to the person, who can read it while it is written.
pub(super) async fn complete_streaming(
    ask: &CompletionRequest,
    state: &AgentState,
    cx: &NodeContext<'_>,
) -> Result<Completion, ModelError> {
    complete_recorded(ask, state, cx, &cx.token_tx).await
}

/// Calls the model and records the call.
async fn complete_recorded(
    ask: &CompletionRequest,
    state: &AgentState,
    cx: &NodeContext<'_>,
    words: &TokenSender,
) -> Result<Completion, ModelError> {
    let started = cx.clock.now();
    let scope = cx.scope();
    let answered = cx.model.complete(&scope, ask, words).await;
    let mut record = StepRecord::new("model", ask.tier.as_str(), scope.invocation, started, cx.clock.now());
    record.set_prompt(ask, &state.stored_turns());
    match &answered {
        Ok(answer) => record.set_answer(answer),
        Err(error) => record.error = Some(error.to_string()),
    }
    cx.records.push(record);
    answered
}
