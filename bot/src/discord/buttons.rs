//! Buttons as rows, and many choices of one kind as a menu. A click carries only its action.

use std::collections::HashSet;

use nod_contract::card::{Action, Button, OnClick, Style, feedback};
use nod_contract::ids::RunId;
use serde_json::{Value, json};

use crate::text::escape_control_chars;

use super::limits::{self, truncate_label, units};
use super::links::address;
use super::rich_text::Span;

/// A label no longer than a number.
const MAX_SHORT_LABEL: usize = 2;

/// Rows, and what could not become a button.
#[derive(Debug, Default)]
pub(super) struct ButtonRows {
    pub rows: Vec<Value>,
    /// One line each.
    pub link_lines: Vec<Vec<Span>>,
    /// How many buttons are omitted.
    pub omitted: usize,
    /// The ids of its buttons: Discord rejects a message with a duplicate.
    pub custom_ids: HashSet<String>,
}

impl ButtonRows {
    /// Returns the number of components.
    pub(super) fn components(&self) -> usize {
        self.rows.iter().map(|row| 1 + row["components"].as_array().map_or(0, Vec::len)).sum()
    }
}

/// Returns at most that many buttons in rows.
pub(super) fn rows(buttons: &[Button], most: usize) -> ButtonRows {
    let mut rows = ButtonRows::default();
    let (mut elements, mut ids, mut spent) = (Vec::new(), HashSet::new(), 0);
    let mut menus: Vec<String> = Vec::new();
    for button in buttons {
        if let Some(all) = choices(button, buttons) {
            let menu = menu(&all);
            if !menus.contains(&menu.0) {
                menus.push(menu.0);
                rows.rows.push(json!({"type": 1, "components": [menu.1]}));
            }
            continue;
        }
        match element(button) {
            // Discord rejects a message with a duplicate id; and both would do the same.
            Some(Value::Object(element))
                if element.get("custom_id").is_some_and(|id| !ids.insert(id.to_string())) => {}
            Some(element) if elements.len() < most => elements.push(element),
            Some(_) => rows.omitted += 1,
            None => {
                let line = link_line(button);
                let cost: usize = line.iter().map(|run| 2 * units(run.display_text())).sum();
                if spent + cost > limits::LINK_LINES {
                    rows.omitted += 1;
                } else {
                    spent += cost;
                    rows.link_lines.push(line);
                }
            }
        }
    }
    rows.rows.extend(elements.chunks(limits::ROW).map(|row| json!({"type": 1, "components": row})));
    rows.custom_ids = ids;
    rows
}

/// Returns the row with the two buttons that rate an answer: without a label they are as small as Discord has them.
pub(super) fn feedback(run: RunId) -> Value {
    let buttons = feedback::buttons(run).map(|button| {
        json!({"type": 2, "style": 2, "emoji": {"name": button.emoji}, "custom_id": button.action.to_string()})
    });
    json!({"type": 1, "components": buttons})
}

/// Returns the buttons of one line, at most a row; `ids` are those that the message has already.
pub(super) fn elements(buttons: &[Button], ids: &mut HashSet<String>) -> Vec<Value> {
    let is_new = |element: &Value| element.get("custom_id").is_none_or(|id| ids.insert(id.to_string()));
    buttons.iter().filter_map(element).filter(is_new).take(limits::ROW).collect()
}

/// Returns the buttons that choose on the same object as this one, if they exceed a row but not a menu.
fn choices<'a>(button: &Button, all: &'a [Button]) -> Option<Vec<(&'a Button, &'a Action)>> {
    let of = |button: &Button| match &button.on_click {
        OnClick::Action(verb) if verb.argument.is_some() => Some((verb.kind.clone(), verb.subject)),
        _ => None,
    };
    let thing = of(button)?;
    let same = all.iter().filter(|other| of(other).is_some_and(|other| other == thing));
    let same: Vec<_> = same
        .filter_map(|other| match &other.on_click {
            OnClick::Action(verb) => Some((other, verb)),
            _ => None,
        })
        .collect();
    // Numbers are fine as buttons; a menu sends no event if its shown option is chosen again.
    let numbers = same.iter().all(|(button, _)| button.label.chars().count() <= MAX_SHORT_LABEL);
    (!numbers && limits::ROW < same.len() && same.len() <= limits::OPTIONS).then_some(same)
}

