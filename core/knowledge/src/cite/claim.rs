//! A sentence of an answer, and what it says.

use super::dates::is_numbered_month;
use super::polarity::{common_negation, split_parts};
use super::quote::is_negation;
use super::words::{compared_words, has_digit};
use crate::language::{Language, detect_language, stem_all};

/// The passage's page may be named behind these.
pub(super) const PAGE_WORDS: [&str; 7] = ["p", "pp", "page", "pages", "s", "seite", "página"];
/// Words before an answer that say nothing that a passage could prove.
const EMPTY_WORDS: [&str; 6] = ["yes", "yeah", "ja", "oui", "sí", "sì"];
/// What makes a number one of a row: "31st".
const ORDINAL_ENDINGS: [&str; 4] = ["st", "nd", "rd", "th"];
/// What can follow a number and begins to speak of something else.
pub(super) const CONJUNCTIONS: [&str; 15] = [
    "and", "but", "or", "while", "whereas", "und", "aber", "oder", "während", "et", "mais", "ou", "y",
    "pero", "o",
];

/// A sentence of an answer.
pub(super) struct Claim {
    pub(super) words: Vec<String>,
    pub(super) language: Option<Language>,
    /// The words that say what it is about, without numbers.
    pub(super) content: Vec<String>,
    pub(super) is_negated: bool,
    /// Its parts that have numbers.
    /// The same of all its parts; `None` if they differ or are unclear.
    pub(super) common_negation: Option<bool>,
    pub(super) clauses: Vec<Clause>,
}

/// A part of a claim, up to its numbers and what belongs to them.
pub(super) struct Clause {
    pub(super) words: Vec<String>,
    pub(super) content: Vec<String>,
}

impl Claim {
    pub(super) fn new(text: &str) -> Self {
        let words = compared_words(text);
        let language = detect_language(&words);
        let content = content_words(&words, language);
        let is_negated = words.iter().any(|word| is_negation(word));
        let parts = split_parts(text, language);
        let common_negation = common_negation(parts.iter().filter(|part| part.is_negated.is_some()));
        let clauses = split_clauses(text).into_iter().map(|clause| {
            let words = compared_words(&clause);
            Clause { content: content_words(&words, language), words }
        });
        let clauses = clauses.filter(|clause| clause.words.iter().any(|word| has_digit(word))).collect();
        Self { words, language, content, is_negated, common_negation, clauses }
    }

    /// Returns whether it says nothing by itself, as "yes" does.
    pub(super) fn is_bare(&self) -> bool {
        self.content.is_empty() && !self.words.iter().any(|word| has_digit(word))
    }

    /// Returns how many words and numbers it has that say something.
    pub(super) fn content_count(&self) -> usize {
        self.content.len() + self.words.iter().filter(|word| has_digit(word)).count()
    }

    /// Returns which part of its words is among those of another sentence.
    pub(super) fn shared_with(&self, words: &[String]) -> f32 {
        let (wanted, stems) = (stem_all(&self.content, self.language), stem_all(words, self.language));
        let shared = wanted.intersection(&stems).count();
        if wanted.is_empty() { 1.0 } else { shared as f32 / wanted.len() as f32 }
    }
}

pub(super) fn content_words(words: &[String], language: Option<Language>) -> Vec<String> {
    let stop_words = language.unwrap_or_default().stop_words();
    let says_nothing = |word: &str| {
        has_digit(word)
            || EMPTY_WORDS.contains(&word)
            || PAGE_WORDS.contains(&word)
            || stop_words.contains(word)
    };
    let before = std::iter::once("").chain(words.iter().map(String::as_str));
    // A month that has its number before it is said by that.
    let is_said = |word: &str, before: &str| {
        is_numbered_month(word, before) || has_digit(before) && ORDINAL_ENDINGS.contains(&word)
    };
    let content = words.iter().zip(before);
    let content = content.filter(|(word, before)| !says_nothing(word) && !is_said(word, before));
    content.map(|(word, _)| word.clone()).collect()
}

/// Cuts a sentence where a comma or an "and" follows a number: "Berlin has 25 days and Rome 30" says two things. What comes
/// before the first number, as in "interns and staff have 25", is about that number.
fn split_clauses(text: &str) -> Vec<String> {
    let (mut all, mut open, mut has_number) = (Vec::new(), String::new(), false);
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim();
        if has_number && CONJUNCTIONS.contains(&bare.to_lowercase().as_str()) {
            all.push(std::mem::take(&mut open));
            has_number = false;
        }
        has_number |= compared_words(word).iter().any(|word| has_digit(word));
        open.push_str(word);
        if has_number && bare.ends_with([',', ';']) {
            all.push(std::mem::take(&mut open));
            has_number = false;
        }
    }
    all.push(open);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_ends_behind_its_number() {
        for (text, expected) in [
            ("Interns and staff have 25 days.", vec!["interns staff 25 days"]),
            ("Berlin has 25 days and Rome 30", vec!["berlin 25 days", "rome 30"]),
            ("Berlin 25, Rome 1,000; Bonn 9", vec!["berlin 25", "rome 1000", "bonn 9"]),
            ("25 days of leave, if asked for early", vec!["25 days leave"]),
            ("No number", vec![]),
        ] {
            let of = |clause: &Clause| {
                let is_kept = |word: &&String| has_digit(word) || clause.content.contains(word);
                clause.words.iter().filter(is_kept).map(String::as_str).collect::<Vec<_>>().join(" ")
            };
            let seen: Vec<String> = Claim::new(text).clauses.iter().map(of).collect();
            assert_eq!(seen, expected, "{text}");
        }
    }
}
