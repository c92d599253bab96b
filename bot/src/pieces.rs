//! A value that is longer than one input of a platform, as several pieces, and back.
//!
//! What stands between two pieces (an empty line, a line end, a space) is written into the second one's id and
//! put back when they are joined: nobody sees it, and it does not matter whether the platform keeps white space
//! at the ends of a value.

use crate::text::letters;

/// Between a field's id and the number of a piece.
const PIECE: char = '~';
/// What may stand between two pieces, by the letter that says so.
const BETWEEN: [(char, &str); 4] = [('p', "\n\n"), ('n', "\n"), ('s', " "), ('x', "")];

/// The id of the input that holds a piece; the first has the field's own.
pub(crate) fn piece_id(field: &str, number: usize, between: char) -> String {
    match number {
        0 => field.to_owned(),
        n => format!("{field}{PIECE}{n}{between}"),
    }
}

/// A value as pieces that fit into an input of `most` characters each, with what stood before each of them. A
/// value that has to be cut is cut into pieces of about `cut`.
pub(crate) fn pieces(value: &str, most: usize, cut: usize) -> Vec<(char, String)> {
    let mut all = Vec::new();
    let (mut between, mut rest) = ('x', value);
    while letters(rest) > most {
        let end = rest.char_indices().nth(cut).map_or(rest.len(), |(at, _)| at);
        let at = BETWEEN.iter().find_map(|(letter, gap)| {
            let at = if gap.is_empty() { end } else { rest[..end].rfind(gap)? };
            // Not so near the beginning that hardly anything would stand in the piece, and not within a wider
            // gap, of which one side would be lost.
            let fits = at > end / 2 && (gap.is_empty() || sound(rest, at, gap));
            fits.then_some((*letter, at, at + gap.len()))
        });
        let (letter, at, next) = at.unwrap_or(('x', end, end));
        all.push((between, rest[..at].to_owned()));
        (between, rest) = (letter, &rest[next..]);
    }
    all.push((between, rest.to_owned()));
    all
}

/// Whether nothing white stands on either side of the gap.
fn sound(text: &str, at: usize, gap: &str) -> bool {
    let white = |c: Option<char>| c.is_none_or(char::is_whitespace);
    !white(text[..at].chars().next_back()) && !white(text[at + gap.len()..].chars().next())
}

/// A piece that was emptied goes with what stood before it.
pub(crate) fn joined<'a>(pieces: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut whole = String::new();
    for (gap, typed) in pieces.filter(|(_, typed)| !typed.is_empty()) {
        if !whole.is_empty() {
            whole.push_str(gap);
        }
        whole.push_str(typed);
    }
    whole
}

/// The field, the number of the piece, and what stands before it.
pub(crate) fn piece_of(block: &str) -> (&str, usize, &'static str) {
    let read = || {
        let (field, rest) = block.split_once(PIECE)?;
        let letter = rest.chars().next_back()?;
        let (_, gap) = BETWEEN.iter().find(|(one, _)| *one == letter)?;
        Some((field, rest.strip_suffix(letter)?.parse().ok()?, *gap))
    };
    read().unwrap_or((block, 0, ""))
}
