//! Splits a card that is too long for one message into several: cut between paragraphs, items and rows if possible.
//! Code is closed at the end of a message and opened again in the next; list numbers continue. Pure.

use pulldown_cmark::{Event, Options, Parser, Tag};

use nod_contract::card::{Block, Card};

/// Returns the card as one or more messages, each of which `fits` and has at most `most` characters. The title is in
/// the first; the buttons, and those that rate it, are in the last.
pub fn split_into_messages(card: &Card, most: usize, fits: impl Fn(&Card) -> bool) -> Vec<Card> {
    if letters(card) <= most && fits(card) {
        return vec![card.clone()];
    }
    let mut book = MessageSplitter {
        most,
        fits,
        done: Vec::new(),
        open: Card { title: card.title.clone(), ..Card::default() },
    };
    for block in &card.body {
        match block {
            Block::Markdown(text) => {
                split_markdown_blocks(text)
                    .into_iter()
                    .for_each(|unit| book.write(unit, split_unit, Block::Markdown));
            }
            Block::Literal(text) => book.write(text, cut_lines, Block::Literal),
            other => book.add(other.clone()),
        }
    }
    let last = Card { buttons: card.buttons.clone(), feedback: card.feedback, ..book.open.clone() };
    if !(book.fits)(&last) && !book.open.body.is_empty() {
        book.start_next_message();
    }
    book.open.buttons.clone_from(&card.buttons);
    book.open.feedback = card.feedback;
    book.start_next_message();
    book.done
}

/// Returns the beginning of a text, at most `most` characters, cut as a message is.
pub fn truncate_as_message(text: &str, most: usize) -> String {
    let mut left = most;
    let mut shown = Vec::new();
    for unit in split_markdown_blocks(text) {
        let window = head(unit, left);
        if window.len() < unit.len() {
            shown.push(split_unit(window, left * 9 / 10).head);
            break;
        }
        left -= unit.chars().count();
        shown.push(unit.to_owned());
    }
    shown.join("\n\n")
}

/// Counts the characters of the blocks that can be cut.
fn letters(card: &Card) -> usize {
    let of = |block: &Block| match block {
        Block::Markdown(text) | Block::Literal(text) => text.chars().count(),
        _ => 0,
    };
    card.body.iter().map(of).sum()
}

/// The messages so far, and the one that is being filled.
struct MessageSplitter<F> {
    most: usize,
    fits: F,
    done: Vec<Card>,
    open: Card,
}

impl<F: Fn(&Card) -> bool> MessageSplitter<F> {
    fn start_next_message(&mut self) {
        self.done.push(std::mem::take(&mut self.open));
    }

    /// Adds a block that cannot be cut.
    fn add(&mut self, block: Block) {
        if !(self.fits)(&append_block(&self.open, block.clone())) && self.says_something() {
            self.start_next_message();
        }
        self.open = append_block(&self.open, block);
    }

    /// Returns whether there is more than mentions, which are not posted on their own.
    fn says_something(&self) -> bool {
        self.open.body.iter().any(|block| !matches!(block, Block::Mention(_)))
    }

    /// Adds a text; what does not fit continues in the next message.
    fn write(&mut self, text: &str, cut: fn(&str, usize) -> Cut, block: fn(String) -> Block) {
        let mut rest = Rest { before: String::new(), text };
        loop {
            let window = rest.window(self.most);
            if window.is_all {
                let with = append_block(&self.open, block(window.text.clone()));
                if (self.fits)(&with) {
                    self.open = with;
                    return;
                }
            }
            if self.says_something() {
                self.start_next_message();
                continue;
            }
            let (head, tail) = self.split_block(&rest, &window, cut, block);
            self.open = append_block(&self.open, head);
            let Some(tail) = tail else { return };
            self.start_next_message();
            rest = tail;
        }
    }

    /// Returns the longest head that fits, and the rest. A head of a few characters is accepted unchecked: no platform
    /// refuses so little for its length.
    fn split_block<'t>(
        &self,
        rest: &Rest<'t>,
        window: &Window,
        cut: fn(&str, usize) -> Cut,
        block: fn(String) -> Block,
    ) -> (Block, Option<Rest<'t>>) {
        const FEW: usize = 20;
        let shorter = |room: usize| room * 3 / 4;
        let all = window.text.chars().count();
        // A window that is the whole rest was already tried and did not fit; of a longer rest, all of the window might.
        let mut room = if window.is_all { shorter(all) } else { all };
        loop {
            let cut = cut(&window.text, room);
            let tail = rest.tail_after(cut.at, cut.before);
            let head = block(cut.head);
            let few = room <= FEW;
            if !tail.is_empty() && all > FEW && (few || (self.fits)(&append_block(&self.open, head.clone())))
            {
                return (head, Some(tail));
            }
            if few {
                return (block(window.text.clone()), None);
            }
            room = shorter(room);
        }
    }
}

