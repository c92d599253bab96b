//! Drafts in the graph: which one a call means, and which changes to it the step emits.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::NodeOutput;
use crate::state::AgentState;
use nod_contract::privacy::Audience;
use nod_contract::tool::{Choice, Tool, ToolError, ToolSpec};
use nod_requests::draft::{DraftChange, OpenDraft};

/// The name of a question that asks which draft is meant.
const DRAFT: &str = "draft";

/// Returns the name of the argument that takes an open draft.
pub(super) fn argument(spec: &ToolSpec) -> Option<&str> {
    let properties = spec.parameters["properties"].as_object()?;
    properties.iter().find(|(_, schema)| schema["format"] == "draft").map(|(name, _)| name.as_str())
}

/// Whether a tool can be used now: one that works on an open draft needs such a draft.
pub(super) fn is_usable(tool: &Tool, state: &AgentState) -> bool {
    argument(tool.spec()).is_none() || !state.drafts.open.is_empty()
}

/// Replaces a draft's id in the arguments by the draft that the call means, which brings its text into view.
pub(super) fn resolve_draft(
    spec: &ToolSpec,
    mut args: Value,
    picked: &BTreeMap<String, String>,
    state: &mut AgentState,
) -> Result<Value, ToolError> {
    let Some(name) = argument(spec) else { return Ok(args) };
    let open = match select_draft(spec, args[name].as_str(), picked, state) {
        Ok(open) => open.clone(),
        Err(fault) => {
            // The question lists all of them.
            if matches!(fault, ToolError::Ambiguous { .. }) {
                let all = state.drafts.open.iter().map(|open| open.audience);
                state.audience = all.fold(state.audience, Audience::narrow);
            }
            return Err(fault);
        }
    };
    if spec.name == open.draft.tools.update && !open.is_text_in_view {
        let read = &open.draft.tools.read;
        return Err(ToolError::invalid(format!("the draft's text is not in view yet: call {read} first")));
    }
    state.audience = state.audience.narrow(open.audience);
    state.provenance = state.provenance.clone().merge(open.provenance);
    args[name] = json!(open.draft);
    Ok(args)
}

/// Whether a call works on a draft that Nod did not create here; `args` are resolved.
pub(super) fn overwrites_own_draft(spec: &ToolSpec, args: &Value, state: &AgentState) -> bool {
    let id = argument(spec).and_then(|name| args[name]["id"].as_str());
    id.is_some_and(|id| state.drafts.find(id).is_none_or(|open| !open.made_by_nod))
}

fn select_draft<'a>(
    spec: &ToolSpec,
    given: Option<&str>,
    picked: &BTreeMap<String, String>,
    state: &'a AgentState,
) -> Result<&'a OpenDraft, ToolError> {
    let drafts = &state.drafts;
    let wanted = picked.get(DRAFT).map(String::as_str).or(drafts.chosen.as_deref()).or(given);
    if let Some(id) = wanted {
        return drafts.find(id).ok_or_else(|| ToolError::NotFound { what: format!("an open draft {id}") });
    }
    match &drafts.open[..] {
        [] => Err(ToolError::NotFound { what: "an open draft here".to_owned() }),
        [one] => Ok(one),
        // An update of the newest can be corrected later; a draft that is sent or discarded must be the right one.
        [newest, ..] if newest.is_most_recent || spec.name == newest.draft.tools.update => Ok(newest),
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

/// Returns the changes to drafts, to be stored with this step.
pub(super) fn take_outputs(state: &mut AgentState) -> Vec<NodeOutput> {
    let changes = std::mem::take(&mut state.drafts.changes);
    let emit = |change: DraftChange| match change {
        DraftChange::Updated(id) => {
            state.drafts.find(&id).map(|open| NodeOutput::DraftUpdate(Box::new(open.clone())))
        }
        DraftChange::Closed(draft, how) => Some(NodeOutput::DraftClosed { draft, reason: how }),
    };
    changes.into_iter().filter_map(emit).collect()
}
