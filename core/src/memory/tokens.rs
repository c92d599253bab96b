//! Tokens of a text, bounded from above without a tokenizer: which one a model has is not known here, and a bound on
//! the safe side serves them all.
//!
//! `tests/tokens` compares it with a real one (o200k): over prose, code, JSON and links it is 1.8 to 2.5 times the
//! tokens, so that what is remembered is rather less than more. For letters and spaces without sense it is below
//! (101 for 103, and worse with single letters among spaces), which is still to be mended.

/// At most how many tokens a text takes.
#[must_use]
pub fn bound(text: &str) -> usize {
    // In quarters of a token.
    let mut quarters = 0;
    let mut before = ' ';
    for c in text.chars() {
        quarters += match c {
            // Two letters a token: rare words and names are cut as short as that.
            'a'..='z' => 2,
            // Capitals begin tokens.
            'A'..='Z' => 4,
            // The space before a word belongs to its token.
            ' ' if before != ' ' => 1,
            ' ' | '0'..='9' => 2,
            c if c.is_ascii() => 4,
            // Beyond ASCII a token is at least a byte.
            c => 4 * c.len_utf8(),
        };
        before = c;
    }
    quarters / 4 + 1
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
