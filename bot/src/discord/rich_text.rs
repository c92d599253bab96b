//! Text as values: runs of characters in parts, and Discord's Markdown for them.

use crate::text::{char_count, split_at_boundary};

use super::escape::{BREAK, break_mentions, code_block, escape, inline_code};
use super::limits::units;
use super::links::host;

/// Where the addresses of Discord's own messages begin.
const MESSAGES: &str = "https://discord.com/channels/";

/// Characters of one style.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub text: String,
    pub style: TextStyle,
    /// The link's target; without text the URL itself is shown.
    pub link: Option<String>,
    /// A time that Discord shows in the reader's zone in this style; the text says the same and is as long.
    pub moment: Option<(i64, char)>,
}

/// A text style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TextStyle {
    pub bold: bool,
    pub italic: bool,
    pub strike: bool,
    pub code: bool,
}

/// A part of one or more whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextBlock {
    Text { kind: BlockKind, first: String, rest: String, runs: Vec<Span> },
    Code { before: String, language: String, text: String },
    Mention(String),
}

/// The kind of a text, which determines the distance to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Paragraph,
    Heading,
    Item,
    Quote,
}

impl Span {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(super) fn bold(text: impl Into<String>) -> Self {
        Self { style: TextStyle { bold: true, ..TextStyle::default() }, ..Self::plain(text) }
    }

    /// Returns whether it is only text.
    fn is_plain(&self) -> bool {
        self.link.is_none() && self.moment.is_none()
    }

    /// Creates a time in the reader's zone: <https://docs.discord.com/developers/reference#message-formatting>.
    pub(super) fn moment(at: i64, style: char, said: impl Into<String>) -> Self {
        Self { moment: Some((at, style)), ..Self::plain(said) }
    }

    /// Returns approximately how many characters a reader sees.
    pub(super) fn char_count(&self) -> usize {
        char_count(self.display_text())
    }

    /// Returns its text, or the URL if it has none.
    pub(super) fn display_text(&self) -> &str {
        if self.text.is_empty() { self.link.as_deref().unwrap_or_default() } else { &self.text }
    }

    /// Formats it without marks, the URL after the text.
    pub(super) fn to_plain_text(&self) -> String {
        match &self.link {
            Some(url) if !self.text.is_empty() => format!("{} ({url})", self.text),
            _ => self.display_text().to_owned(),
        }
    }

    /// Formats it with its marks; white space stays outside them, as Discord requires.
    fn markup(&self, starts: bool) -> String {
        if let Some((at, style)) = self.moment {
            return format!("<t:{at}:{style}>");
        }
        let (before, inner, after) =
            if self.style.code { ("", &self.text[..], "") } else { split_whitespace(&self.text) };
        let words = match &self.link {
            Some(url) if inner.is_empty() => format!("<{url}>"),
            // It stays in the chat.
            Some(url) if url.starts_with(MESSAGES) => format!("[{}]({url})", escape(inner, false)),
            // A click on the text asks before it leads away, but the text alone does not show the target.
            Some(url) => format!("[{}]({url}) ({})", escape(inner, false), escape(&host(url), false)),
            None if self.style.code && !inner.trim().is_empty() => inline_code(inner),
            None => escape(inner, starts),
        };
        let marks = self.style_marks();
        if inner.trim().is_empty() && self.link.is_none() {
            return self.text.clone();
        }
        let closing: String = marks.chars().rev().collect();
        format!("{before}{marks}{words}{closing}{after}")
    }

    fn style_marks(&self) -> String {
        let TextStyle { bold, italic, strike, .. } = self.style;
        [("~~", strike), ("**", bold), ("*", italic)].iter().filter(|(_, on)| *on).map(|(m, _)| *m).collect()
    }

    fn is_styled(&self) -> bool {
        self.style != TextStyle::default()
    }
}

fn split_whitespace(text: &str) -> (&str, &str, &str) {
    let inner = text.trim();
    let start = text.len() - text.trim_start().len();
    if inner.is_empty() {
        return (text, "", "");
    }
    (&text[..start], inner, &text[start + inner.len()..])
}

impl TextBlock {
    pub(super) fn paragraph(runs: Vec<Span>) -> Self {
        Self::with_prefix("", runs)
    }

    /// Creates a paragraph whose lines all begin with `prefix`.
    pub(super) fn with_prefix(prefix: &str, runs: Vec<Span>) -> Self {
        Self::Text { kind: BlockKind::Paragraph, first: prefix.to_owned(), rest: prefix.to_owned(), runs }
    }

    /// Returns how many characters a reader sees.
    pub(super) fn char_count(&self) -> usize {
        match self {
            Self::Text { runs, .. } => runs.iter().map(Span::char_count).sum(),
            Self::Code { text, .. } | Self::Mention(text) => char_count(text),
        }
    }

