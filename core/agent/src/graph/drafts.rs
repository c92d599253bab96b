//! Drafts in the graph: which one a call means, and which changes to it the step emits.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Emit;
use crate::state::AgentState;
use nod_contract::privacy::Audience;
use nod_contract::tool::{Choice, Tool, ToolError, ToolSpec};
use nod_requests::draft::{Change, OpenDraft};

/// The name of a question that asks which draft is meant.
const DRAFT: &str = "draft";

/// Returns the name of the argument that takes an open draft.
pub(super) fn argument(spec: &ToolSpec) -> Option<&str> {
    let properties = spec.parameters["properties"].as_object()?;
    properties.iter().find(|(_, schema)| schema["format"] == "draft").map(|(name, _)| name.as_str())
}

/// Whether a tool can be used now: one that works on an open draft needs such a draft.
pub(super) fn usable(tool: &Tool, state: &AgentState) -> bool {
    argument(tool.spec()).is_none() || !state.drafts.open.is_empty()
}

/// Replaces a draft's id in the arguments by the draft that the call means, which brings its text into view.
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
            // The question lists all of them.
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

/// Whether a call works on a draft that Nod did not create here; `args` are resolved.
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
        // An update of the newest can be corrected later; a draft that is sent or discarded must be the right one.
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

/// Returns the changes to drafts, to be stored with this step.
pub(super) fn emits(state: &mut AgentState) -> Vec<Emit> {
    let changes = std::mem::take(&mut state.drafts.changes);
    let emit = |change: Change| match change {
        Change::Written(id) => state.drafts.named(&id).map(|open| Emit::Draft(Box::new(open.clone()))),
        Change::Closed(draft, how) => Some(Emit::DraftClosed { draft, how }),
    };
    changes.into_iter().filter_map(emit).collect()
}
