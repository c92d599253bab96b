//! Renders a card as Discord's components. Pure; the message is valid for every card: what does not fit is replaced by
//! a sentence that says how much is missing.

use std::collections::BTreeSet;

use nod_contract::card::{Block, Card, TimeOption};
use nod_contract::ids::DeliveryId;
use serde_json::{Value, json};

use crate::text::{char_count, escape_control_chars, split_at_boundary, to_one_line};

use super::buttons::{self, ButtonRows};
use super::limits::{self, units};
use super::rich_text::{BlockKind, Span, TextBlock, join_blocks};
use super::{delivery_tags, markdown};

pub use super::delivery_tags::{component_ids_for_delivery, has_delivery_tags};

/// Discord shows no previews of URLs below the message.
const SUPPRESS_EMBEDS: u32 = 1 << 2;
/// Visible only to one user.
const EPHEMERAL: u32 = 1 << 6;
/// The message consists only of components.
const IS_COMPONENTS_V2: u32 = 1 << 15;

/// The text of a card without any content.
const EMPTY_CARD: &str = "—";
/// Room for a sentence about what is missing.
const NOTICE: usize = 60;
/// Up to this many texts never have to be merged.
const FEW: usize = 3;

/// Returns the body of a request that posts or edits a message. With a key it carries that key for `has_delivery_tags`.
#[must_use]
pub fn message(card: &Card, key: Option<DeliveryId>) -> Value {
    message_of(card, components(card), key)
}

/// Returns the same with the file of this name below it.
#[must_use]
pub fn message_with_file(card: &Card, name: &str, key: DeliveryId) -> Value {
    let mut components = components(card);
    components.push(json!({"type": 13, "file": {"url": format!("attachment://{name}")}}));
    let mut message = message_of(card, components, Some(key));
    message["attachments"] = json!([{"id": "0", "filename": name}]);
    message
}

fn message_of(card: &Card, mut components: Vec<Value>, key: Option<DeliveryId>) -> Value {
    if let Some(key) = key {
        delivery_tags::write_delivery_tags(&mut components, key);
    }
    body(IS_COMPONENTS_V2 | SUPPRESS_EMBEDS, components, &mentioned_users(card))
}

/// Returns the same as an ephemeral answer to an interaction.
#[must_use]
pub fn ephemeral(card: &Card) -> Value {
    body(IS_COMPONENTS_V2 | SUPPRESS_EMBEDS | EPHEMERAL, components(card), &[])
}

/// Returns whether one message shows the card in full.
#[must_use]
pub fn fits_in_one_message(card: &Card) -> bool {
    let rows = button_rows(card);
    let parts = parts(card, &rows, usize::MAX);
    let mut merged = parts.clone();
    merge(&mut merged, room_for_parts(card, &rows));
    let count = |parts: &[Part]| parts.iter().filter(|part| !part.buttons.is_empty()).count();
    rows.omitted == 0 && size(&parts) <= limits::TEXT && count(&parts) == count(&merged)
}

/// Returns the rows of buttons; those that rate the answer take the place of one.
fn button_rows(card: &Card) -> ButtonRows {
    let rating = card.feedback.map_or(0, |_| limits::ROW);
    buttons::rows(&card.buttons, limits::BUTTONS - rating)
}

/// Returns how many components there may be beside the container and its rows of buttons, and those that rate the answer.
fn room_for_parts(card: &Card, rows: &ButtonRows) -> usize {
    limits::COMPONENTS - 1 - rows.components() - feedback_components(card)
}

/// Counts the row of the buttons that rate the answer, and them.
fn feedback_components(card: &Card) -> usize {
    card.feedback.map_or(0, |_| 3)
}

