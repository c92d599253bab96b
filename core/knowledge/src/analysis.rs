//! How a text becomes search terms. The same function serves documents and queries.

use std::collections::{BTreeMap, HashSet};

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

/// The length of a chunk, in words, whose terms are neither raised nor lowered.
const AVERAGE_WORDS: f32 = 220.0;
/// The usual parameters of BM25.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// The largest weight that BM25 can give a term.
pub(crate) const MAX_WEIGHT: f32 = K1 + 1.0;
/// Weights are stored as whole numbers: this many are 1.
pub(crate) const WEIGHT_SCALE: f32 = 1_000.0;
/// How often a word of the title or the heading counts.
const TITLE_COUNT: u16 = 2;

/// Words that say nothing about what a question is about. Only queries lose them.
pub(crate) const STOP_WORDS: &str = "a about again am an and any are as at be been but by can could did do does for from had has \
    have he her here his how i if in into is it its may me my no not of on or our shall she should so such than that \
    the their them then there these they this those to us was we were what when where which who whom whose why will \
    with would you your";

/// Returns the words of a text, normalised but not stemmed.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    let text: String = text.nfkc().flat_map(char::to_lowercase).collect();
    // "don't" and "don’t" are one word.
    let text = text.replace(['\'', '’'], "");
    text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// Returns the terms of a text, in order. A term is a hash of a stem, and never negative.
pub(crate) fn terms(text: &str) -> Vec<i32> {
    let stemmer = Stemmer::create(Algorithm::English);
    split_words(text).iter().map(|word| term(&stemmer.stem(word))).collect()
}

/// Returns the distinct terms of a query without stop words; all of them if there are only stop words.
pub(crate) fn query_terms(query: &str) -> Vec<i32> {
    let stop: HashSet<&str> = STOP_WORDS.split_whitespace().collect();
    let stemmer = Stemmer::create(Algorithm::English);
    let all = split_words(query);
    let telling: Vec<&String> = all.iter().filter(|word| !stop.contains(word.as_str())).collect();
    let chosen = if telling.is_empty() { all.iter().collect() } else { telling };
    let mut seen = HashSet::new();
    chosen.into_iter().map(|word| term(&stemmer.stem(word))).filter(|term| seen.insert(*term)).collect()
}

/// Returns the terms of a chunk with their BM25 weights, by term.
pub(crate) fn weighted_terms(title: &str, heading: &str, text: &str) -> Vec<(i32, i16)> {
    let body = terms(text);
    let length = body.len() as f32;
    let mut counts: BTreeMap<i32, u16> = BTreeMap::new();
    for term in body {
        let count = counts.entry(term).or_default();
        *count = count.saturating_add(1);
    }
    for term in terms(title).into_iter().chain(terms(heading)) {
        let count = counts.entry(term).or_default();
        *count = count.saturating_add(TITLE_COUNT);
    }
    let norm = K1 * (1.0 - B + B * length / AVERAGE_WORDS);
    let weight = |count: u16| {
        let count = f32::from(count);
        (count * MAX_WEIGHT / (count + norm) * WEIGHT_SCALE) as i16
    };
    counts.into_iter().map(|(term, count)| (term, weight(count))).collect()
}

/// Hashes a stem (FNV-1a, 31 bits). It is stored in rows, so it stays as it is.
fn term(stem: &str) -> i32 {
    let hash =
        stem.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash >> 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one_term() {
        assert_eq!(terms("Holidays"), terms("holiday"));
        assert_eq!(terms("ﬁling, FILED!"), terms("file filing"));
        assert_eq!(terms("don’t"), terms("DON'T"));
    }

    #[test]
    fn a_query_loses_what_says_nothing() {
        assert_eq!(query_terms("How many days of leave do we have?"), terms("many days leave"));
        assert_eq!(query_terms("leave, Leave and leaves"), terms("leave"));
        assert_eq!(query_terms("what is it?").len(), 3);
    }

    #[test]
    fn titles_count_twice_and_long_texts_count_less() {
        let weight = |title: &str, text: &str, word: &str| {
            let all = weighted_terms(title, "", text);
            all.iter().find(|(term, _)| terms(word)[0] == *term).map(|(_, weight)| *weight).unwrap()
        };
        assert!(weight("Leave", "days", "leave") > weight("Days", "leave", "leave"));
        let long = format!("leave {}", "x ".repeat(400));
        assert!(weight("", "leave", "leave") > weight("", &long, "leave"));
    }

    #[test]
    fn hashes_stay() {
        assert_eq!(term(""), 0x811c_9dc5_u32.cast_signed() >> 1 & i32::MAX);
    }
}
