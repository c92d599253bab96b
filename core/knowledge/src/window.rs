//! Cuts a chunk into the texts that are embedded. A model sees only so many tokens, and a chunk is as near to a query as
//! its best window. The title and the headings stand before each: nothing else makes passages easier to find.

use std::ops::Range;

use nod_contract::embedding::Embedder;

use crate::chunk::sentences;

/// The most characters of the title and the headings, about 40 tokens.
const MAX_LABEL_CHARS: usize = 160;

/// Returns the texts of a chunk's windows, at least one.
pub(crate) fn split_windows(embedder: &dyn Embedder, title: &str, heading: &str, text: &str) -> Vec<String> {
    let label = label(embedder, title, heading);
    let ranges = window_ranges(embedder, title, heading, text);
    ranges.into_iter().map(|range| format!("{label}{}", text[range].trim())).collect()
}

/// Returns where the windows of a chunk are in its text. There is at least one, which can be empty.
pub(crate) fn window_ranges(
    embedder: &dyn Embedder,
    title: &str,
    heading: &str,
    text: &str,
) -> Vec<Range<usize>> {
    let label = label(embedder, title, heading);
    let used = embedder.token_ends(&label).len();
    let room = embedder.model().max_tokens.saturating_sub(used).max(1);
    let ends = embedder.token_ends(text);
    let tokens_before = |byte: usize| ends.partition_point(|end| *end <= byte);
    // Where each sentence begins, in bytes; one that is too long is cut at its tokens.
    let mut begins = vec![0];
    let mut at = 0;
    for sentence in sentences(text) {
        let (first, last) = (tokens_before(at), tokens_before(at + sentence.len()));
        let inside = (first + room..last).step_by(room).map(|token| ends[token - 1]);
        begins.extend(inside.filter(|begin| text.is_char_boundary(*begin)));
        at += sentence.len();
        begins.push(at);
    }
    let mut windows = Vec::new();
    let mut from = 0;
    while from + 1 < begins.len() {
        let fits = |to: &usize| tokens_before(begins[*to]) - tokens_before(begins[from]) <= room;
        let to = (from + 1..begins.len()).take_while(fits).last().unwrap_or(from + 1);
        windows.push(begins[from]..begins[to]);
        if to + 1 == begins.len() {
            break;
        }
        // The next one repeats about a quarter, so that no thought is cut in two everywhere.
        let repeated = tokens_before(begins[to]).saturating_sub(room / 4);
        from = (from + 1..to).find(|begin| tokens_before(begins[*begin]) >= repeated).unwrap_or(to);
    }
    if windows.is_empty() {
        windows.push(0..text.len());
    }
    windows
}

/// Returns the title and the headings as sentences. At most half of a window is theirs.
fn label(embedder: &dyn Embedder, title: &str, heading: &str) -> String {
    let parts = [title, heading].into_iter().filter(|part| !part.is_empty());
    let all: String = parts.map(|part| format!("{part}. ")).collect();
    let mut label: String = all.chars().take(MAX_LABEL_CHARS).collect();
    while embedder.token_ends(&label).len() * 2 > embedder.model().max_tokens {
        let half = label.chars().count() / 2;
        label = label.chars().take(half).collect();
    }
    label
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use nod_contract::embedding::{EmbedError, EmbeddingModel, TextKind};

    use super::*;

    /// A model that sees ten words.
    struct TenWords(EmbeddingModel);

    #[async_trait]
    impl Embedder for TenWords {
        fn model(&self) -> &EmbeddingModel {
            &self.0
        }

        fn token_ends(&self, text: &str) -> Vec<usize> {
            let words = text.split_inclusive(' ').scan(0, |at, word| {
                *at += word.len();
                Some(*at)
            });
            words.collect()
        }

        async fn embed(&self, _: Vec<String>, _: TextKind) -> Result<Vec<Vec<f32>>, EmbedError> {
            Ok(Vec::new())
        }
    }

    fn windows(title: &str, text: &str) -> Vec<String> {
        let model = TenWords(EmbeddingModel { id: "test".to_owned(), max_tokens: 10 });
        split_windows(&model, title, "", text)
    }

    #[test]
    fn windows_have_the_title_and_whole_sentences() {
        assert_eq!(windows("Leave", "25 days."), ["Leave. 25 days."]);
        assert_eq!(windows("Leave", ""), ["Leave. "]);
        let text = "One two three four. Five six seven. Eight nine ten eleven. Twelve.";
        let expected = ["T. One two three four. Five six seven.", "T. Eight nine ten eleven. Twelve."];
        assert_eq!(windows("T", text), expected);
    }

    #[test]
    fn a_long_sentence_is_cut_and_nothing_is_lost() {
        let text: String = (0..100).map(|n| format!("w{n} ")).collect();
        let all = windows("", &text);
        assert!(all.iter().all(|window| window.split_whitespace().count() <= 10), "{all:?}");
        assert!(
            (0..100).all(|n| all.iter().any(|w| w.split_whitespace().any(|word| word == format!("w{n}"))))
        );
    }

    #[test]
    fn neighbouring_windows_share_a_sentence() {
        let text: String = (0..30).map(|n| format!("Say {n}. ")).collect();
        let all = windows("", &text);
        assert!(
            all.windows(2).all(|pair| {
                let last = pair[0].rsplit("Say").next().unwrap_or_default();
                pair[1].contains(last.trim())
            }),
            "{all:?}"
        );
    }
}
