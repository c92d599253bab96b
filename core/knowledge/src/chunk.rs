//! Cuts a document into chunks: at every heading, and a long section at ends of sentences.

use nod_contract::wire::Block;

use crate::sentence::split_sentences;

/// The longest chunk, about 800 tokens of four characters.
const MAX_CHARS: usize = 3_200;
/// How much of a chunk's end is repeated at the beginning of the next, about 150 tokens.
const OVERLAP_CHARS: usize = 600;

/// The longest heading that is kept, with those above it.
const MAX_HEADING_CHARS: usize = 200;

/// A piece of a document's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The page on which it begins.
    pub(crate) page: Option<u32>,
    /// The headings above it, the outermost first: "Leave › Annual leave".
    pub(crate) heading: String,
    pub(crate) text: String,
}

/// Text under one heading on one page.
struct Section {
    page: Option<u32>,
    heading: String,
    text: String,
}

/// Returns the chunks of a document.
pub(crate) fn split(blocks: &[Block]) -> Vec<Chunk> {
    sections(blocks).iter().flat_map(split_section).collect()
}

fn sections(blocks: &[Block]) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    let mut path: Vec<(u8, String)> = Vec::new();
    let mut heading = String::new();
    // Some documents are made of headings: the words of one without text can be found too.
    let mut bare: Option<(u8, Section)> = None;
    for block in blocks {
        let (page, text) = match block {
            Block::Heading { level, text, page } => {
                all.extend(bare.take().filter(|(above, _)| above >= level).map(|(_, section)| section));
                heading = enter_heading(&mut path, *level, text);
                bare = Some((*level, Section { page: *page, heading: heading.clone(), text: text.clone() }));
                continue;
            }
            Block::Text { text, page } => (*page, text.clone()),
            Block::Row { head, cells } => (None, row_text(head, cells)),
            Block::Field { name, text } => (None, format!("{name}: {text}\n")),
        };
        if !text.trim().is_empty() {
            bare = None;
        }
        match all.last_mut() {
            Some(open) if open.heading == heading && open.page == page => open.text.push_str(&text),
            _ => all.push(Section { page, heading: heading.clone(), text }),
        }
    }
    all.extend(bare.map(|(_, section)| section));
    all.retain(|section| !section.text.trim().is_empty());
    all
}

/// Returns a row as a line that names its columns.
fn row_text(head: &[String], cells: &[String]) -> String {
    let named = head.iter().map(String::as_str).chain(std::iter::repeat("")).zip(cells);
    let named = named.filter(|(_, cell)| !cell.is_empty()).map(|(name, cell)| match name {
        "" => cell.clone(),
        name => format!("{name}: {cell}"),
    });
    named.collect::<Vec<_>>().join("; ") + "\n"
}

/// Returns the headings from the outermost to this one, as one line.
fn enter_heading(path: &mut Vec<(u8, String)>, level: u8, text: &str) -> String {
    path.retain(|(above, _)| *above < level);
    let head: String = text.chars().take(MAX_HEADING_CHARS).collect();
    path.push((level, head.split_whitespace().collect::<Vec<_>>().join(" ")));
    let words: Vec<&str> = path.iter().map(|(_, text)| text.as_str()).collect();
    words.join(" › ").chars().take(MAX_HEADING_CHARS).collect()
}

fn split_section(section: &Section) -> Vec<Chunk> {
    let chunk = |text: String| Chunk { page: section.page, heading: section.heading.clone(), text };
    let mut chunks = Vec::new();
    let (mut open, mut length): (Vec<&str>, usize) = (Vec::new(), 0);
    for sentence in sentences(&section.text) {
        let more = sentence.chars().count();
        if length + more > MAX_CHARS && !open.is_empty() {
            let text = open.concat().trim().to_owned();
            if !text.is_empty() {
                chunks.push(chunk(text));
            }
            let repeated = repeated_end(&open, OVERLAP_CHARS.min(MAX_CHARS.saturating_sub(more)));
            open.drain(..open.len() - repeated);
            length = open.iter().map(|s| s.chars().count()).sum();
        }
        open.push(sentence);
        length += more;
    }
    let rest = open.concat().trim().to_owned();
    if !rest.is_empty() {
        chunks.push(chunk(rest));
    }
    chunks
}

