//! What one result may take of what the model reads at once. It reads JSON, in which a quotation mark is two
//! characters, and of what is longer than it reads only the beginning: so what is left out is chosen here, and said.

use serde_json::Value;

/// Characters of a result as they are written, well below what the core passes on.
pub(super) const ROOM: usize = 18_000;

/// How long it is once it is written.
pub(super) fn written(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// The beginning of a text that is no longer than this once it is written.
pub(super) fn fitting(text: &str, most: usize) -> &str {
    let mut length = 0;
    let beyond = text.char_indices().find(|(_, c)| {
        length += letters(*c);
        length > most
    });
    beyond.map_or(text, |(end, _)| &text[..end])
}

/// As `serde_json` writes it.
fn letters(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..' ' => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_as_long_as_it_is_written() {
        let odd: String = ('\0'..='\u{a0}').chain("äß😀\u{2028}".chars()).collect();
        assert_eq!(odd.chars().map(letters).sum::<usize>() + 2, written(&json!(odd)));
        assert_eq!(fitting("\"a\"b", 4), "\"a");
        assert_eq!(fitting("\"a\"b", 5), "\"a\"");
        assert_eq!((fitting("äb", 1), fitting("äb", 2), fitting("", 0)), ("ä", "äb", ""));
    }
}
