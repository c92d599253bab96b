//! A form as Slack's modal, and what comes back as values. Pure.
//!
//! Slack's inputs take 3,000 characters, so a longer value is cut into several. What stands between two pieces
//! (an empty line, a line end, a space) is written into the second one's id and put back when they are joined:
//! nobody sees it, and it does not matter whether Slack keeps white space at the ends of a value.

use std::collections::BTreeMap;

use nod_core::card::{Field, FieldError, Form, Verb};
use nod_core::chat::Place;
use serde_json::{Map, Value, json};

use super::text::{label, letters, one_line, unpinged};
use super::{limits, render};

/// Between a field's id and the number of a piece.
const PIECE: char = '~';
/// What may stand between two pieces, by the letter that says so.
const BETWEEN: [(char, &str); 4] = [('p', "\n\n"), ('n', "\n"), ('s', " "), ('x', "")];
/// How long a piece of a value is that has to be cut; the rest of an input is room to write.
const CUT: usize = 2_400;

/// The view that shows a form; `place` is where it was asked for.
#[must_use]
pub(super) fn view(form: &Form, place: &Place) -> Value {
    let fills = !form.fields.is_empty();
    let mut blocks = render::for_view(&form.body);
    blocks.extend(form.fields.iter().flat_map(inputs));
    let mut view = json!({
        "type": "modal",
        "title": plain(&form.title, limits::VIEW_LABEL),
        "close": plain(if fills { "Cancel" } else { "Close" }, limits::VIEW_LABEL),
        "private_metadata": form.verb.to_string(),
        "callback_id": opened_in(place),
        "blocks": blocks,
    });
    if fills {
        view["submit"] = plain(&form.submit, limits::VIEW_LABEL);
    }
    view
}

/// A view that only says something, in the place of one that has nothing to fill in any more.
pub(super) fn saying(words: &str) -> Value {
    json!({
        "type": "modal",
        "title": plain("Nod", limits::VIEW_LABEL),
        "close": plain("Close", limits::VIEW_LABEL),
        "blocks": [{"type": "section", "text": plain(words, limits::BLOCK_TEXT)}],
    })
}

fn plain(text: &str, most: usize) -> Value {
    json!({"type": "plain_text", "text": label(&unpinged(text), most), "emoji": false})
}

fn inputs(field: &Field) -> Vec<Value> {
    let cut = pieces(&field.value);
    let many = cut.len();
    let input = |(n, (between, piece)): (usize, (char, String))| {
        let id = match n {
            0 => field.id.clone(),
            n => format!("{}{PIECE}{n}{between}", field.id),
        };
        let name = match many {
            1 => field.label.clone(),
            _ => format!("{} ({} of {many})", field.label, n + 1),
        };
        let mut element = json!({
            "type": "plain_text_input", "action_id": id, "multiline": field.lines || piece.contains('\n'),
            "max_length": field.limit.clamp(1, limits::INPUT),
        });
        if !piece.is_empty() {
            element["initial_value"] = piece.into();
        }
        // A piece may be emptied; that something is there at all is looked at when it comes back.
        let optional = field.optional || many > 1;
        json!({"type": "input", "block_id": id, "optional": optional, "label": plain(&name, limits::FIELD_LABEL),
            "element": element})
    };
    cut.into_iter().enumerate().map(input).collect()
}

/// A value as pieces that fit into an input each, with what stood before each of them.
fn pieces(value: &str) -> Vec<(char, String)> {
    let mut all = Vec::new();
    let (mut between, mut rest) = ('x', value);
    while letters(rest) > limits::INPUT {
        let end = rest.char_indices().nth(CUT).map_or(rest.len(), |(at, _)| at);
        let cut = BETWEEN.iter().find_map(|(letter, gap)| {
            let at = if gap.is_empty() { end } else { rest[..end].rfind(gap)? };
            // Not so near the beginning that hardly anything would stand in the piece, and not within a wider
            // gap, of which one side would be lost.
            let fits = at > end / 2 && (gap.is_empty() || sound(rest, at, gap));
            fits.then_some((*letter, at, at + gap.len()))
        });
        let (letter, at, next) = cut.unwrap_or(('x', end, end));
        all.push((between, rest[..at].to_owned()));
        (between, rest) = (letter, &rest[next..]);
    }
    all.push((between, rest.to_owned()));
    all
}