/// Renders a body for a modal in at most `most` texts, none longer than a message's. Returns whether it is complete.
pub(super) fn for_modal(blocks: &[Block], most: usize) -> (Vec<Value>, bool) {
    if blocks.is_empty() || most == 0 {
        return (Vec::new(), blocks.is_empty());
    }
    let card = Card { body: blocks.to_vec(), ..Card::default() };
    let whole = fits_in_one_message(&card);
    let mut parts = fit_parts(&card, &ButtonRows::default());
    parts.iter_mut().for_each(|part| part.buttons.clear());
    merge(&mut parts, most);
    (parts.into_iter().map(|part| text_display(part.text)).collect(), whole)
}

/// Builds the body. Only the users in `called` are notified, whatever the text contains.
fn body(flags: u32, components: Vec<Value>, called: &[&str]) -> Value {
    let told = match called {
        [] => json!({"parse": []}),
        users => json!({"parse": [], "users": users}),
    };
    json!({"flags": flags, "components": components, "allowed_mentions": told})
}

fn mentioned_users(card: &Card) -> Vec<&str> {
    let users = card.body.iter().filter_map(|block| match block {
        Block::Mention(user) => Some(user.as_str()),
        _ => None,
    });
    users.collect::<BTreeSet<_>>().into_iter().collect()
}

fn text_display(content: String) -> Value {
    json!({"type": 10, "content": content})
}

fn components(card: &Card) -> Vec<Value> {
    let rows = button_rows(card);
    let mut parts = fit_parts(card, &rows);
    let feedback = card.feedback.map(buttons::feedback);
    let words = card.body.iter().all(|block| matches!(block, Block::Markdown(_) | Block::Mention(_)));
    if words && card.title.is_none() && card.buttons.is_empty() {
        merge(&mut parts, limits::COMPONENTS - feedback_components(card));
        return parts.into_iter().map(|part| text_display(part.text)).chain(feedback).collect();
    }
    merge(&mut parts, room_for_parts(card, &rows));
    let inner: Vec<Value> = parts.into_iter().flat_map(Part::components).chain(rows.rows).collect();
    std::iter::once(json!({"type": 17, "components": inner})).chain(feedback).collect()
}

/// A text of the message, and the buttons at its side.
#[derive(Clone)]
struct Part {
    text: String,
    buttons: Vec<Value>,
}

impl Part {
    fn new(text: String) -> Self {
        Self { text, buttons: Vec::new() }
    }

    /// Returns a section for one button, a row below the text for several.
    fn components(mut self) -> Vec<Value> {
        match self.buttons.len() {
            0 => vec![text_display(self.text)],
            1 => {
                let accessory = self.buttons.pop();
                let text = text_display(self.text);
                vec![json!({"type": 9, "components": [text], "accessory": accessory})]
            }
            _ => vec![text_display(self.text), json!({"type": 1, "components": self.buttons})],
        }
    }

    fn count(&self) -> usize {
        if self.buttons.is_empty() { 1 } else { 2 + self.buttons.len() }
    }
}

/// Merges the parts until they have at most `most` components: texts at first, the last ones before the others; then
/// rows lose their buttons.
fn merge(parts: &mut Vec<Part>, most: usize) {
    while parts.len() > 1 && parts.iter().map(Part::count).sum::<usize>() > most {
        let plain = |at: usize| parts[at].buttons.is_empty();
        if let Some(at) = (1..parts.len()).rev().find(|at| plain(*at) && plain(at - 1)) {
            let after = parts.remove(at);
            parts[at - 1].text = format!("{}\n{}", parts[at - 1].text, after.text);
        } else if let Some(row) = parts.iter_mut().rev().find(|part| !part.buttons.is_empty()) {
            row.buttons.clear();
        }
    }
}

/// Returns the parts, cut until they fit into a message.
fn fit_parts(card: &Card, rows: &ButtonRows) -> Vec<Part> {
    let mut room = usize::MAX;
    loop {
        let parts = parts(card, rows, room);
        if size(&parts) <= limits::TEXT || room == 0 {
            return parts;
        }
        room = match room {
            usize::MAX => limits::TEXT,
            room if room < NOTICE => 0,
            room => room * 9 / 10,
        };
    }
}

