//! How a text becomes search terms. The same function serves documents and queries.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rust_stemmers::Stemmer;
use unicode_normalization::UnicodeNormalization;

use crate::language::{Language, detect_language};

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

/// Returns the words of a text, normalised but not stemmed.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    let text: String = text.nfkc().flat_map(char::to_lowercase).collect();
    // "don't" and "don’t" are one word.
    let text = text.replace(['\'', '’'], "");
    text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// Returns the terms of a text in its language, in order. A term is a hash of a stem, and never negative.
pub(crate) fn terms(text: &str, language: Language) -> Vec<i32> {
    let stemmer = language.stemmer();
    split_words(text).iter().map(|word| term(&stemmer.stem(word))).collect()
}

/// Returns the distinct words of a query without stop words (all of them if there are only stop words), each as the terms
/// that it can be in these languages.
pub(crate) fn query_words(query: &str, languages: &[Language]) -> Vec<Vec<i32>> {
    let all = split_words(query);
    let stop_words = detect_language(&all).unwrap_or_default().stop_words();
    let telling: Vec<&String> = all.iter().filter(|word| !stop_words.contains(word.as_str())).collect();
    let chosen = if telling.is_empty() { all.iter().collect() } else { telling };
    let stemmers: Vec<Stemmer> = languages.iter().map(|language| language.stemmer()).collect();
    let mut seen = HashSet::new();
    let forms = |word: &String| {
        let forms: BTreeSet<i32> = stemmers.iter().map(|stemmer| term(&stemmer.stem(word))).collect();
        forms.into_iter().collect::<Vec<_>>()
    };
    chosen.into_iter().map(forms).filter(|forms| seen.insert(forms.clone())).collect()
}

/// Returns the terms of a chunk with their BM25 weights, by term.
pub(crate) fn weighted_terms(title: &str, heading: &str, text: &str, language: Language) -> Vec<(i32, i16)> {
    let body = terms(text, language);
    let length = body.len() as f32;
    let mut counts: BTreeMap<i32, u16> = BTreeMap::new();
    for term in body {
        let count = counts.entry(term).or_default();
        *count = count.saturating_add(1);
    }
    for term in terms(title, language).into_iter().chain(terms(heading, language)) {
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

    fn english(text: &str) -> Vec<i32> {
        terms(text, Language::English)
    }

    #[test]
    fn forms_of_a_word_are_one_term() {
        assert_eq!(english("Holidays"), english("holiday"));
        assert_eq!(english("ﬁling, FILED!"), english("file filing"));
        assert_eq!(english("don’t"), english("DON'T"));
        assert_eq!(terms("Verträge", Language::German), terms("Vertrag", Language::German));
    }

    #[test]
    fn a_query_loses_what_says_nothing() {
        let words = |query: &str| query_words(query, &[Language::English]).concat();
        assert_eq!(words("How many days of leave do we have?"), english("many days leave"));
        assert_eq!(words("leave, Leave and leaves"), english("leave"));
        assert_eq!(words("what is it?").len(), 3);
        assert_eq!(words("Wie lange ist die Frist?"), english("lange frist"));
    }

    #[test]
    fn a_word_of_a_query_has_a_form_in_each_language() {
        let words = query_words("Verträge 2026", &[Language::English, Language::German]);
        let german = terms("Vertrag", Language::German)[0];
        assert!(words[0].len() == 2 && words[0].contains(&german), "{words:?}");
        assert_eq!(words[1], english("2026"));
    }

    #[test]
    fn titles_count_twice_and_long_texts_count_less() {
        let weight = |title: &str, text: &str, word: &str| {
            let all = weighted_terms(title, "", text, Language::English);
            all.iter().find(|(term, _)| english(word)[0] == *term).map(|(_, weight)| *weight).unwrap()
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
