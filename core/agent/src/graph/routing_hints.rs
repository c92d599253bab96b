//! Routing hints: adds what the rules and the router found to the person's message, so that the reasoner needs fewer
//! lookups.

use std::sync::Arc;

use nod_contract::model::ToolDefinition;
use nod_contract::privacy::Audience;
use nod_contract::tool::{Reach, Tool, Tools};

use super::{CREATE_TASK, drafts};
use crate::state::AgentState;

/// The first line of the hints.
const HINTS_HEADER: &str = "Routing hints (from the assistant, not the person):";

/// Returns the person's message with the hints; only the message if there are none.
pub(super) fn with_hints(said: &str, state: &AgentState) -> String {
    let lines = lines(state);
    if lines.is_empty() { said.to_owned() } else { format!("{said}\n\n{HINTS_HEADER}\n{}", lines.join("\n")) }
}

fn lines(state: &AgentState) -> Vec<String> {
    let mut lines: Vec<String> = state.target_tool.iter().map(|tool| format!("- tool: {tool}")).collect();
    lines.extend(open(state));
    lines.extend(state.mail_thread.iter().map(|thread| format!("- mail thread in view: {thread}")));
    lines
}

/// Returns the message for the router: only the hints that help to tell one tool from another.
pub(super) fn router_input(said: &str, state: &AgentState) -> String {
    let lines: Vec<String> = open(state).into_iter().collect();
    if lines.is_empty() { said.to_owned() } else { format!("{said}\n\n{HINTS_HEADER}\n{}", lines.join("\n")) }
}

/// Returns a hint for the newest open draft. Its label is left out if the draft is private and the answer is not, or if
/// someone outside might have written its subject.
fn open(state: &AgentState) -> Option<String> {
    let newest = state.drafts.open.first()?;
    let private = newest.audience != Audience::Channel && state.audience == Audience::Channel;
    let hidden = private || newest.provenance.is_untrusted();
    let label = if hidden { String::new() } else { format!(", {}", newest.draft.label) };
    Some(format!("- open draft: {}{label}", newest.draft.id))
}

/// Returns the tools to offer; work is begun by the router alone. In the first turn, a hint puts its tool first and
/// leaves out other tools that reach other people; the remaining ones might be needed before it.
pub(super) fn tool_definitions(tools: &Tools, state: &AgentState) -> Vec<Arc<ToolDefinition>> {
    let hint =
        state.target_tool.as_deref().filter(|name| state.model_turns == 0 && tools.get(name).is_some());
    let fits = |tool: &&Tool| {
        let spec = tool.spec();
        spec.name != CREATE_TASK
            && drafts::is_usable(tool, state)
            && hint.is_none_or(|name| spec.name == name || spec.reach != Reach::Others)
    };
    let mut offered: Vec<_> =
        tools.definitions().filter(|(tool, _)| fits(tool)).map(|(_, offer)| Arc::clone(offer)).collect();
    offered.sort_by_key(|offer| Some(offer.name.as_str()) != hint);
    offered
}
