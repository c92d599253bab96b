//! Act: runs the read calls of the model's turn. Errors go back to the reasoner, which can try another way.

use std::future::Future;

use serde_json::json;

use super::{Emit, Next, NodeContext, Step, busy, drafts, gate, times};
use crate::state::{AgentState, Node, PendingCall};
use nod_contract::privacy::Provenance;
use nod_contract::text;
use nod_contract::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use nod_memory::history;
use nod_store::steps::StepRecord;

/// The longest result that the model reads, in characters.
const LONGEST_RESULT: usize = 24_000;

pub(super) async fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Step {
    let mut emits = Vec::new();
    let open: Vec<PendingCall> = state.pending.iter().filter(|p| p.parked.is_none()).cloned().collect();
    for pending in open {
        call(&mut state, &pending, cx, &mut emits).await;
    }
    emits.extend(drafts::emits(&mut state));
    let next = onward(&state);
    Step { state, emits, next }
}

/// Returns the next node once no call can run now: wait for parked calls, reply verbatim, or continue with the model.
pub(super) fn onward(state: &AgentState) -> Next {
    if !state.pending.is_empty() {
        Next::Wait(Node::Gate)
    } else if state.results.are_the_answer() {
        Next::Go(Node::Reply)
    } else {
        Next::Go(Node::Think)
    }
}

async fn call(state: &mut AgentState, pending: &PendingCall, cx: &NodeContext<'_>, emits: &mut Vec<Emit>) {
    let Some(Tool::Read(tool)) = cx.tools.get(&pending.call.name) else { return };
    let args = gate::arguments(tool.spec(), &pending.call.arguments);
    let zone = state.principal.zone.clone();
    let moments = (cx.said_at, cx.clock.now());
    let times = args.and_then(|args| times::resolved(tool.spec(), args, &pending.picked, &zone, moments));
    let known = times.and_then(|times::Resolved { args, assumed }| {
        drafts::resolved(tool.spec(), args, &pending.picked, state).map(|args| (args, assumed))
    });
    let (args, assumed) = match known {
        Ok(known) => known,
        Err(fault) => return state.answer(&pending.call.id, json!({ "error": fault.to_string() })),
    };
    let with = cx.tool_context(state);
    let called = limited(&with, tool.call(&with, &args)).await;
    let mut record =
        StepRecord::new("tool", tool.spec().name, with.scope.invocation, with.now, cx.clock.now());
    record.input = Some(args);
    match called {
        Ok(mut output) => {
            if !assumed.is_empty() && output.content.is_object() {
                output.content["understood"] = json!(assumed);
            }
            record.output = Some(output.content.clone());
            state.overheard |= history::reads_chat(&pending.call.name);
            state.take(&pending.call.id, &output, &content(&output, &with.scope.invocation.short()));
        }
        Err(fault) => {
            record.error = Some(fault.to_string());
            gate::kept_private(tool.spec(), &fault, state);
            gate::noted(&fault, state);
            match gate::wait_for_person(&fault, &pending.call.id, cx, emits) {
                Some(parked) => gate::park(state, &pending.call.id, parked),
                None if gate::told_after_a_pick(&fault, state, pending) => {}
                None => failed(state, pending, tool.spec(), &fault, cx),
            }
        }
    }
    cx.records.push(record);
}

/// Handles an error that no person can fix now: the person reads that it has to wait, or the model why it failed.
pub(super) fn failed(
    state: &mut AgentState,
    pending: &PendingCall,
    spec: &ToolSpec,
    fault: &ToolError,
    cx: &NodeContext<'_>,
) {
    match busy::told(fault, spec.provider, state, cx.clock.now()) {
        Some(told) => state.take(&pending.call.id, &told, &told.content.to_string()),
        None => state.answer(&pending.call.id, json!({ "error": fault.to_string() })),
    }
}

/// Returns what the model reads of a result: bounded, and untrusted content between markers that it cannot forge.
pub fn content(output: &ToolOutput, marker: &str) -> String {
    let content = bounded(&output.content.to_string());
    match &output.provenance {
        Provenance::Trusted => content,
        Provenance::Untrusted(sources) => text::fence_untrusted(&content, sources, marker),
    }
}

fn bounded(content: &str) -> String {
    let length = content.chars().count();
    if length <= LONGEST_RESULT {
        return content.to_owned();
    }
    let head: String = content.chars().take(LONGEST_RESULT).collect();
    format!("{head}… ({} more characters were left out)", length - LONGEST_RESULT)
}

/// Runs a call, which fails at its deadline.
pub(super) async fn limited<T>(
    scope: &ToolContext,
    call: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    tokio::time::timeout(scope.time_left(), call).await.unwrap_or_else(|_| {
        Err(ToolError::internal(format!("no answer within {} s", scope.time_left().as_secs())))
    })
}
