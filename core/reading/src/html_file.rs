//! Reads an HTML file: headings, text, and rows of tables. What a browser would not show is left out, and nothing is
//! fetched. The tree is walked without recursion, because it can be nested a million times.

use html2text::{Comment, Document, Element, Handle, config};
use nod_contract::wire::{Cut, Done, Failure, MAX_TEXT_BYTES};

use crate::sink::Sink;

/// HTML beyond this is not read.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Elements whose content is no text of the page.
const SKIPPED: [&str; 14] = [
    "head", "script", "style", "template", "noscript", "nav", "svg", "iframe", "object", "audio", "video",
    "canvas", "datalist", "math",
];
/// Elements that do not end a line.
const INLINE: [&str; 37] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font",
    "i", "img", "ins", "kbd", "label", "mark", "nobr", "q", "rp", "rt", "ruby", "s", "samp", "small", "span",
    "strike", "strong", "sub", "sup", "time", "u", "var", "wbr",
];

pub(crate) fn read(bytes: &[u8], sink: &mut Sink<'_>) -> Result<Done, Failure> {
    let html = std::str::from_utf8(bytes).map_err(|_| Failure::Broken)?;
    let cut_html = &html[..html.floor_char_boundary(MAX_BYTES)];
    let dom = config::plain().parse_html(cut_html.as_bytes()).map_err(|_| Failure::Broken)?;
    let mut page = Page {
        sink,
        text: String::new(),
        tables: Vec::new(),
        preformatted: 0,
        has_text: false,
        is_whole: true,
    };
    let mut todo = vec![Visit::Enter(dom.document.clone())];
    while let Some(visit) = todo.pop() {
        match visit {
            Visit::Enter(node) => page.enter(&node, &mut todo),
            Visit::Leave(name) => page.leave(&name),
        }
        if !page.is_whole {
            break;
        }
    }
    page.flush();
    let is_whole = page.is_whole && cut_html.len() == html.len();
    match page.has_text {
        true => Ok(Done { cut: (!is_whole).then_some(Cut::Size), ..Done::default() }),
        false => Err(Failure::Empty),
    }
}

enum Visit {
    Enter(Handle),
    /// The element of that name ends.
    Leave(String),
}

/// A table that is being read.
#[derive(Default)]
struct Table {
    head: Vec<String>,
    has_rows: bool,
}

/// What was read of a page.
struct Page<'a, 'b> {
    sink: &'a mut Sink<'b>,
    /// Text that is not emitted yet.
    text: String,
    /// The tables around the current place.
    tables: Vec<Table>,
    /// Inside how many elements the text keeps its lines.
    preformatted: u32,
    has_text: bool,
    is_whole: bool,
}

impl Page<'_, '_> {
    fn enter(&mut self, node: &Handle, todo: &mut Vec<Visit>) {
        if is_skipped(node) {
            return;
        }
        let Some(name) = node.element_name() else {
            match text_of_node(node) {
                Some(text) => self.append(&text),
                None => descend(node, todo),
            }
            return;
        };
        match (heading_level(&name), name.as_str()) {
            (Some(level), _) => {
                self.flush();
                let words = text_below(node);
                self.has_text |= !words.is_empty();
                self.is_whole &= self.sink.heading(level, &words, None);
            }
            (None, "tr") if self.read_row(node) => {}
            (None, name) => {
                if !INLINE.contains(&name) {
                    self.end_line();
                }
                match name {
                    "table" => self.tables.push(Table::default()),
                    "pre" => self.preformatted += 1,
                    "li" => self.text.push_str("- "),
                    _ => {}
                }
                todo.push(Visit::Leave(name.to_owned()));
                descend(node, todo);
            }
        }
    }

    fn leave(&mut self, name: &str) {
        if name == "table"
            && let Some(Table { head, has_rows: false }) = self.tables.pop()
            && !head.is_empty()
        {
            self.emit_row(&[], head);
        }
        if name == "pre" {
            self.preformatted -= 1;
        }
        if !INLINE.contains(&name) {
            self.end_line();
        }
    }

