//! Tokens of a text, bounded from above without a tokenizer: which one a model has is not known here, and a bound on
//! the safe side serves them all.
//!
//! `tests/tokens` compares it with a real one (o200k), also over letters without sense: it is never below, and over
//! prose, code, JSON and links twice to three times the tokens, so that what is remembered is rather less than more.

/// What letters have in common for a tokenizer: it joins those of a kind, rarely others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Small,
    Capital,
    Digit,
    Space,
    Sign,
    Beyond,
}

impl Kind {
    fn of(c: char) -> Self {
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

/// A token, in parts.
const TOKEN: usize = 16;

/// At most how many tokens a text takes.
#[must_use]
pub fn bound(text: &str) -> usize {
    let mut parts = 0;
    let mut letters = text.chars().peekable();
    while let Some(first) = letters.next() {
        let kind = Kind::of(first);
        let (mut count, mut bytes) = (1, first.len_utf8());
        while let Some(more) = letters.next_if(|c| Kind::of(*c) == kind) {
            count += 1;
            bytes += more.len_utf8();
        }
        parts += match kind {
            // Three letters are two tokens: words that a tokenizer does not know are cut as short as that.
            Kind::Small => (count * 11).max(TOKEN),
            Kind::Digit => (count * TOKEN / 2).max(TOKEN),
            // The space before a word belongs to its token; numbers take none along.
            Kind::Space if count == 1 && letters.peek().is_none_or(|c| Kind::of(*c) != Kind::Digit) => {
                TOKEN / 4
            }
            Kind::Space => (count + 1) * TOKEN / 2,
            // Capitals begin tokens.
            Kind::Capital | Kind::Sign => count * TOKEN,
            // A token is at least a byte.
            Kind::Beyond => bytes * TOKEN,
        };
    }
    parts / TOKEN + 1
}

/// The longest beginning of a text that surely takes at most `most` tokens.
#[must_use]
pub fn head(text: &str, most: usize) -> &str {
    if bound(text) <= most {
        return text;
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    // The bound grows with the text, so the place can be searched by halves.
    let fits = ends.partition_point(|end| bound(&text[..*end]) <= most);
    fits.checked_sub(1).and_then(|last| ends.get(last)).map_or("", |end| &text[..*end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_letters_where_its_bound_is_met() {
        for text in [
            "Running late, sorry about that!",
            "日本語のテキストです。よろしく",
            "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            for most in 1..30 {
                let head = head(text, most);
                assert!(bound(head) <= most && text.starts_with(head), "{most} of {text}: {head}");
            }
            assert_eq!(head(text, 500), text);
        }
    }
}
