//! How a model writes citations, and which sentence each belongs to.

use std::ops::Range;

use crate::chunk::sentences;

/// The length of a handle.
pub(crate) const HANDLE_LENGTH: usize = 7;
const QUOTES: [char; 9] = ['"', '“', '”', '„', '«', '»', '\'', '‘', '’'];
/// Stands for a citation while an answer is cut into sentences.
pub(super) const PLACEHOLDER: char = '\u{F8FF}';

/// A citation as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Citation {
    pub(super) handle: String,
    pub(super) quote: String,
}

/// Replaces each citation by a placeholder. A number in brackets that the model wrote by itself would look like a
/// citation that holds, so it goes, except in code, where it is an index.
pub(super) fn extract_citations(text: &str) -> (String, Vec<Citation>) {
    let (mut bare, mut citations) = (String::new(), Vec::new());
    let text = text.replace(PLACEHOLDER, "");
    let code = find_code(&text);
    let is_code = |at: usize| {
        let next = code.partition_point(|code| code.range.end <= at);
        code.get(next).is_some_and(|code| code.range.start <= at)
    };
    let mut rest = text.as_str();
    while let Some(open) = rest.find('[') {
        let at = text.len() - rest.len() + open;
        let (before, from) = rest.split_at(open);
        bare.push_str(before);
        if let Some((cited, length)) = parse_citations(from) {
            let placeholders = vec![PLACEHOLDER.to_string(); cited.len()];
            bare.push_str(&placeholders.join(" "));
            citations.extend(cited);
            rest = &from[length..];
        } else if let Some(length) = bare_number(from).filter(|_| !is_code(at)) {
            // Of "[[2]1]" no "[1]" may stay.
            bare.truncate(bare.trim_end_matches(|c: char| c == '[' || c.is_whitespace()).len());
            rest = &from[length..];
        } else {
            bare.push('[');
            rest = &from[1..];
        }
    }
    bare.push_str(rest);
    (bare, citations)
}

/// Where there is code: between lines of at least three backticks, or in a paragraph between equally many.
pub(super) struct Code {
    pub(super) range: Range<usize>,
    pub(super) is_fence: bool,
}

pub(super) fn find_code(text: &str) -> Vec<Code> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.match_indices('`') {
        match runs.last_mut().filter(|run| run.end == at) {
            Some(run) => run.end += 1,
            None => runs.push(at..at + 1),
        }
    }
    let is_first = |run: &Range<usize>| {
        let before = text[..run.start].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with('\n')
    };
    let mut all = Vec::new();
    let mut rest = runs.as_slice();
    while let Some((open, later)) = rest.split_first() {
        let is_alone = later.first().is_none_or(|next| text[open.end..next.start].contains('\n'));
        let is_fence = open.len() >= 3 && is_first(open) && is_alone;
        let closing = match is_fence {
            true => later.iter().position(|run| run.len() >= open.len() && is_first(run)),
            false => {
                let closing = later.iter().position(|run| run.len() == open.len());
                closing.filter(|at| !text[open.end..later[*at].start].contains("\n\n"))
            }
        };
        let end = closing.map(|at| later[at].end).or(is_fence.then_some(text.len()));
        all.extend(end.map(|end| Code { range: open.start..end, is_fence }));
        rest = match closing {
            Some(at) => &later[at + 1..],
            None if is_fence => &[],
            None => later,
        };
    }
    all
}

/// Returns the length of `[12]` or `[1, 2]` at the beginning of a text.
fn bare_number(text: &str) -> Option<usize> {
    /// The longest text between the brackets.
    const MAX_LENGTH: usize = 12;
    let end = text.bytes().take(MAX_LENGTH + 2).position(|b| b == b']')?;
    let inner = text.get(1..end)?;
    let is_mark = inner.chars().all(|c| c.is_ascii_digit() || " ,-–^".contains(c));
    let has_digit = inner.bytes().any(|b| b.is_ascii_digit());
    (is_mark && has_digit).then_some(end + 1)
}

/// Parses `[p3f2a91]`, `[p3f2a91 "words"]`, `[p3f2a91: “words”]` or several of these in one bracket, at the beginning of a
/// text; also returns the length.
fn parse_citations(text: &str) -> Option<(Vec<Citation>, usize)> {
    let mut all = Vec::new();
    let mut at = 1;
    loop {
        let (citation, length) = parse_citation(&text[at..])?;
        all.push(citation);
        at += length;
        match next_handle(&text[at..]) {
            Some(next) => at += next,
            None => return Some((all, at + text[at..].find(']')? + 1)),
        }
    }
}

fn starts_with_handle(text: &str) -> bool {
    let is_handle =
        |handle: &str| handle.starts_with('p') && handle[1..].bytes().all(|b| b.is_ascii_hexdigit());
    text.get(..HANDLE_LENGTH).is_some_and(is_handle)
}

