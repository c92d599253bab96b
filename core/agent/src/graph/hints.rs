//! Routing hints: what the rules and the router found out already stands beside the person's words, so that
//! the reasoner needs one look where it needed several.

use nod_contract::model::ToolDefinition;
use nod_contract::privacy::Audience;
use nod_contract::tool::{Reach, Tool, Tools};

use super::drafts;
use crate::state::AgentState;

/// The hints begin with this line.
const BEGIN: &str = "Routing hints (from the assistant, not the person):";

/// What the person said with the hints beside it; the words alone where there are none.
pub(super) fn effective(said: &str, state: &AgentState) -> String {
    let lines = lines(state);
    if lines.is_empty() { said.to_owned() } else { format!("{said}\n\n{BEGIN}\n{}", lines.join("\n")) }
}

fn lines(state: &AgentState) -> Vec<String> {
    let mut lines: Vec<String> = state.target_tool.iter().map(|tool| format!("- tool: {tool}")).collect();
    lines.extend(open(state));
    lines.extend(state.thread.iter().map(|thread| format!("- mail thread in view: {thread}")));
    lines
}

/// For the router: only what it needs to tell one tool from another.
pub(super) fn for_router(said: &str, state: &AgentState) -> String {
    let lines: Vec<String> = open(state).into_iter().collect();
    if lines.is_empty() { said.to_owned() } else { format!("{said}\n\n{BEGIN}\n{}", lines.join("\n")) }
}

/// The newest open draft. Of one that is for the person alone, others read nothing through an answer here; and where
/// somebody outside may have written its subject, that does not stand beside the person's words.
fn open(state: &AgentState) -> Option<String> {
    let newest = state.drafts.open.first()?;
    let private = newest.audience != Audience::Channel && state.audience == Audience::Channel;
    let hidden = private || newest.provenance.is_untrusted();
    let label = if hidden { String::new() } else { format!(", {}", newest.draft.label) };
    Some(format!("- open draft: {}{label}", newest.draft.id))
}

/// A hint narrows the first offer to that tool, first in line, and to those that reach nobody, which it may
/// need before.
pub(super) fn offers(tools: &Tools, state: &AgentState) -> Vec<ToolDefinition> {
    let hint = state.target_tool.as_deref().filter(|name| state.thoughts == 0 && tools.get(name).is_some());
    let fits = |tool: &&Tool| {
        let spec = tool.spec();
        drafts::usable(tool, state)
            && hint.is_none_or(|name| spec.name == name || spec.reach != Reach::Others)
    };
    let mut offered: Vec<ToolDefinition> = tools.iter().filter(fits).map(offer).collect();
    offered.sort_by_key(|offer| Some(offer.name.as_str()) != hint);
    offered
}

fn offer(tool: &Tool) -> ToolDefinition {
    let spec = tool.spec();
    ToolDefinition {
        name: spec.name.to_owned(),
        description: spec.description.trim().to_owned(),
        parameters: spec.parameters.clone(),
    }
}
