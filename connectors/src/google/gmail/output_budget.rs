//! The size limit of one tool result. The model reads JSON, where a quotation mark takes two characters, and the core
//! cuts longer results at the end. So the tools choose here what to leave out, and say so.

use serde_json::Value;

/// The maximum number of characters of a result as JSON, well below the core's limit.
pub(super) const ROOM: usize = 18_000;

/// Returns its length as JSON.
pub(super) fn json_length(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// Returns the beginning of a text that fits into this length as JSON.
pub(super) fn fitting(text: &str, most: usize) -> &str {
    let mut length = 0;
    let beyond = text.char_indices().find(|(_, c)| {
        length += json_char_length(*c);
        length > most
    });
    beyond.map_or(text, |(end, _)| &text[..end])
}

/// Returns the length as `serde_json` writes it.
fn json_char_length(c: char) -> usize {
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
    fn length_counts_json_escapes() {
        let odd: String = ('\0'..='\u{a0}').chain("äß😀\u{2028}".chars()).collect();
        assert_eq!(odd.chars().map(json_char_length).sum::<usize>() + 2, json_length(&json!(odd)));
        assert_eq!(fitting("\"a\"b", 4), "\"a");
        assert_eq!(fitting("\"a\"b", 5), "\"a\"");
        assert_eq!((fitting("äb", 1), fitting("äb", 2), fitting("", 0)), ("ä", "äb", ""));
    }
}