    fn append(&mut self, text: &str) {
        if self.preformatted > 0 {
            self.text.push_str(text);
            return;
        }
        let (before, after) = (text.starts_with(char::is_whitespace), text.ends_with(char::is_whitespace));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_open = !self.text.is_empty() && !self.text.ends_with(char::is_whitespace);
        if before && is_open {
            self.text.push(' ');
        }
        self.text.push_str(&words);
        if after && !words.is_empty() {
            self.text.push(' ');
        }
    }

    fn end_line(&mut self) {
        self.text.truncate(self.text.trim_end_matches([' ', '\n']).len());
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        if self.text.len() > MAX_TEXT_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.text.trim().is_empty() {
            self.has_text = true;
            self.is_whole &= self.sink.text(&self.text, None);
        }
        self.text.clear();
    }

    fn emit_row(&mut self, head: &[String], cells: Vec<String>) {
        self.flush();
        self.has_text |= cells.iter().any(|cell| !cell.is_empty());
        self.is_whole &= self.sink.row(head, cells);
    }

    /// Reads a row of several plain cells. Returns false if it is something else, such as a page laid out as a table.
    fn read_row(&mut self, row: &Handle) -> bool {
        let nodes = row.children.borrow();
        let is_cell = |node: &&Handle| matches!(node.element_name().as_deref(), Some("td" | "th"));
        let all: Vec<&Handle> = nodes.iter().filter(is_cell).filter(|node| !is_skipped(node)).collect();
        if all.len() < 2 || all.iter().any(|cell| has_structure(cell)) {
            return false;
        }
        let cells: Vec<String> = all.iter().map(|cell| text_below(cell)).collect();
        let is_head = all.iter().all(|cell| cell.element_name().as_deref() == Some("th"));
        let Some(table) = self.tables.last_mut() else { return false };
        if is_head && table.head.is_empty() && !table.has_rows {
            table.head = cells;
            return true;
        }
        table.has_rows = true;
        let head = table.head.clone();
        if cells.iter().any(|cell| !cell.is_empty()) {
            self.emit_row(&head, cells);
        }
        true
    }
}

fn descend(node: &Handle, todo: &mut Vec<Visit>) {
    todo.extend(node.children.borrow().iter().rev().cloned().map(Visit::Enter));
}

fn heading_level(name: &str) -> Option<u8> {
    let level = name.strip_prefix('h')?.parse().ok()?;
    (1..=6).contains(&level).then_some(level)
}

/// Returns whether a browser would not show it.
fn is_skipped(node: &Handle) -> bool {
    let Element { name, attrs, .. } = &node.data else { return false };
    let is_hidden = |name: &str, value: &str| match name {
        "hidden" => true,
        "style" => {
            let style: String = value.to_lowercase().split_whitespace().collect();
            style.contains("display:none") || style.contains("visibility:hidden")
        }
        _ => false,
    };
    SKIPPED.contains(&&*name.local)
        || attrs.borrow().iter().any(|attr| is_hidden(&attr.name.local, &attr.value))
}

/// Returns whether a cell of a table holds more than text.
fn has_structure(cell: &Handle) -> bool {
    let mut todo = cell.children.borrow().clone();
    while let Some(node) = todo.pop() {
        if node.element_name().is_some_and(|name| name == "table" || heading_level(&name).is_some()) {
            return true;
        }
        todo.extend(node.children.borrow().iter().rev().cloned());
    }
    false
}

