//! The state of the screen: which version of each message was shown, and which button each number clicks.

use std::collections::HashMap;

use nod_contract::card::{Action, Card, OnClick};
use nod_contract::ids::DeliveryId;
use nod_inbox::transcript::{EntryBody, Transcript};

use super::text::{self, TextStyle};

/// What was shown.
pub(super) struct Screen {
    style: TextStyle,
    /// By message, the version that was shown, and its text.
    shown: HashMap<DeliveryId, (i32, String)>,
    /// By number, the action and its message.
    buttons: HashMap<usize, (Option<DeliveryId>, Action)>,
    last: usize,
    /// The numbers in the last output.
    newest: Vec<usize>,
    /// The message of the last click: it responds, if only by being shown again.
    last_clicked: Option<DeliveryId>,
}

impl Screen {
    pub(super) fn new(look: TextStyle) -> Self {
        Self {
            style: look,
            shown: HashMap::new(),
            buttons: HashMap::new(),
            last: 0,
            newest: Vec::new(),
            last_clicked: None,
        }
    }

    pub(super) fn style(&self) -> TextStyle {
        self.style
    }

    /// Returns the earlier messages, including the user's.
    pub(super) fn earlier(&mut self, read: &Transcript, most: usize) -> Vec<String> {
        let skipped = read.lines.len().saturating_sub(most);
        let mut lines = Vec::new();
        for (at, line) in read.lines.iter().enumerate() {
            match &line.body {
                EntryBody::Person(words) if at >= skipped => {
                    lines.push(self.style.dim(&format!("› {}", text::strip_control_chars(words))));
                }
                EntryBody::Nod { id, version, card } if at >= skipped => {
                    lines.extend(self.message(*id, *version, card));
                }
                EntryBody::Nod { id, version, .. } => {
                    self.shown.insert(*id, (*version, String::new()));
                }
                EntryBody::Person(_) => {}
            }
        }
        lines
    }

    /// Returns what is new or has changed.
    pub(super) fn render_changes(&mut self, read: &Transcript) -> Vec<String> {
        let mut lines = Vec::new();
        for line in &read.lines {
            if let EntryBody::Nod { id, version, card } = &line.body {
                lines.extend(self.message(*id, *version, card));
            }
        }
        lines
    }

    fn message(&mut self, id: DeliveryId, version: i32, card: &Card) -> Option<String> {
        if self.shown.get(&id).is_some_and(|(shown, _)| *shown == version) {
            return None;
        }
        // The removed buttons lose their numbers. The others keep theirs, because the user may be about to type one.
        let stays =
            |verb: &Action| card.all_buttons().any(|button| button.on_click == OnClick::Action(verb.clone()));
        self.buttons.retain(|_, (of, verb)| *of != Some(id) || stays(verb));
        let newest = self.newest.clone();
        let text = self.card(Some(id), card);
        let before = self.shown.insert(id, (version, text.clone()));
        // A message with buttons is shown in full; otherwise the new lines are enough.
        let asks = card.all_buttons().any(|button| matches!(button.on_click, OnClick::Action(_)));
        let answers = self.last_clicked.take_if(|pressed| *pressed == id).is_some();
        let text = match before {
            Some((_, before)) if before == text && !answers => String::new(),
            Some((_, before)) if !asks => new_lines(&text, &before),
            _ => text,
        };
        if text.is_empty() {
            // A message that is not shown again is not the last output.
            self.newest = newest;
            return None;
        }
        Some(text)
    }

    /// Formats a card; its new buttons get new numbers.
    pub(super) fn card(&mut self, of: Option<DeliveryId>, card: &Card) -> String {
        let numbers: Vec<usize> =
            card.all_buttons().map(|button| self.assign_button_number(of, &button.on_click)).collect();
        self.newest.clone_from(&numbers);
        text::card(card, &numbers, self.style)
    }

