//! Characters, as every platform shows them: what cannot be seen is made visible, what is long is cut.

/// The text with every control character made visible. Characters that turn the direction of writing could
/// make an address read as another one, so they count as such.
pub(crate) fn visible(text: &str) -> String {
    let shown = |c: char| match c {
        '\r' => None,
        '\n' | '\t' => Some(c),
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Some('\u{FFFD}'),
        c if c.is_control() => Some('\u{FFFD}'),
        c => Some(c),
    };
    text.chars().filter_map(shown).collect()
}

/// The same on one line.
pub(crate) fn one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many characters it has.
pub(crate) fn letters(text: &str) -> usize {
    text.chars().count()
}

/// Cuts after at most `max` characters, at the last line or word end in the latter half where there is one.
pub(crate) fn split(text: &str, max: usize) -> (&str, &str) {
    let Some((end, _)) = text.char_indices().nth(max) else { return (text, "") };
    let head = &text[..end];
    let late = |at: &usize| *at > end / 2;
    let at = head.rfind('\n').filter(late).or_else(|| head.rfind(' ').filter(late)).map_or(end, |at| at + 1);
    text.split_at(at)
}

/// At most `max` characters, the last one `…` where something is missing. For labels only: whatever carries
/// meaning says how much is missing.
pub(crate) fn label(text: &str, max: usize) -> String {
    let text = one_line(text);
    if letters(&text) <= max {
        return text;
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

/// The first address written out in the text, and what stands before it.
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
    fn turned_writing_is_shown() {
        assert_eq!(visible("a\u{202E}b\r\n\u{0}c\td"), "a\u{FFFD}b\n\u{FFFD}c\td");
    }

    #[test]
    fn cuts_prefer_line_ends() {
        assert_eq!(split("one two\nthree four", 12), ("one two\n", "three four"));
        assert_eq!(split("abcdef", 4), ("abcd", "ef"));
        assert_eq!(split("äöü", 3), ("äöü", ""));
    }
}
