//! Buttons as rows. A press carries nothing but its verb.

use std::collections::HashSet;

use nod_core::card::{Button, Press, Style};
use serde_json::{Value, json};

use crate::text::visible;

use super::address::address;
use super::limits::{self, label, units};
use super::parts::Run;

/// Rows, and what could not be a button.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub rows: Vec<Value>,
    /// A line each.
    pub beside: Vec<Vec<Run>>,
    /// How many are not there at all.
    pub left_out: usize,
}

impl Rows {
    /// How many components they are.
    pub(super) fn components(&self) -> usize {
        self.rows.iter().map(|row| 1 + row["components"].as_array().map_or(0, Vec::len)).sum()
    }
}

pub(super) fn rows(buttons: &[Button]) -> Rows {
    let mut rows = Rows::default();
    let (mut elements, mut ids, mut spent) = (Vec::new(), HashSet::new(), 0);
    for button in buttons {
        match element(button) {
            // Discord refuses a message with one id twice; and both would do the same.
            Some(Value::Object(element))
                if element.get("custom_id").is_some_and(|id| !ids.insert(id.to_string())) => {}
            Some(element) if elements.len() < limits::BUTTONS => elements.push(element),
            Some(_) => rows.left_out += 1,
            None => {
                let line = beside(button);
                let cost: usize = line.iter().map(|run| 2 * units(run.said())).sum();
                if spent + cost > limits::BESIDE {
                    rows.left_out += 1;
                } else {
                    spent += cost;
                    rows.beside.push(line);
                }
            }
        }
    }
    rows.rows = elements.chunks(limits::ROW).map(|row| json!({"type": 1, "components": row})).collect();
    rows
}

fn element(button: &Button) -> Option<Value> {
    let name = label(&button.label, limits::BUTTON_LABEL);
    match &button.does {
        Press::Verb(verb) => {
            let id = verb.to_string();
            let style = match button.style {
                Style::Primary => 1,
                Style::Plain => 2,
                Style::Danger => 4,
            };
            let short = units(&id) <= limits::CUSTOM_ID;
            short.then(|| json!({"type": 2, "style": style, "label": name, "custom_id": id}))
        }
        Press::Link(target) => {
            let url = address(target).filter(|url| url.len() <= limits::BUTTON_URL)?;
            Some(json!({"type": 2, "style": 5, "label": name, "url": url}))
        }
        Press::Connect { .. } => None,
    }
}

/// The button's name and the address that is too long for one, or why there is none.
fn beside(button: &Button) -> Vec<Run> {
    let name = Run::plain(format!("{}: ", label(&button.label, limits::BUTTON_LABEL)));
    let target = match &button.does {
        // A line is counted twice, for what escaping could add; an address is not escaped.
        Press::Link(target) => match address(target).filter(|url| url.len() <= limits::BESIDE / 2 - 200) {
            Some(url) => Run { link: Some(url), ..Run::default() },
            None => Run::plain(label(&visible(target), 300)),
        },
        Press::Verb(_) | Press::Connect { .. } => Run::plain("no link here"),
    };
    vec![name, target]
}
