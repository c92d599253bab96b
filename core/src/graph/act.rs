//! Act: runs the reading calls of the model's turn. Errors go back to the reasoner, which tries another way.

use std::future::Future;

use serde_json::json;

use super::{Emit, Next, Node, NodeContext, Step, StepRecord, gate, prompt};
use crate::privacy::Provenance;
use crate::run::{AgentState, PendingCall};
use crate::scope::Scope;
use crate::tool::{Fault, Tool, ToolContext, ToolOutput};

/// Longest result that the model reads, in characters.
const LONGEST_RESULT: usize = 24_000;

pub(super) async fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Step {
    let mut emits = Vec::new();
    let open: Vec<PendingCall> = state.pending.iter().filter(|p| p.parked.is_none()).cloned().collect();
    for pending in open {
        call(&mut state, &pending, cx, &mut emits).await;
    }
    let next = if state.pending.is_empty() { Next::Go(Node::Think) } else { Next::Wait(Node::Gate) };
    Step { state, emits, next }
}

async fn call(state: &mut AgentState, pending: &PendingCall, cx: &NodeContext<'_>, emits: &mut Vec<Emit>) {
    let Some(Tool::Read(tool)) = cx.tools.get(&pending.call.name) else { return };
    let args = match gate::arguments(tool.spec(), &pending.call.arguments) {
        Ok(args) => args,
        Err(fault) => return state.answer(&pending.call.id, json!({ "error": fault.to_string() })),
    };
    let with = cx.tool_context(state);
    let called = limited(&with, tool.call(&with, &args)).await;
    let mut record =
        StepRecord::new("tool", tool.spec().name, with.scope.invocation, with.now, cx.clock.now());
    record.input = Some(args);
    match called {
        Ok(output) => {
            record.output = Some(output.content.clone());
            take(state, pending, &output, &with.scope);
        }
        Err(fault) => {
            record.error = Some(fault.to_string());
            match gate::wait_for_person(&fault, &pending.call.id, cx, emits) {
                Some(parked) => gate::park(state, &pending.call.id, parked),
                None => state.answer(&pending.call.id, json!({ "error": fault.to_string() })),
            }
        }
    }
    cx.records.push(record);
}

/// A result becomes a turn; who may read the run and whether outside text is in view follow from it.
fn take(state: &mut AgentState, pending: &PendingCall, output: &ToolOutput, scope: &Scope) {
    state.audience = state.audience.narrow(output.audience);
    state.provenance = state.provenance.clone().with(output.provenance.clone());
    let content = bounded(&output.content.to_string());
    let shown = match &output.provenance {
        Provenance::Ours => content,
        Provenance::Outside(sources) => prompt::fenced(&content, sources, &scope.invocation.short()),
    };
    state.answer(&pending.call.id, shown);
}

fn bounded(content: &str) -> String {
    let length = content.chars().count();
    if length <= LONGEST_RESULT {
        return content.to_owned();
    }
    let head: String = content.chars().take(LONGEST_RESULT).collect();
    format!("{head}… ({} more characters were left out)", length - LONGEST_RESULT)
}

/// No call outlives its deadline.
pub(super) async fn limited<T>(
    scope: &ToolContext,
    call: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    tokio::time::timeout(scope.time_left(), call)
        .await
        .unwrap_or_else(|_| Err(Fault::broken(format!("no answer within {} s", scope.time_left().as_secs()))))
}