/// Returns all text in an element, as one line.
fn text_below(element: &Handle) -> String {
    let mut words = String::new();
    let mut todo = vec![element.clone()];
    while let Some(node) = todo.pop() {
        if is_skipped(&node) {
            continue;
        }
        match text_of_node(&node) {
            Some(text) => words.push_str(&text),
            None => {
                if node.element_name().is_some_and(|name| !INLINE.contains(&name.as_str())) {
                    words.push(' ');
                }
                todo.extend(node.children.borrow().iter().rev().cloned());
            }
        }
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text of a text node. The library does not export the type of such nodes, but writes them as HTML.
fn text_of_node(node: &Handle) -> Option<String> {
    if matches!(node.data, Document | Comment { .. } | Element { .. }) {
        return None;
    }
    let mut html = Vec::new();
    node.serialize(&mut html).ok()?;
    let html = String::from_utf8_lossy(&html);
    // The type of document is neither of them.
    if html.starts_with('<') {
        return None;
    }
    let text = html.replace("&nbsp;", " ").replace("&lt;", "<").replace("&gt;", ">");
    Some(text.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use nod_contract::wire::Kind;

    use super::*;
    use crate::tests::{blocks, outline};

    fn read_outline(html: &str) -> Vec<String> {
        outline(Kind::HtmlFile, html.as_bytes()).unwrap()
    }

    #[test]
    fn headings_and_lines_are_read() {
        let html = "<!DOCTYPE html><title>T</title><h1>Leave <i>and</i>\n travel</h1><p>Everybody has <b>25</b> days.\
            <p>Caf&eacute; &amp; a &lt; b&nbsp;c<br>next<ul><li>one<li>two <a href=x>here</a></ul>\
            <div><h3>By <br>sea</h3>None</div><pre>a\n  b</pre>";
        let text = "Everybody has 25 days.\nCafé & a < b c\nnext\n- one\n- two here\n";
        assert_eq!(read_outline(html), ["1|Leave and travel", text, "3|By sea", "None\na\n  b\n"]);
    }

    #[test]
    fn preformatted_text_keeps_its_lines() {
        let code = "<b>a</b>\n".repeat(20);
        assert_eq!(read_outline(&format!("<pre>{code}</pre> b  c")), ["a\n".repeat(20) + "b c\n"]);
    }

    #[test]
    fn what_a_browser_does_not_show_is_left_out() {
        let html = "<script>x()</script><style>p{}</style><nav>Home</nav><template><p>t</template><!-- c -->\
            <noscript>n</noscript><svg><text>s</text></svg><p hidden>h<p>Seen<div style='Display : none'>d</div>\
            <table><tr hidden><td>1<td>2<tr><td hidden>3<td>4<td>5</table><img src='https://a.test/x.png' alt=i>";
        assert_eq!(read_outline(html), ["Seen\n", "=4|=5"]);
        assert_eq!(outline(Kind::HtmlFile, b"<script>x()</script>"), Err(Failure::Empty));
    }

    #[test]
    fn tables_are_read_by_rows() {
        let html = "<table><caption>Sums</caption><thead><tr><th>Month<th>Sum<tbody><tr><td><p>May</p><td>120\
            <tr><th>June<td>90<td>late</table>After<table><tr><th>a<th>b</table>\
            <table><tr><td><h2>Laid out</h2><p>as a table<td>x</table>";
        let rows = [
            "Sums\n",
            "Month=May|Sum=120",
            "Month=June|Sum=90|=late",
            "After\n",
            "=a|=b",
            "2|Laid out",
            "as a table\nx\n",
        ];
        assert_eq!(read_outline(html), rows);
    }

    #[test]
    fn hostile_html_ends() {
        let (read, cut) = blocks(Kind::HtmlFile, "<h2>h</h2>".repeat(40_000).as_bytes()).unwrap();
        assert_eq!((read.len(), cut), (2_000, Some(Cut::Size)));
        assert_eq!(read_outline(&format!("{}x", "<div>".repeat(5_000))), ["x\n"]);
        assert_eq!(read_outline(&format!("{}x", "<table><tr><td>".repeat(500))), ["x\n"]);
    }
}