    fn assign_button_number(&mut self, of: Option<DeliveryId>, does: &OnClick) -> usize {
        let OnClick::Action(verb) = does else { return 0 };
        let has = |(of_it, does): &(Option<DeliveryId>, Action)| of.is_some() && *of_it == of && does == verb;
        if let Some((number, _)) = self.buttons.iter().find(|(_, button)| has(button)) {
            return *number;
        }
        self.last += 1;
        self.buttons.insert(self.last, (of, verb.clone()));
        self.last
    }

    /// Returns whether a line is the number of a button that was replaced, perhaps while it was typed. Such a line is
    /// not an answer.
    pub(super) fn is_stale_number(&self, line: &str) -> bool {
        let number = line.trim().parse::<usize>();
        number.is_ok_and(|number| (1..=self.last).contains(&number) && !self.buttons.contains_key(&number))
    }

    /// Returns the action of a line: the number of a button in the last output, or `!` and the number of any current
    /// one. A bare number after another message is an answer to that, and approves nothing.
    pub(super) fn find_action(&mut self, line: &str) -> Option<Action> {
        let line = line.trim();
        let (number, any) = line.strip_prefix('!').map_or((line, false), |number| (number, true));
        let number: usize = number.parse().ok()?;
        let (of, verb) = self.buttons.get(&number).filter(|_| any || self.newest.contains(&number))?;
        self.last_clicked = *of;
        Some(verb.clone())
    }
}

/// Returns the lines that are not in `before`.
fn new_lines(text: &str, before: &str) -> String {
    let before: Vec<&str> = before.lines().collect();
    text.lines().filter(|line| !before.contains(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use nod_contract::card::{Block, Style};
    use nod_contract::clock::Timestamp;
    use nod_inbox::transcript::TranscriptEntry;
    use uuid::Uuid;

    use super::*;

    fn read(version: i32, card: Card) -> Transcript {
        let said = EntryBody::Nod { id: DeliveryId(Uuid::nil()), version, card };
        Transcript {
            lines: vec![TranscriptEntry { at: Timestamp::UNIX_EPOCH, body: said }],
            is_run_active: false,
        }
    }

    #[test]
    fn a_receipt_shows_what_is_new_and_its_buttons_are_gone() {
        let mut screen = Screen::new(TextStyle::Plain);
        let verb = Action::new("approve", Uuid::nil());
        let asks = Card::from_markdown("To Bo").with_button(
            "Approve",
            Style::Primary,
            OnClick::Action(verb.clone()),
        );
        assert_eq!(screen.render_changes(&read(1, asks.clone())), ["To Bo\n[1] Approve"]);
        assert!(screen.render_changes(&read(1, asks.clone())).is_empty());
        assert_eq!((screen.find_action(" 1 "), screen.find_action("one")), (Some(verb), None));
        assert_eq!(
            screen.render_changes(&read(2, asks.clone())),
            ["To Bo\n[1] Approve"],
            "a press is answered"
        );
        assert!(screen.render_changes(&read(3, asks.clone())).is_empty(), "nothing to see has changed");
        let anew = asks.with_block(Block::Note("Expires soon.".to_owned()));
        let shown = "To Bo\n· Expires soon.\n[1] Approve";
        assert_eq!(
            screen.render_changes(&read(4, anew)),
            [shown],
            "asked anew, it is shown whole, under the number it had"
        );
        assert_eq!(
            screen.render_changes(&read(
                5,
                Card::from_markdown("To Bo").with_block(Block::Markdown("→ Sent".to_owned()))
            )),
            ["→ Sent"]
        );
        assert_eq!(screen.find_action("1"), None);
        let asks = Card::from_markdown("To Cho").with_button(
            "Approve",
            Style::Primary,
            OnClick::Action(Action::new("a", Uuid::nil())),
        );
        assert_eq!(screen.render_changes(&read(6, asks.clone())), ["To Cho\n[2] Approve"]);
        screen.card(None, &Card::from_markdown("Your mails: 1. Bo 2. Cho 3. Dana"));
        assert!(screen.render_changes(&read(7, asks)).is_empty(), "of another version, but the same to see");
        assert_eq!(screen.find_action("2"), None, "an answer to a list is no nod");
        assert!(screen.find_action("!2").is_some());
    }
}
