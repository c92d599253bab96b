//! Text as values: runs of characters in parts, and Discord's Markdown for them.

use crate::text::{letters, split};

use super::address::host;
use super::escape::{BREAK, code_block, escaped, inline_code, unpinged};
use super::limits::units;

/// Characters of one style.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Run {
    pub text: String,
    pub look: Look,
    /// The link's target; without text the URL itself is shown.
    pub link: Option<String>,
    /// A time that Discord shows in the reader's zone in this style; the text says the same and is as long.
    pub moment: Option<(i64, char)>,
}

/// A text style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Look {
    pub bold: bool,
    pub italic: bool,
    pub strike: bool,
    pub code: bool,
}

/// A part of one or more whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text { kind: Kind, first: String, rest: String, runs: Vec<Run> },
    Code { before: String, language: String, text: String },
    Mention(String),
}

/// The kind of a text, which determines the distance to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Paragraph,
    Heading,
    Item,
    Quote,
}

impl Run {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(super) fn bold(text: impl Into<String>) -> Self {
        Self { look: Look { bold: true, ..Look::default() }, ..Self::plain(text) }
    }

    /// Returns whether it is only text.
    fn is_words(&self) -> bool {
        self.link.is_none() && self.moment.is_none()
    }

    /// Creates a time in the reader's zone: <https://docs.discord.com/developers/reference#message-formatting>.
    pub(super) fn moment(at: i64, style: char, said: impl Into<String>) -> Self {
        Self { moment: Some((at, style)), ..Self::plain(said) }
    }

    /// Returns approximately how many characters a reader sees.
    pub(super) fn letters(&self) -> usize {
        letters(self.said())
    }

    /// Returns its text, or the URL if it has none.
    pub(super) fn said(&self) -> &str {
        if self.text.is_empty() { self.link.as_deref().unwrap_or_default() } else { &self.text }
    }

    /// Formats it without marks, the URL after the text.
    pub(super) fn written(&self) -> String {
        match &self.link {
            Some(url) if !self.text.is_empty() => format!("{} ({url})", self.text),
            _ => self.said().to_owned(),
        }
    }

    /// Formats it with its marks; white space stays outside them, as Discord requires.
    fn markup(&self, starts: bool) -> String {
        if let Some((at, style)) = self.moment {
            return format!("<t:{at}:{style}>");
        }
        let (before, inner, after) =
            if self.look.code { ("", &self.text[..], "") } else { parted(&self.text) };
        let words = match &self.link {
            Some(url) if inner.is_empty() => format!("<{url}>"),
            // A click on the text asks before it leads away, but the text alone does not show the target.
            Some(url) => format!("[{}]({url}) ({})", escaped(inner, false), escaped(&host(url), false)),
            None if self.look.code && !inner.trim().is_empty() => inline_code(inner),
            None => escaped(inner, starts),
        };
        let marks = self.marks();
        if inner.trim().is_empty() && self.link.is_none() {
            return self.text.clone();
        }
        let closing: String = marks.chars().rev().collect();
        format!("{before}{marks}{words}{closing}{after}")
    }

    fn marks(&self) -> String {
        let Look { bold, italic, strike, .. } = self.look;
        [("~~", strike), ("**", bold), ("*", italic)].iter().filter(|(_, on)| *on).map(|(m, _)| *m).collect()
    }

    fn marked(&self) -> bool {
        self.look != Look::default()
    }
}

fn parted(text: &str) -> (&str, &str, &str) {
    let inner = text.trim();
    let start = text.len() - text.trim_start().len();
    if inner.is_empty() {
        return (text, "", "");
    }
    (&text[..start], inner, &text[start + inner.len()..])
}

impl Part {
    pub(super) fn paragraph(runs: Vec<Run>) -> Self {
        Self::prefixed("", runs)
    }

    /// Creates a paragraph whose lines all begin with `prefix`.
    pub(super) fn prefixed(prefix: &str, runs: Vec<Run>) -> Self {
        Self::Text { kind: Kind::Paragraph, first: prefix.to_owned(), rest: prefix.to_owned(), runs }
    }

