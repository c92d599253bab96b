//! How much of what a sentence says stands in a passage, and where.
//!
//! A number of a claim stands in the sentence that proves it (the one with the quote, or else the one with most of the
//! claim's words), at most two before or after it, or in a row of the same list or table. It does not count where another
//! of these has all the words of the claim that this one has, and more (or proves it), and a number of its own.
//!
//! Without the second rule "Full-time staff have 25 days. Interns have 10 days." would prove "Interns have 25 days". It
//! compares sets of words, so "It is 10 days" still proves the number of what the sentence before it speaks of.

use std::collections::HashSet;
use std::ops::Range;

use super::claim::{Claim, Clause, PAGE_WORDS};
use super::dates::is_numbered_month;
use super::passage::{Passage, Sentence};
use super::quote::is_negation;
use super::units::unit_at;
use super::words::has_digit;
use crate::language::{Language, detect_language, stem_all};

/// How many sentences before and after a proof belong to it.
const MAX_DISTANCE: usize = 2;
/// The longest sentence of a passage that is kept as proof.
const MAX_PROOF_CHARS: usize = 300;

/// The sentences that prove a claim, and those around them.
pub(super) struct Context<'p, 'a> {
    passage: &'p Passage<'a>,
    proofs: Vec<&'p Sentence<'a>>,
    near: Vec<&'p Sentence<'a>>,
}

