//! Renders a card as Slack's blocks. Pure; the blocks are valid for every card: what is too long is split, and what
//! does not fit at all is replaced by a sentence that says how much is missing.

use std::collections::HashSet;

use nod_contract::card::{Block, Card, Row, TimeOption};
use serde_json::{Value, json};

use super::buttons::{self, ButtonRows};
use super::rich_text::{Span, TextBlock};
use super::text::{
    break_mentions, char_count, escape, escape_control_chars, json_size, split_at_boundary, to_one_line,
    truncate_label,
};
use super::{limits, markdown};

/// The text of a card without any content.
const EMPTY_CARD: &str = "—";
/// Room for a sentence about what is missing, as JSON.
const NOTICE: usize = 120;

/// Returns the blocks of a message.
#[must_use]
pub fn blocks(card: &Card) -> Vec<Value> {
    blocks_within(card, limits::BLOCKS_JSON)
}

/// Returns blocks of at most `room` characters of JSON (never less than a title and the buttons need).
#[must_use]
pub fn blocks_within(card: &Card, room: usize) -> Vec<Value> {
    render_within(card, room).blocks
}

fn render_within(card: &Card, room: usize) -> Page {
    let mut ids = HashSet::new();
    let rows = button_rows(card, &mut ids);
    let chunks: Vec<Chunk> = card.body.iter().map(|block| chunk(block, &mut ids)).collect();
    let mut budget = room.saturating_sub(size(&rows.blocks));
    loop {
        let page = assemble(card.title.as_deref(), &chunks, &rows, budget);
        if budget == 0 || (page.blocks.len() <= limits::BLOCKS && size(&page.blocks) <= room) {
            return page;
        }
        budget = if budget < NOTICE { 0 } else { budget * 4 / 5 };
    }
}

/// Returns whether one message shows the card in full.
#[must_use]
pub fn fits_in_one_message(card: &Card) -> bool {
    render_within(card, limits::BLOCKS_JSON).is_whole
}

/// Returns the rows of buttons, and below them those that rate the answer.
fn button_rows(card: &Card, ids: &mut HashSet<String>) -> ButtonRows {
    let mut rows = buttons::rows(&card.buttons, ids);
    rows.blocks.extend(card.feedback.map(|run| buttons::feedback(run, ids)));
    rows
}

/// Renders the body of a modal, which holds far more than a message. A long text keeps every character, including the
/// line ends at which it is split.
pub(super) fn modal_blocks(body: &[Block]) -> Vec<Value> {
    if body.is_empty() {
        return Vec::new();
    }
    let mut ids = HashSet::new();
    let chunks: Vec<Chunk> = body
        .iter()
        .map(|block| match block {
            Block::Literal(text) => Chunk::Words(exact_text(text)),
            block => chunk(block, &mut ids),
        })
        .collect();
    assemble(None, &chunks, &ButtonRows::default(), limits::VIEW_JSON).blocks
}

fn exact_text(text: &str) -> Vec<TextBlock> {
    let text = escape_control_chars(text);
    let (mut parts, mut rest) = (Vec::new(), text.as_str());
    while !rest.is_empty() {
        let (head, tail) = split_at_boundary(rest, limits::BLOCK_TEXT);
        parts.push(TextBlock::Code(head.to_owned()));
        rest = tail;
    }
    parts
}

/// Renders the card as plain text, for notifications and screen readers.
#[must_use]
pub fn fallback(card: &Card) -> String {
    let mut lines: Vec<String> =
        card.notice.iter().chain(&card.title).map(|line| to_one_line(line)).collect();
    let mut ids = HashSet::new();
    for chunk in card.body.iter().map(|block| chunk(block, &mut ids)) {
        match chunk {
            Chunk::Facts(parts) | Chunk::Words(parts) => {
                lines.extend(parts.iter().map(TextBlock::to_plain_text))
            }
            Chunk::Note(text, None) => lines.push(text),
            Chunk::Note(text, Some((_, at))) => lines.push(format!("{text} {at}")),
            Chunk::Row(text, _) => lines.push(text),
        }
    }
    lines.retain(|line| !line.trim().is_empty());
    let text = lines.join("\n\n");
    let (head, tail) = split_at_boundary(&text, limits::FALLBACK);
    let text =
        if tail.is_empty() { head.to_owned() } else { format!("{head}\n{}", missing(char_count(tail))) };
    escape(&break_mentions(if text.is_empty() { EMPTY_CARD } else { &text }))
}

