//! Drafts on their way through the graph: which one a call means, and what is written down of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Emit;
use crate::state::AgentState;
use nod_contract::privacy::Audience;
use nod_contract::tool::{Choice, Tool, ToolError, ToolSpec};
use nod_requests::draft::{Change, OpenDraft};

/// By this name a question asks which draft is meant.
const DRAFT: &str = "draft";

/// The argument of a tool that takes an open draft.
pub(super) fn argument(spec: &ToolSpec) -> Option<&str> {
    let properties = spec.parameters["properties"].as_object()?;
    properties.iter().find(|(_, schema)| schema["format"] == "draft").map(|(name, _)| name.as_str())
}

/// Whether a tool can be used now: those that work on an open draft need one.
pub(super) fn usable(tool: &Tool, state: &AgentState) -> bool {
    argument(tool.spec()).is_none() || !state.drafts.open.is_empty()
}

/// Puts the draft that a call means in the place of its id. Its text comes into view with that.
pub(super) fn resolved(
    spec: &ToolSpec,
    mut args: Value,
    picked: &BTreeMap<String, String>,
    state: &mut AgentState,
) -> Result<Value, ToolError> {
    let Some(name) = argument(spec) else { return Ok(args) };
    let open = match meant(spec, args[name].as_str(), picked, state) {
        Ok(open) => open.clone(),
        Err(fault) => {
            // The question names them all.
            if matches!(fault, ToolError::Ambiguous { .. }) {
                let all = state.drafts.open.iter().map(|open| open.audience);
                state.audience = all.fold(state.audience, Audience::narrow);
            }
            return Err(fault);
        }
    };
    if spec.name == open.draft.tools.update && !open.seen {
        let read = &open.draft.tools.read;
        return Err(ToolError::invalid(format!("the draft's text is not in view yet: call {read} first")));
    }
    state.audience = state.audience.narrow(open.audience);
    state.provenance = state.provenance.clone().merge(open.provenance);
    args[name] = json!(open.draft);
    Ok(args)
}

/// Whether a call works on a draft that Nod did not make here; `args` as they were resolved.
pub(super) fn overwrites(spec: &ToolSpec, args: &Value, state: &AgentState) -> bool {
    let id = argument(spec).and_then(|name| args[name]["id"].as_str());
    id.is_some_and(|id| state.drafts.named(id).is_none_or(|open| !open.made))
}

fn meant<'a>(
    spec: &ToolSpec,
    given: Option<&str>,
    picked: &BTreeMap<String, String>,
    state: &'a AgentState,
) -> Result<&'a OpenDraft, ToolError> {
    let drafts = &state.drafts;
    let wanted = picked.get(DRAFT).map(String::as_str).or(drafts.chosen.as_deref()).or(given);
    if let Some(id) = wanted {
        return drafts.named(id).ok_or_else(|| ToolError::NotFound { what: format!("an open draft {id}") });
    }
    match &drafts.open[..] {
        [] => Err(ToolError::NotFound { what: "an open draft here".to_owned() }),
        [one] => Ok(one),
        // Changing the newest can be changed again; what leaves or is thrown away must be the right one.
        [newest, ..] if newest.latest || spec.name == newest.draft.tools.update => Ok(newest),
        [newest, ..] if spec.name == newest.draft.tools.read => Ok(newest),
        several => {
            Err(ToolError::Ambiguous { name: DRAFT.to_owned(), choices: choices(several), message: None })
        }
    }
}

fn choices(several: &[OpenDraft]) -> Vec<Choice> {
    let choice = |open: &OpenDraft| Choice { label: open.draft.label.clone(), value: open.draft.id.clone() };
    several.iter().map(choice).collect()
}

/// What became of drafts, to be written down with this step.
pub(super) fn emits(state: &mut AgentState) -> Vec<Emit> {
    let changes = std::mem::take(&mut state.drafts.changes);
    let emit = |change: Change| match change {
        Change::Written(id) => state.drafts.named(&id).map(|open| Emit::Draft(Box::new(open.clone()))),
        Change::Closed(draft, how) => Some(Emit::DraftClosed { draft, how }),
    };
    changes.into_iter().filter_map(emit).collect()
}
