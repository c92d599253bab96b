//! Splits a value that is longer than one input of a platform into several pieces, and joins them.
//!
//! The separator of two pieces (an empty line, a line end, a space) is stored in the second one's id and restored when
//! they are joined. The user does not see it, and it does not matter whether the platform keeps white space at the ends
//! of a value.

use crate::text::char_count;

/// The separator between a field's id and the number of a piece.
const CHUNK_MARK: char = '~';
/// The possible separators of two pieces, by their letter in the id.
const GAPS: [(char, &str); 4] = [('p', "\n\n"), ('n', "\n"), ('s', " "), ('x', "")];

/// Returns the id of the input with a piece; the first has the field's own.
pub(crate) fn chunk_id(field: &str, number: usize, between: char) -> String {
    match number {
        0 => field.to_owned(),
        n => format!("{field}{CHUNK_MARK}{n}{between}"),
    }
}

/// Splits a value into pieces of at most `most` characters, each with the separator before it. A value that is too long
/// is split into pieces of about `cut`.
pub(crate) fn split_into_chunks(value: &str, most: usize, cut: usize) -> Vec<(char, String)> {
    let mut all = Vec::new();
    let (mut between, mut rest) = ('x', value);
    while char_count(rest) > most {
        let end = rest.char_indices().nth(cut).map_or(rest.len(), |(at, _)| at);
        let at = GAPS.iter().find_map(|(letter, gap)| {
            let at = if gap.is_empty() { end } else { rest[..end].rfind(gap)? };
            // Not so near the beginning that the piece would be almost empty, and not within a wider gap, of which one
            // side would be lost.
            let fits = at > end / 2 && (gap.is_empty() || is_clean_cut(rest, at, gap));
            fits.then_some((*letter, at, at + gap.len()))
        });
        let (letter, at, next) = at.unwrap_or(('x', end, end));
        all.push((between, rest[..at].to_owned()));
        (between, rest) = (letter, &rest[next..]);
    }
    all.push((between, rest.to_owned()));
    all
}

/// Returns whether there is text without white space on both sides of the gap.
fn is_clean_cut(text: &str, at: usize, gap: &str) -> bool {
    let white = |c: Option<char>| c.is_none_or(char::is_whitespace);
    !white(text[..at].chars().next_back()) && !white(text[at + gap.len()..].chars().next())
}

/// Joins the pieces. An emptied piece is dropped with its separator.
pub(crate) fn join_chunks<'a>(pieces: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut whole = String::new();
    for (gap, typed) in pieces.filter(|(_, typed)| !typed.is_empty()) {
        if !whole.is_empty() {
            whole.push_str(gap);
        }
        whole.push_str(typed);
    }
    whole
}

/// Returns the field, the number of the piece, and the separator before it.
pub(crate) fn parse_chunk_id(block: &str) -> (&str, usize, &'static str) {
    let read = || {
        let (field, rest) = block.split_once(CHUNK_MARK)?;
        let letter = rest.chars().next_back()?;
        let (_, gap) = GAPS.iter().find(|(one, _)| *one == letter)?;
        Some((field, rest.strip_suffix(letter)?.parse().ok()?, *gap))
    };
    read().unwrap_or((block, 0, ""))
}