/// Returns where the next handle of a list begins, behind ", " or "and".
fn next_handle(text: &str) -> Option<usize> {
    let rest = text.trim_start_matches(|c: char| c.is_whitespace() || ",;".contains(c));
    let rest = rest.strip_prefix("and ").unwrap_or(rest).trim_start();
    (rest.len() < text.len() && starts_with_handle(rest)).then_some(text.len() - rest.len())
}

/// Parses a handle and the words behind it; also returns the length of both.
fn parse_citation(text: &str) -> Option<(Citation, usize)> {
    if !starts_with_handle(text) {
        return None;
    }
    let (handle, after) = text.split_at(HANDLE_LENGTH);
    let quoted = after.trim_start_matches(|c: char| c.is_whitespace() || c == ':' || c == ',');
    // The next citation is never a part of this one.
    let room = &after[..after.find("[p").unwrap_or(after.len())];
    let begin = after.len() - quoted.len();
    let is_next = next_handle(after).is_some();
    let (quote, end) = match quoted.chars().next().filter(|c| QUOTES.contains(c)) {
        _ if is_next => ("", 0),
        Some(mark) => parse_quote(room, begin + mark.len_utf8())?,
        None => {
            let is_end = |at: usize, c: char| c == ']' || next_handle(&room[at..]).is_some();
            let end = room.char_indices().find(|(at, c)| is_end(*at, *c))?.0;
            (room.get(begin..end).unwrap_or_default(), end)
        }
    };
    let quote = quote.trim_matches(|c: char| c.is_whitespace() || QUOTES.contains(&c) || ":,".contains(c));
    Some((Citation { quote: quote.to_owned(), handle: handle.to_owned() }, HANDLE_LENGTH + end))
}

/// Returns the quote that begins there, and where it ends. A quote may contain brackets and marks, so it ends with a mark
/// that a bracket or the next handle follows; else with the first one, as in `"25 days", p. 4]`.
fn parse_quote(text: &str, begin: usize) -> Option<(&str, usize)> {
    let marks = || text.get(begin..).unwrap_or_default().match_indices(QUOTES).map(|(at, _)| begin + at);
    let behind = |at: usize| text[at..].trim_start_matches(QUOTES);
    let is_last = |at: &usize| {
        let behind = behind(*at);
        behind.trim_start().starts_with(']') || next_handle(behind).is_some()
    };
    let closing = marks().find(is_last).or_else(|| marks().next())?;
    Some((&text[begin..closing], text.len() - behind(closing).len()))
}

/// Cuts an answer into sentences. A citation that follows a sentence's end, also in a line of its own, belongs to that
/// sentence.
pub(super) fn split_claims(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for segment in sentences(text) {
        let led = segment.trim_start_matches(|c: char| c == PLACEHOLDER || c.is_whitespace());
        let (lead, rest) = segment.split_at(segment.len() - led.len());
        let spoken = all.iter().rposition(|before| before.contains(char::is_alphanumeric));
        match spoken.filter(|_| lead.contains(PLACEHOLDER)) {
            Some(at) => {
                // What stands in between, such as a line end, stays before the citation.
                let between: String = all.drain(at + 1..).collect();
                all[at].push_str(&between);
                all[at].push_str(lead);
                // The full stop of "25 days. [p3f2a91 …]." belongs to it too.
                if rest.contains(char::is_alphanumeric) {
                    all.push(rest.to_owned())
                } else {
                    all[at].push_str(rest)
                }
            }
            None => all.push(segment.to_owned()),
        }
    }
    all.retain(|sentence| !sentence.is_empty());
    all
}

/// Returns how long the bullet or the number at the beginning of a line is. "3. März" is a date, so a number with a full
/// stop has small letters, a number or a mark behind it.
pub(super) fn list_prefix(line: &str) -> usize {
    let rest = line.trim_start();
    let text = rest.strip_prefix(['-', '*', '+', '•', '>']).or_else(|| {
        let text = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = (1..=2).contains(&(rest.len() - text.len()));
        let is_item = |text: &&str| {
            text.trim_start()
                .starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit() || "`*".contains(c))
        };
        text.strip_prefix(')').or_else(|| text.strip_prefix('.').filter(is_item)).filter(|_| is_number)
    });
    let text = text.filter(|text| text.starts_with(' ')).unwrap_or(rest).trim_start();
    line.len() - text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_begins_behind_its_bullet() {
        for (line, prefix) in [
            ("- You have", "- "),
            ("  * You have", "  * "),
            ("1) You have", "1) "),
            ("12. you have", "12. "),
            ("1. 25 days", "1. "),
            ("2. `rm` removes it", "2. "),
            ("3. März ist es", ""),
            ("*You* have", ""),
            ("25 days", ""),
            ("2026) No", ""),
            ("", ""),
        ] {
            assert_eq!(&line[..list_prefix(line)], prefix, "{line}");
        }
    }
}
