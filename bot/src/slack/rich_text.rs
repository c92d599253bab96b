//! Rich text as values: runs of characters in parts, and Slack's JSON for them.
//!
//! Rich text and not mrkdwn, because in it text is text: nothing written by a model or in a mail can ping, hide a link
//! or end a code block, whatever its characters are.

use serde_json::{Map, Value, json};

use super::text::{break_mentions, char_count, json_size, split_at_boundary, unpinged_tokens};

/// Characters of one style.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub text: String,
    pub style: TextStyle,
    /// The link's target; the text is then the URL itself.
    pub link: Option<String>,
    /// A time that Slack shows in the reader's zone in this format; the text is for clients that cannot show it.
    pub moment: Option<(i64, &'static str)>,
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
    Text(Vec<Span>),
    Quote(Vec<Span>),
    Code(String),
    List { ordered: bool, indent: usize, items: Vec<Vec<Span>> },
    Mention(String),
}

impl Span {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(super) fn bold(text: impl Into<String>) -> Self {
        Self { style: TextStyle { bold: true, ..TextStyle::default() }, ..Self::plain(text) }
    }

    /// Creates a time in the reader's zone: <https://docs.slack.dev/reference/block-kit/block-elements/date-element>.
    pub(super) fn moment(at: i64, format: &'static str, said: impl Into<String>) -> Self {
        Self { moment: Some((at, format)), ..Self::plain(said) }
    }

    fn json(&self) -> Value {
        if let Some((at, format)) = self.moment {
            let fallback = break_mentions(&self.text);
            return json!({"type": "date", "timestamp": at, "format": format, "fallback": fallback});
        }
        let mut element = match &self.link {
            Some(url) if url.starts_with("mailto:") => json!({"type": "link", "url": url, "text": self.text}),
            Some(url) => json!({"type": "link", "url": url}),
            None => json!({"type": "text", "text": break_mentions(&self.text)}),
        };
        let TextStyle { bold, italic, strike, code } = self.style;
        let named = [("bold", bold), ("italic", italic), ("strike", strike), ("code", code)];
        let style: Map<String, Value> =
            named.into_iter().filter(|(_, on)| *on).map(|(name, _)| (name.to_owned(), true.into())).collect();
        if !style.is_empty() {
            element["style"] = style.into();
        }
        element
    }
}

impl TextBlock {
    /// Returns how many characters a reader sees.
    pub(super) fn char_count(&self) -> usize {
        match self {
            Self::Text(runs) | Self::Quote(runs) => count(runs),
            Self::Code(text) | Self::Mention(text) => char_count(text),
            Self::List { items, .. } => items.iter().map(|runs| count(runs) + 1).sum(),
        }
    }

