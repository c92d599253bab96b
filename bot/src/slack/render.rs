//! Renders a card as Slack's blocks. Pure; the blocks are valid for every card: what is too long is split, and what
//! does not fit at all is replaced by a sentence that says how much is missing.

use nod_contract::card::{Block, Card, TimeOption};
use serde_json::{Value, json};

use super::buttons::{self, Rows};
use super::rich::{Part, Run};
use super::text::{escaped, label, letters, one_line, split, unpinged, visible};
use super::{limits, markdown};

/// The text of a card without any content.
const NOTHING: &str = "—";
/// Room for a sentence about what is missing, as JSON.
const NOTICE: usize = 120;

/// Returns the blocks of a message.
#[must_use]
pub fn blocks(card: &Card) -> Vec<Value> {
    within(card, limits::BLOCKS_JSON)
}

/// Returns blocks of at most `room` characters of JSON (never less than a title and the buttons need).
#[must_use]
pub fn within(card: &Card, room: usize) -> Vec<Value> {
    let rows = buttons::rows(&card.buttons);
    let chunks: Vec<Chunk> = card.body.iter().map(chunk).collect();
    let mut budget = room.saturating_sub(size(&rows.blocks));
    loop {
        let blocks = assemble(card.title.as_deref(), &chunks, &rows, budget);
        if budget == 0 || (blocks.len() <= limits::BLOCKS && size(&blocks) <= room) {
            return blocks;
        }
        budget = if budget < NOTICE { 0 } else { budget * 4 / 5 };
    }
}

/// Returns whether one message shows the card in full: without limits it would look the same.
#[must_use]
pub fn fits(card: &Card) -> bool {
    let chunks: Vec<Chunk> = card.body.iter().map(chunk).collect();
    let short = |chunk: &Chunk| !matches!(chunk, Chunk::Note(text) if letters(text) > limits::NOTE);
    let whole = assemble(card.title.as_deref(), &chunks, &buttons::rows(&card.buttons), usize::MAX);
    chunks.iter().all(short) && blocks(card) == whole
}

/// Renders the body of a modal, which holds far more than a message. A long text keeps every character, including the
/// line ends at which it is split.
pub(super) fn for_view(body: &[Block]) -> Vec<Value> {
    if body.is_empty() {
        return Vec::new();
    }
    let chunks: Vec<Chunk> = body
        .iter()
        .map(|block| match block {
            Block::Literal(text) => Chunk::Words(exact(text)),
            block => chunk(block),
        })
        .collect();
    assemble(None, &chunks, &Rows::default(), limits::VIEW_JSON)
}

fn exact(text: &str) -> Vec<Part> {
    let text = visible(text);
    let (mut parts, mut rest) = (Vec::new(), text.as_str());
    while !rest.is_empty() {
        let (head, tail) = split(rest, limits::BLOCK_TEXT);
        parts.push(Part::Code(head.to_owned()));
        rest = tail;
    }
    parts
}

/// Renders the card as plain text, for notifications and screen readers.
#[must_use]
pub fn fallback(card: &Card) -> String {
    let mut lines: Vec<String> = card.title.iter().map(|title| one_line(title)).collect();
    for chunk in card.body.iter().map(chunk) {
        match chunk {
            Chunk::Facts(parts) | Chunk::Words(parts) => lines.extend(parts.iter().map(Part::words)),
            Chunk::Note(text) => lines.push(text),
        }
    }
    lines.retain(|line| !line.trim().is_empty());
    let text = lines.join("\n\n");
    let (head, tail) = split(&text, limits::FALLBACK);
    let text = if tail.is_empty() { head.to_owned() } else { format!("{head}\n{}", missing(letters(tail))) };
    escaped(&unpinged(if text.is_empty() { NOTHING } else { &text }))
}

/// A part of a card. Facts and notes get room before text does.
enum Chunk {
    Facts(Vec<Part>),
    Words(Vec<Part>),
    Note(String),
}

fn chunk(block: &Block) -> Chunk {
    match block {
        Block::Mention(user) => Chunk::Facts(vec![Part::Mention(user.clone())]),
        Block::Markdown(text) => Chunk::Words(split_long(markdown::parts(text))),
        Block::Literal(text) => Chunk::Words(split_long(vec![literal(text)])),
        Block::Fields(fields) => Chunk::Facts(split_long(vec![Part::Text(field_runs(fields))])),
        Block::Risks(risks) => Chunk::Facts(split_long(vec![risk_lines(risks)])),
        Block::TimeOptions(times) => Chunk::Facts(split_long(vec![Part::Text(time_runs(times))])),
        Block::Note(text) => Chunk::Note(visible(text).trim().to_owned()),
    }
}