/// A part of a card. Facts and notes get room before text does.
enum Chunk {
    Facts(Vec<TextBlock>),
    Words(Vec<TextBlock>),
    /// A note, and the time at its end: in seconds since 1970, and as text.
    Note(String, Option<(i64, String)>),
    /// A line, and its blocks.
    Row(String, Vec<Value>),
}

fn chunk(block: &Block, ids: &mut HashSet<String>) -> Chunk {
    match block {
        Block::Mention(user) => Chunk::Facts(vec![TextBlock::Mention(user.clone())]),
        Block::Markdown(text) => Chunk::Words(split_long(markdown::parse_markdown(text))),
        Block::Literal(text) => Chunk::Words(split_long(vec![literal_to_code_block(text)])),
        Block::Fields(fields) => Chunk::Facts(split_long(vec![TextBlock::Text(field_runs(fields))])),
        Block::Risks(risks) => Chunk::Facts(split_long(vec![risk_lines(risks)])),
        Block::TimeOptions(times) => Chunk::Facts(split_long(vec![TextBlock::Text(time_runs(times))])),
        Block::Note(text) => Chunk::Note(escape_control_chars(text).trim().to_owned(), None),
        Block::Deadline(until) => Chunk::Note(
            escape_control_chars(&until.words).trim().to_owned(),
            Some((until.at, to_one_line(&until.text))),
        ),
        Block::Row(row) => row_chunk(row, ids),
    }
}

/// Builds a section with the one button at its side, or with several below it.
fn row_chunk(row: &Row, ids: &mut HashSet<String>) -> Chunk {
    let line = to_one_line(&escape_control_chars(&row.text));
    let text = truncate_label(&break_mentions(&line), limits::BLOCK_TEXT);
    let text = if text.is_empty() { EMPTY_CARD.to_owned() } else { text };
    let mut section =
        json!({"type": "section", "text": {"type": "plain_text", "text": text, "emoji": false}});
    let mut rows = buttons::rows(&row.buttons, ids);
    let accessory = match rows.blocks.first_mut().and_then(|row| row["elements"].as_array_mut()) {
        Some(elements) if elements.len() == 1 => elements.pop(),
        _ => None,
    };
    if let Some(button) = accessory {
        section["accessory"] = button;
        rows.blocks.clear();
    }
    Chunk::Row(line, std::iter::once(section).chain(rows.blocks).collect())
}

fn literal_to_code_block(text: &str) -> TextBlock {
    let text = escape_control_chars(text);
    let text = text.trim_end_matches('\n');
    TextBlock::Code(if text.trim().is_empty() { EMPTY_CARD } else { text }.to_owned())
}

fn field_runs(fields: &[(String, String)]) -> Vec<Span> {
    let mut runs = Vec::new();
    for (name, value) in fields {
        let value = escape_control_chars(value);
        let value = if value.trim().is_empty() { EMPTY_CARD } else { value.trim_end() };
        let end = if runs.is_empty() { "" } else { "\n" };
        runs.extend((!end.is_empty()).then(|| Span::plain(end)));
        runs.push(Span::bold(to_one_line(name)));
        runs.push(Span::plain(format!("  {value}")));
    }
    runs
}

/// The day with its weekday, in each reader's zone and language.
const DAY_AND_TIME: &str = "{day_divider_pretty}, {time}";
/// "today 15:05"
const NEAR_DAY_AND_TIME: &str = "{date_short_pretty} {time}";

