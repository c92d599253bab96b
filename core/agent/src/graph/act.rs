//! Act: runs the read calls of the model's turn. Errors go back to the reasoner, which can try another way.

use std::future::Future;

use serde_json::json;

use super::{Next, NodeContext, NodeOutput, Step, drafts, gate, rate_limited, times};
use crate::state::{AgentState, Node, PendingCall, WaitReason};
use nod_contract::privacy::Provenance;
use nod_contract::text;
use nod_contract::tool::{FollowUp, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use nod_memory::history;
use nod_store::steps::StepRecord;

/// Says why a second question of one turn is not asked.
const ONE_QUESTION: &str = "ask one question at a time: this one was not asked; ask it once the other is answered, if you still need it";
/// The longest result that the model reads, in characters.
const MAX_RESULT_CHARS: usize = 24_000;

pub(super) async fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Step {
    let mut emits = Vec::new();
    let open: Vec<PendingCall> =
        state.pending_calls.iter().filter(|p| p.waiting_for.is_none()).cloned().collect();
    for pending in open {
        call(&mut state, &pending, cx, &mut emits).await;
    }
    emits.extend(drafts::take_outputs(&mut state));
    let next = next_node(&state);
    Step { state, outputs: emits, next }
}

/// Returns the next node once no call can run now: wait for parked calls, reply verbatim, or continue with the model.
pub(super) fn next_node(state: &AgentState) -> Next {
    if !state.pending_calls.is_empty() {
        Next::Wait(Node::Gate)
    } else if state.is_step_over() || state.is_answered_by_results() {
        Next::Go(Node::Reply)
    } else {
        Next::Go(Node::Think)
    }
}

async fn call(
    state: &mut AgentState,
    pending: &PendingCall,
    cx: &NodeContext<'_>,
    emits: &mut Vec<NodeOutput>,
) {
    let Some(registered) = cx.tools.registered(&pending.call.name) else { return };
    let Tool::Read(tool) = registered.tool() else { return };
    let args = registered.parse_arguments(&pending.call.arguments);
    let zone = state.principal.zone.clone();
    let moments = (cx.message_time, cx.clock.now());
    let times =
        args.and_then(|args| times::resolve_times(tool.spec(), args, &pending.picked_values, &zone, moments));
    let known = times.and_then(|times::ResolvedArguments { args, assumed }| {
        drafts::resolve_draft(tool.spec(), args, &pending.picked_values, state).map(|args| (args, assumed))
    });
    let (args, assumed) = match known {
        Ok(known) => known,
        Err(fault) => return state.answer(&pending.call.id, json!({ "error": fault.to_string() })),
    };
    let with = cx.tool_context(state);
    let called = with_deadline(&with, tool.call(&with, &args)).await;
    let mut record =
        StepRecord::new("tool", tool.spec().name, with.scope.invocation, with.now, cx.clock.now());
    record.set_input(&args);
    match called {
        Ok(mut output) => {
            if !assumed.is_empty() && output.content.is_object() {
                output.content["understood"] = json!(assumed);
            }
            record.set_output(&output.content);
            state.has_channel_history |= history::reads_chat(&pending.call.name);
            state.apply_tool_output(
                &pending.call.id,
                &output,
                &content(&output, &with.scope.invocation.short()),
            );
            match output.follow_up {
                FollowUp::File { stem, extension, text } => {
                    emits.push(NodeOutput::File { stem, extension, text, audience: state.audience });
                }
                FollowUp::Work { workflow } => emits.push(NodeOutput::Work { workflow }),
                _ => {}
            }
        }
        Err(ToolError::Ask { .. }) if waits_for_answer(state) => {
            record.error = Some(ONE_QUESTION.to_owned());
            state.answer(&pending.call.id, json!({ "error": ONE_QUESTION }));
        }
        Err(fault) => {
            record.error = Some(fault.to_string());
            gate::narrow_audience_of_error(tool.spec(), &fault, state);
            gate::note_admin_error(&fault, state);
            match gate::park_for_person(&fault, &pending.call.id, cx, emits) {
                Some(parked) => gate::park(state, &pending.call.id, parked),
                None if gate::answer_failed_pick(&fault, state, pending) => {}
                None => handle_failure(state, pending, tool.spec(), &fault, cx),
            }
        }
    }
    cx.records.push(record);
}

fn waits_for_answer(state: &AgentState) -> bool {
    state.pending_calls.iter().any(|call| matches!(call.waiting_for, Some(WaitReason::Answer(_))))
}

/// Handles an error that no person can fix now: the person reads that it has to wait, or the model why it failed.
pub(super) fn handle_failure(
    state: &mut AgentState,
    pending: &PendingCall,
    spec: &ToolSpec,
    fault: &ToolError,
    cx: &NodeContext<'_>,
) {
    match rate_limited::wait_output(fault, spec.provider, state, cx.clock.now()) {
        Some(told) => state.apply_tool_output(&pending.call.id, &told, &told.content.to_string()),
        None => state.answer(&pending.call.id, json!({ "error": fault.to_string() })),
    }
}

/// Returns what the model reads of a result: bounded, and untrusted content between markers that it cannot forge.
pub fn content(output: &ToolOutput, marker: &str) -> String {
    let content = truncate(&output.content.to_string());
    match &output.provenance {
        Provenance::Trusted => content,
        Provenance::Untrusted(sources) => text::fence_untrusted(&content, sources, marker),
    }
}

fn truncate(content: &str) -> String {
    let length = content.chars().count();
    if length <= MAX_RESULT_CHARS {
        return content.to_owned();
    }
    let head: String = content.chars().take(MAX_RESULT_CHARS).collect();
    format!("{head}… ({} more characters were left out)", length - MAX_RESULT_CHARS)
}

/// Runs a call, which fails at its deadline.
pub(super) async fn with_deadline<T>(
    scope: &ToolContext,
    call: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    tokio::time::timeout(scope.time_left(), call).await.unwrap_or_else(|_| {
        Err(ToolError::internal(format!("no answer within {} s", scope.time_left().as_secs())))
    })
}
