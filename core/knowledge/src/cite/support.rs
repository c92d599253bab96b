//! How much of what a sentence says stands in a passage, by its words.

use std::collections::HashSet;

use rust_stemmers::{Algorithm, Stemmer};

use super::Source;
use super::quote::is_negation;
use super::words::{compared_words, has_digit};
use crate::analysis::STOP_WORDS;
use crate::chunk::sentences;

/// The fewest stop words that tell a language.
const MIN_STOP_WORDS: usize = 2;
/// The passage's page may be named behind these.
const PAGE_WORDS: [&str; 7] = ["p", "pp", "page", "pages", "s", "seite", "página"];
/// Words before an answer that say nothing that a passage could prove.
const EMPTY_WORDS: [&str; 6] = ["yes", "yeah", "ja", "oui", "sí", "sì"];
/// The longest sentence of a passage that is kept as proof.
const MAX_PROOF_CHARS: usize = 300;

/// The languages that are told apart, by words that say nothing else.
const LANGUAGES: [Language; 7] = [
    Language { algorithm: Algorithm::English, stop_words: STOP_WORDS },
    Language {
        algorithm: Algorithm::German,
        stop_words: "aber alle als am an auch auf aus bei bis das dass dem den der des die du ein eine einem einen einer \
            er es für haben hat ich ihr im in ist jede jeder jedes kann kein keine können man mit nach nicht noch nur oder \
            pro sein sich sie sind so und uns vom von vor war was wenn wer werden wie wir wird zu zum zur über",
    },
    Language {
        algorithm: Algorithm::French,
        stop_words: "au aux avec ce ces cette dans de des du elle elles en est et il ils je la le les leur mais ne nous on \
            ont ou par pas pour que qui sa se ses son sont sur tous tout un une vous à être",
    },
    Language {
        algorithm: Algorithm::Spanish,
        stop_words: "al como con de del el ella en es esta este está hay la las lo los más muy no nos o para pero por que \
            se sin son su sus tiene tienen todo todos un una usted y ya",
    },
    Language {
        algorithm: Algorithm::Italian,
        stop_words: "al alla anche che chi come con da dei del della delle di e gli ha hanno i il in la le lo ma nel nella \
            non o per più questo si sono su tutti un una è",
    },
    Language {
        algorithm: Algorithm::Dutch,
        stop_words: "aan als bij dan dat de die dit door een en er geen haar heb hebben heeft het hij in is je kan maar met \
            naar niet of om ook op te tot uit van voor was wat we wij worden wordt ze zijn",
    },
    Language {
        algorithm: Algorithm::Portuguese,
        stop_words: "ao aos as com como da das de do dos e ela ele em esta este foi mais mas na nas no nos não o os ou para \
            pela pelo por que se sem seu sua são tem têm um uma à é",
    },
];

#[derive(Debug, Clone, Copy)]
struct Language {
    algorithm: Algorithm,
    stop_words: &'static str,
}

/// Returns the language of a text, or `None` if it does not tell.
fn detect_language(words: &[String]) -> Option<Language> {
    let count = |language: &Language| {
        let stop: HashSet<&str> = language.stop_words.split_whitespace().collect();
        words.iter().filter(|word| stop.contains(word.as_str())).count()
    };
    let mut counts = LANGUAGES.map(|language| (count(&language), language));
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let [(most, language), (second, _), ..] = counts;
    (most >= MIN_STOP_WORDS && most > second).then_some(language)
}

/// A sentence of an answer.
pub(super) struct Claim {
    pub(super) words: Vec<String>,
    language: Option<Language>,
    /// The words that say what it is about, without numbers.
    content: Vec<String>,
    is_negated: bool,
}

impl Claim {
    pub(super) fn new(text: &str) -> Self {
        let words = compared_words(text);
        let language = detect_language(&words);
        let stop_words: HashSet<&str> =
            language.unwrap_or(LANGUAGES[0]).stop_words.split_whitespace().collect();
        let says_nothing = |word: &String| {
            let word = word.as_str();
            has_digit(word)
                || EMPTY_WORDS.contains(&word)
                || PAGE_WORDS.contains(&word)
                || stop_words.contains(word)
        };
        let content = words.iter().filter(|word| !says_nothing(word)).cloned().collect();
        let is_negated = words.iter().any(|word| is_negation(word));
        Self { words, language, content, is_negated }
    }

    /// Returns how many words and numbers it has that say something.
    pub(super) fn content_count(&self) -> usize {
        self.content.len() + self.words.iter().filter(|word| has_digit(word)).count()
    }

