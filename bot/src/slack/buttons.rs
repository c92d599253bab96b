//! Buttons as rows of actions. A click carries only its action.

use std::collections::HashSet;

use nod_contract::card::{Button, OnClick, Style};
use serde_json::{Value, json};

use super::limits;
use super::markdown::address;
use super::text::{label, letters, unpinged, visible};

/// The action id of buttons that only open a page; their clicks are ignored.
pub(super) const LINK: &str = "link";

/// Rows, and what could not become a button.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub blocks: Vec<Value>,
    /// One line each.
    pub beside: Vec<String>,
}

pub(super) fn rows(buttons: &[Button]) -> Rows {
    let mut rows = Rows::default();
    let mut elements = Vec::new();
    let (mut ids, mut spent, mut left_out) = (HashSet::new(), 0, 0);
    for (index, button) in buttons.iter().enumerate() {
        let Some(element) = element(button, index, &mut ids) else {
            rows.beside.push(beside(button));
            continue;
        };
        let cost = letters(&element.to_string()) + 1;
        if spent + cost > limits::BUTTONS_JSON {
            left_out += 1;
            continue;
        }
        spent += cost;
        elements.push(element);
    }
    // Only a few lines: URLs that cannot be linked come from outside, and there could be any number.
    left_out += rows.beside.len().saturating_sub(3);
    rows.beside.truncate(3);
    if left_out > 0 {
        rows.beside.push(format!("… ({left_out} more buttons)"));
    }
    rows.blocks =
        elements.chunks(limits::ROW).map(|row| json!({"type": "actions", "elements": row})).collect();
    rows
}

fn element(button: &Button, index: usize, ids: &mut HashSet<String>) -> Option<Value> {
    let text = json!({"type": "plain_text", "text": name(button), "emoji": false});
    let mut element = match &button.on_click {
        OnClick::Action(verb) => {
            let mut id = label(&verb.kind, limits::ACTION_ID - 10);
            if id.is_empty() || !ids.insert(id.clone()) {
                id = format!("{id}:{index}");
                ids.insert(id.clone());
            }
            json!({"type": "button", "text": text, "action_id": id, "value": verb.to_string()})
        }
        OnClick::Link(target) => {
            let url = address(target).filter(|url| letters(url) <= limits::BUTTON_URL)?;
            json!({"type": "button", "text": text, "action_id": format!("{LINK}:{index}"), "url": url})
        }
        OnClick::Connect { .. } => return None,
    };
    match button.style {
        Style::Primary => element["style"] = "primary".into(),
        Style::Danger => element["style"] = "danger".into(),
        Style::Plain => {}
    }
    Some(element)
}

fn name(button: &Button) -> String {
    let name = label(&unpinged(&button.label), limits::BUTTON_LABEL);
    if name.is_empty() { "—".to_owned() } else { name }
}

fn beside(button: &Button) -> String {
    let target = match &button.on_click {
        OnClick::Link(target) => label(&visible(target), 300),
        OnClick::Action(_) | OnClick::Connect { .. } => "no link here".to_owned(),
    };
    format!("{}: {target}", name(button))
}
