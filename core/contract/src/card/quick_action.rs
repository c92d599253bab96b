//! What a tool found, as lines that can be worked with. A press makes exactly the call that was stored with its line: no
//! model chooses it, and nothing that somebody else wrote can change it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::card::{Action, Block, Button, Card, OnClick, Row, Style};
use crate::ids::{DeliveryId, RunId};

/// The kind of the action behind its button. Its subject is the message in which it stands, its argument the action's number
/// there.
pub const QUICK_ACTION: &str = "quick_action";

/// One of the things that a tool found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedItem {
    /// One line; literal.
    pub text: String,
    /// What can be done with it.
    pub actions: Vec<QuickAction>,
}

/// A call that a press makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuickAction {
    /// The button's label.
    pub label: String,
    /// What the conversation records that the person said. It quotes nobody else.
    pub words: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments, without the one that the person types.
    pub arguments: Value,
    /// What the person types first, if anything.
    pub typed: Option<TypedArgument>,
    /// What the line becomes once it is done; `None` if a card or an answer says so.
    pub becomes: Option<Box<ListedItem>>,
    /// Its number in the message. A number is never used again there, so that a late press finds nothing.
    #[serde(default)]
    pub number: u16,
    /// The run that a press began last.
    #[serde(default)]
    pub taken_by: Option<RunId>,
}

/// An argument that the person types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedArgument {
    /// Its name, `[a-z_]+`.
    pub name: String,
    /// The form's title.
    pub title: String,
    /// The label of its field.
    pub label: String,
    /// The label of its submit button.
    pub submit: String,
    /// The maximum number of characters.
    pub max_chars: usize,
}

impl QuickAction {
    /// Creates one that asks for nothing and changes no line.
    #[must_use]
    pub fn new(label: &str, words: &str, tool: &str, arguments: Value) -> Self {
        Self {
            label: label.to_owned(),
            words: words.to_owned(),
            tool: tool.to_owned(),
            arguments,
            typed: None,
            becomes: None,
            number: 0,
            taken_by: None,
        }
    }
}

/// Returns what the person reads of how an action's call ended; empty if its card says so, `None` if only a model can
/// answer. `content` is what a model would read.
#[must_use]
pub fn describe_end(content: &str, has_card: bool) -> Option<String> {
    const TOLD: [&str; 7] = ["sent", "denied", "undone", "expired", "superseded", "failed", "unknown"];
    let content: Value = serde_json::from_str(content).unwrap_or_default();
    let status = content["status"].as_str();
    if has_card && !content["reason"].is_string() && status.is_some_and(|status| TOLD.contains(&status)) {
        return Some(String::new());
    }
    // Other errors are written for a model.
    let error = content["error"].as_str().filter(|error| error.starts_with("I couldn't find "));
    error.map(|error| format!("That didn't work: {}.", error.trim_end_matches('.')))
}

impl ListedItem {
    /// Returns the line as a part of a card, which has no number yet.
    #[must_use]
    pub fn into_row(self) -> Row {
        let button = |action: &QuickAction| Button {
            label: action.label.clone(),
            style: Style::Plain,
            on_click: OnClick::Action(Action::new(QUICK_ACTION, Uuid::nil())),
        };
        Row { text: self.text, buttons: self.actions.iter().map(button).collect(), actions: self.actions }
    }
}

/// Actions of the first generation of a line; what the line becomes is the next.
const FIRST: u16 = 1;
/// Nobody does and undoes a thing that often.
const LAST: u16 = 63;

/// Returns a number that no other action of the message has, now or later.
fn number(generation: u16, line: usize, at: usize) -> u16 {
    let line = u16::try_from(line).unwrap_or_default() & 127;
    let at = u16::try_from(at).unwrap_or_default() & 7;
    (generation << 10) | (line << 3) | at
}