    /// Returns which part of its words is among those of another sentence.
    pub(super) fn shared_with(&self, words: &[String]) -> f32 {
        self.share(&stem_all(words, self.language), self.language)
    }

    fn share(&self, stems: &HashSet<String>, language: Option<Language>) -> f32 {
        let wanted = stem_all(&self.content, language);
        let shared = wanted.intersection(stems).count();
        if wanted.is_empty() { 1.0 } else { shared as f32 / wanted.len() as f32 }
    }
}

/// A passage, prepared to be compared.
pub(super) struct Passage<'a> {
    source: &'a Source<'a>,
    pub(super) words: Vec<String>,
    language: Option<Language>,
    stems: HashSet<String>,
    numbers: HashSet<String>,
    page: Option<String>,
}

impl<'a> Passage<'a> {
    pub(super) fn new(source: &'a Source<'a>) -> Self {
        let words = compared_words(source.text);
        let language = detect_language(&words);
        // An answer may name the document, the page and the heading.
        let mut place = compared_words(source.place);
        let has_page = source.place.starts_with("p. ") && place.len() > 1;
        let page = has_page.then(|| place.drain(..2).nth(1)).flatten();
        let title = compared_words(source.title);
        let all: Vec<String> = words.iter().chain(&title).chain(&place).cloned().collect();
        let stems = stem_all(&all, language);
        let hours = all.iter().filter_map(|word| word.split_once(':')?.0.parse::<u32>().ok());
        // "At 2" is true of 14:00.
        let hours: Vec<String> =
            hours.flat_map(|hour| [hour, hour % 12]).map(|hour| hour.to_string()).collect();
        let numbers = all.into_iter().filter(|word| has_digit(word)).chain(hours).collect();
        Self { source, words, language, stems, numbers, page }
    }

    /// Returns a number of a claim that the passage does not have.
    pub(super) fn missing_number<'c>(&self, claim: &'c Claim, question: &[String]) -> Option<&'c str> {
        self.list_missing_numbers(claim, question).into_iter().next()
    }

    /// Returns the numbers of a claim that the passage does not have. A year that was asked about need not stand there.
    fn list_missing_numbers<'c>(&self, claim: &'c Claim, question: &[String]) -> Vec<&'c str> {
        let is_year = |word: &String| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
        let before = std::iter::once(None).chain(claim.words.iter().map(Some));
        let missing = claim.words.iter().zip(before).filter(|(word, before)| {
            let is_page = self.page.as_ref() == Some(word)
                && before.is_some_and(|before| PAGE_WORDS.contains(&before.as_str()));
            let is_asked_year = is_year(word) && question.contains(word);
            let is_known =
                self.numbers.contains(*word) || is_page || is_asked_year || self.is_bare_hour(word);
            has_digit(word) && !is_known
        });
        missing.map(|(word, _)| word.as_str()).collect()
    }

    /// Returns whether a time stands there without its "Uhr" or "pm", as 9 does in "9–17 Uhr".
    fn is_bare_hour(&self, time: &str) -> bool {
        let hour = time.strip_suffix(":00").and_then(|hour| hour.parse::<u32>().ok());
        let is_here = |hour: u32| self.words.contains(&hour.to_string());
        self.words.iter().any(|word| word.contains(':'))
            && hour.is_some_and(|h| is_here(h) || is_here(h % 12))
    }

    /// Returns which part of a claim's words it has.
    pub(super) fn share(&self, claim: &Claim) -> f32 {
        claim.share(&self.stems, self.language)
    }

    /// Returns whether a claim is in another language, so that their words cannot be compared. A passage that does not
    /// tell its language, such as a table, may be in any; an English claim is compared with it.
    fn is_foreign_to(&self, claim: &Claim, question: &[String]) -> bool {
        let english = LANGUAGES[0].stop_words;
        let theirs = claim.language.or_else(|| detect_language(question)).map(|language| language.stop_words);
        match (self.language.map(|language| language.stop_words), theirs) {
            (Some(ours), Some(theirs)) => ours != theirs,
            (None, Some(theirs)) => theirs != english,
            (_, None) => false,
        }
    }

    /// Returns the sentence of the passage that says what a claim says, if its words do so without being copied.
    pub(super) fn find_proof(&self, claim: &Claim, min_share: f32) -> Option<&'a str> {
        if claim.content_count() == 0 || self.share(claim) < min_share {
            return None;
        }
        let scored = sentences(self.source.text).into_iter().rev().map(|sentence| {
            let words = compared_words(sentence);
            let numbers = words.iter().filter(|word| has_digit(word) && claim.words.contains(word)).count();
            let shared = claim.share(&stem_all(&words, self.language), self.language);
            (numbers as f32 + shared * claim.content.len() as f32, words, sentence)
        });
        let (_, words, sentence) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
        // The same words with "not" say the opposite.
        let is_negated = words.iter().any(|word| is_negation(word));
        let sentence = sentence.trim();
        let end = sentence.char_indices().nth(MAX_PROOF_CHARS).map_or(sentence.len(), |(end, _)| end);
        (is_negated == claim.is_negated).then_some(&sentence[..end])
    }
}

