//! Formats a card as lines of text. Pure. Untrusted content cannot move the cursor or colour the screen.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use nod_contract::card::{Block, Button, Card, OnClick, TimeOption};
use nod_when::when;

/// Whether text can be emphasised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStyle {
    /// With the terminal's escape sequences.
    Terminal,
    /// Not at all: the output is not a terminal.
    Plain,
}

impl TextStyle {
    pub(super) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Terminal => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}

/// Formats the card, and its buttons with these numbers.
pub(super) fn card(card: &Card, numbers: &[usize], look: TextStyle) -> String {
    let mut lines = Vec::new();
    if let Some(title) = &card.title {
        lines.push(look.bold(&strip_control_chars(title)));
    }
    let mut numbers = numbers.iter();
    let mut buttons = |all: &[Button]| {
        let numbered = all.iter().zip(numbers.by_ref());
        numbered.map(|(has, number)| button(has, *number, look)).collect::<Vec<_>>().join("   ")
    };
    for part in &card.body {
        lines.push(match part {
            Block::Row(row) if !row.buttons.is_empty() => {
                format!("{}   {}", strip_control_chars(&row.text), buttons(&row.buttons))
            }
            part => block(part, look),
        });
    }
    if !card.buttons.is_empty() {
        lines.push(buttons(&card.buttons));
    }
    lines.join("\n")
}

fn block(block: &Block, look: TextStyle) -> String {
    match block {
        Block::Mention(user) => format!("@{}", strip_control_chars(user)),
        Block::Markdown(text) => emphasize(&strip_control_chars(text), look),
        Block::Fields(fields) => {
            let widest = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
            let field = |(name, value): &(String, String)| {
                let value = if value.is_empty() { "—" } else { value };
                let room = " ".repeat(widest.saturating_sub(name.chars().count()));
                format!("{}{room}  {}", look.dim(&strip_control_chars(name)), strip_control_chars(value))
            };
            fields.iter().map(field).collect::<Vec<_>>().join("\n")
        }
        Block::Literal(text) => {
            strip_control_chars(text).lines().map(|line| format!("│ {line}")).collect::<Vec<_>>().join("\n")
        }
        Block::Risks(risks) => {
            risks.iter().map(|risk| format!("⚠ {}", strip_control_chars(risk))).collect::<Vec<_>>().join("\n")
        }
        Block::TimeOptions(times) => {
            let here = TimeZone::system();
            times.iter().map(|one| time(one, look, &here)).collect::<Vec<_>>().join("\n")
        }
        Block::Note(text) => look.dim(&format!("· {}", strip_control_chars(text))),
        Block::Deadline(until) => {
            look.dim(&format!("· {} {}", strip_control_chars(&until.words), strip_control_chars(&until.text)))
        }
        Block::Row(row) => strip_control_chars(&row.text),
    }
}

/// A terminal is where its reader is, so it shows the time in its machine's zone.
fn time(time: &TimeOption, look: TextStyle, here: &TimeZone) -> String {
    let below = if time.note.is_empty() {
        String::new()
    } else {
        format!("\n   {}", strip_control_chars(&time.note))
    };
    let said = local_time(time, here).unwrap_or_else(|| strip_control_chars(&time.text));
    format!("{}  {said}{below}", look.bold(&strip_control_chars(&time.label)))
}

fn local_time(time: &TimeOption, here: &TimeZone) -> Option<String> {
    let at = |second| Some(Timestamp::from_second(second).ok()?.to_zoned(here.clone()));
    let (from, to) = (at(time.from)?, at(time.to)?);
    let year = nod_contract::clock::Timestamp::from_timestamp(time.from, 0)?;
    (time.from < time.to).then(|| when::format_span(&from, &to, here, year))
}

