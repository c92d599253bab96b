//! A form as Discord's modal, and its values when it returns. Pure.
//!
//! A modal holds five components and cannot be opened from another one. An input takes 4,000 characters, so a longer
//! value is split over several (see `pieces`). The body above the fields takes one component, if one is left.
//!
//! Inputs are in action rows, the older of Discord's two formats: serenity parses a newer label, but not its content,
//! and what the user typed would be lost silently.

use std::collections::BTreeMap;

use nod_contract::card::{Action, Block, Card, Field, FieldError, Form};
use nod_contract::text::capitalize;
use serde_json::{Value, json};

use crate::text::char_count;
use crate::value_chunks::{chunk_id, join_chunks, parse_chunk_id, split_into_chunks};

use super::limits::{self, truncate_label};
use super::render;

/// The length of a piece of a value that has to be split; the rest of an input is room to write.
const CHUNK_CHARS: usize = 3_200;

/// Returns the `data` of a response that opens the form. If it does not fit (see [`fits`]), only its first inputs are
/// included and the result would be incomplete, so it must not be opened.
#[must_use]
pub fn modal(form: &Form) -> Value {
    let mut inputs: Vec<Value> = form.fields.iter().flat_map(inputs).collect();
    inputs.truncate(limits::MODAL);
    let room = limits::MODAL - inputs.len();
    let most = if form.fields.is_empty() { limits::MODAL } else { room.min(1) };
    let (mut components, _) = render::for_modal(&form.body, most);
    components.append(&mut inputs);
    if components.is_empty() {
        components.push(json!({"type": 10, "content": "—"}));
    }
    let title = truncate_label(&form.title, limits::MODAL_LABEL);
    json!({"custom_id": form.verb.to_string(), "title": title, "components": components})
}

/// Returns whether it can be opened in full: every value in the available inputs and, if the form only shows something,
/// all of the body.
#[must_use]
pub fn fits_in_modal(form: &Form) -> bool {
    if form.fields.is_empty() {
        return render::for_modal(&form.body, limits::MODAL).1;
    }
    let inputs: usize =
        form.fields.iter().map(|f| split_into_chunks(&f.value, limits::INPUT, CHUNK_CHARS).len()).sum();
    inputs <= limits::MODAL
}

fn inputs(field: &Field) -> Vec<Value> {
    let cut = split_into_chunks(&field.value, limits::INPUT, CHUNK_CHARS);
    let many = cut.len();
    let input = |(n, (between, piece)): (usize, (char, String))| {
        let number = if many > 1 { format!(" ({} of {many})", n + 1) } else { String::new() };
        let name = truncate_label(&field.label, limits::MODAL_LABEL - number.len());
        let several = field.multiline || piece.contains('\n');
        // A piece can be emptied; whether the whole value is present is checked on submission.
        let required = !field.optional && many == 1;
        let mut element = json!({
            "type": 4, "custom_id": chunk_id(&field.id, n, between), "label": format!("{name}{number}"), "style": if several { 2 } else { 1 },
            "required": required, "max_length": field.max_chars.max(char_count(&piece)).clamp(1, limits::INPUT),
        });
        if !piece.is_empty() {
            element["value"] = piece.into();
        }
        json!({"type": 1, "components": [element]})
    };
    cut.into_iter().enumerate().map(input).collect()
}

/// Returns the values of a submitted modal by field id. `data` is the interaction's.
#[must_use]
pub fn values(data: &Value) -> BTreeMap<String, String> {
    let mut fields: BTreeMap<String, BTreeMap<usize, (&str, &str)>> = BTreeMap::new();
    for input in data["components"].as_array().into_iter().flatten().flat_map(inner_components) {
        let Some(id) = input["custom_id"].as_str() else { continue };
        let (field, number, gap) = parse_chunk_id(id);
        let typed = input["value"].as_str().unwrap_or_default();
        fields.entry(field.to_owned()).or_default().insert(number, (gap, typed));
    }
    fields.into_iter().map(|(field, pieces)| (field, join_chunks(pieces.into_values()))).collect()
}

/// Returns the values of a submitted modal in its order, with the names of their fields: a submission has no labels.
#[must_use]
pub fn typed_rows(data: &Value) -> Vec<(String, String)> {
    let mut values = values(data);
    let ids = data["components"].as_array().into_iter().flatten().flat_map(inner_components);
    let fields = ids.filter_map(|input| Some(parse_chunk_id(input["custom_id"].as_str()?).0));
    let mut rows = Vec::new();
    for field in fields {
        if let Some(value) = values.remove(field) {
            rows.push((capitalize(&field.replace('_', " ")), value));
        }
    }
    rows
}

/// Returns the content of a label, or of an action row.
fn inner_components(component: &Value) -> Vec<&Value> {
    let row = component["components"].as_array().into_iter().flatten();
    component.get("component").into_iter().chain(row).collect()
}

/// Returns the modal's action.
#[must_use]
pub fn verb(data: &Value) -> Option<Action> {
    data["custom_id"].as_str().and_then(Action::parse)
}

/// Returns a card with the validation errors: Discord always closes a submitted modal, so they are posted separately.
#[must_use]
pub fn errors(errors: &[FieldError]) -> Card {
    let said = errors.iter().map(|error| error.message.clone()).collect();
    Card::default().with_title("That wasn't saved.").with_block(Block::Risks(said))
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