/// The rest of a text: what is repeated before it (the line that opens code, a table's head, the next number), and
/// where it continues.
struct Rest<'t> {
    before: String,
    text: &'t str,
}

/// The most of a rest that one message can hold.
struct Window {
    text: String,
    is_all: bool,
}

impl<'t> Rest<'t> {
    fn window(&self, most: usize) -> Window {
        let text = head(self.text, most);
        Window { text: format!("{}{text}", self.before), is_all: text.len() == self.text.len() }
    }

    /// Returns the rest after that offset in the window.
    fn tail_after(&self, at: usize, before: String) -> Self {
        match at.checked_sub(self.before.len()) {
            Some(at) => Self { before, text: &self.text[at..] },
            None => Self { before: before + &self.before[at..], text: self.text },
        }
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// A text in two: its head, complete in itself, and its tail, which begins at that byte and is read after `before`.
struct Cut {
    head: String,
    before: String,
    at: usize,
}

/// Returns the first characters of a text.
fn head(text: &str, letters: usize) -> &str {
    &text[..offset(text, letters)]
}

/// Returns the card with one more block; Markdown is appended to Markdown as the next paragraph.
fn append_block(card: &Card, block: Block) -> Card {
    let mut card = card.clone();
    match (card.body.last_mut(), block) {
        (Some(Block::Markdown(before)), Block::Markdown(more)) => {
            before.push_str("\n\n");
            before.push_str(&more);
        }
        (_, block) => card.body.push(block),
    }
    card
}

fn options() -> Options {
    Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS
}

/// Returns paragraphs, lists, tables and code, each complete, in order.
fn split_markdown_blocks(text: &str) -> Vec<&str> {
    let mut starts = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    starts.push(line_start(text, range.start));
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => starts.push(line_start(text, range.start)),
            _ => {}
        }
    }
    starts.retain(|at| *at > 0);
    starts.dedup();
    let mut parts = Vec::new();
    let mut from = 0;
    for at in starts.into_iter().chain([text.len()]) {
        // Text before the first unit, or between two, belongs to the one before it.
        if at > from {
            parts.push(text[from..at].trim_end().trim_start_matches('\n'));
            from = at;
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Cuts one unit of Markdown after at most `room` characters; both halves render as the whole did.
fn split_unit(text: &str, room: usize) -> Cut {
    let end = offset(text, room);
    match shape(text) {
        UnitKind::List(items) => match items.iter().rfind(|item| item.at > 0 && item.at <= end) {
            Some(item) => {
                let (before, at) = renumber_list(text, item);
                Cut { head: text[..item.at].trim_end().to_owned(), before, at }
            }
            None => cut_lines(text, room),
        },
        UnitKind::Table(rows) => match rows.iter().rfind(|at| **at <= end) {
            Some(&at) => {
                let before = text.lines().take(2).map(|line| format!("{line}\n")).collect();
                Cut { head: text[..at].trim_end().to_owned(), before, at }
            }
            None => cut_lines(text, room),
        },
        UnitKind::Words => cut_words(text, end),
        UnitKind::Lines => cut_lines(text, room),
    }
}

/// Returns the byte offset of the `letters`th character.
fn offset(text: &str, letters: usize) -> usize {
    text.char_indices().nth(letters).map_or(text.len(), |(at, _)| at)
}

enum UnitKind {
    List(Vec<Item>),
    /// Where each row after the first begins.
    Table(Vec<usize>),
    Words,
    Lines,
}

struct Item {
    at: usize,
    /// In a numbered list.
    number: Option<u64>,
}

fn shape(text: &str) -> UnitKind {
    let mut events = Parser::new_ext(text, options()).into_offset_iter();
    match events.next() {
        Some((Event::Start(Tag::List(first)), _)) => {
            let mut items = Vec::new();
            let mut depth = 0_usize;
            for (event, range) in events {
                match event {
                    Event::Start(Tag::Item) if depth == 0 => {
                        let number = first.map(|first| first + items.len() as u64);
                        items.push(Item { at: line_start(text, range.start), number });
                        depth += 1;
                    }
                    Event::Start(_) => depth += 1,
                    Event::End(_) => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            UnitKind::List(items)
        }
        Some((Event::Start(Tag::Table(_)), _)) => {
            let row = |(event, range): (Event<'_>, std::ops::Range<usize>)| {
                matches!(event, Event::Start(Tag::TableRow)).then(|| line_start(text, range.start))
            };
            UnitKind::Table(events.filter_map(row).skip(1).collect())
        }
        Some((Event::Start(Tag::Paragraph), _)) => UnitKind::Words,
        _ => UnitKind::Lines,
    }
}

/// Makes the rest of a numbered list go on counting: Markdown counts from its first number. Returns what replaces that
/// number, and the offset after it.
fn renumber_list(text: &str, item: &Item) -> (String, usize) {
    let Some(number) = item.number else { return (String::new(), item.at) };
    let tail = &text[item.at..];
    let indent = tail.len() - tail.trim_start().len();
    let rest = tail[indent..].trim_start_matches(|c: char| c.is_ascii_digit());
    (format!("{}{number}", &tail[..indent]), text.len() - rest.len())
}

/// Cuts before `end`: after a sentence if one ends in the latter half, else after a word.
fn cut_words(text: &str, end: usize) -> Cut {
    let head = &text[..end];
    let late = |at: &usize| *at > end / 2;
    // The dot after a number that begins a line is not a full stop.
    let numbered = |at: usize| head[..at].trim_end_matches(|c: char| c.is_ascii_digit()).ends_with('\n');
    let last = |mark: &str| head.rmatch_indices(mark).map(|(at, _)| at).find(|at| !numbered(*at));
    let sentence = [". ", "! ", "? ", ".\n", "\n"].into_iter().filter_map(last).max();
    let at =
        sentence.filter(late).map(|at| at + 1).or_else(|| head.rfind(char::is_whitespace)).unwrap_or(end);
    let at = if at == 0 { end } else { at };
    let tail = text[at..].trim_start();
    Cut { head: text[..at].trim_end().to_owned(), before: String::new(), at: text.len() - tail.len() }
}

/// Cuts after a line, or within one that is too long. Code that is open there is closed, and opened again.
fn cut_lines(text: &str, room: usize) -> Cut {
    let end = offset(text, room);
    let at = match text[..end].rfind('\n') {
        Some(newline) if newline > 0 => newline + 1,
        _ => text[..end].rfind(' ').filter(|at| *at > end / 2).map_or(end, |at| at + 1),
    };
    let (head, tail) = text.split_at(at);
    let head = head.strip_suffix('\n').unwrap_or(head);
    match open_fence(head) {
        // Only the fence's own line is before the cut, so the text continues there, within the next line.
        Some(fence) if head.trim() == fence.trim() => {
            let end = offset(tail, room);
            let word = tail[..end].rfind(char::is_whitespace).filter(|at| *at > end / 2);
            let (first, rest) = tail.split_at(word.map_or(end, |at| at + 1));
            let head = format!("{fence}\n{first}\n{}", closing(fence));
            Cut { head, before: format!("{fence}\n"), at: text.len() - rest.len() }
        }
        Some(fence) => Cut { head: format!("{head}\n{}", closing(fence)), before: format!("{fence}\n"), at },
        None => Cut { head: head.to_owned(), before: String::new(), at },
    }
}

/// Returns the line that opened the code which is still open at the end of the text.
fn open_fence(text: &str) -> Option<&str> {
    let mut open: Option<&str> = None;
    for line in text.lines() {
        let mark = mark_of(line);
        match open {
            None if mark.len() >= 3 => open = Some(line),
            Some(fence) if is_closing_fence(line, fence) => open = None,
            _ => {}
        }
    }
    open
}

/// Returns the run of backticks or tildes at the start of a line.
fn mark_of(line: &str) -> &str {
    let line = line.trim_start();
    let Some(first) = line.chars().next().filter(|c| matches!(c, '`' | '~')) else { return "" };
    &line[..line.len() - line.trim_start_matches(first).len()]
}

fn is_closing_fence(line: &str, fence: &str) -> bool {
    let (mark, opened) = (mark_of(line), mark_of(fence));
    mark.len() >= opened.len() && mark.starts_with(&opened[..1]) && line.trim() == mark
}

/// Returns the line that closes the code opened by this one.
fn closing(fence: &str) -> String {
    let indent = &fence[..fence.len() - fence.trim_start().len()];
    format!("{indent}{}", mark_of(fence))
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