/// Whether nothing white stands on either side of the gap.
fn sound(text: &str, at: usize, gap: &str) -> bool {
    let white = |c: Option<char>| c.is_none_or(char::is_whitespace);
    !white(text[..at].chars().next_back()) && !white(text[at + gap.len()..].chars().next())
}

/// What stands in the fields of a view that was sent, by their ids.
pub(super) fn values(view: &Value) -> BTreeMap<String, String> {
    let mut fields: BTreeMap<String, BTreeMap<usize, (&str, &str)>> = BTreeMap::new();
    for (block, actions) in view["state"]["values"].as_object().into_iter().flatten() {
        let input = actions.as_object().and_then(|actions| actions.values().next());
        let typed = input.and_then(|input| input["value"].as_str()).unwrap_or_default();
        let (field, number, gap) = piece_of(block);
        fields.entry(field.to_owned()).or_default().insert(number, (gap, typed));
    }
    fields.into_iter().map(|(field, pieces)| (field, joined(pieces.into_values()))).collect()
}

/// A piece that was emptied goes with what stood before it.
fn joined<'a>(pieces: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut whole = String::new();
    for (gap, typed) in pieces.filter(|(_, typed)| !typed.is_empty()) {
        if !whole.is_empty() {
            whole.push_str(gap);
        }
        whole.push_str(typed);
    }
    whole
}

/// The field, the number of the piece, and what stands before it.
fn piece_of(block: &str) -> (&str, usize, &'static str) {
    let read = || {
        let (field, rest) = block.split_once(PIECE)?;
        let letter = rest.chars().next_back()?;
        let (_, gap) = BETWEEN.iter().find(|(one, _)| *one == letter)?;
        Some((field, rest.strip_suffix(letter)?.parse().ok()?, *gap))
    };
    read().unwrap_or((block, 0, ""))
}

/// What the form is about, and where it was opened.
pub(super) fn carried(view: &Value) -> (Option<Verb>, Option<Place>) {
    let verb = view["private_metadata"].as_str().and_then(Verb::parse);
    let place = view["callback_id"].as_str().and_then(|id| {
        let (channel, thread) = id.split_once(':')?;
        (!channel.is_empty()).then(|| Place {
            channel: channel.to_owned(),
            direct: channel.starts_with('D'),
            thread: Some(thread).filter(|thread| !thread.is_empty()).map(str::to_owned),
        })
    });
    (verb, place)
}

fn opened_in(place: &Place) -> String {
    format!("{}:{}", place.channel, place.thread.as_deref().unwrap_or_default())
}

/// Errors beside the fields that they are about; what is about no field of the view stands at the first one.
/// Where there is none, the view says it.
pub(super) fn refused(view: &Value, errors: &[FieldError]) -> Value {
    let blocks = view["blocks"].as_array().map_or(&[][..], Vec::as_slice);
    let inputs: Vec<&str> =
        blocks.iter().filter(|b| b["type"] == "input").filter_map(|b| b["block_id"].as_str()).collect();
    let Some(first) = inputs.first() else {
        let all: Vec<&str> = errors.iter().map(|error| error.why.as_str()).collect();
        return json!({"response_action": "update", "view": saying(&all.join(" "))});
    };
    let mut said: Map<String, Value> = Map::new();
    for error in errors {
        let at = inputs.iter().find(|id| **id == error.field).unwrap_or(first);
        let before =
            said.get(*at).and_then(Value::as_str).map_or_else(String::new, |text| format!("{text} "));
        said.insert(
            (*at).to_owned(),
            label(&format!("{before}{}", one_line(&error.why)), limits::ERROR).into(),
        );
    }
    json!({"response_action": "errors", "errors": said})
}

/// It is done, and every view goes.
pub(super) fn cleared() -> Value {
    json!({"response_action": "clear"})
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
