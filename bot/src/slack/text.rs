//! Characters: what may be shown as it is, what must be broken or escaped. It knows no blocks.

/// Breaks what Slack could take for a mention; invisible to the reader.
const BREAK: char = '\u{200B}';
const LOUD: [&str; 3] = ["here", "channel", "everyone"];

/// The text with every control character made visible. Characters that turn the direction of writing could
/// make an address read as another one, so they count as such.
pub(super) fn visible(text: &str) -> String {
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
pub(super) fn one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Breaks `<!channel>`, `<@U…>` and `<#C…>`. Rich text does not read them, but copies of it elsewhere might.
pub(super) fn unpinged_tokens(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        out.push(c);
        if c == '<' && matches!(rest.peek(), Some('!' | '@' | '#')) {
            out.push(BREAK);
        }
    }
    out
}

/// Also breaks `@here`, `@channel` and `@everyone`.
pub(super) fn unpinged(text: &str) -> String {
    let text = unpinged_tokens(text);
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        out.push(c);
        if c == '@' && !before.is_alphanumeric() && is_loud(&text[at + 1..]) {
            out.push(BREAK);
        }
        before = c;
    }
    out
}

fn is_loud(after: &str) -> bool {
    LOUD.iter().any(|word| {
        let head = after.get(..word.len()).is_some_and(|h| h.eq_ignore_ascii_case(word));
        head && !after[word.len()..].starts_with(|c: char| c.is_alphanumeric())
    })
}

/// `&`, `<` and `>` as Slack wants them in message text.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// How many characters it has.
pub(super) fn letters(text: &str) -> usize {
    text.chars().count()
}

/// Cuts after at most `max` characters, at the last line or word end in the latter half where there is one.
pub(super) fn split(text: &str, max: usize) -> (&str, &str) {
    let Some((end, _)) = text.char_indices().nth(max) else { return (text, "") };
    let head = &text[..end];
    let late = |at: &usize| *at > end / 2;
    let at = head.rfind('\n').filter(late).or_else(|| head.rfind(' ').filter(late)).map_or(end, |at| at + 1);
    text.split_at(at)
}

/// At most `max` characters, the last one `…` where something is missing. For labels only: whatever carries
/// meaning says how much is missing.
pub(super) fn label(text: &str, max: usize) -> String {
    let text = one_line(text);
    if letters(&text) <= max {
        return text;
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loud_words_are_broken_and_addresses_stay_whole() {
        assert_eq!(
            unpinged("@here @Channel, (@everyone)"),
            "@\u{200B}here @\u{200B}Channel, (@\u{200B}everyone)"
        );
        assert_eq!(unpinged("<!channel> <@U1> <#C1>"), "<\u{200B}!channel> <\u{200B}@U1> <\u{200B}#C1>");
        for whole in ["bo@channel.test", "@hereafter", "a < b", "x <b> y"] {
            assert_eq!(unpinged(whole), whole);
        }
    }

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