    /// Returns its share of a message's text, including the separator before it.
    pub(super) fn cost(&self) -> usize {
        units(&self.markup()) + 4
    }

    pub(super) fn markup(&self) -> String {
        match self {
            Self::Text { first, rest, runs, .. } => {
                let line = |(n, runs): (usize, &Vec<Span>)| {
                    format!("{}{}", if n == 0 { first } else { rest }, line_markup(runs))
                };
                let text = split_lines(runs).iter().enumerate().map(line).collect::<Vec<_>>().join("\n");
                break_mentions(&text)
            }
            Self::Code { before, language, text } => {
                let block = code_block(text, language);
                block.split('\n').map(|line| format!("{before}{line}")).collect::<Vec<_>>().join("\n")
            }
            Self::Mention(user) => format!("<@{user}>"),
        }
    }

    /// Splits after about `max` characters. A code block is complete in both halves.
    pub(super) fn split(self, max: usize) -> (Option<Self>, Option<Self>) {
        match self {
            Self::Text { kind, first, rest, runs } => {
                let (head, tail) = split_runs(runs, max);
                let some = |first: &str, runs: Vec<Span>| {
                    let part = Self::Text { kind, first: first.to_owned(), rest: rest.clone(), runs };
                    Some(part).filter(|part| part.char_count() > 0)
                };
                (some(&first, head), some(&rest, tail))
            }
            Self::Code { before, language, text } => {
                let (head, tail) = split_at_boundary(&text, max);
                let some = |text: &str| {
                    let text = text.trim_end_matches('\n').to_owned();
                    let (before, language) = (before.clone(), language.clone());
                    (!text.is_empty()).then_some(Self::Code { before, language, text })
                };
                (some(head), some(tail))
            }
            Self::Mention(_) => (None, Some(self)),
        }
    }
}

/// Joins the parts, one below the other.
pub(super) fn join_blocks(parts: &[TextBlock]) -> String {
    let mut out = String::new();
    let mut before: Option<&TextBlock> = None;
    for part in parts {
        out.push_str(before.map_or("", |before| gap(before, part)));
        out.push_str(&part.markup());
        before = Some(part);
    }
    out
}

fn gap(before: &TextBlock, after: &TextBlock) -> &'static str {
    let (TextBlock::Text { kind: before, .. }, TextBlock::Text { kind: after, .. }) = (before, after) else {
        return "\n";
    };
    match (before, after) {
        (BlockKind::Item, BlockKind::Item) | (BlockKind::Heading, _) => "\n",
        (BlockKind::Quote, BlockKind::Quote) => "\n> \n",
        _ => "\n\n",
    }
}

/// Returns the runs of each line: a mark does not continue in the next one, which can begin with another prefix.
fn split_lines(runs: &[Span]) -> Vec<Vec<Span>> {
    let mut lines: Vec<Vec<Span>> = vec![Vec::new()];
    for run in runs {
        for (n, text) in run.text.split('\n').enumerate() {
            if n > 0 {
                lines.push(Vec::new());
            }
            let Some(line) = lines.last_mut() else { continue };
            // Adjacent characters of one style are joined, so that their combined meaning is detected.
            match line.last_mut() {
                Some(Span { text: last, style: look, link: None, moment: None })
                    if run.is_plain() && *look == run.style =>
                {
                    last.push_str(text);
                }
                _ => line.push(Span { text: text.to_owned(), ..run.clone() }),
            }
        }
    }
    lines
}

fn line_markup(runs: &[Span]) -> String {
    let mut out = String::new();
    let mut before: Option<&Span> = None;
    for run in runs.iter().filter(|run| run.char_count() > 0) {
        let markup = run.markup(out.trim().is_empty());
        // The marks of two neighbours would combine into other marks.
        let close = !out.ends_with(char::is_whitespace) && !markup.starts_with(char::is_whitespace);
        if close && run.is_styled() && before.is_some_and(Span::is_styled) {
            out.push(BREAK);
        }
        out.push_str(&markup);
        before = Some(run);
    }
    out.trim_end().to_owned()
}

fn split_runs(runs: Vec<Span>, max: usize) -> (Vec<Span>, Vec<Span>) {
    let (mut head, mut tail, mut left) = (Vec::new(), Vec::new(), max);
    for run in runs {
        let size = run.char_count();
        if tail.is_empty() && size <= left {
            left -= size;
            head.push(run);
        } else if !tail.is_empty() || !run.is_plain() {
            tail.push(run);
        } else {
            let (first, second) = split_at_boundary(&run.text, left);
            head.push(Span { text: first.to_owned(), ..run.clone() });
            tail.push(Span { text: second.to_owned(), ..run });
        }
    }
    (head, tail)
}