    /// Returns its share of a message's JSON.
    pub(super) fn cost(&self) -> usize {
        json_size(&self.json())
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Self::Text(runs) => json!({"type": "rich_text_section", "elements": elements(runs)}),
            Self::Quote(runs) => json!({"type": "rich_text_quote", "elements": elements(runs)}),
            Self::Code(text) => json!({
                "type": "rich_text_preformatted",
                "elements": [{"type": "text", "text": unpinged_tokens(text)}],
            }),
            Self::List { ordered, indent, items } => {
                let items = items
                    .iter()
                    .map(|runs| json!({"type": "rich_text_section", "elements": elements(runs)}))
                    .collect::<Vec<_>>();
                let style = if *ordered { "ordered" } else { "bullet" };
                json!({"type": "rich_text_list", "style": style, "indent": indent, "elements": items})
            }
            Self::Mention(user) => {
                json!({"type": "rich_text_section", "elements": [{"type": "user", "user_id": user}]})
            }
        }
    }

    /// Formats it as plain text.
    pub(super) fn to_plain_text(&self) -> String {
        match self {
            Self::Text(runs) => join_spans(runs),
            Self::Quote(runs) => format!("> {}", join_spans(runs).replace('\n', "\n> ")),
            Self::Code(text) => text.clone(),
            Self::List { ordered, indent, items } => {
                let mark = |n: usize| if *ordered { format!("{}.", n + 1) } else { "•".to_owned() };
                let line = |(n, runs): (usize, &Vec<Span>)| {
                    format!("{}{} {}", "  ".repeat(*indent), mark(n), join_spans(runs))
                };
                items.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
            }
            // The fallback text of the blocks mentions no user.
            Self::Mention(_) => String::new(),
        }
    }

    /// Splits after about `max` characters. A code block is complete in both halves.
    pub(super) fn split(self, max: usize) -> (Option<Self>, Option<Self>) {
        match self {
            Self::Text(runs) => map_split(split_runs(runs, max), Self::Text),
            Self::Quote(runs) => map_split(split_runs(runs, max), Self::Quote),
            Self::Code(text) => {
                let (head, tail) = split_at_boundary(&text, max);
                let part =
                    |t: &str| Some(t.trim_end_matches('\n')).filter(|t| !t.is_empty()).map(str::to_owned);
                (part(head).map(Self::Code), part(tail).map(Self::Code))
            }
            Self::List { ordered, indent, items } => {
                let all = items.len();
                let (head, tail) = split_items(items, max);
                let next = all - tail.len() + 1;
                let list = |items| Self::List { ordered, indent, items };
                // Slack numbers each list from 1, so the items after a split carry their numbers as text. (The
                // reference has an `offset`, which Slack's own schema of a message refuses.)
                let rest = |items| if ordered { numbered_lines(items, next, indent) } else { list(items) };
                let some = |items: Vec<_>| Some(items).filter(|items| !items.is_empty());
                (some(head).map(list), some(tail).map(rest))
            }
            Self::Mention(_) => (None, Some(self)),
        }
    }
}

/// Formats the items of a list that continues at this number, one line each.
fn numbered_lines(items: Vec<Vec<Span>>, next: usize, indent: usize) -> TextBlock {
    let room = "    ".repeat(indent);
    let line = |(n, runs): (usize, Vec<Span>)| {
        let end = if n == next { "" } else { "\n" };
        [vec![Span::plain(format!("{end}{room}{n}. "))], runs].concat()
    };
    TextBlock::Text((next..).zip(items).flat_map(line).collect())
}

fn count(runs: &[Span]) -> usize {
    runs.iter().map(|run| char_count(&run.text)).sum()
}

fn join_spans(runs: &[Span]) -> String {
    runs.iter().map(|run| run.text.as_str()).collect()
}

fn elements(runs: &[Span]) -> Vec<Value> {
    runs.iter().filter(|run| !run.text.is_empty()).map(Span::json).collect()
}

fn map_split(
    (head, tail): (Vec<Span>, Vec<Span>),
    part: impl Fn(Vec<Span>) -> TextBlock,
) -> (Option<TextBlock>, Option<TextBlock>) {
    let some = |runs: Vec<Span>| (count(&runs) > 0).then(|| part(runs));
    (some(head), some(tail))
}

fn split_runs(runs: Vec<Span>, max: usize) -> (Vec<Span>, Vec<Span>) {
    let (mut head, mut tail, mut left) = (Vec::new(), Vec::new(), max);
    for run in runs {
        let size = char_count(&run.text);
        if tail.is_empty() && size <= left {
            left -= size;
            head.push(run);
        } else if !tail.is_empty() || run.link.is_some() || run.moment.is_some() {
            tail.push(run);
        } else {
            let (first, second) = split_at_boundary(&run.text, left);
            head.push(Span { text: first.to_owned(), ..run.clone() });
            tail.push(Span { text: second.to_owned(), ..run });
        }
    }
    (head, tail)
}

fn split_items(items: Vec<Vec<Span>>, max: usize) -> (Vec<Vec<Span>>, Vec<Vec<Span>>) {
    let (mut head, mut tail, mut left) = (Vec::new(), Vec::new(), max);
    for runs in items {
        let size = count(&runs) + 1;
        if tail.is_empty() && size <= left {
            left -= size;
            head.push(runs);
        } else if tail.is_empty() && head.is_empty() {
            let (first, second) = split_runs(runs, left);
            head.extend((count(&first) > 0).then_some(first));
            tail.push(second);
        } else {
            tail.push(runs);
        }
    }
    (head, tail)
}