/// Shows `**bold**` as bold and a word of code without its marks; all other Markdown is readable as it is.
fn emphasize(text: &str, look: TextStyle) -> String {
    let text = without_code_marks(text);
    let mut parts: Vec<String> = text.split("**").map(str::to_owned).collect();
    // A pair of asterisks without its partner stays unchanged.
    if parts.len().is_multiple_of(2)
        && let Some(last) = parts.pop()
        && let Some(before) = parts.last_mut()
    {
        before.push_str("**");
        before.push_str(&last);
    }
    parts
        .iter()
        .enumerate()
        .map(|(at, part)| if at % 2 == 1 { look.bold(part) } else { part.clone() })
        .collect()
}

/// Removes the marks of code within a line; blocks of code stay as they are.
fn without_code_marks(text: &str) -> String {
    let mut in_block = false;
    let lines = text.lines().map(|line| {
        let fence = line.trim_start().starts_with("```");
        in_block ^= fence;
        let pairs = line.matches('`').count().is_multiple_of(2) && !line.contains("``");
        if in_block || fence || !pairs { line.to_owned() } else { line.replace('`', "") }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn button(button: &Button, number: usize, look: TextStyle) -> String {
    match &button.on_click {
        OnClick::Link(url) => format!("{}: {}", strip_control_chars(&button.label), strip_control_chars(url)),
        OnClick::Action(_) | OnClick::Connect { .. } => {
            look.bold(&format!("[{number}] {}", strip_control_chars(&button.label)))
        }
    }
}

/// Replaces what a terminal would obey: control characters, and those that change the direction of writing.
pub(super) fn strip_control_chars(text: &str) -> String {
    let obeyed = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if obeyed(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use nod_contract::card::{Action, Style};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn card_text_cannot_control_the_terminal() {
        let verb = |name| OnClick::Action(Action::new(name, Uuid::nil()));
        let shown = Card::default()
            .with_title("Send this mail?")
            .with_block(Block::Fields(vec![
                ("To".to_owned(), "bo@acme.test".to_owned()),
                ("Subject".to_owned(), String::new()),
            ]))
            .with_block(Block::Literal("Hi\u{1b}[2J Bo,\n\nlate.".to_owned()))
            .with_block(Block::Risks(vec!["outside your company".to_owned()]))
            .with_block(Block::Note("expires\u{202e} at noon".to_owned()))
            .with_button("Approve & send", Style::Primary, verb("approve"))
            .with_button("Deny", Style::Danger, verb("deny"));
        insta::assert_snapshot!(card(&shown, &[3, 4], TextStyle::Plain), @r"
            Send this mail?
            To       bo@acme.test
            Subject  —
            │ Hi�[2J Bo,
            │ 
            │ late.
            ⚠ outside your company
            · expires� at noon
            [3] Approve & send   [4] Deny
        ");
        assert_eq!(card(&Card::from_markdown("**Sent** ** now"), &[], TextStyle::Plain), "Sent ** now");
        assert_eq!(
            card(&Card::from_markdown("`/help` shows this"), &[], TextStyle::Plain),
            "/help shows this"
        );
        assert!(card(&shown, &[3, 4], TextStyle::Terminal).starts_with("\u{1b}[1mSend this mail?\u{1b}[0m"));
    }

    #[test]
    fn times_are_shown_in_the_readers_zone() {
        let one = TimeOption {
            label: "1".to_owned(),
            from: 1_773_046_800,
            to: 1_773_049_500,
            text: "Mon 9 Mar, 09:00–09:45 WET".to_owned(),
            note: "✓ Bo Lind".to_owned(),
        };
        let shown = |zone: &str, one: &TimeOption| time(one, TextStyle::Plain, &TimeZone::get(zone).unwrap());
        assert_eq!(shown("Europe/Berlin", &one), "1  Mon 9 Mar, 10:00–10:45 CET\n   ✓ Bo Lind");
        assert_eq!(shown("America/New_York", &one), "1  Mon 9 Mar, 05:00–05:45 EDT\n   ✓ Bo Lind");
        let said = TimeOption { to: 0, from: 0, note: String::new(), ..one };
        assert_eq!(shown("Europe/Berlin", &said), "1  Mon 9 Mar, 09:00–09:45 WET");
    }
}
