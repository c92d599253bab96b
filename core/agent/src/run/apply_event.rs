//! Applies an event to a waiting run: a pure function from state and event to the next state.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::graph;
use crate::state::{AgentState, WaitReason};
use nod_contract::ids::EffectId;
use nod_contract::privacy::Audience;
use nod_contract::tool::{FollowUp, ToolError, ToolResult};
use nod_requests::draft::{DraftChange, KeptEdit};
use nod_requests::question;
use nod_store::runs::{ConnectOutcome, RunEvent, Verdict};

/// Applies an event to the state. Events that no call waits for are ignored, because events can be delivered twice.
pub(super) fn apply(state: &mut AgentState, event: &RunEvent) {
    match event {
        RunEvent::ApprovalClosed { approval, verdict, about, edit_kept_by } => {
            if let Some(call) = state.find_call_waiting_for(approval.0) {
                let mut content = with_user_edits(state, &call, verdict_content(verdict));
                if let Some(about) = about {
                    content["about"] = json!(about);
                }
                match (verdict, edit_kept_by) {
                    // Its card refers to the one that took its place.
                    (Verdict::Superseded, _) => state.answer_silently(&call, content),
                    (_, Some(effect)) => wait_for_kept_edit(state, &call, *effect, content),
                    (_, None) => state.answer(&call, content),
                }
            }
        }
        RunEvent::ApprovalEdited { approval, changes } => record_edits(state, approval.0, changes),
        RunEvent::EffectFinished { awaited_id: ticket, result, edit_kept_by, is_receipt_seen } => {
            if let Some(call) = state.find_call_waiting_for(*ticket) {
                match (take_closed_as(state, &call), edit_kept_by, result) {
                    (Some(content), ..) => answer_with_kept_edit(state, &call, content, result),
                    (None, Some(effect), Err(fault)) => {
                        let content = failed_content(state, &call, *ticket, fault);
                        wait_for_kept_edit(state, &call, *effect, content);
                    }
                    (None, ..) => outcome(state, &call, *ticket, result, *is_receipt_seen),
                }
            }
        }
        RunEvent::QuestionClosed { question, answer, is_typed } => {
            if let Some(call) = state.find_call_waiting_for(question.0) {
                apply_answer(state, &call, answer.as_deref(), *is_typed);
            }
        }
        RunEvent::ConnectFinished { provider, outcome: ended } => {
            let waiting: Vec<String> = state
                .pending_calls
                .iter()
                .filter(|p| p.waiting_for == Some(WaitReason::Connection(*provider)))
                .map(|p| p.call.id.clone())
                .collect();
            for call in waiting {
                match connect_failure_reason(*ended) {
                    None => unpark(state, &call),
                    Some(why) => {
                        let said = format!("{} was not connected: {why}", provider.display_name());
                        state.answer(&call, json!({ "status": "not_connected", "detail": said }));
                    }
                }
            }
        }
        // A change of the message that started the run is handled in `changed`.
        RunEvent::RetryRequested | RunEvent::MessageEdited { .. } | RunEvent::MessageDeleted => {}
    }
}

/// Returns why a call that needs an account cannot continue; `None` if it can.
fn connect_failure_reason(ended: ConnectOutcome) -> Option<&'static str> {
    match ended {
        ConnectOutcome::Connected => None,
        ConnectOutcome::Expired => Some("the link expired before anyone used it"),
        ConnectOutcome::Declined => Some("the person did not agree on the provider's page"),
        ConnectOutcome::InsufficientScopes => Some("the person did not tick every permission that is needed"),
        ConnectOutcome::DeniedByAdmin => Some("an admin did not allow that account"),
        ConnectOutcome::Failed => Some("the provider did not complete the sign-in"),
    }
}

