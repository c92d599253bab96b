//! Converts Markdown to Discord's Markdown. A link shows its target; HTML is shown, not interpreted; whatever Discord
//! would resolve is shown as text.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::table::Table;
use crate::text::{first_address, visible};

use super::address::{address, looks_like_one, says};
use super::limits;
use super::parts::{Kind, Look, Part, Run};

/// Parses Markdown; everything else is text.
pub(super) fn parts(markdown: &str) -> Vec<Part> {
    let text = visible(markdown);
    let mut writer = Writer::default();
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(&text, options) {
        writer.take(event);
    }
    writer.flush();
    writer.parts
}

#[derive(Default)]
struct Writer {
    parts: Vec<Part>,
    runs: Vec<Run>,
    bold: usize,
    italic: usize,
    strike: usize,
    quotes: usize,
    heading: Option<HeadingLevel>,
    /// The number of the next item of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The mark of an item that has begun and has no text yet.
    mark: Option<String>,
    /// How many runs precede each open link, and its target.
    links: Vec<(usize, String)>,
    /// The language of the open code block, and its content.
    code: Option<(String, String)>,
    table: Option<Table>,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text, false),
            Event::Code(text) => self.text(&text, true),
            Event::SoftBreak | Event::HardBreak => self.text("\n", false),
            Event::Rule => {
                self.flush();
                self.parts.push(Part::paragraph(vec![Run::plain("———")]));
            }
            Event::TaskListMarker(done) => self.text(if done { "☑ " } else { "☐ " }, false),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text, false);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Strong => self.bold += 1,
            Tag::Emphasis => self.italic += 1,
            Tag::Strikethrough => self.strike += 1,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((self.runs.len(), dest_url.into_string()));
            }
            Tag::TableCell => {}
            Tag::TableRow | Tag::TableHead => {
                if let Some(table) = &mut self.table {
                    table.row();
                }
            }
            block => {
                self.flush();
                self.open(block);
            }
        }
    }

    fn open(&mut self, block: Tag<'_>) {
        match block {
            Tag::Heading { level, .. } => {
                self.heading = Some(level);
                self.bold += usize::from(level > HeadingLevel::H3);
            }
            Tag::BlockQuote(_) => self.quotes += 1,
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                self.code = Some((language(&info), String::new()));
            }
            Tag::CodeBlock(CodeBlockKind::Indented) => self.code = Some(Default::default()),
            Tag::List(first) => self.lists.push(first),
            Tag::Item => {
                self.mark = Some(match self.lists.last_mut() {
                    Some(Some(next)) => {
                        let number = *next;
                        *next = next.saturating_add(1);
                        format!("{number}. ")
                    }
                    _ => "- ".to_owned(),
                });
            }
            Tag::Table(_) => self.table = Some(Table::default()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strikethrough => self.strike = self.strike.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => self.link(),
            TagEnd::TableCell => self.cell(),
            TagEnd::TableRow | TagEnd::TableHead => {}
            block => self.close(block),
        }
    }

    fn close(&mut self, block: TagEnd) {
        self.flush();
        match block {
            TagEnd::Heading(level) => {
                self.heading = None;
                self.bold = self.bold.saturating_sub(usize::from(level > HeadingLevel::H3));
            }
            TagEnd::BlockQuote(_) => self.quotes = self.quotes.saturating_sub(1),
            TagEnd::CodeBlock => {
                let (language, text) = self.code.take().unwrap_or_default();
                self.set_off(language, text.trim_end_matches('\n'));
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => self.bare_item(),
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                self.set_off(String::new(), &table.aligned());
            }
            _ => {}
        }
    }

    /// Emits a bare "42." as text: in Markdown it is a list with an empty item, but a person means it as an answer.
    fn bare_item(&mut self) {
        if let Some(mark) = self.mark.take().filter(|mark| mark != "- ") {
            self.parts.push(Part::paragraph(vec![Run::plain(mark.trim_end())]));
        }
    }

    fn set_off(&mut self, language: String, text: &str) {
        if !text.trim().is_empty() {
            let before = self.quoted().to_owned();
            self.parts.push(Part::Code { before, language, text: text.to_owned() });
        }
    }

    fn quoted(&self) -> &'static str {
        if self.quotes > 0 { "> " } else { "" }
    }

    fn text(&mut self, text: &str, code: bool) {
        if let Some((_, block)) = &mut self.code {
            return block.push_str(text);
        }
        let look = Look { bold: self.bold > 0, italic: self.italic > 0, strike: self.strike > 0, code };
        let begins_link = self.links.last().is_some_and(|(at, _)| *at == self.runs.len());
        match self.runs.last_mut() {
            Some(last) if last.look == look && last.link.is_none() && !begins_link => {
                last.text.push_str(text)
            }
            _ => self.runs.push(Run { text: text.to_owned(), look, link: None, moment: None }),
        }
    }

    /// Ends a link. Its text becomes the link, unless it looks like another URL: then both are shown.
    fn link(&mut self) {
        let Some((from, target)) = self.links.pop() else { return };
        let inner = self.runs.split_off(from.min(self.runs.len()));
        let said: String = inner.iter().map(Run::said).collect::<String>().replace('\n', " ");
        let look = inner.first().map_or(Look::default(), |run| Look { code: false, ..run.look });
        let url = address(&target);
        let shown = match &url {
            Some(url) => Run { text: String::new(), look, link: Some(url.clone()), moment: None },
            None => {
                let text = target.strip_prefix("mailto:").unwrap_or(&target).to_owned();
                Run { text, look, link: None, moment: None }
            }
        };
        if said.trim().is_empty()
            || says(&said, &target)
            || url.as_deref().is_some_and(|url| says(&said, url))
        {
            return self.runs.push(shown);
        }
        let linked = inner.iter().any(|run| run.link.is_some());
        if url.is_some() && !linked && !looks_like_one(&said) && !said.contains(['[', ']']) {
            return self.runs.push(Run { text: said, look, link: url, moment: None });
        }
        self.runs.extend(inner.into_iter().filter(|run| !run.text.is_empty() || run.link.is_some()));
        self.runs.push(Run { text: " (".to_owned(), look, link: None, moment: None });
        self.runs.push(shown);
        self.runs.push(Run { text: ")".to_owned(), look, link: None, moment: None });
    }

    fn cell(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        if let Some(table) = &mut self.table {
            table.cell(runs.iter().map(Run::written).collect());
        }
    }

    /// Ends the open text.
    fn flush(&mut self) {
        let runs = linked(std::mem::take(&mut self.runs));
        if runs.iter().all(|run| run.text.trim().is_empty() && run.link.is_none()) {
            return;
        }
        let quoted = self.quoted();
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(limits::INDENT));
        let (kind, first, rest) = match (self.mark.take(), self.heading) {
            (Some(mark), _) => {
                let under = " ".repeat(mark.len());
                (Kind::Item, format!("{quoted}{indent}{mark}"), format!("{quoted}{indent}{under}"))
            }
            (None, Some(level)) if level <= HeadingLevel::H3 => {
                let first = format!("{quoted}{} ", "#".repeat(level as usize));
                (Kind::Heading, first, quoted.to_owned())
            }
            (None, Some(_)) => (Kind::Heading, quoted.to_owned(), quoted.to_owned()),
            // A second paragraph of an item is indented under its first.
            (None, None) if !self.lists.is_empty() => {
                (Kind::Item, format!("{quoted}{indent}  "), format!("{quoted}{indent}  "))
            }
            (None, None) if self.quotes > 0 => (Kind::Quote, quoted.to_owned(), quoted.to_owned()),
            (None, None) => (Kind::Paragraph, String::new(), String::new()),
        };
        self.parts.push(Part::Text { kind, first, rest, runs: trimmed(runs) });
    }
}