impl<'p, 'a> Context<'p, 'a> {
    /// Returns the sentences with these words of a passage, such as those of a quote, and what is around them.
    pub(super) fn of_words(passage: &'p Passage<'a>, ranges: &[Range<usize>]) -> Self {
        let has_one = |sentence: &Sentence<'_>| {
            ranges.iter().any(|range| sentence.range.start < range.end && range.start < sentence.range.end)
        };
        Self::around(passage, |_, sentence| has_one(sentence))
    }

    /// Returns the sentence that has the most of a claim's words, or else of its numbers, and what is around it.
    pub(super) fn of_claim(passage: &'p Passage<'a>, claim: &Claim) -> Self {
        let content = stem_all(&claim.content, passage.language);
        let score = |sentence: &Sentence<'_>| {
            let numbers = claim.words.iter().filter(|word| sentence.numbers.contains(*word)).count();
            (content.intersection(&sentence.stems).count(), numbers)
        };
        let best = (0..passage.sentences.len()).rev().max_by_key(|at| score(&passage.sentences[*at]));
        Self::around(passage, |at, _| Some(at) == best)
    }

    fn around(passage: &'p Passage<'a>, is_proof: impl Fn(usize, &Sentence<'a>) -> bool) -> Self {
        let all = &passage.sentences;
        let proofs: Vec<usize> = (0..all.len()).filter(|at| is_proof(*at, &all[*at])).collect();
        let mut is_near = vec![false; all.len()];
        for proof in &proofs {
            let last = (proof + MAX_DISTANCE).min(all.len() - 1);
            is_near[proof.saturating_sub(MAX_DISTANCE)..=last].fill(true);
        }
        // Of a list or a table all belongs there, whether the line above it is near or one of its rows.
        let list_of = |at: usize| all[at].head.unwrap_or(at);
        let lists: HashSet<usize> = (0..all.len()).filter(|at| is_near[*at]).map(list_of).collect();
        let belongs = |at: usize| is_near[at] || lists.contains(&list_of(at));
        let near = (0..all.len()).filter(|at| belongs(*at)).map(|at| &all[at]).collect();
        Self { passage, proofs: proofs.into_iter().map(|at| &all[at]).collect(), near }
    }

    /// Returns the sentence that says what a claim says, or a part of it.
    pub(super) fn find_proof(&self, claim: &Claim) -> Option<&'a str> {
        let has_some = |word: &String| match has_digit(word) {
            true => self.near.iter().any(|sentence| sentence.has_number(word)),
            false => claim.content.contains(word) && self.has_word(word),
        };
        let proof = self.proofs.first().filter(|_| claim.words.iter().any(has_some))?;
        // The same words with "not" say the opposite.
        let words = &self.passage.words[proof.range.clone()];
        let is_negated = words.iter().any(|word| is_negation(word));
        let sentence = proof.text.trim();
        let end = sentence.char_indices().nth(MAX_PROOF_CHARS).map_or(sentence.len(), |(end, _)| end);
        (is_negated == claim.is_negated).then_some(&sentence[..end])
    }

    fn has_stem(&self, stem: &str) -> bool {
        self.passage.place_stems.contains(stem)
            || self.near.iter().any(|sentence| sentence.stems.contains(stem))
    }

    fn has_word(&self, word: &String) -> bool {
        stem_all(std::slice::from_ref(word), self.passage.language).iter().all(|stem| self.has_stem(stem))
    }

    /// Returns the numbers of a claim that do not stand there. A year that was asked about need not.
    pub(super) fn list_missing_numbers<'c>(&self, claim: &'c Claim, question: &Claim) -> Vec<&'c str> {
        let is_year = |word: &String| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
        let in_clause = |clause: &'c Clause| {
            let missing = clause.words.iter().enumerate().filter(|(at, word)| {
                let before = at.checked_sub(1).map_or("", |before| &clause.words[before]);
                let is_page = self.passage.page.as_ref() == Some(word) && PAGE_WORDS.contains(&before);
                let is_asked_year = is_year(word) && question.words.contains(word);
                // "March 2026" may be asked of what says "March".
                let month = clause.words.get(at + 1).filter(|next| is_numbered_month(next, word));
                let is_known = || {
                    is_page
                        || is_asked_year
                        || self.passage.place_numbers.contains(*word)
                        || month.is_some_and(|month| self.has_word(month))
                        || self.has_number(word, unit_at(&clause.words, *at), clause, claim, question)
                };
                has_digit(word) && !is_known()
            });
            missing.map(|(_, word)| word.as_str()).collect::<Vec<_>>()
        };
        claim.clauses.iter().flat_map(in_clause).collect()
    }

    /// Returns whether a number of a clause stands in a sentence that no other one rules out.
    fn has_number(
        &self,
        number: &str,
        unit: Option<usize>,
        clause: &Clause,
        claim: &Claim,
        question: &Claim,
    ) -> bool {
        let language = self.passage.language;
        let (said, asked) = (stem_all(&clause.content, language), stem_all(&question.content, language));
        let has_it = |sentence: &&Sentence<'_>| {
            let head = sentence.head.map(|head| &self.passage.sentences[head]);
            sentence.has_number(number) || head.is_some_and(|head| head.has_number(number))
        };
        let has_other = |rival: &Sentence<'_>, words: &[String]| {
            !has_it(&rival) && rival.numbers.iter().any(|own| !words.contains(own))
        };
        let rivals: Vec<_> = self.near.iter().filter(|rival| has_other(rival, &clause.words)).collect();
        // What proves the claim and has a number that the claim does not say needs none of another sentence.
        let proofs: Vec<_> = self.proofs.iter().filter(|proof| has_other(proof, &claim.words)).collect();
        let is_proof =
            |sentence: &Sentence<'_>| self.proofs.iter().any(|proof| proof.range == sentence.range);
        let is_ruled_out = |sentence: &Sentence<'_>| {
            rivals.iter().any(|rival| fits_better(rival, sentence, &said, &asked))
                || !is_proof(sentence) && proofs.iter().any(|proof| has_all_of(proof, sentence, &said))
        };
        let has_it_so = |sentence: &&Sentence<'_>| has_it(sentence) && self.has_unit(sentence, number, unit);
        self.near.iter().copied().filter(has_it_so).any(|sentence| !is_ruled_out(sentence))
    }

    /// Returns whether a number can have a unit in a sentence: another one stands beside it each time. "30 Urlaubstage" and
    /// a row of a table have none that is known.
    fn has_unit(&self, sentence: &Sentence<'_>, number: &str, unit: Option<usize>) -> bool {
        let words = &self.passage.words[sentence.range.clone()];
        let mut places = (0..words.len()).filter(|at| words[*at] == number).peekable();
        let fits = |at| unit_at(words, at).is_none_or(|beside| Some(beside) == unit);
        unit.is_none() || places.peek().is_none() || places.any(fits)
    }
}