fn time_runs(times: &[TimeOption]) -> Vec<Span> {
    let mut runs = Vec::new();
    for time in times {
        runs.extend((!runs.is_empty()).then(|| Span::plain("\n")));
        runs.push(Span::bold(to_one_line(&time.label)));
        runs.push(Span::plain("  "));
        match time.split_text() {
            Some((from, to)) => {
                runs.push(Span::moment(time.from, DAY_AND_TIME, to_one_line(from)));
                runs.push(Span::plain("–"));
                runs.push(Span::moment(time.to, "{time}", to_one_line(to)));
            }
            None => runs.push(Span::plain(to_one_line(&time.text))),
        }
        if !time.note.is_empty() {
            runs.push(Span::plain(format!("\n     {}", to_one_line(&time.note))));
        }
    }
    runs
}

fn risk_lines(risks: &[String]) -> TextBlock {
    let lines: Vec<String> = risks.iter().map(|risk| format!("⚠ {}", to_one_line(risk))).collect();
    TextBlock::Text(vec![Span::plain(lines.join("\n"))])
}

/// Splits the parts that are longer than a block can be.
fn split_long(parts: Vec<TextBlock>) -> Vec<TextBlock> {
    let mut out = Vec::new();
    for part in parts {
        let mut rest = Some(part);
        while let Some(part) = rest.take() {
            if part.char_count() <= limits::BLOCK_TEXT {
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
    out.retain(|part| part.char_count() > 0);
    out
}

/// The blocks of a card, and whether they show all of its body.
struct Page {
    blocks: Vec<Value>,
    is_whole: bool,
}

fn assemble(title: Option<&str>, chunks: &[Chunk], rows: &ButtonRows, budget: usize) -> Page {
    let mut page = BlockBuilder::default();
    page.title(title);
    let mut left = budget.saturating_sub(page.cost + NOTICE);
    let facts: Vec<Option<FitResult>> = chunks.iter().map(|chunk| fit_facts(chunk, &mut left)).collect();
    for (chunk, facts) in chunks.iter().zip(facts) {
        match (chunk, facts) {
            (Chunk::Words(parts), _) => page.push_fitted(fit(parts, &mut left)),
            (_, Some(FitResult::Parts(parts, missing))) => page.push_fitted((parts, missing)),
            (_, Some(FitResult::Note(text, missing, until))) => page.note(&text, missing, until.as_ref()),
            (_, Some(FitResult::Row(blocks, missing))) => {
                page.close_text();
                page.is_cut |= blocks.is_empty();
                page.blocks.extend(blocks);
                page.lost += missing;
            }
            (_, None) => {}
        }
    }
    if page.lost > 0 {
        page.parts.push(TextBlock::Text(vec![Span::plain(missing(page.lost))]));
    }
    page.parts.extend(rows.link_lines.iter().map(|line| TextBlock::Text(vec![Span::plain(line.clone())])));
    page.close_text();
    page.blocks.extend(rows.blocks.iter().cloned());
    if page.blocks.is_empty() {
        page.blocks.push(json!({"type": "section", "text": {"type": "plain_text", "text": EMPTY_CARD}}));
    }
    Page { is_whole: !page.is_cut && page.lost == 0, blocks: page.blocks }
}

enum FitResult {
    Parts(Vec<TextBlock>, usize),
    Note(String, usize, Option<(i64, String)>),
    Row(Vec<Value>, usize),
}

fn fit_facts(chunk: &Chunk, left: &mut usize) -> Option<FitResult> {
    match chunk {
        Chunk::Words(_) => None,
        Chunk::Facts(parts) => {
            let (parts, missing) = fit(parts, left);
            Some(FitResult::Parts(parts, missing))
        }
        Chunk::Note(text, until) => {
            let fixed = NOTICE + until.as_ref().map_or(0, |(_, at)| NOTICE + char_count(at));
            let room = left.saturating_sub(fixed).min(limits::NOTE);
            let (head, tail) = split_at_boundary(text, room);
            *left = left.saturating_sub(char_count(head) + fixed);
            Some(FitResult::Note(head.to_owned(), char_count(tail), until.clone()))
        }
        Chunk::Row(text, blocks) => {
            let cost = size(blocks);
            if cost > *left {
                return Some(FitResult::Row(Vec::new(), char_count(text)));
            }
            *left -= cost;
            Some(FitResult::Row(blocks.clone(), 0))
        }
    }
}

/// Returns the parts that fit, and how many characters do not.
fn fit(parts: &[TextBlock], left: &mut usize) -> (Vec<TextBlock>, usize) {
    let mut out = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        let cost = part.cost();
        if cost <= *left {
            *left -= cost;
            out.push(part.clone());
            continue;
        }
        let rest: usize = parts[n + 1..].iter().map(TextBlock::char_count).sum();
        let room = left.saturating_sub(NOTICE) * part.char_count() / cost.max(1);
        *left = 0;
        if room < NOTICE {
            return (out, rest + part.char_count());
        }
        let (head, tail) = part.clone().split(room);
        out.extend(head);
        return (out, rest + tail.map_or(0, |tail| tail.char_count()));
    }
    (out, 0)
}

fn missing(letters: usize) -> String {
    format!("… ({letters} more characters)")
}

fn size(blocks: &[Value]) -> usize {
    blocks.iter().map(json_size).sum()
}

/// The blocks so far, and the rich text that is not yet in a block.
#[derive(Default)]
struct BlockBuilder {
    blocks: Vec<Value>,
    parts: Vec<TextBlock>,
    cost: usize,
    /// How many characters are missing without a word of it there.
    lost: usize,
    /// Something is missing.
    is_cut: bool,
}

impl BlockBuilder {
    fn title(&mut self, title: Option<&str>) {
        let Some(title) = title.map(to_one_line).filter(|title| !title.is_empty()) else { return };
        if char_count(&title) <= limits::HEADER {
            let text = json!({"type": "plain_text", "text": unpinged_header(&title), "emoji": false});
            self.blocks.push(json!({"type": "header", "text": text}));
        } else {
            let (head, tail) = split_at_boundary(&title, 2 * limits::HEADER);
            self.parts.push(TextBlock::Text(vec![Span::bold(head)]));
            if !tail.is_empty() {
                self.parts.push(TextBlock::Text(vec![Span::plain(missing(char_count(tail)))]));
            }
        }
        self.cost = size(&self.blocks) + self.parts.iter().map(TextBlock::cost).sum::<usize>();
    }

    /// Adds what fits. What is missing is noted there if anything of it fits, else once at the end.
    fn push_fitted(&mut self, (parts, missing_here): (Vec<TextBlock>, usize)) {
        if parts.is_empty() {
            self.lost += missing_here;
            return;
        }
        self.parts.extend(parts);
        if missing_here > 0 {
            self.is_cut = true;
            self.parts.push(TextBlock::Text(vec![Span::plain(missing(missing_here))]));
        }
    }

    fn note(&mut self, text: &str, missing_here: usize, until: Option<&(i64, String)>) {
        self.lost += missing_here;
        if text.trim().is_empty() {
            return;
        }
        self.close_text();
        let element = json!({"type": "plain_text", "text": break_mentions(text), "emoji": false});
        let at = until.map(|(at, text)| {
            let text = escape(&break_mentions(text)).replace('|', "/");
            json!({"type": "mrkdwn", "text": format!("<!date^{at}^{NEAR_DAY_AND_TIME}|{text}>")})
        });
        let elements: Vec<Value> = [Some(element), at].into_iter().flatten().collect();
        self.blocks.push(json!({"type": "context", "elements": elements}));
    }

    /// Turns the text so far into blocks, each within a block's length.
    fn close_text(&mut self) {
        let mut page: Vec<TextBlock> = Vec::new();
        let mut filled = 0;
        for part in std::mem::take(&mut self.parts) {
            let size = part.char_count();
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
    truncate_label(&break_mentions(title), limits::HEADER)
}

/// Builds one block; consecutive paragraphs become one section with an empty line between.
fn rich_block(parts: Vec<TextBlock>) -> Value {
    let mut elements: Vec<TextBlock> = Vec::new();
    for part in parts {
        match (elements.last_mut(), part) {
            (Some(TextBlock::Text(before)), TextBlock::Text(runs)) => {
                before.push(Span::plain("\n\n"));
                before.extend(runs);
            }
            (_, part) => elements.push(part),
        }
    }
    json!({"type": "rich_text", "elements": elements.iter().map(TextBlock::json).collect::<Vec<_>>()})
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