/// Trims white space at the ends.
fn trimmed(mut runs: Vec<Run>) -> Vec<Run> {
    if let Some(first) = runs.first_mut() {
        first.text = first.text.trim_start().to_owned();
    }
    if let Some(last) = runs.last_mut() {
        last.text = last.text.trim_end().to_owned();
    }
    runs
}

/// Returns the language for highlighting, if it is a name that Discord could know.
fn language(info: &str) -> String {
    let word = info.split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or_default();
    let known = word.len() <= 20 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-#".contains(&b));
    if known { word.to_ascii_lowercase() } else { String::new() }
}

/// Turns bare URLs into explicit links: their marks would otherwise have to be escaped, and Discord does not read
/// escapes in a URL.
fn linked(runs: Vec<Run>) -> Vec<Run> {
    let whole = |run: &Run| run.link.is_some() || run.look.code;
    runs.into_iter().flat_map(|run| if whole(&run) { vec![run] } else { autolinked(&run) }).collect()
}

fn autolinked(run: &Run) -> Vec<Run> {
    let mut out = Vec::new();
    let mut rest = run.text.as_str();
    while let Some((before, found)) = first_address(rest) {
        let plain = |text: &str| Run { text: text.to_owned(), ..run.clone() };
        out.push(plain(before));
        out.push(match address(found) {
            Some(url) => Run { text: String::new(), look: run.look, link: Some(url), moment: None },
            None => plain(found),
        });
        rest = &rest[before.len() + found.len()..];
    }
    out.push(Run { text: rest.to_owned(), ..run.clone() });
    out.retain(|run| !run.text.is_empty() || run.link.is_some());
    out
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
