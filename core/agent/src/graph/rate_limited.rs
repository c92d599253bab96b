//! The text for a provider that asks to wait longer than a call can wait. It is shown verbatim, so no model has to
//! interpret a quota.

use chrono::TimeDelta;
use serde_json::json;

use super::think::progress_summary;
use crate::state::AgentState;
use nod_contract::clock::Timestamp;
use nod_contract::provider::Provider;
use nod_contract::tool::{ToolError, ToolOutput};
use nod_requests::busy::{SHORT_WAIT, wait_sentence};

/// Returns the answer to a rate-limited call; `None` for another error or a tool that uses no account.
pub(super) fn wait_output(
    fault: &ToolError,
    provider: Option<Provider>,
    state: &AgentState,
    now: Timestamp,
) -> Option<ToolOutput> {
    let (ToolError::RateLimited { retry_after_secs: after_seconds }, Some(provider)) = (fault, provider)
    else {
        return None;
    };
    let wait = i64::try_from(*after_seconds).ok().and_then(TimeDelta::try_seconds);
    let until = wait.filter(|wait| *wait > SHORT_WAIT).and_then(|wait| now.checked_add_signed(wait));
    let (why, then) = match until {
        Some(until) => (wait_sentence(provider, until, &state.principal.zone), "Ask me again then."),
        None => (format!("{} is busy right now.", provider.display_name()), "Try me again in a minute."),
    };
    let said = format!("{why} {} {then}", progress_summary(state));
    let detail = "the person is told so; do not try again in this turn";
    Some(ToolOutput::trusted(json!({ "status": "busy", "why": why, "detail": detail })).with_verbatim(said))
}