    /// Returns how many characters a reader sees.
    pub(super) fn letters(&self) -> usize {
        match self {
            Self::Text { runs, .. } => runs.iter().map(Run::letters).sum(),
            Self::Code { text, .. } | Self::Mention(text) => letters(text),
        }
    }

    /// Returns its share of a message's text, including the separator before it.
    pub(super) fn cost(&self) -> usize {
        units(&self.markup()) + 4
    }

    pub(super) fn markup(&self) -> String {
        match self {
            Self::Text { first, rest, runs, .. } => {
                let line = |(n, runs): (usize, &Vec<Run>)| {
                    format!("{}{}", if n == 0 { first } else { rest }, line(runs))
                };
                let text = lines(runs).iter().enumerate().map(line).collect::<Vec<_>>().join("\n");
                unpinged(&text)
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
                let some = |first: &str, runs: Vec<Run>| {
                    let part = Self::Text { kind, first: first.to_owned(), rest: rest.clone(), runs };
                    Some(part).filter(|part| part.letters() > 0)
                };
                (some(&first, head), some(&rest, tail))
            }
            Self::Code { before, language, text } => {
                let (head, tail) = split(&text, max);
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
pub(super) fn joined(parts: &[Part]) -> String {
    let mut out = String::new();
    let mut before: Option<&Part> = None;
    for part in parts {
        out.push_str(before.map_or("", |before| gap(before, part)));
        out.push_str(&part.markup());
        before = Some(part);
    }
    out
}

fn gap(before: &Part, after: &Part) -> &'static str {
    let (Part::Text { kind: before, .. }, Part::Text { kind: after, .. }) = (before, after) else {
        return "\n";
    };
    match (before, after) {
        (Kind::Item, Kind::Item) | (Kind::Heading, _) => "\n",
        (Kind::Quote, Kind::Quote) => "\n> \n",
        _ => "\n\n",
    }
}

/// Returns the runs of each line: a mark does not continue in the next one, which can begin with another prefix.
fn lines(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut lines: Vec<Vec<Run>> = vec![Vec::new()];
    for run in runs {
        for (n, text) in run.text.split('\n').enumerate() {
            if n > 0 {
                lines.push(Vec::new());
            }
            let Some(line) = lines.last_mut() else { continue };
            // Adjacent characters of one style are joined, so that their combined meaning is detected.
            match line.last_mut() {
                Some(Run { text: last, look, link: None, moment: None })
                    if run.is_words() && *look == run.look =>
                {
                    last.push_str(text);
                }
                _ => line.push(Run { text: text.to_owned(), ..run.clone() }),
            }
        }
    }
    lines
}

fn line(runs: &[Run]) -> String {
    let mut out = String::new();
    let mut before: Option<&Run> = None;
    for run in runs.iter().filter(|run| run.letters() > 0) {
        let markup = run.markup(out.trim().is_empty());
        // The marks of two neighbours would combine into other marks.
        let close = !out.ends_with(char::is_whitespace) && !markup.starts_with(char::is_whitespace);
        if close && run.marked() && before.is_some_and(Run::marked) {
            out.push(BREAK);
        }
        out.push_str(&markup);
        before = Some(run);
    }
    out.trim_end().to_owned()
}

fn split_runs(runs: Vec<Run>, max: usize) -> (Vec<Run>, Vec<Run>) {
    let (mut head, mut tail, mut left) = (Vec::new(), Vec::new(), max);
    for run in runs {
        let size = run.letters();
        if tail.is_empty() && size <= left {
            left -= size;
            head.push(run);
        } else if !tail.is_empty() || !run.is_words() {
            tail.push(run);
        } else {
            let (first, second) = split(&run.text, left);
            head.push(Run { text: first.to_owned(), ..run.clone() });
            tail.push(Run { text: second.to_owned(), ..run });
        }
    }
    (head, tail)
}