/// Keeps what the person changed with the call until it is answered; of several changes to one value, the last applies.
fn record_edits(state: &mut AgentState, approval: Uuid, changes: &Value) {
    let Some(call) = state.find_call_waiting_for(approval) else { return };
    let pending = state.pending_calls.iter_mut().find(|p| p.call.id == call);
    if let (Some(pending), Some(changes)) = (pending, changes.as_object()) {
        pending.user_edits.extend(changes.clone());
    }
}

/// Adds the person's changes to the result of a call, so that the model does not assume that its own text was sent.
fn with_user_edits(state: &AgentState, call: &str, mut content: Value) -> Value {
    let changed = state.pending_calls.iter().find(|p| p.call.id == call).map(|p| &p.user_edits);
    if let Some(changed) = changed.filter(|changed| !changed.is_empty())
        && let Some(content) = content.as_object_mut()
    {
        let detail = "the person changed this before deciding; these values took the place of yours";
        content.insert("changed_by_the_person".to_owned(), json!({ "detail": detail, "to": changed }));
    }
    content
}

/// Describes the decision for the model. An expired request is never described as a denial.
fn verdict_content(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Denied => json!({ "status": "denied", "detail": "the person said no; nothing was done" }),
        Verdict::DeniedWithReason(why) => {
            let detail = "the person said no, for the reason in their own words; nothing was done";
            json!({ "status": "denied", "detail": detail, "reason": why })
        }
        Verdict::DeniedByCoApprover { reason: why } => {
            let detail = "the person said yes, and the second person whom the rules here ask for said no; nothing \
                          was done";
            json!({ "status": "denied", "detail": detail, "reason": why })
        }
        Verdict::Expired => {
            json!({ "status": "expired", "detail": "nobody answered in time; nothing was done" })
        }
        Verdict::Undone => {
            json!({ "status": "undone",
                "detail": "the person said yes and took it back before it happened; nothing was done" })
        }
        Verdict::ForbiddenByPolicy(why) => {
            let detail = format!(
                "the person said yes, but by now the rules here never allow this, whoever agrees: {why}; nothing was \
                 done. Tell the person the reason; do not try another way."
            );
            json!({ "status": "never", "detail": detail })
        }
        Verdict::Superseded => {
            json!({ "status": "superseded", "detail": "a newer request took its place; nothing was done" })
        }
    }
}

/// The call is answered once the edit is kept, so that whoever hears of the end finds the draft as it is then.
fn wait_for_kept_edit(state: &mut AgentState, call: &str, effect: EffectId, content: Value) {
    if let Some(pending) = state.pending_calls.iter_mut().find(|p| p.call.id == call) {
        pending.waiting_for = Some(WaitReason::Effect(effect));
        pending.closed_as = Some(content);
    }
}

fn take_closed_as(state: &mut AgentState, call: &str) -> Option<Value> {
    state.pending_calls.iter_mut().find(|p| p.call.id == call)?.closed_as.take()
}

/// Answers the call of a request that was not performed, and says what became of the edit. The draft is shown as it is
/// now.
fn answer_with_kept_edit(state: &mut AgentState, call: &str, mut content: Value, kept: &ToolResult) {
    let edit = match kept {
        Ok(output) => {
            if let FollowUp::Draft(draft) = &output.follow_up {
                state.drafts.changes.push(DraftChange::Updated(draft.id.clone()));
            }
            state.take_in(output);
            if matches!(output.follow_up, FollowUp::Draft(_)) {
                KeptEdit::InDraft
            } else {
                KeptEdit::DraftGone
            }
        }
        // The next request shows what was written there.
        Err(ToolError::Conflict { .. }) => KeptEdit::DraftChanged,
        Err(_) => KeptEdit::Failed,
    };
    content["edit"] = json!(edit);
    state.answer(call, content);
}

