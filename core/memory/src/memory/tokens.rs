//! Estimates the tokens of a text from above, without a tokenizer: the model's tokenizer is unknown here, and an upper
//! bound is safe for all of them.
//!
//! `tests/tokens` compares it with a real tokenizer (o200k), also on random letters: it is never below, and for prose,
//! code, JSON and links two to three times the real number, so prompts rather contain less memory than more.

/// Character classes: a tokenizer joins characters of one class, rarely of several.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Small,
    Capital,
    Digit,
    Space,
    Sign,
    Beyond,
}

impl CharClass {
    fn from_char(c: char) -> Self {
        match c {
            'a'..='z' => Self::Small,
            'A'..='Z' => Self::Capital,
            '0'..='9' => Self::Digit,
            ' ' => Self::Space,
            c if c.is_ascii() => Self::Sign,
            _ => Self::Beyond,
        }
    }
}

/// One token, in sixteenths.
const TOKEN: usize = 16;

/// Returns the most tokens that a text can take.
#[must_use]
pub fn bound(text: &str) -> usize {
    let mut parts = 0;
    let mut letters = text.chars().peekable();
    while let Some(first) = letters.next() {
        let kind = CharClass::from_char(first);
        let (mut count, mut bytes) = (1, first.len_utf8());
        while let Some(more) = letters.next_if(|c| CharClass::from_char(*c) == kind) {
            count += 1;
            bytes += more.len_utf8();
        }
        parts += match kind {
            // Three letters count as two tokens, because a tokenizer splits unknown words into pieces that short.
            CharClass::Small => (count * 11).max(TOKEN),
            CharClass::Digit => (count * TOKEN / 2).max(TOKEN),
            // A space before a word belongs to the word's token; a number's token does not include it.
            CharClass::Space
                if count == 1
                    && letters.peek().is_none_or(|c| CharClass::from_char(*c) != CharClass::Digit) =>
            {
                TOKEN / 4
            }
            CharClass::Space => (count + 1) * TOKEN / 2,
            // A capital begins a token.
            CharClass::Capital | CharClass::Sign => count * TOKEN,
            // A token is at least one byte.
            CharClass::Beyond => bytes * TOKEN,
        };
    }
    parts / TOKEN + 1
}

/// Returns the longest beginning of a text that takes at most `most` tokens for certain.
#[must_use]
pub fn truncate_to_tokens(text: &str, most: usize) -> &str {
    if bound(text) <= most {
        return text;
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    // The bound grows with the text, so a binary search finds the place.
    let fits = ends.partition_point(|end| bound(&text[..*end]) <= most);
    fits.checked_sub(1).and_then(|last| ends.get(last)).map_or("", |end| &text[..*end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_truncated_at_a_char_boundary() {
        for text in [
            "Running late, sorry about that!",
            "日本語のテキストです。よろしく",
            "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            for most in 1..30 {
                let head = truncate_to_tokens(text, most);
                assert!(bound(head) <= most && text.starts_with(head), "{most} of {text}: {head}");
            }
            assert_eq!(truncate_to_tokens(text, 500), text);
        }
    }
}
