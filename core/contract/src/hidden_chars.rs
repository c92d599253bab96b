//! Characters that reorder or hide text appear on cards as code points, so that a card shows what the text contains.

use std::borrow::Cow;

/// Replaces such characters with their code points: "pay\u{202e}" is shown as "pay⟨202E⟩". Characters that join the
/// parts of an emoji, or of a word in some scripts, are kept.
#[must_use]
pub fn show_hidden_chars(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden_char) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden_char(c) { shown.push_str(&format!("⟨{:04X}⟩", u32::from(c))) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Does the same for the values of named fields. A field without a value says nothing, and is left out.
pub fn fields(fields: &[(String, String)]) -> Vec<(String, String)> {
    let filled = fields.iter().filter(|(_, value)| !value.is_empty());
    filled.map(|(name, value)| (name.clone(), show_hidden_chars(value).into_owned())).collect()
}

/// Does the same for lines.
pub fn lines(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| show_hidden_chars(line).into_owned()).collect()
}

/// Returns whether a character reorders or hides text.
#[must_use]
pub fn is_hidden_char(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}'
            | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_chars_are_shown() {
        for (text, shown) in [
            ("Bo", "Bo"),
            ("invoice\u{202e}fdp.exe", "invoice⟨202E⟩fdp.exe"),
            ("a\u{200b}b\u{feff}\u{ad}", "a⟨200B⟩b⟨FEFF⟩⟨00AD⟩"),
            ("\u{e0041}x\u{e0100}", "⟨E0041⟩x⟨E0100⟩"),
            ("pay \u{200f}100\u{200e} EUR", "pay ⟨200F⟩100⟨200E⟩ EUR"),
            ("👩\u{200d}💻 می\u{200c}خواهم", "👩\u{200d}💻 می\u{200c}خواهم"),
        ] {
            assert_eq!(show_hidden_chars(text), shown);
        }
    }
}