fn outcome(state: &mut AgentState, call: &str, ticket: Uuid, result: &ToolResult, is_receipt_seen: bool) {
    // Random, so no untrusted content can know it.
    let marker = EffectId(ticket).short();
    match result {
        Ok(output) => {
            state.changes_made += 1;
            if let FollowUp::Draft(draft) = &output.follow_up {
                state.drafts.changes.push(DraftChange::Updated(draft.id.clone()));
            }
            let mut output = output.clone();
            output.content = with_user_edits(state, call, output.content);
            let content = graph::content(&output, &marker);
            let is_answered = state.settle_action(call, &output, &content)
                || (is_receipt_seen && state.leave_to_receipt(call, &output, &content));
            if !is_answered {
                state.apply_tool_output(call, &output, &content);
            }
        }
        // It did not happen, and what it needs is known: the gate requests the account and then another approval. If
        // the person edited it, only the approval has their text, so the model has to make a new request.
        Err(ToolError::NeedsConnect { missing, .. })
            if !missing.is_empty() && !is_edited_by_person(state, call) =>
        {
            unpark(state, call);
        }
        Err(ToolError::Conflict { current: now }) => {
            state.apply_tool_output(call, now, &graph::content(now, &marker))
        }
        Err(fault @ ToolError::UnknownOutcome { .. }) => {
            state.unknown_outcomes += 1;
            let detail = "nobody knows whether it happened; a person must look. Do not try again.";
            let content = json!({ "status": "unknown", "detail": detail, "why": fault.to_string() });
            let content = with_user_edits(state, call, content);
            state.answer(call, content);
        }
        Err(fault) => {
            let content = failed_content(state, call, ticket, fault);
            state.answer(call, content);
        }
    }
}

/// Describes for the model why it was not done.
fn failed_content(state: &mut AgentState, call: &str, ticket: Uuid, fault: &ToolError) -> Value {
    // It had no approval, so no card shows the reason openly: it is account data and only for the owner.
    let unasked = Some(WaitReason::Effect(EffectId(ticket)));
    if let ToolError::NeedsAdmin { reason } = fault {
        state.add_note(reason);
    }
    if fault.has_account_data() && state.pending_calls.iter().any(|pending| pending.waiting_for == unasked) {
        state.audience = state.audience.narrow(Audience::Person(state.principal.person));
    }
    with_user_edits(state, call, json!({ "status": "failed", "error": fault.to_string() }))
}

/// Handles an answer: a picked name goes back to the gate with the call; "another time" asks the person for one;
/// "someone else" and no answer go to the model.
fn apply_answer(state: &mut AgentState, call: &str, answer: Option<&str>, is_typed: bool) {
    let Some(pending) = state.pending_calls.iter_mut().find(|p| p.call.id == call) else { return };
    let picked = answer.and_then(question::parse_picked);
    if matches!(pending.waiting_for, Some(WaitReason::Answer(_))) {
        let content = match picked {
            Some((_, words)) => {
                let answered = json!({ "status": "answered", "answer": words });
                // A model wrote the options, so a click on one is no word of the person's.
                state.typed_answers.extend(is_typed.then_some(words));
                answered
            }
            None => json!({ "status": "nobody_answered", "detail": "go on without the answer, or finish" }),
        };
        return state.answer(call, content);
    }
    match picked {
        Some((name, value)) if value.is_empty() && question::is_time_question(&name) => {
            let asked = question::for_another_time(state.is_shared);
            state.apply_tool_output(call, &asked, &asked.content.to_string());
        }
        Some((name, value)) if !value.is_empty() => {
            pending.picked_values.insert(name, value);
            pending.waiting_for = None;
        }
        _ => {
            let detail = match answer {
                Some(_) => "the person picked none of these; ask them which they mean",
                None => "nobody answered in time",
            };
            state.answer(call, json!({ "status": "not_done", "detail": detail }));
        }
    }
}

fn is_edited_by_person(state: &AgentState, call: &str) -> bool {
    state.pending_calls.iter().any(|pending| pending.call.id == call && !pending.user_edits.is_empty())
}

fn unpark(state: &mut AgentState, call: &str) {
    if let Some(pending) = state.pending_calls.iter_mut().find(|p| p.call.id == call) {
        pending.waiting_for = None;
    }
}