impl Card {
    /// Numbers the actions that have no number yet, and tells all buttons of actions in which message they stand.
    #[must_use]
    pub fn with_numbered_actions(mut self, message: DeliveryId) -> Self {
        for (line, row) in self.rows_mut().enumerate() {
            for (at, (action, button)) in row.actions.iter_mut().zip(&mut row.buttons).enumerate() {
                if action.number == 0 {
                    action.number = number(FIRST, line, at);
                }
                let argument = Some(action.number);
                button.on_click =
                    OnClick::Action(Action { argument, ..Action::new(QUICK_ACTION, message.0) });
            }
        }
        self
    }

    /// Returns the actions in reading order.
    pub fn quick_actions(&self) -> impl Iterator<Item = &QuickAction> {
        self.body.iter().flat_map(|block| match block {
            Block::Row(row) => &row.actions[..],
            _ => &[],
        })
    }

    /// Returns the same, to change them.
    pub fn quick_actions_mut(&mut self) -> impl Iterator<Item = &mut QuickAction> {
        self.rows_mut().flat_map(|row| &mut row.actions)
    }

    /// Replaces the line with the action of this number by what it becomes. `false` if there is no such line any more.
    pub fn settle_action(&mut self, settled: u16, message: DeliveryId) -> bool {
        let found = self.rows_mut().enumerate().find_map(|(line, row)| {
            let becomes = row.actions.iter().find(|action| action.number == settled)?.becomes.clone()?;
            Some((line, row, *becomes))
        });
        let Some((line, row, mut becomes)) = found else { return false };
        let generation = (settled >> 10) + 1;
        if generation > LAST {
            becomes.actions.clear();
        }
        for (at, action) in becomes.actions.iter_mut().enumerate() {
            action.number = number(generation, line, at);
        }
        *row = becomes.into_row();
        *self = std::mem::take(self).with_numbered_actions(message);
        true
    }

    /// Removes all that can be pressed in its lines: what stays is text.
    pub fn clear_actions(&mut self) {
        for row in self.rows_mut() {
            row.buttons.clear();
            row.actions.clear();
        }
    }

    fn rows_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.body.iter_mut().filter_map(|block| match block {
            Block::Row(row) => Some(row),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(label: &str, becomes: Option<ListedItem>) -> QuickAction {
        QuickAction {
            becomes: becomes.map(Box::new),
            ..QuickAction::new(label, "This one.", "a_tool", serde_json::json!({}))
        }
    }

    #[test]
    fn a_number_is_never_used_again() {
        let message = DeliveryId(Uuid::from_u128(7));
        let line = ListedItem {
            text: "Terms".to_owned(),
            actions: vec![action("Reply", None), action("Archive", None)],
        };
        let undo = action("Undo", Some(line.clone()));
        let archived = ListedItem { text: "Archived: Terms".to_owned(), actions: vec![undo] };
        let mut line = line;
        line.actions[1].becomes = Some(Box::new(archived));
        let mut card = Card::default();
        card.body.extend([line.clone(), line].map(|item| Block::Row(item.into_row())));
        let mut card = card.with_numbered_actions(message);
        let labels =
            |card: &Card| card.quick_actions().map(|action| action.label.clone()).collect::<Vec<_>>();
        let numbers = |card: &Card| card.quick_actions().map(|action| action.number).collect::<Vec<_>>();
        let before = numbers(&card);
        assert!(!card.settle_action(before[0], message), "a reply changes no line");
        assert!(card.settle_action(before[1], message));
        assert_eq!(labels(&card), ["Undo", "Reply", "Archive"]);
        assert!(!card.settle_action(before[1], message), "a late press finds nothing");
        let undo = numbers(&card)[0];
        assert!(card.settle_action(undo, message));
        assert_eq!(labels(&card), ["Reply", "Archive", "Reply", "Archive"]);
        let after = numbers(&card);
        assert!(after[..2].iter().all(|number| !before.contains(number) && *number != undo));
        assert_eq!(after[2..], before[2..]);
        let pressed = card.all_buttons().map(|button| match &button.on_click {
            OnClick::Action(action) => (action.subject, action.argument),
            other => panic!("{other:?}"),
        });
        assert!(pressed.eq(after.into_iter().map(|number| (message.0, Some(number)))));
    }
}
