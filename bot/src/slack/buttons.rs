//! Buttons as rows of actions. A click carries only its action.

use std::collections::HashSet;

use nod_contract::card::{Button, OnClick, Style, feedback};
use nod_contract::ids::RunId;
use serde_json::{Value, json};

use super::limits;
use super::markdown::address;
use super::text::{break_mentions, char_count, escape_control_chars, json_size, truncate_label};

/// The action id of buttons that only open a page; their clicks are ignored.
pub(super) const LINK: &str = "link";
/// The action id of the buttons that rate an answer.
const FEEDBACK: &str = "feedback";

/// Rows, and what could not become a button.
#[derive(Debug, Default)]
pub(super) struct ButtonRows {
    pub blocks: Vec<Value>,
    /// One line each.
    pub link_lines: Vec<String>,
}

/// `ids` are the action ids that the message has already: Slack accepts each once.
pub(super) fn rows(buttons: &[Button], ids: &mut HashSet<String>) -> ButtonRows {
    let mut rows = ButtonRows::default();
    let mut elements = Vec::new();
    let (mut spent, mut left_out) = (0, 0);
    for (index, button) in buttons.iter().enumerate() {
        let Some(element) = element(button, index, ids) else {
            rows.link_lines.push(link_line(button));
            continue;
        };
        let cost = json_size(&element);
        if spent + cost > limits::BUTTONS_JSON {
            left_out += 1;
            continue;
        }
        spent += cost;
        elements.push(element);
    }
    // Only a few lines: URLs that cannot be linked come from outside, and there could be any number.
    left_out += rows.link_lines.len().saturating_sub(3);
    rows.link_lines.truncate(3);
    if left_out > 0 {
        rows.link_lines.push(format!("… ({left_out} more buttons)"));
    }
    rows.blocks =
        elements.chunks(limits::ROW).map(|row| json!({"type": "actions", "elements": row})).collect();
    rows
}

/// Returns the block with the two buttons that rate an answer, which only messages can have
/// (<https://docs.slack.dev/reference/block-kit/blocks/context-actions-block>).
pub(super) fn feedback(run: RunId, ids: &mut HashSet<String>) -> Value {
    let [up, down] = feedback::buttons(run).map(|button| {
        json!({
            "text": {"type": "plain_text", "text": button.emoji, "emoji": true},
            "accessibility_label": button.spoken,
            "value": button.action.to_string(),
        })
    });
    let id = unused(FEEDBACK.to_owned(), 0, ids);
    let element =
        json!({"type": "feedback_buttons", "action_id": id, "positive_button": up, "negative_button": down});
    json!({"type": "context_actions", "elements": [element]})
}

fn element(button: &Button, index: usize, ids: &mut HashSet<String>) -> Option<Value> {
    let text = json!({"type": "plain_text", "text": button_label(button), "emoji": false});
    let mut element = match &button.on_click {
        OnClick::Action(verb) => {
            let id = unused(truncate_label(&verb.kind, limits::ACTION_ID - 10), index, ids);
            json!({"type": "button", "text": text, "action_id": id, "value": verb.to_string()})
        }
        OnClick::Link(target) => {
            let url = address(target).filter(|url| char_count(url) <= limits::BUTTON_URL)?;
            let id = unused(format!("{LINK}:{index}"), index, ids);
            json!({"type": "button", "text": text, "action_id": id, "url": url})
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

/// Returns the id, or with a number if the message has it already.
fn unused(id: String, index: usize, ids: &mut HashSet<String>) -> String {
    let numbered = (index..).map(|number| format!("{id}:{number}"));
    let mut all = Some(id.clone()).filter(|id| !id.is_empty()).into_iter().chain(numbered);
    all.find(|id| ids.insert(id.clone())).unwrap_or(id)
}

fn button_label(button: &Button) -> String {
    let name = truncate_label(&break_mentions(&button.label), limits::BUTTON_LABEL);
    if name.is_empty() { "—".to_owned() } else { name }
}

fn link_line(button: &Button) -> String {
    let target = match &button.on_click {
        OnClick::Link(target) => truncate_label(&escape_control_chars(target), 300),
        OnClick::Action(_) | OnClick::Connect { .. } => "no link here".to_owned(),
    };
    format!("{}: {target}", button_label(button))
}