/// Returns their total length, with the line ends that merging adds.
fn size(parts: &[Part]) -> usize {
    parts.iter().map(|part| units(&part.text)).sum::<usize>() + parts.len().saturating_sub(FEW)
}

/// A part of a card. Facts get room before text does.
struct Chunk {
    fact: bool,
    parts: Vec<TextBlock>,
}

fn chunk(block: &Block) -> Chunk {
    let fact = |parts| Chunk { fact: true, parts };
    let words = |parts| Chunk { fact: false, parts };
    match block {
        Block::Mention(user) => fact(vec![TextBlock::Mention(user.clone())]),
        Block::Markdown(text) => words(markdown::parse_markdown(text)),
        Block::Literal(text) => words(vec![literal(text)]),
        Block::Fields(fields) => fact(vec![TextBlock::paragraph(field_runs(fields))]),
        Block::Risks(risks) => {
            let line = |risk: &String| format!("⚠ {}", to_one_line(risk));
            let lines: Vec<String> = risks.iter().map(line).collect();
            fact(vec![TextBlock::paragraph(vec![Span::plain(lines.join("\n"))])])
        }
        Block::TimeOptions(times) => fact(vec![TextBlock::paragraph(time_runs(times))]),
        Block::Note(text) => fact(vec![note(text)]),
        Block::Row(row) => fact(vec![TextBlock::paragraph(vec![Span::plain(to_one_line(&row.text))])]),
        // "in 5 minutes", which Discord counts down.
        Block::Deadline(until) => fact(vec![TextBlock::with_prefix(
            "-# ",
            vec![
                Span::plain(format!("{} ", to_one_line(&until.words))),
                Span::moment(until.at, 'R', to_one_line(&until.text)),
            ],
        )]),
    }
}

fn literal(text: &str) -> TextBlock {
    let text = escape_control_chars(text);
    let text = text.trim_end_matches('\n');
    let text = if text.trim().is_empty() { EMPTY_CARD } else { text }.to_owned();
    TextBlock::Code { before: String::new(), language: String::new(), text }
}

fn field_runs(fields: &[(String, String)]) -> Vec<Span> {
    let mut runs = Vec::new();
    for (name, value) in fields {
        let value = escape_control_chars(value);
        let value = if value.trim().is_empty() { EMPTY_CARD } else { value.trim_end() };
        runs.extend((!runs.is_empty()).then(|| Span::plain("\n")));
        runs.push(Span::bold(to_one_line(name)));
        runs.push(Span::plain(format!("  {value}")));
    }
    runs
}

fn time_runs(times: &[TimeOption]) -> Vec<Span> {
    let mut runs = Vec::new();
    for time in times {
        runs.extend((!runs.is_empty()).then(|| Span::plain("\n")));
        runs.push(Span::bold(to_one_line(&time.label)));
        runs.push(Span::plain("  "));
        match time.split_text() {
            Some((from, to)) => {
                runs.push(Span::moment(time.from, 'F', to_one_line(from)));
                runs.push(Span::plain("–"));
                runs.push(Span::moment(time.to, 't', to_one_line(to)));
            }
            None => runs.push(Span::plain(to_one_line(&time.text))),
        }
        if !time.note.is_empty() {
            runs.push(Span::plain(format!("\n{}", to_one_line(&time.note))));
        }
    }
    runs
}

