//! How a model writes citations, and which sentence each belongs to.

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
/// citation that holds, so it goes.
pub(super) fn extract_citations(text: &str) -> (String, Vec<Citation>) {
    let (mut bare, mut citations) = (String::new(), Vec::new());
    let text = text.replace(PLACEHOLDER, "");
    let mut rest = text.as_str();
    while let Some(open) = rest.find('[') {
        let (before, from) = rest.split_at(open);
        bare.push_str(before);
        if let Some((citation, length)) = parse_citation(from) {
            bare.push(PLACEHOLDER);
            citations.push(citation);
            rest = &from[length..];
        } else if let Some(length) = bare_number(from) {
            bare.truncate(bare.trim_end().len());
            rest = &from[length..];
        } else {
            bare.push('[');
            rest = &from[1..];
        }
    }
    bare.push_str(rest);
    (bare, citations)
}

/// Returns the length of `[12]` or `[1, 2]` at the beginning of a text.
fn bare_number(text: &str) -> Option<usize> {
    /// The longest text between the brackets.
    const MAX_LENGTH: usize = 12;
    let end = text.find(']')?;
    let inner = text.get(1..end)?;
    let is_mark = inner.chars().all(|c| c.is_ascii_digit() || " ,-–^".contains(c));
    let has_digit = inner.bytes().any(|b| b.is_ascii_digit());
    (is_mark && has_digit && inner.len() <= MAX_LENGTH).then_some(end + 1)
}

/// Parses `[p3f2a91]`, `[p3f2a91 "words"]` or `[p3f2a91: “words”]` at the beginning of a text; also returns its length.
fn parse_citation(text: &str) -> Option<(Citation, usize)> {
    let handle = text.get(1..1 + HANDLE_LENGTH)?;
    let is_handle = handle.starts_with('p') && handle[1..].bytes().all(|b| b.is_ascii_hexdigit());
    if !is_handle {
        return None;
    }
    let after = &text[1 + HANDLE_LENGTH..];
    let quoted = after.trim_start_matches(|c: char| c.is_whitespace() || c == ':' || c == ',');
    // The next citation is never a part of this one.
    let room = &after[..after.find("[p").unwrap_or(after.len())];
    let begin = after.len() - quoted.len();
    let (quote, end) = match quoted.chars().next().filter(|c| QUOTES.contains(c)) {
        Some(mark) => parse_quote(room, begin + mark.len_utf8())?,
        None => {
            let end = room.find(']')?;
            (room.get(begin..end).unwrap_or_default(), end)
        }
    };
    let quote = quote.trim_matches(|c: char| c.is_whitespace() || QUOTES.contains(&c) || ":,".contains(c));
    Some((Citation { quote: quote.to_owned(), handle: handle.to_owned() }, 1 + HANDLE_LENGTH + end + 1))
}

/// Returns the quote that begins there, and where the bracket behind it is. A quote may contain brackets and marks, so it
/// ends with a mark that a bracket follows; else with the first one, as in `"25 days", p. 4]`.
fn parse_quote(text: &str, begin: usize) -> Option<(&str, usize)> {
    let marks = || text.get(begin..).unwrap_or_default().match_indices(QUOTES).map(|(at, _)| begin + at);
    let is_last = |at: &usize| text[*at..].trim_start_matches(QUOTES).trim_start().starts_with(']');
    let closing = marks().find(is_last).or_else(|| marks().next())?;
    Some((&text[begin..closing], closing + text[closing..].find(']')?))
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