/// Returns how many of the last sentences fit into `most` characters.
fn repeated_end(sentences: &[&str], most: usize) -> usize {
    let mut left = most;
    let fits = |sentence: &&&str| {
        let length = sentence.chars().count();
        let fits = length <= left;
        left = left.saturating_sub(length);
        fits
    };
    sentences.iter().rev().take_while(fits).count()
}

/// Returns the sentences of a text with everything between them. One that is too long for a chunk is cut at a space.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        // The search for ends of sentences can take the square of a text's length.
        while let Some((end, _)) = rest.char_indices().nth(MAX_CHARS) {
            let cut = rest[..end].rfind(char::is_whitespace).map_or(end, |space| space + 1).max(1);
            let cut = (cut..=end).find(|at| rest.is_char_boundary(*at)).unwrap_or(end);
            let (head, tail) = rest.split_at(cut);
            all.extend(split_sentences(head));
            rest = tail;
        }
        all.extend(split_sentences(rest));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, page: Option<u32>) -> Block {
        Block::Text { text: text.to_owned(), page }
    }

    fn heading(level: u8, text: &str, page: Option<u32>) -> Block {
        Block::Heading { level, text: text.to_owned(), page }
    }

    #[test]
    fn headings_without_text_are_found_too() {
        let blocks = [heading(1, "Plan", None), heading(2, "Ship it", None), heading(2, "Rest", None)];
        let chunks = split(&blocks);
        let seen: Vec<_> = chunks.iter().map(|c| (c.heading.as_str(), c.text.as_str())).collect();
        assert_eq!(seen, [("Plan › Ship it", "Ship it"), ("Plan › Rest", "Rest")]);
        let many: Vec<_> = (0..40_000).map(|n| heading(2, &format!("Heading {n}"), None)).collect();
        assert_eq!(split(&many).len(), 40_000);
    }

    #[test]
    fn headings_and_pages_begin_a_chunk() {
        let blocks = [
            heading(1, "Leave\n", Some(1)),
            text("Everybody has leave.\n", Some(1)),
            heading(2, "Annual leave\n", Some(1)),
            text("25 days.\n# no heading\n", Some(1)),
            heading(1, "Travel\n", Some(1)),
            text("By train.", Some(2)),
        ];
        let chunks = split(&blocks);
        let seen: Vec<_> = chunks.iter().map(|c| (c.page, c.heading.as_str(), c.text.as_str())).collect();
        let expected = [
            (Some(1), "Leave", "Everybody has leave."),
            (Some(1), "Leave › Annual leave", "25 days.\n# no heading"),
            (Some(2), "Travel", "By train."),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn long_sections_are_cut_at_sentences_and_overlap() {
        let long: String = (0..300).map(|n| format!("This is sentence number {n}. ")).collect();
        let chunks = split(&[text(&long, None)]);
        assert!(chunks.len() > 2);
        for pair in chunks.windows(2) {
            assert!(pair[0].text.chars().count() <= MAX_CHARS);
            assert!(pair[0].text.ends_with('.'));
            let first = &pair[1].text[..pair[1].text.find('.').unwrap()];
            assert!(pair[0].text.contains(first), "{first} is repeated");
        }
        assert!((0..300).all(|n| chunks.iter().any(|c| c.text.contains(&format!("number {n}.")))));
    }

    #[test]
    fn a_sentence_without_end_is_cut_at_a_space() {
        assert!(split(&[text(&"word ".repeat(600_000), None)]).len() > 900);
        let chunks = split(&[text(&"größe ".repeat(5_000), None)]);
        assert!(chunks.iter().all(|c| c.text.chars().count() <= MAX_CHARS && c.text.ends_with("größe")));
        assert!(split(&[text(&"ß".repeat(10_000), None)]).len() > 3);
        assert_eq!(split(&[text(" \n ", None)]), []);
    }

    #[test]
    fn rows_name_their_columns() {
        let row =
            Block::Row { head: vec!["Month".into(), "Sum".into()], cells: vec!["May".into(), "120".into()] };
        assert_eq!(split(&[row])[0].text, "Month: May; Sum: 120");
        let cells = vec!["May".into(), String::new(), "late".into()];
        let row = Block::Row { head: vec!["Month".into(), "Sum".into()], cells };
        assert_eq!(split(&[row])[0].text, "Month: May; late");
    }
}
