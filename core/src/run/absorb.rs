//! What news means to a waiting run: a plain function from state and news to the next state.

use serde_json::json;

use super::state::{AgentState, Parked};
use crate::jobs::{Connecting, News, Verdict};
use crate::question;
use crate::tool::{Fault, ToolResult};

/// Takes news in. News that nobody waits for changes nothing: it may arrive twice.
pub(super) fn absorb(state: &mut AgentState, news: &News) {
    match news {
        News::Verdict { approval, verdict } => {
            if let Some(call) = state.waiting_for(approval.0) {
                state.answer(&call, verdict_content(verdict));
            }
        }
        News::Outcome { ticket, result } => {
            if let Some(call) = state.waiting_for(*ticket) {
                outcome(state, &call, result);
            }
        }
        News::Answer { question, answer } => {
            if let Some(call) = state.waiting_for(question.0) {
                answered(state, &call, answer.as_deref());
            }
        }
        News::Connection { provider, ended } => {
            let waiting: Vec<String> = state
                .pending
                .iter()
                .filter(|p| p.parked == Some(Parked::Connection(*provider)))
                .map(|p| p.call.id.clone())
                .collect();
            for call in waiting {
                match not_connected(*ended) {
                    None => unpark(state, &call),
                    Some(why) => {
                        let said = format!("{} was not connected: {why}", provider.title());
                        state.answer(&call, json!({ "status": "not_connected", "detail": said }));
                    }
                }
            }
        }
        News::Retry => {}
    }
}

/// Why a request that needs an account cannot go on; `None` where it can.
fn not_connected(ended: Connecting) -> Option<&'static str> {
    match ended {
        Connecting::Connected => None,
        Connecting::Late => Some("nobody followed the link in time"),
        Connecting::Declined => Some("the person did not agree on the provider's page"),
        Connecting::TooLittle => Some("the person did not tick every permission that is needed"),
        Connecting::NotAllowed => Some("an admin did not allow that account"),
        Connecting::Failed => Some("the provider did not complete the sign-in"),
    }
}

/// Silence is never told as a refusal.
fn verdict_content(verdict: &Verdict) -> serde_json::Value {
    match verdict {
        Verdict::Denied => json!({ "status": "denied", "detail": "the person said no; nothing was done" }),
        Verdict::Expired => {
            json!({ "status": "expired", "detail": "nobody answered in time; nothing was done" })
        }
        Verdict::Superseded => {
            json!({ "status": "superseded", "detail": "a newer request took its place; nothing was done" })
        }
    }
}

fn outcome(state: &mut AgentState, call: &str, result: &ToolResult) {
    match result {
        Ok(output) => {
            state.audience = state.audience.narrow(output.audience);
            state.provenance = state.provenance.clone().with(output.provenance.clone());
            state.receipts.push(output.content.clone());
            state.answer(call, &output.content);
        }
        Err(fault @ Fault::Unknown { .. }) => {
            state.unknown += 1;
            let detail = "nobody knows whether it happened; a person must look. Do not try again.";
            state.answer(call, json!({ "status": "unknown", "detail": detail, "why": fault.to_string() }));
        }
        Err(fault) => state.answer(call, json!({ "status": "failed", "error": fault.to_string() })),
    }
}

/// A picked name goes back to the gate with the call; "someone else" and silence go to the model.
fn answered(state: &mut AgentState, call: &str, answer: Option<&str>) {
    let Some(pending) = state.pending.iter_mut().find(|p| p.call.id == call) else { return };
    match answer.and_then(question::picked) {
        Some((name, value)) => {
            pending.picked.insert(name, value);
            pending.parked = None;
        }
        None => {
            let detail = match answer {
                Some(_) => "the person picked nobody from the list; ask them whom they mean",
                None => "nobody answered in time",
            };
            state.answer(call, json!({ "status": "not_done", "detail": detail }));
        }
    }
}

fn unpark(state: &mut AgentState, call: &str) {
    if let Some(pending) = state.pending.iter_mut().find(|p| p.call.id == call) {
        pending.parked = None;
    }
}