/// Builds a menu of them; also returns its custom id.
fn menu(all: &[(&Button, &Action)]) -> (String, Value) {
    let mut values = HashSet::new();
    let options: Vec<Value> = all
        .iter()
        .filter(|(_, verb)| values.insert(verb.to_string()))
        .map(|(button, verb)| {
            json!({"label": truncate_label(&button.label, limits::OPTION_LABEL), "value": verb.to_string()})
        })
        .collect();
    let id = all.first().map_or_else(String::new, |(_, verb)| without_argument(verb).to_string());
    (id.clone(), json!({"type": 3, "custom_id": id, "placeholder": "Pick one", "options": options}))
}

/// The action without the choice.
fn without_argument(verb: &Action) -> Action {
    Action { argument: None, ..verb.clone() }
}

/// Parses a click or a menu choice; `None` if it is not one of ours.
pub(super) fn parse_action(data: &Value) -> Option<Action> {
    let verb = Action::parse(data["custom_id"].as_str()?)?;
    match data["values"].as_array().map(Vec::as_slice) {
        None | Some([]) => Some(verb),
        Some([one]) => Action::parse(one.as_str()?).filter(|chosen| without_argument(chosen) == verb),
        Some(_) => None,
    }
}

fn element(button: &Button) -> Option<Value> {
    let name = truncate_label(&button.label, limits::BUTTON_LABEL);
    match &button.on_click {
        OnClick::Action(verb) => {
            let id = verb.to_string();
            let style = match button.style {
                Style::Primary => 1,
                Style::Plain => 2,
                Style::Danger => 4,
            };
            let short = units(&id) <= limits::CUSTOM_ID;
            short.then(|| json!({"type": 2, "style": style, "label": name, "custom_id": id}))
        }
        OnClick::Link(target) => {
            let url = address(target).filter(|url| url.len() <= limits::BUTTON_URL)?;
            Some(json!({"type": 2, "style": 5, "label": name, "url": url}))
        }
        OnClick::Connect { .. } => None,
    }
}

/// Returns the button's label with the URL that is too long for a button, or a note that there is no link.
fn link_line(button: &Button) -> Vec<Span> {
    let name = Span::plain(format!("{}: ", truncate_label(&button.label, limits::BUTTON_LABEL)));
    let target = match &button.on_click {
        // A line counts twice, for what escaping could add; a URL is not escaped.
        OnClick::Link(target) => {
            match address(target).filter(|url| url.len() <= limits::LINK_LINES / 2 - 200) {
                Some(url) => Span { link: Some(url), ..Span::default() },
                None => Span::plain(truncate_label(&escape_control_chars(target), 300)),
            }
        }
        OnClick::Action(_) | OnClick::Connect { .. } => Span::plain("no link here"),
    };
    vec![name, target]
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn choosing(many: u16) -> Vec<Button> {
        let verb = |at| Action { argument: Some(at), ..Action::new("answer_question", Uuid::from_u128(7)) };
        let button = |at| Button {
            label: format!("Bob {at}"),
            style: Style::Plain,
            on_click: OnClick::Action(verb(at)),
        };
        (0..many).map(button).collect()
    }

    #[test]
    fn long_choice_lists_become_a_menu() {
        assert_eq!(rows(&choosing(5), 30).rows[0]["components"][4]["type"], 2);
        let of = rows(&choosing(8), 30);
        assert_eq!(of.rows.len(), 1);
        let menu = &of.rows[0]["components"][0];
        assert_eq!((&menu["type"], menu["options"].as_array().map(Vec::len)), (&json!(3), Some(8)));
        assert_eq!(menu["options"][7]["label"], "Bob 7");
        // More options than a menu holds stay buttons.
        assert_eq!(rows(&choosing(26), 30).rows[0]["components"][0]["type"], 2);
    }

    #[test]
    fn menu_choice_equals_its_button_click() {
        let of = rows(&choosing(8), 30);
        let menu = &of.rows[0]["components"][0];
        let chosen = json!({"custom_id": menu["custom_id"], "values": [menu["options"][3]["value"]]});
        let button = Action { argument: Some(3), ..Action::new("answer_question", Uuid::from_u128(7)) };
        assert_eq!(parse_action(&chosen).as_ref(), Some(&button));
        let others = json!({"custom_id": menu["custom_id"], "values": [Action::new("approve", Uuid::from_u128(7)).to_string()]});
        assert_eq!(parse_action(&others), None);
        assert_eq!(parse_action(&json!({"custom_id": button.to_string()})), Some(button));
    }
}
