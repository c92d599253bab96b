//! Characters, for every platform: what is invisible is made visible, what is too long is cut.

/// Makes every control character visible. Characters that change the direction of writing count as such, because they
/// could make an address look like another one.
pub(crate) fn escape_control_chars(text: &str) -> String {
    let shown = |c: char| match c {
        '\r' => None,
        '\n' | '\t' => Some(c),
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Some('\u{FFFD}'),
        c if c.is_control() => Some('\u{FFFD}'),
        c => Some(c),
    };
    text.chars().filter_map(shown).collect()
}

/// Does the same and joins the lines.
pub(crate) fn to_one_line(text: &str) -> String {
    escape_control_chars(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Counts the characters.
pub(crate) fn char_count(text: &str) -> usize {
    text.chars().count()
}

/// Cuts after at most `max` characters, at the last line or word end in the latter half if there is one.
pub(crate) fn split_at_boundary(text: &str, max: usize) -> (&str, &str) {
    let Some((end, _)) = text.char_indices().nth(max) else { return (text, "") };
    let head = &text[..end];
    let late = |at: &usize| *at > end / 2;
    let at = head.rfind('\n').filter(late).or_else(|| head.rfind(' ').filter(late)).map_or(end, |at| at + 1);
    text.split_at(at)
}

/// Cuts to at most `max` characters, ending in `…` if it was longer. Only for labels: other text must say how much is
/// missing.
pub(crate) fn truncate_label(text: &str, max: usize) -> String {
    let text = to_one_line(text);
    if char_count(&text) <= max {
        return text;
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

/// Returns the first URL in the text, and what precedes it.
pub(crate) fn first_address(text: &str) -> Option<(&str, &str)> {
    let at = [text.find("https://"), text.find("http://")].into_iter().flatten().min()?;
    let (before, tail) = text.split_at(at);
    let end = tail.find(|c: char| c.is_whitespace() || "<>\"`|\u{200B}".contains(c)).unwrap_or(tail.len());
    let mut found = tail[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', ']', '}']);
    if found.ends_with(')') && !found.contains('(') {
        found = found.trim_end_matches(')');
    }
    Some((before, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bidi_characters_are_made_visible() {
        assert_eq!(escape_control_chars("a\u{202E}b\r\n\u{0}c\td"), "a\u{FFFD}b\n\u{FFFD}c\td");
    }

    #[test]
    fn cuts_prefer_line_ends() {
        assert_eq!(split_at_boundary("one two\nthree four", 12), ("one two\n", "three four"));
        assert_eq!(split_at_boundary("abcdef", 4), ("abcd", "ef"));
        assert_eq!(split_at_boundary("äöü", 3), ("äöü", ""));
    }
}