fn literal(text: &str) -> Part {
    let text = visible(text);
    let text = text.trim_end_matches('\n');
    Part::Code(if text.trim().is_empty() { NOTHING } else { text }.to_owned())
}

fn field_runs(fields: &[(String, String)]) -> Vec<Run> {
    let mut runs = Vec::new();
    for (name, value) in fields {
        let value = visible(value);
        let value = if value.trim().is_empty() { NOTHING } else { value.trim_end() };
        let end = if runs.is_empty() { "" } else { "\n" };
        runs.extend((!end.is_empty()).then(|| Run::plain(end)));
        runs.push(Run::bold(one_line(name)));
        runs.push(Run::plain(format!("  {value}")));
    }
    runs
}

/// The day with its weekday, in each reader's zone and language.
const DAY_AND_TIME: &str = "{day_divider_pretty}, {time}";

fn time_runs(times: &[TimeOption]) -> Vec<Run> {
    let mut runs = Vec::new();
    for time in times {
        runs.extend((!runs.is_empty()).then(|| Run::plain("\n")));
        runs.push(Run::bold(one_line(&time.label)));
        runs.push(Run::plain("  "));
        match time.split_text() {
            Some((from, to)) => {
                runs.push(Run::moment(time.from, DAY_AND_TIME, one_line(from)));
                runs.push(Run::plain("–"));
                runs.push(Run::moment(time.to, "{time}", one_line(to)));
            }
            None => runs.push(Run::plain(one_line(&time.text))),
        }
        if !time.note.is_empty() {
            runs.push(Run::plain(format!("\n     {}", one_line(&time.note))));
        }
    }
    runs
}

fn risk_lines(risks: &[String]) -> Part {
    let lines: Vec<String> = risks.iter().map(|risk| format!("⚠ {}", one_line(risk))).collect();
    Part::Text(vec![Run::plain(lines.join("\n"))])
}

/// Splits the parts that are longer than a block can be.
fn split_long(parts: Vec<Part>) -> Vec<Part> {
    let mut out = Vec::new();
    for part in parts {
        let mut rest = Some(part);
        while let Some(part) = rest.take() {
            if part.letters() <= limits::BLOCK_TEXT {
                out.push(part);
            } else {
                match part.split(limits::BLOCK_TEXT) {
                    // A part that cannot be split (one enormous link) is used unchanged, to avoid an endless loop.
                    (None, whole) => out.extend(whole),
                    (head, tail) => {
                        out.extend(head);
                        rest = tail;
                    }
                }
            }
        }
    }
    out.retain(|part| part.letters() > 0);
    out
}

fn assemble(title: Option<&str>, chunks: &[Chunk], rows: &Rows, budget: usize) -> Vec<Value> {
    let mut page = Page::default();
    page.title(title);
    let mut left = budget.saturating_sub(page.cost + NOTICE);
    let facts: Vec<Option<Fitted>> = chunks.iter().map(|chunk| fit_facts(chunk, &mut left)).collect();
    let mut lost = 0;
    for (chunk, facts) in chunks.iter().zip(facts) {
        match (chunk, facts) {
            (Chunk::Words(parts), _) => page.put(fit(parts, &mut left), &mut lost),
            (_, Some(Fitted::Parts(parts, missing))) => page.put((parts, missing), &mut lost),
            (_, Some(Fitted::Note(text, missing))) => page.note(&text, missing, &mut lost),
            (_, None) => {}
        }
    }
    if lost > 0 {
        page.parts.push(Part::Text(vec![Run::plain(missing(lost))]));
    }
    page.parts.extend(rows.beside.iter().map(|line| Part::Text(vec![Run::plain(line.clone())])));
    page.close_text();
    page.blocks.extend(rows.blocks.iter().cloned());
    if page.blocks.is_empty() {
        page.blocks.push(json!({"type": "section", "text": {"type": "plain_text", "text": NOTHING}}));
    }
    page.blocks
}

enum Fitted {
    Parts(Vec<Part>, usize),
    Note(String, usize),
}