fn note(text: &str) -> TextBlock {
    let text = escape_control_chars(text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    TextBlock::with_prefix("-# ", vec![Span::plain(lines.join("\n"))])
}

/// Returns the title; it is cut only if the card does not fit.
fn title(card: &Card, room: usize) -> Option<String> {
    let title = card.title.as_deref().map(to_one_line).filter(|title| !title.is_empty())?;
    let heading = |text: &str| TextBlock::Text {
        kind: BlockKind::Heading,
        first: "### ".to_owned(),
        rest: String::new(),
        runs: vec![Span::plain(text.trim_end())],
    };
    let (head, tail) =
        if room == usize::MAX { (&title[..], "") } else { split_at_boundary(&title, limits::TITLE) };
    let mut parts = vec![heading(head)];
    parts.extend((!tail.is_empty()).then(|| missing(char_count(tail))));
    Some(join_blocks(&parts))
}

/// Returns the parts of a card. Title and buttons are complete, the rest takes about `room`.
fn parts(card: &Card, rows: &ButtonRows, room: usize) -> Vec<Part> {
    let title = title(card, room);
    let mut beside: Vec<TextBlock> = rows.link_lines.iter().cloned().map(TextBlock::paragraph).collect();
    if rows.omitted > 0 {
        beside.push(TextBlock::paragraph(vec![Span::plain(format!("… ({} more buttons)", rows.omitted))]));
    }
    let fixed =
        title.as_deref().map_or(0, units) + beside.iter().map(TextBlock::cost).sum::<usize>() + NOTICE;
    let mut left = room.saturating_sub(fixed);
    let mut chunks: Vec<Chunk> = card.body.iter().map(chunk).collect();
    let mut lost = 0;
    for facts in [true, false] {
        for chunk in chunks.iter_mut().filter(|chunk| chunk.fact == facts) {
            chunk.parts = fit(std::mem::take(&mut chunk.parts), &mut left, &mut lost);
        }
    }
    let mut parts: Vec<Part> = title.into_iter().map(Part::new).collect();
    let mut ids = rows.custom_ids.clone();
    parts.extend(card.body.iter().zip(&chunks).map(|(block, chunk)| {
        let buttons = match block {
            Block::Row(row) => buttons::elements(&row.buttons, &mut ids),
            _ => Vec::new(),
        };
        Part { text: join_blocks(&chunk.parts), buttons }
    }));
    parts.extend((lost > 0).then(|| Part::new(missing(lost).markup())));
    parts.push(Part::new(join_blocks(&beside)));
    parts.retain(|part| !part.text.trim().is_empty());
    if parts.is_empty() {
        parts.push(Part::new(EMPTY_CARD.to_owned()));
    }
    parts
}

/// Returns the parts that fit. What is missing is noted there if any of it fits, else added to `lost`.
fn fit(parts: Vec<TextBlock>, left: &mut usize, lost: &mut usize) -> Vec<TextBlock> {
    let mut out = Vec::new();
    let mut gone = 0;
    for part in parts.into_iter().filter(|part| part.char_count() > 0) {
        let cost = part.cost();
        if gone == 0 && cost <= *left {
            *left -= cost;
            out.push(part);
        } else if gone == 0 {
            let (head, letters) = truncate_block(part, left.saturating_sub(NOTICE));
            out.extend(head);
            gone = letters;
            *left = 0;
        } else {
            gone += part.char_count();
        }
    }
    if gone > 0 && !out.is_empty() {
        out.push(missing(gone));
    } else {
        *lost += gone;
    }
    out
}

/// Returns the head of a part that costs at most `room`, and how many characters are missing.
fn truncate_block(part: TextBlock, room: usize) -> (Option<TextBlock>, usize) {
    let whole = part.char_count();
    let mut size = whole * room / part.cost().max(1);
    while size > NOTICE / 2 {
        if let (Some(head), tail) = part.clone().split(size)
            && head.cost() <= room
        {
            return (Some(head), tail.map_or(0, |tail| tail.char_count()).max(1));
        }
        size = size * 9 / 10;
    }
    (None, whole.max(1))
}

fn missing(letters: usize) -> TextBlock {
    TextBlock::paragraph(vec![Span::plain(format!("… ({letters} more characters)"))])
}

#[cfg(test)]
#[path = "render_tests.rs"]
pub(super) mod tests;
