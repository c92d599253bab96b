//! A card that is too long for one message becomes several: cut between paragraphs, items and rows where it can
//! be, code closed at the end of a message and opened again in the next, numbers of a list kept. Pure.

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::card::{Block, Card};

/// The card as one or more messages, each of which `fits`. The title opens the first; what can be pressed stands
/// under the last.
pub(crate) fn pages(card: &Card, fits: impl Fn(&Card) -> bool) -> Vec<Card> {
    if fits(card) {
        return vec![card.clone()];
    }
    let mut book = Book { done: Vec::new(), open: Card { title: card.title.clone(), ..Card::default() } };
    for block in &card.body {
        match block {
            Block::Markdown(text) => {
                units(text).into_iter().for_each(|unit| book.write(Block::Markdown(unit), &fits));
            }
            other => book.write(other.clone(), &fits),
        }
    }
    let last = Card { buttons: card.buttons.clone(), ..book.open.clone() };
    if !fits(&last) && !book.open.body.is_empty() {
        book.turn();
    }
    book.open.buttons.clone_from(&card.buttons);
    book.turn();
    book.done
}

/// The messages so far, and the one that is being filled.
struct Book {
    done: Vec<Card>,
    open: Card,
}

impl Book {
    fn turn(&mut self) {
        self.done.push(std::mem::take(&mut self.open));
    }

    /// Adds a block; what does not fit goes on in the next message.
    fn write(&mut self, block: Block, fits: &impl Fn(&Card) -> bool) {
        let mut rest = Some(block);
        while let Some(block) = rest.take() {
            let with = joined(&self.open, block.clone());
            if fits(&with) {
                self.open = with;
                continue;
            }
            // Whom it calls does not stand alone.
            let says = |block: &Block| !matches!(block, Block::Mention(_));
            if self.open.body.iter().any(says) {
                self.turn();
                rest = Some(block);
                continue;
            }
            let (head, tail) = fitting(&self.open, block, fits);
            self.open = joined(&self.open, head);
            rest = tail;
            if rest.is_some() {
                self.turn();
            }
        }
    }
}