/// Returns a number of a claim that none of the passages that it cites has.
pub(super) fn number_missing_in_all<'c>(
    passages: &[&Passage<'_>],
    claim: &'c Claim,
    question: &[String],
) -> Option<&'c str> {
    let (first, others) = passages.split_first()?;
    let is_in_none = |number: &&str| {
        others.iter().all(|other| other.list_missing_numbers(claim, question).contains(number))
    };
    first.list_missing_numbers(claim, question).into_iter().find(is_in_none)
}

/// Returns whether the passages that a claim cites have enough of its words together, as far as they can be compared.
pub(super) fn are_about(
    passages: &[&Passage<'_>],
    claim: &Claim,
    question: &[String],
    min_share: f32,
) -> bool {
    if passages.iter().any(|passage| passage.is_foreign_to(claim, question)) {
        return true;
    }
    let is_in = |word: &String, passage: &Passage<'_>| {
        stem_all(std::slice::from_ref(word), passage.language).is_subset(&passage.stems)
    };
    let shared = claim.content.iter().filter(|word| passages.iter().any(|passage| is_in(word, passage)));
    shared.count() as f32 >= min_share * claim.content.len() as f32
}

fn stem_all(words: &[String], language: Option<Language>) -> HashSet<String> {
    let stemmer = Stemmer::create(language.unwrap_or(LANGUAGES[0]).algorithm);
    words.iter().map(|word| stemmer.stem(word).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_tell_the_language() {
        for (text, expected) in [
            ("Everybody has 25 days of annual leave and may carry over five.", Some(Algorithm::English)),
            ("Sie haben 25 Tage Urlaub im Jahr und können fünf mitnehmen.", Some(Algorithm::German)),
            ("Vous avez 25 jours de congé par an, selon le manuel.", Some(Algorithm::French)),
            ("Todos tienen 25 días de vacaciones al año y no más.", Some(Algorithm::Spanish)),
            ("25 Tage Urlaub", None),
            ("Masz 25 dni urlopu rocznie.", None),
            ("", None),
        ] {
            let found = detect_language(&compared_words(text)).map(|language| language.algorithm);
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{text}");
        }
    }

    #[test]
    fn numbers_stand_in_the_passage_or_its_place() {
        let source = Source {
            handle: "p3f2a91",
            title: "Handbook 3.1",
            place: "p. 4 · 7.2 Leave",
            text: "25 days, 1,000 euros, 2 pm",
        };
        let passage = Passage::new(&source);
        for (claim, missing) in [
            ("25 days and 1.000 euros at 14:00", None),
            ("at 2 pm, at 2, at 14:00", None),
            ("at 2 am", Some("2:00")),
            ("Handbook 3.1, page 4, section 7.2", None),
            ("4 days", Some("4")),
            ("page 5", Some("5")),
            ("in 2026", None),
            ("in 2025", Some("2025")),
            ("100 euros", Some("100")),
        ] {
            let question = compared_words("and in 2026?");
            assert_eq!(passage.missing_number(&Claim::new(claim), &question), missing, "{claim}");
        }
        let hours = Source { text: "Geöffnet 9–17 Uhr", ..source };
        let claim = Claim::new("Von 9 Uhr bis 17 Uhr");
        assert_eq!(Passage::new(&hours).missing_number(&claim, &[]), None);
    }

    #[test]
    fn a_passage_proves_what_its_words_say() {
        let source = Source {
            handle: "p3f2a91",
            title: "handbook.md",
            place: "Leave",
            text: "We work. Everybody has 25 days of annual leave a year. Nobody flies first class.",
        };
        let passage = Passage::new(&source);
        let annual = Some("Everybody has 25 days of annual leave a year.");
        for (claim, expected) in [
            ("You have 25 days of annual leave.", annual),
            ("25 days.", annual),
            ("You do not have 25 days of annual leave.", None),
            ("You fly first class.", None),
            ("Nobody flies first class.", Some("Nobody flies first class.")),
            ("Lunch is free.", None),
            ("It is.", None),
        ] {
            assert_eq!(passage.find_proof(&Claim::new(claim), 0.7), expected, "{claim}");
        }
    }
}