/// Returns whether a sentence has all that another has of what is said, and more; or the same, and more of what was asked:
/// the question tells who "they" are.
fn fits_better(
    rival: &Sentence<'_>,
    sentence: &Sentence<'_>,
    said: &HashSet<String>,
    asked: &HashSet<String>,
) -> bool {
    let has_more =
        |stems: &HashSet<String>| has_all_of(rival, sentence, stems) && !has_all_of(sentence, rival, stems);
    has_more(said) || has_all_of(rival, sentence, said) && has_more(asked)
}

/// Returns whether a sentence has those of these words that another has.
fn has_all_of(sentence: &Sentence<'_>, other: &Sentence<'_>, stems: &HashSet<String>) -> bool {
    stems.iter().all(|stem| sentence.stems.contains(stem) || !other.stems.contains(stem))
}

/// Returns a number of a claim that stands at none of the places that it cites.
pub(super) fn number_missing_in_all<'c>(
    contexts: &[Context<'_, '_>],
    claim: &'c Claim,
    question: &Claim,
) -> Option<&'c str> {
    let (first, others) = contexts.split_first()?;
    let others: Vec<_> = others.iter().map(|other| other.list_missing_numbers(claim, question)).collect();
    let is_in_none = |number: &&str| others.iter().all(|missing| missing.contains(number));
    first.list_missing_numbers(claim, question).into_iter().find(is_in_none)
}

/// Returns which part of a claim's words stands at these places together, or in their titles.
pub(super) fn share_of(contexts: &[Context<'_, '_>], claim: &Claim) -> f32 {
    let shared = claim.content.iter().filter(|word| contexts.iter().any(|context| context.has_word(word)));
    if claim.content.is_empty() { 1.0 } else { shared.count() as f32 / claim.content.len() as f32 }
}

/// Returns whether the words of a claim cannot be compared with those of one of the places that it cites.
pub(super) fn is_foreign_to_one(contexts: &[Context<'_, '_>], claim: &Claim, question: &Claim) -> bool {
    contexts.iter().any(|context| is_foreign(context.passage, claim, question))
}

/// Returns whether a claim is in another language than a passage, so that their words cannot be compared. A passage that
/// does not tell its language, such as a table, may be in any; an English claim is compared with it.
fn is_foreign(passage: &Passage<'_>, claim: &Claim, question: &Claim) -> bool {
    match (passage.language, claim.language.or_else(|| detect_language(&question.words))) {
        (Some(ours), Some(theirs)) => ours != theirs,
        (None, Some(theirs)) => theirs != Language::English,
        (_, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cite::Source;

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
            let (claim_read, question) = (Claim::new(claim), Claim::new("and in 2026?"));
            let context = Context::of_claim(&passage, &claim_read);
            let found = context.list_missing_numbers(&claim_read, &question);
            assert_eq!(found.into_iter().next(), missing, "{claim}");
        }
        let hours = Source { text: "Geöffnet 9–17 Uhr", ..source };
        let claim = Claim::new("Von 9 Uhr bis 17 Uhr");
        let passage = Passage::new(&hours);
        let context = Context::of_claim(&passage, &claim);
        assert!(context.list_missing_numbers(&claim, &Claim::new("")).is_empty());
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
            let said = Claim::new(claim);
            let context = Context::of_claim(&passage, &said);
            let proof = context.find_proof(&said);
            let share = share_of(&[context], &said);
            let proof = proof.filter(|_| share >= 0.7);
            assert_eq!(proof, expected, "{claim}");
        }
    }
}
