//! Whether a sentence says that something is so, or that it is not.
//!
//! Each part of a sentence is read for itself, up to a comma or an "and": "You have 25 days, and they do not carry over" says
//! one of each. Where "not" does not turn it into the opposite ("not more than 5 days"), nothing is compared.

use super::claim::{CONJUNCTIONS, content_words};
use super::quote::is_negation;
use super::words::compared_words;
use crate::language::Language;

/// Beside these "not" sets a limit, and these deny one word alone.
const UNCLEAR: &str = "more less later longer fewer earlier only unless except until without nothing mehr weniger länger später nur \
    außer ohne nichts plus moins sans rien más menos sin nada";
/// What follows these may be denied before them, or not.
const ALTERNATIVES: [&str; 4] = ["or", "oder", "ou", "o"];

/// A part of a sentence: how many words it has, and whether it says that something is not so; `None` if that is not clear.
pub(super) struct Part {
    pub(super) length: usize,
    pub(super) is_negated: Option<bool>,
}

/// Returns the parts of a sentence.
pub(super) fn split_parts(text: &str, language: Option<Language>) -> Vec<Part> {
    let (mut all, mut open): (Vec<String>, String) = (Vec::new(), String::new());
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim();
        if CONJUNCTIONS.contains(&bare.to_lowercase().as_str()) {
            all.push(std::mem::take(&mut open));
        }
        open.push_str(word);
        if bare.ends_with([',', ';', ':', ')', '–', '—']) {
            all.push(std::mem::take(&mut open));
        }
    }
    all.push(open);
    let mut was_negated = false;
    let part = |text: &String| {
        let words = compared_words(text);
        let is_alternative = words.first().is_some_and(|word| ALTERNATIVES.contains(&word.as_str()));
        let is_negated = read_negation(&words, language).filter(|_| !(is_alternative && was_negated));
        was_negated = is_negated == Some(true);
        Part { length: words.len(), is_negated }
    };
    all.iter().map(part).collect()
}

fn read_negation(words: &[String], language: Option<Language>) -> Option<bool> {
    // "no" is "in the" in Portuguese.
    let negates = |word: &&String| {
        is_negation(word) && !(language == Some(Language::Portuguese) && word.as_str() == "no")
    };
    let negations: Vec<&str> = words.iter().filter(negates).map(String::as_str).collect();
    // "ne … pas" is one.
    let count = negations.len() - usize::from(negations.len() > 1 && negations.contains(&"ne"));
    let is_unclear = count > 1
        || words.iter().any(|word| UNCLEAR.split(' ').any(|unclear| unclear == word))
        || content_words(words, language).is_empty();
    (!is_unclear).then_some(count == 1)
}

/// Returns whether all these parts say that something is not so, or all that it is so; `None` if they differ or are unclear.
pub(super) fn common_negation<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Option<bool> {
    let mut parts = parts.into_iter().map(|part| part.is_negated);
    let first = parts.next()??;
    parts.all(|other| other == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_read_for_itself() {
        for (text, expected) in [
            ("Interns may not take parental leave.", vec![Some(true)]),
            ("You have 25 days, and they do not carry over.", vec![Some(false), Some(true)]),
            ("You may not carry over more than 5 days.", vec![None]),
            ("No, lunch costs 5 euros", vec![None, Some(false)]),
            ("Das gilt nicht für Praktikanten", vec![Some(true)]),
            ("O manual está no escritório em Lisboa, não é para visitas", vec![Some(false), Some(true)]),
            ("Yes", vec![None]),
            ("Les stagiaires ne peuvent pas prendre de congé", vec![Some(true)]),
            ("You may not smoke or drink in the office", vec![Some(true), None]),
            ("You may stay home for 3 days without a note", vec![None]),
        ] {
            let language = text.starts_with('O').then_some(Language::Portuguese);
            let parts = split_parts(text, language);
            let read: Vec<_> =
                parts.iter().filter(|part| part.length > 0).map(|part| part.is_negated).collect();
            assert_eq!(read, expected, "{text}");
        }
        let common = |text: &str| common_negation(&split_parts(text, None));
        assert_eq!(
            (common("They do not fly"), common("They do not fly, they go by train")),
            (Some(true), None)
        );
    }
}
