//! A form as Slack's modal, and its values when it returns. Pure.
//!
//! Slack's inputs take 3,000 characters, so a longer value is split over several (see `pieces`).

use std::collections::BTreeMap;

use nod_contract::card::{Action, Field, FieldError, Form};
use nod_contract::chat::ChannelRef;
use serde_json::{Map, Value, json};

use crate::value_chunks::{chunk_id, join_chunks, parse_chunk_id, split_into_chunks};

use super::text::{break_mentions, to_one_line, truncate_label};
use super::{limits, render};

/// The length of a piece of a value that has to be split; the rest of an input is room to write.
const CHUNK_CHARS: usize = 2_400;

/// Returns the view that shows a form; `place` is where it was requested.
#[must_use]
pub(super) fn view(form: &Form, place: &ChannelRef) -> Value {
    let fills = !form.fields.is_empty();
    let mut blocks = render::modal_blocks(&form.body);
    blocks.extend(form.fields.iter().flat_map(inputs));
    let mut view = json!({
        "type": "modal",
        "title": plain_text(&form.title, limits::VIEW_LABEL),
        "close": plain_text(if fills { "Cancel" } else { "Close" }, limits::VIEW_LABEL),
        "private_metadata": form.verb.to_string(),
        "callback_id": encode_location(place),
        "blocks": blocks,
    });
    if fills {
        view["submit"] = plain_text(&form.submit, limits::VIEW_LABEL);
    }
    view
}

/// Returns a view with only a message, which replaces one that has no inputs left.
pub(super) fn saying(words: &str) -> Value {
    json!({
        "type": "modal",
        "title": plain_text("Nod", limits::VIEW_LABEL),
        "close": plain_text("Close", limits::VIEW_LABEL),
        "blocks": [{"type": "section", "text": plain_text(words, limits::BLOCK_TEXT)}],
    })
}

fn plain_text(text: &str, most: usize) -> Value {
    json!({"type": "plain_text", "text": truncate_label(&break_mentions(text), most), "emoji": false})
}

fn inputs(field: &Field) -> Vec<Value> {
    let cut = split_into_chunks(&field.value, limits::INPUT, CHUNK_CHARS);
    let many = cut.len();
    let input = |(n, (between, piece)): (usize, (char, String))| {
        let id = chunk_id(&field.id, n, between);
        let name = match many {
            1 => field.label.clone(),
            _ => format!("{} ({} of {many})", field.label, n + 1),
        };
        let mut element = json!({
            "type": "plain_text_input", "action_id": id, "multiline": field.multiline || piece.contains('\n'),
            "max_length": field.max_chars.clamp(1, limits::INPUT),
        });
        if !piece.is_empty() {
            element["initial_value"] = piece.into();
        }
        // A piece can be emptied; whether the whole value is present is checked on submission.
        let optional = field.optional || many > 1;
        json!({"type": "input", "block_id": id, "optional": optional, "label": plain_text(&name, limits::FIELD_LABEL),
            "element": element})
    };
    cut.into_iter().enumerate().map(input).collect()
}

/// Returns the field values of a submitted view by field id.
pub(super) fn values(view: &Value) -> BTreeMap<String, String> {
    let mut fields: BTreeMap<String, BTreeMap<usize, (&str, &str)>> = BTreeMap::new();
    for (block, actions) in view["state"]["values"].as_object().into_iter().flatten() {
        let input = actions.as_object().and_then(|actions| actions.values().next());
        let typed = input.and_then(|input| input["value"].as_str()).unwrap_or_default();
        let (field, number, gap) = parse_chunk_id(block);
        fields.entry(field.to_owned()).or_default().insert(number, (gap, typed));
    }
    fields.into_iter().map(|(field, pieces)| (field, join_chunks(pieces.into_values()))).collect()
}

/// Returns the form's action, and where it was opened.
pub(super) fn parse_private_metadata(view: &Value) -> (Option<Action>, Option<ChannelRef>) {
    let verb = view["private_metadata"].as_str().and_then(Action::parse);
    let place = view["callback_id"].as_str().and_then(|id| {
        let (channel, thread) = id.split_once(':')?;
        (!channel.is_empty()).then(|| ChannelRef {
            channel: channel.to_owned(),
            is_dm: channel.starts_with('D'),
            thread: Some(thread).filter(|thread| !thread.is_empty()).map(str::to_owned),
        })
    });
    (verb, place)
}

fn encode_location(place: &ChannelRef) -> String {
    format!("{}:{}", place.channel, place.thread.as_deref().unwrap_or_default())
}

/// Returns the errors at their fields; errors of no field in the view go to the first one. If there is no field, the
/// view shows them.
pub(super) fn errors_response(view: &Value, errors: &[FieldError]) -> Value {
    let blocks = view["blocks"].as_array().map_or(&[][..], Vec::as_slice);
    let inputs: Vec<&str> =
        blocks.iter().filter(|b| b["type"] == "input").filter_map(|b| b["block_id"].as_str()).collect();
    let Some(first) = inputs.first() else {
        let all: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
        return json!({"response_action": "update", "view": saying(&all.join(" "))});
    };
    let mut said: Map<String, Value> = Map::new();
    for error in errors {
        let at = inputs.iter().find(|id| **id == error.field).unwrap_or(first);
        let before =
            said.get(*at).and_then(Value::as_str).map_or_else(String::new, |text| format!("{text} "));
        said.insert(
            (*at).to_owned(),
            truncate_label(&format!("{before}{}", to_one_line(&error.message)), limits::ERROR).into(),
        );
    }
    json!({"response_action": "errors", "errors": said})
}

/// Closes every view.
pub(super) fn clear_response() -> Value {
    json!({"response_action": "clear"})
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