/// The card with one more block; Markdown follows Markdown as the next paragraph.
fn joined(card: &Card, block: Block) -> Card {
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

/// The longest head of a block that fits, and what is left. A head of a few characters is taken as it is: no
/// platform refuses that little for its length.
fn fitting(page: &Card, block: Block, fits: &impl Fn(&Card) -> bool) -> (Block, Option<Block>) {
    const FEW: usize = 20;
    let (text, make): (&str, fn(String) -> Block) = match &block {
        Block::Markdown(text) => (text, Block::Markdown),
        Block::Literal(text) => (text, Block::Literal),
        _ => return (block, None),
    };
    let marked = matches!(block, Block::Markdown(_));
    let mut room = text.chars().count();
    while room > FEW {
        room = room * 3 / 4;
        let (head, tail) = if marked { cut(text, room) } else { cut_lines(text, room) };
        if tail.is_empty() {
            continue;
        }
        let head = make(head);
        if fits(&joined(page, head.clone())) || room <= FEW {
            return (head, Some(make(tail)));
        }
    }
    (block, None)
}

fn options() -> Options {
    Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS
}

/// Paragraphs, lists, tables and code, each whole, in order.
fn units(text: &str) -> Vec<String> {
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
        // What stands before the first, or between two, belongs to the one before it.
        if at > from {
            parts.push(text[from..at].trim_end().trim_start_matches('\n').to_owned());
            from = at;
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Cuts one unit of Markdown after at most `room` characters: both halves read as the whole did.
fn cut(text: &str, room: usize) -> (String, String) {
    let end = offset(text, room);
    match shape(text) {
        Shape::List(items) => match items.iter().rfind(|item| item.at > 0 && item.at <= end) {
            Some(item) => {
                let tail = &text[item.at..];
                (text[..item.at].trim_end().to_owned(), renumbered(tail, item.number))
            }
            None => cut_lines(text, room),
        },
        Shape::Table(rows) => match rows.iter().rfind(|at| **at <= end) {
            Some(at) => {
                let head: Vec<&str> = text.lines().take(2).collect();
                (text[..*at].trim_end().to_owned(), format!("{}\n{}", head.join("\n"), &text[*at..]))
            }
            None => cut_lines(text, room),
        },
        Shape::Words => cut_words(text, end),
        Shape::Lines => cut_lines(text, room),
    }
}

/// Where the `letters`th character begins.
fn offset(text: &str, letters: usize) -> usize {
    text.char_indices().nth(letters).map_or(text.len(), |(at, _)| at)
}

enum Shape {
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

fn shape(text: &str) -> Shape {
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
            Shape::List(items)
        }
        Some((Event::Start(Tag::Table(_)), _)) => {
            let row = |(event, range): (Event<'_>, std::ops::Range<usize>)| {
                matches!(event, Event::Start(Tag::TableRow)).then(|| line_start(text, range.start))
            };
            Shape::Table(events.filter_map(row).skip(1).collect())
        }
        Some((Event::Start(Tag::Paragraph), _)) => Shape::Words,
        _ => Shape::Lines,
    }
}

/// The rest of a numbered list goes on counting: Markdown counts from its first number on.
fn renumbered(tail: &str, number: Option<u64>) -> String {
    let Some(number) = number else { return tail.to_owned() };
    let indent = tail.len() - tail.trim_start().len();
    let rest = tail[indent..].trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{}{number}{rest}", &tail[..indent])
}

/// Cuts before `end`: after a sentence where one ends in the latter half, else after a word.
fn cut_words(text: &str, end: usize) -> (String, String) {
    let head = &text[..end];
    let late = |at: &usize| *at > end / 2;
    // The dot after a number that begins a line is no full stop.
    let numbered = |at: usize| head[..at].trim_end_matches(|c: char| c.is_ascii_digit()).ends_with('\n');
    let last = |mark: &str| head.rmatch_indices(mark).map(|(at, _)| at).find(|at| !numbered(*at));
    let sentence = [". ", "! ", "? ", ".\n", "\n"].into_iter().filter_map(last).max();
    let at =
        sentence.filter(late).map(|at| at + 1).or_else(|| head.rfind(char::is_whitespace)).unwrap_or(end);
    let at = if at == 0 { end } else { at };
    (text[..at].trim_end().to_owned(), text[at..].trim_start().to_owned())
}

/// Cuts after a line, or in one that is too long. Code that is open there is closed, and opened again.
fn cut_lines(text: &str, room: usize) -> (String, String) {
    let end = offset(text, room);
    let at = match text[..end].rfind('\n') {
        Some(newline) if newline > 0 => newline + 1,
        _ => text[..end].rfind(' ').filter(|at| *at > end / 2).map_or(end, |at| at + 1),
    };
    let (head, tail) = text.split_at(at);
    let head = head.strip_suffix('\n').unwrap_or(head);
    match open_fence(head) {
        // Nothing but the fence's own line stands before the cut: so it goes on there, in its line.
        Some(fence) if head.trim() == fence.trim() => {
            let end = offset(tail, room);
            let word = tail[..end].rfind(char::is_whitespace).filter(|at| *at > end / 2);
            let (first, rest) = tail.split_at(word.map_or(end, |at| at + 1));
            (format!("{fence}\n{first}\n{}", closing(fence)), format!("{fence}\n{rest}"))
        }
        Some(fence) => (format!("{head}\n{}", closing(fence)), format!("{fence}\n{tail}")),
        None => (head.to_owned(), tail.to_owned()),
    }
}

/// The line that opened the code which is still open at the end of the text.
fn open_fence(text: &str) -> Option<&str> {
    let mut open: Option<&str> = None;
    for line in text.lines() {
        let mark = mark_of(line);
        match open {
            None if mark.len() >= 3 => open = Some(line),
            Some(fence) if closes(line, fence) => open = None,
            _ => {}
        }
    }
    open
}

/// The run of backticks or tildes that a line begins with.
fn mark_of(line: &str) -> &str {
    let line = line.trim_start();
    let Some(first) = line.chars().next().filter(|c| matches!(c, '`' | '~')) else { return "" };
    &line[..line.len() - line.trim_start_matches(first).len()]
}

fn closes(line: &str, fence: &str) -> bool {
    let (mark, opened) = (mark_of(line), mark_of(fence));
    mark.len() >= opened.len() && mark.starts_with(&opened[..1]) && line.trim() == mark
}

/// The line that closes what this one opened.
fn closing(fence: &str) -> String {
    let indent = &fence[..fence.len() - fence.trim_start().len()];
    format!("{indent}{}", mark_of(fence))
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
