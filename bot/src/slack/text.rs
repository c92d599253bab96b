//! Characters: what Slack could interpret is broken or escaped. Knows no blocks.

use std::fmt::{self, Write};

use serde_json::Value;

pub(super) use crate::text::{
    char_count, escape_control_chars, split_at_boundary, to_one_line, truncate_label,
};

/// Breaks what Slack could read as a mention; invisible to the reader.
const BREAK: char = '\u{200B}';
const MASS_MENTIONS: [&str; 3] = ["here", "channel", "everyone"];

/// Returns how many characters a value has as JSON, with the comma behind it.
pub(super) fn json_size(value: &Value) -> usize {
    struct Count(usize);
    impl Write for Count {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += char_count(text);
            Ok(())
        }
    }
    let mut count = Count(1);
    // Counting does not fail.
    let _ = write!(count, "{value}");
    count.0
}

/// Breaks `<!channel>`, `<@U…>` and `<#C…>`. Rich text does not interpret them, but copies of it elsewhere might.
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
pub(super) fn break_mentions(text: &str) -> String {
    let text = unpinged_tokens(text);
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        out.push(c);
        if c == '@' && !before.is_alphanumeric() && is_mass_mention(&text[at + 1..]) {
            out.push(BREAK);
        }
        before = c;
    }
    out
}

fn is_mass_mention(after: &str) -> bool {
    MASS_MENTIONS.iter().any(|word| {
        let head = after.get(..word.len()).is_some_and(|h| h.eq_ignore_ascii_case(word));
        head && !after[word.len()..].starts_with(|c: char| c.is_alphanumeric())
    })
}

/// Escapes `&`, `<` and `>` as Slack requires in message text.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mass_mentions_are_broken_and_addresses_kept() {
        assert_eq!(
            break_mentions("@here @Channel, (@everyone)"),
            "@\u{200B}here @\u{200B}Channel, (@\u{200B}everyone)"
        );
        assert_eq!(
            break_mentions("<!channel> <@U1> <#C1>"),
            "<\u{200B}!channel> <\u{200B}@U1> <\u{200B}#C1>"
        );
        for whole in ["bo@channel.test", "@hereafter", "a < b", "x <b> y"] {
            assert_eq!(break_mentions(whole), whole);
        }
    }
}
