//! Converts Markdown to Discord's Markdown. A link shows its target; HTML is shown, not interpreted; whatever Discord
//! would resolve is shown as text.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::table::Table;
use crate::text::{escape_control_chars, first_address};

use super::limits;
use super::links::{address, is_same_url, looks_like_url};
use super::rich_text::{BlockKind, Span, TextBlock, TextStyle};

/// Parses Markdown; everything else is text.
pub(super) fn parse_markdown(markdown: &str) -> Vec<TextBlock> {
    let text = escape_control_chars(markdown);
    let mut writer = RichTextBuilder::default();
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(&text, options) {
        writer.handle_event(event);
    }
    writer.flush();
    writer.parts
}

#[derive(Default)]
struct RichTextBuilder {
    parts: Vec<TextBlock>,
    runs: Vec<Span>,
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

impl RichTextBuilder {
    fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text, false),
            Event::Code(text) => self.text(&text, true),
            Event::SoftBreak | Event::HardBreak => self.text("\n", false),
            Event::Rule => {
                self.flush();
                self.parts.push(TextBlock::paragraph(vec![Span::plain("———")]));
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
                self.push_code_block(language, text.trim_end_matches('\n'));
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => self.bare_item(),
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                self.push_code_block(String::new(), &table.to_aligned_text());
            }
            _ => {}
        }
    }

    /// Emits a bare "42." as text: in Markdown it is a list with an empty item, but a person means it as an answer.
    fn bare_item(&mut self) {
        if let Some(mark) = self.mark.take().filter(|mark| mark != "- ") {
            self.parts.push(TextBlock::paragraph(vec![Span::plain(mark.trim_end())]));
        }
    }

    fn push_code_block(&mut self, language: String, text: &str) {
        if !text.trim().is_empty() {
            let before = self.quote_prefix().to_owned();
            self.parts.push(TextBlock::Code { before, language, text: text.to_owned() });
        }
    }

    fn quote_prefix(&self) -> &'static str {
        if self.quotes > 0 { "> " } else { "" }
    }

    fn text(&mut self, text: &str, code: bool) {
        if let Some((_, block)) = &mut self.code {
            return block.push_str(text);
        }
        let look = TextStyle { bold: self.bold > 0, italic: self.italic > 0, strike: self.strike > 0, code };
        let begins_link = self.links.last().is_some_and(|(at, _)| *at == self.runs.len());
        match self.runs.last_mut() {
            Some(last) if last.style == look && last.link.is_none() && !begins_link => {
                last.text.push_str(text)
            }
            _ => self.runs.push(Span { text: text.to_owned(), style: look, link: None, moment: None }),
        }
    }

    /// Ends a link. Its text becomes the link, unless it looks like another URL: then both are shown.
    fn link(&mut self) {
        let Some((from, target)) = self.links.pop() else { return };
        let inner = self.runs.split_off(from.min(self.runs.len()));
        let said: String = inner.iter().map(Span::display_text).collect::<String>().replace('\n', " ");
        let look = inner.first().map_or(TextStyle::default(), |run| TextStyle { code: false, ..run.style });
        let url = address(&target);
        let shown = match &url {
            Some(url) => Span { text: String::new(), style: look, link: Some(url.clone()), moment: None },
            None => {
                let text = target.strip_prefix("mailto:").unwrap_or(&target).to_owned();
                Span { text, style: look, link: None, moment: None }
            }
        };
        if said.trim().is_empty()
            || is_same_url(&said, &target)
            || url.as_deref().is_some_and(|url| is_same_url(&said, url))
        {
            return self.runs.push(shown);
        }
        let linked = inner.iter().any(|run| run.link.is_some());
        if url.is_some() && !linked && !looks_like_url(&said) && !said.contains(['[', ']']) {
            return self.runs.push(Span { text: said, style: look, link: url, moment: None });
        }
        self.runs.extend(inner.into_iter().filter(|run| !run.text.is_empty() || run.link.is_some()));
        self.runs.push(Span { text: " (".to_owned(), style: look, link: None, moment: None });
        self.runs.push(shown);
        self.runs.push(Span { text: ")".to_owned(), style: look, link: None, moment: None });
    }

    fn cell(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        if let Some(table) = &mut self.table {
            table.cell(runs.iter().map(Span::to_plain_text).collect());
        }
    }

    /// Ends the open text.
    fn flush(&mut self) {
        let runs = link_urls(std::mem::take(&mut self.runs));
        if runs.iter().all(|run| run.text.trim().is_empty() && run.link.is_none()) {
            return;
        }
        let quoted = self.quote_prefix();
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(limits::INDENT));
        let (kind, first, rest) = match (self.mark.take(), self.heading) {
            (Some(mark), _) => {
                let under = " ".repeat(mark.len());
                (BlockKind::Item, format!("{quoted}{indent}{mark}"), format!("{quoted}{indent}{under}"))
            }
            (None, Some(level)) if level <= HeadingLevel::H3 => {
                let first = format!("{quoted}{} ", "#".repeat(level as usize));
                (BlockKind::Heading, first, quoted.to_owned())
            }
            (None, Some(_)) => (BlockKind::Heading, quoted.to_owned(), quoted.to_owned()),
            // A second paragraph of an item is indented under its first.
            (None, None) if !self.lists.is_empty() => {
                (BlockKind::Item, format!("{quoted}{indent}  "), format!("{quoted}{indent}  "))
            }
            (None, None) if self.quotes > 0 => (BlockKind::Quote, quoted.to_owned(), quoted.to_owned()),
            (None, None) => (BlockKind::Paragraph, String::new(), String::new()),
        };
        self.parts.push(TextBlock::Text { kind, first, rest, runs: trim_spans(runs) });
    }
}

/// Trims white space at the ends.
fn trim_spans(mut runs: Vec<Span>) -> Vec<Span> {
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
fn link_urls(runs: Vec<Span>) -> Vec<Span> {
    let whole = |run: &Span| run.link.is_some() || run.style.code;
    runs.into_iter().flat_map(|run| if whole(&run) { vec![run] } else { link_urls_in(&run) }).collect()
}

fn link_urls_in(run: &Span) -> Vec<Span> {
    let mut out = Vec::new();
    let mut rest = run.text.as_str();
    while let Some((before, found)) = first_address(rest) {
        let plain = |text: &str| Span { text: text.to_owned(), ..run.clone() };
        out.push(plain(before));
        out.push(match address(found) {
            Some(url) => Span { text: String::new(), style: run.style, link: Some(url), moment: None },
            None => plain(found),
        });
        rest = &rest[before.len() + found.len()..];
    }
    out.push(Span { text: rest.to_owned(), ..run.clone() });
    out.retain(|run| !run.text.is_empty() || run.link.is_some());
    out
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