fn fit_facts(chunk: &Chunk, left: &mut usize) -> Option<Fitted> {
    match chunk {
        Chunk::Words(_) => None,
        Chunk::Facts(parts) => {
            let (parts, missing) = fit(parts, left);
            Some(Fitted::Parts(parts, missing))
        }
        Chunk::Note(text) => {
            let room = left.saturating_sub(NOTICE).min(limits::NOTE);
            let (head, tail) = split(text, room);
            *left = left.saturating_sub(letters(head) + NOTICE);
            Some(Fitted::Note(head.to_owned(), letters(tail)))
        }
    }
}

/// Returns the parts that fit, and how many characters do not.
fn fit(parts: &[Part], left: &mut usize) -> (Vec<Part>, usize) {
    let mut out = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        let cost = part.cost();
        if cost <= *left {
            *left -= cost;
            out.push(part.clone());
            continue;
        }
        let rest: usize = parts[n + 1..].iter().map(Part::letters).sum();
        let room = left.saturating_sub(NOTICE) * part.letters() / cost.max(1);
        *left = 0;
        if room < NOTICE {
            return (out, rest + part.letters());
        }
        let (head, tail) = part.clone().split(room);
        out.extend(head);
        return (out, rest + tail.map_or(0, |tail| tail.letters()));
    }
    (out, 0)
}

fn missing(letters: usize) -> String {
    format!("… ({letters} more characters)")
}

fn size(blocks: &[Value]) -> usize {
    blocks.iter().map(|block| letters(&block.to_string()) + 1).sum()
}

/// The blocks so far, and the rich text that is not yet in a block.
#[derive(Default)]
struct Page {
    blocks: Vec<Value>,
    parts: Vec<Part>,
    cost: usize,
}

impl Page {
    fn title(&mut self, title: Option<&str>) {
        let Some(title) = title.map(one_line).filter(|title| !title.is_empty()) else { return };
        if letters(&title) <= limits::HEADER {
            let text = json!({"type": "plain_text", "text": unpinged_header(&title), "emoji": false});
            self.blocks.push(json!({"type": "header", "text": text}));
        } else {
            let (head, tail) = split(&title, 2 * limits::HEADER);
            self.parts.push(Part::Text(vec![Run::bold(head)]));
            if !tail.is_empty() {
                self.parts.push(Part::Text(vec![Run::plain(missing(letters(tail)))]));
            }
        }
        self.cost = size(&self.blocks) + self.parts.iter().map(Part::cost).sum::<usize>();
    }

    /// Adds what fits. What is missing is noted there if anything of it fits, else once at the end.
    fn put(&mut self, (parts, missing_here): (Vec<Part>, usize), lost: &mut usize) {
        if parts.is_empty() {
            *lost += missing_here;
            return;
        }
        self.parts.extend(parts);
        if missing_here > 0 {
            self.parts.push(Part::Text(vec![Run::plain(missing(missing_here))]));
        }
    }

    fn note(&mut self, text: &str, missing_here: usize, lost: &mut usize) {
        *lost += missing_here;
        if text.trim().is_empty() {
            return;
        }
        self.close_text();
        let element = json!({"type": "plain_text", "text": unpinged(text), "emoji": false});
        self.blocks.push(json!({"type": "context", "elements": [element]}));
    }

    /// Turns the text so far into blocks, each within a block's length.
    fn close_text(&mut self) {
        let mut page: Vec<Part> = Vec::new();
        let mut filled = 0;
        for part in std::mem::take(&mut self.parts) {
            let size = part.letters();
            if !page.is_empty() && filled + size > limits::BLOCK_TEXT {
                self.blocks.push(rich_block(std::mem::take(&mut page)));
                filled = 0;
            }
            filled += size;
            page.push(part);
        }
        if !page.is_empty() {
            self.blocks.push(rich_block(page));
        }
    }
}

/// Breaks mentions without exceeding the length of a header.
fn unpinged_header(title: &str) -> String {
    label(&unpinged(title), limits::HEADER)
}

/// Builds one block; consecutive paragraphs become one section with an empty line between.
fn rich_block(parts: Vec<Part>) -> Value {
    let mut elements: Vec<Part> = Vec::new();
    for part in parts {
        match (elements.last_mut(), part) {
            (Some(Part::Text(before)), Part::Text(runs)) => {
                before.push(Run::plain("\n\n"));
                before.extend(runs);
            }
            (_, part) => elements.push(part),
        }
    }
    json!({"type": "rich_text", "elements": elements.iter().map(Part::json).collect::<Vec<_>>()})
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
