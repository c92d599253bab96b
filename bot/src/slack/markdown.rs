//! Converts Markdown to rich text. Links show their target; HTML is shown, not interpreted.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use url::Url;

use crate::table::Table;

use super::limits;
use super::rich_text::{Span, TextBlock, TextStyle};
use super::text::{char_count, escape_control_chars};

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

/// Returns the URL in linkable form: http, https or mailto, host in ASCII, special characters escaped.
pub(super) fn address(text: &str) -> Option<String> {
    let url = Url::parse(text.trim()).ok()?;
    let known = matches!(url.scheme(), "http" | "https" | "mailto");
    Some(url.to_string()).filter(|url| known && char_count(url) <= limits::LINK)
}

#[derive(Default)]
struct RichTextBuilder {
    parts: Vec<TextBlock>,
    runs: Vec<Span>,
    bold: usize,
    italic: usize,
    strike: usize,
    quotes: usize,
    /// The number of the next item of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The mark of an item that has begun and has no text yet.
    mark: Option<ItemMark>,
    /// How many runs precede each open link, and its target.
    links: Vec<(usize, String)>,
    code: Option<String>,
    table: Option<Table>,
}

#[derive(Clone, Copy)]
enum ItemMark {
    Bullet,
    Number(u64),
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
                self.parts.push(TextBlock::Text(vec![Span::plain("———")]));
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
                self.bold += 1;
                self.italic += usize::from(level > HeadingLevel::H3);
            }
            Tag::BlockQuote(_) => self.quotes += 1,
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.code = Some(String::new())
            }
            Tag::List(first) => self.lists.push(first),
            Tag::Item => {
                self.mark = Some(match self.lists.last_mut() {
                    Some(Some(next)) => {
                        let number = *next;
                        *next = next.saturating_add(1);
                        ItemMark::Number(number)
                    }
                    _ => ItemMark::Bullet,
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
                self.bold = self.bold.saturating_sub(1);
                self.italic = self.italic.saturating_sub(usize::from(level > HeadingLevel::H3));
            }
            TagEnd::BlockQuote(_) => self.quotes = self.quotes.saturating_sub(1),
            TagEnd::CodeBlock => {
                let text = self.code.take().unwrap_or_default();
                self.push_code_block(text.trim_end_matches('\n'));
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => self.bare_item(),
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                self.push_code_block(&table.to_aligned_text());
            }
            _ => {}
        }
    }

    /// Emits a bare "42." as text: in Markdown it is a list with an empty item, but a person means it as an answer.
    fn bare_item(&mut self) {
        if let Some(ItemMark::Number(number)) = self.mark.take() {
            self.parts.push(TextBlock::Text(vec![Span::plain(format!("{number}."))]));
        }
    }

    fn push_code_block(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.parts.push(TextBlock::Code(text.to_owned()));
        }
    }

    fn text(&mut self, text: &str, code: bool) {
        if let Some(block) = &mut self.code {
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

    /// Ends a link. Its text stays, followed by the target, unless both are the same.
    fn link(&mut self) {
        let Some((from, target)) = self.links.pop() else { return };
        let said: String = self.runs[from.min(self.runs.len())..].iter().map(|r| r.text.as_str()).collect();
        let look =
            self.runs.get(from).map_or(TextStyle::default(), |run| TextStyle { code: false, ..run.style });
        let link = match address(&target) {
            Some(url) => {
                let shown = url.strip_prefix("mailto:").unwrap_or(&url).to_owned();
                Span { text: shown, style: look, link: Some(url), moment: None }
            }
            None => Span { text: target.clone(), style: look, link: None, moment: None },
        };
        let says_it = [target.as_str(), link.text.as_str(), link.text.trim_end_matches('/')]
            .contains(&said.trim())
            || said.trim().is_empty();
        if says_it {
            self.runs.truncate(from);
            self.runs.push(link);
        } else {
            self.runs.push(Span { text: " (".to_owned(), style: look, link: None, moment: None });
            self.runs.push(link);
            self.runs.push(Span { text: ")".to_owned(), style: look, link: None, moment: None });
        }
    }

    fn cell(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        if let Some(table) = &mut self.table {
            table.cell(runs.iter().map(|run| run.text.as_str()).collect());
        }
    }

    /// Ends the open line of text.
    fn flush(&mut self) {
        let runs = super::autolink::link_urls(std::mem::take(&mut self.runs));
        let mark = self.mark;
        if runs.iter().all(|run| run.text.trim().is_empty()) {
            return;
        }
        self.mark = None;
        let Some(mark) = mark else {
            return if self.quotes > 0 { self.quote(runs) } else { self.parts.push(TextBlock::Text(runs)) };
        };
        if self.quotes > 0 {
            let mark = match mark {
                ItemMark::Bullet => "• ".to_owned(),
                ItemMark::Number(n) => format!("{n}. "),
            };
            return self.quote([vec![Span::plain(mark)], runs].concat());
        }
        self.item(mark, runs);
    }

    fn quote(&mut self, runs: Vec<Span>) {
        match self.parts.last_mut() {
            Some(TextBlock::Quote(before)) => {
                before.push(Span::plain("\n"));
                before.extend(runs);
            }
            _ => self.parts.push(TextBlock::Quote(runs)),
        }
    }

    /// Adds an item. Slack numbers every list from 1: an item whose number would be wrong carries it as text.
    fn item(&mut self, mark: ItemMark, runs: Vec<Span>) {
        let depth = self.lists.len().saturating_sub(1).min(limits::INDENT);
        if let Some(TextBlock::List { ordered, indent, items }) = self.parts.last_mut()
            && *indent == depth
            && match mark {
                ItemMark::Bullet => !*ordered,
                ItemMark::Number(n) => *ordered && n > 1 && n == items.len() as u64 + 1,
            }
        {
            return items.push(runs);
        }
        match mark {
            ItemMark::Bullet => {
                self.parts.push(TextBlock::List { ordered: false, indent: depth, items: vec![runs] })
            }
            ItemMark::Number(1) => {
                self.parts.push(TextBlock::List { ordered: true, indent: depth, items: vec![runs] })
            }
            ItemMark::Number(n) => {
                let number = Span::plain(format!("{}{n}. ", "    ".repeat(depth)));
                self.parts.push(TextBlock::Text([vec![number], runs].concat()));
            }
        }
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
