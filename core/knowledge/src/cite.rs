//! Citations: how a model writes them, and whether they hold. Pure: all texts are given.
//!
//! A model writes `[p3f2a91 "25 days of annual leave"]` after a sentence: the handle of a passage, and words copied from
//! it. A citation holds if the words stand in the passage, and so do all numbers of the sentence. Without copied words
//! most words of the sentence have to stand there.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

use crate::analysis::{query_terms, split_words, terms};

/// The fewest words that prove something, unless there is a number among them.
const MIN_QUOTE_WORDS: usize = 3;
/// How many of a sentence's words have to stand in a passage that is cited without a quote.
const MIN_SHARED_TERMS: f32 = 0.7;
/// The length of a handle.
pub(crate) const HANDLE_LENGTH: usize = 7;
const QUOTES: [char; 9] = ['"', '“', '”', '„', '«', '»', '\'', '‘', '’'];
/// Stands for the citations of an answer while it is cut into sentences.
const PLACEHOLDER: char = '\u{F8FF}';

/// A passage that was shown to the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) handle: &'a str,
    pub(crate) text: &'a str,
}

/// A citation as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Citation {
    handle: String,
    quote: String,
}

/// A citation that holds: the source's position, and the words that prove it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) source: usize,
    pub(crate) quote: String,
}

/// An answer, checked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckedText {
    /// The answer without the sentences that fail, and with `[1]` for each citation that holds.
    pub(crate) text: String,
    /// What `[1]`, `[2]`, … stand for.
    pub(crate) proofs: Vec<Proof>,
    /// Why sentences failed, each as a sentence for the model.
    pub(crate) failures: Vec<String>,
}

/// Checks the citations of an answer to a question.
pub(crate) fn check(text: &str, question: &str, sources: &[Source<'_>]) -> CheckedText {
    let (bare, citations) = extract_citations(text);
    let mut checked = CheckedText::default();
    let mut citations = citations.into_iter();
    for sentence in split_claims(&bare) {
        let claim: String = sentence.chars().filter(|c| *c != PLACEHOLDER).collect();
        let cited: Vec<Citation> =
            citations.by_ref().take(sentence.chars().filter(|c| *c == PLACEHOLDER).count()).collect();
        let proofs: Vec<Result<Proof, String>> =
            cited.iter().map(|citation| prove(citation, &claim, question, sources)).collect();
        if let Some(failure) = proofs.iter().find_map(|proof| proof.as_ref().err()) {
            checked.failures.push(format!("“{}”: {failure}", claim.trim()));
            continue;
        }
        let mut marks = proofs.into_iter().flatten().map(|proof| {
            let known = checked.proofs.iter().position(|other| other.source == proof.source);
            let at = known.unwrap_or_else(|| {
                checked.proofs.push(proof);
                checked.proofs.len() - 1
            });
            format!("[{}]", at + 1)
        });
        let marked: String = sentence
            .chars()
            .map(|c| if c == PLACEHOLDER { marks.next().unwrap_or_default() } else { c.to_string() })
            .collect();
        drop(marks);
        checked.text.push_str(&marked);
    }
    checked.text = checked.text.trim().to_owned();
    checked
}

/// Replaces each citation by a placeholder. A number in brackets that the model wrote by itself would look like a
/// citation that holds, so it goes.
fn extract_citations(text: &str) -> (String, Vec<Citation>) {
    let (mut bare, mut citations) = (String::new(), Vec::new());
    let text = text.replace(PLACEHOLDER, "");
    let mut rest = text.as_str();
    while let Some(open) = rest.find('[') {
        let (before, from) = rest.split_at(open);
        bare.push_str(before);
        if let Some((citation, length)) = parse_citation(from) {
            bare.push(PLACEHOLDER);
            citations.push(citation);
            rest = &from[length..];
        } else if let Some(length) = bare_number(from) {
            bare.truncate(bare.trim_end().len());
            rest = &from[length..];
        } else {
            bare.push('[');
            rest = &from[1..];
        }
    }
    bare.push_str(rest);
    (bare, citations)
}

/// Returns the length of `[12]` at the beginning of a text.
fn bare_number(text: &str) -> Option<usize> {
    let end = text.find(']')?;
    let inner = text.get(1..end)?;
    (!inner.is_empty() && inner.len() <= 3 && inner.bytes().all(|b| b.is_ascii_digit())).then_some(end + 1)
}

/// Parses `[p3f2a91]`, `[p3f2a91 "words"]` or `[p3f2a91: “words”]` at the beginning of a text; also returns its length.
fn parse_citation(text: &str) -> Option<(Citation, usize)> {
    let handle = text.get(1..1 + HANDLE_LENGTH)?;
    let is_handle = handle.starts_with('p') && handle[1..].bytes().all(|b| b.is_ascii_hexdigit());
    if !is_handle {
        return None;
    }
    let after = &text[1 + HANDLE_LENGTH..];
    let quoted = after.trim_start_matches(|c: char| c.is_whitespace() || c == ':' || c == ',');
    // A quote may contain a bracket, so it ends with its own mark.
    let end = match quoted.chars().next().filter(|c| QUOTES.contains(c)) {
        Some(mark) => {
            let begin = after.len() - quoted.len() + mark.len_utf8();
            let closing = after[begin..]
                .char_indices()
                .find(|(at, c)| {
                    let behind = &after[begin + at + c.len_utf8()..];
                    QUOTES.contains(c) && behind.trim_start().starts_with(']')
                })
                .map(|(at, _)| begin + at)?;
            closing + after[closing..].find(']')?
        }
        None => after.find(']')?,
    };
    let quote =
        after[..end].trim_matches(|c: char| c.is_whitespace() || QUOTES.contains(&c) || ":,".contains(c));
    Some((Citation { quote: quote.to_owned(), handle: handle.to_owned() }, 1 + HANDLE_LENGTH + end + 1))
}

/// Cuts an answer into sentences. A citation that follows a sentence's end, also in a line of its own, belongs to that
/// sentence.
fn split_claims(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for segment in text.split_sentence_bounds() {
        let led = segment.trim_start_matches(|c: char| c == PLACEHOLDER || c.is_whitespace());
        let (lead, rest) = segment.split_at(segment.len() - led.len());
        let spoken = all.iter().rposition(|before| before.contains(char::is_alphanumeric));
        match spoken.filter(|_| lead.contains(PLACEHOLDER)) {
            Some(at) => {
                // What stands in between, such as a line end, stays before the citation.
                let between: String = all.drain(at + 1..).collect();
                all[at].push_str(&between);
                all[at].push_str(lead);
                // The full stop of "25 days. [p3f2a91 …]." belongs to it too.
                if rest.contains(char::is_alphanumeric) {
                    all.push(rest.to_owned())
                } else {
                    all[at].push_str(rest)
                }
            }
            None => all.push(segment.to_owned()),
        }
    }
    all.retain(|sentence| !sentence.is_empty());
    all
}

/// Returns the proof of a citation, or why it does not hold.
fn prove(citation: &Citation, claim: &str, question: &str, sources: &[Source<'_>]) -> Result<Proof, String> {
    let Some(source) = sources.iter().position(|source| source.handle == citation.handle) else {
        return Err(format!("there is no passage {}", citation.handle));
    };
    if !claim.contains(char::is_alphanumeric) {
        return Err("it proves no sentence".to_owned());
    }
    let passage = split_words(sources[source].text);
    let quote = split_words(&citation.quote);
    if quote.is_empty() {
        let wanted = query_terms(claim);
        let there: HashSet<i32> = terms(sources[source].text).into_iter().collect();
        let shared = wanted.iter().filter(|term| there.contains(term)).count();
        if (shared as f32) < MIN_SHARED_TERMS * wanted.len() as f32 {
            return Err(format!("the passage {} does not say this", citation.handle));
        }
    } else if quote.len() < MIN_QUOTE_WORDS && !quote.iter().any(|word| has_digit(word)) {
        return Err(format!("“{}” is too short to prove anything", citation.quote));
    } else if !passage.windows(quote.len()).any(|run| run == quote) {
        return Err(format!("“{}” does not stand in the passage {}", citation.quote, citation.handle));
    }
    // A year that was asked about need not stand there.
    let years = split_words(question).into_iter().filter(|word| word.len() == 4 && has_digit(word));
    let known: HashSet<String> = passage.into_iter().chain(years).collect();
    if let Some(number) = split_words(claim).into_iter().find(|word| has_digit(word) && !known.contains(word))
    {
        return Err(format!("{number} does not stand in the passage {}", citation.handle));
    }
    Ok(Proof { source, quote: citation.quote.clone() })
}

fn has_digit(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: [Source<'_>; 2] = [
        Source { handle: "p3f2a91", text: "Everybody has 25 days of annual leave a year. It ends in March." },
        Source { handle: "p00c1e5", text: "We go by train." },
    ];

    fn checked_parts(text: &str) -> (String, usize, usize) {
        let checked = check(text, "how much leave do I have in 2026?", &SOURCES);
        (checked.text, checked.proofs.len(), checked.failures.len())
    }

    #[test]
    fn citations_that_hold_become_numbers() {
        let all = [
            ("You have 25 days [p3f2a91 \"25 days of annual leave\"].", "You have 25 days [1]."),
            ("You have 25 days. [p3f2a91: “25 days of Annual Leave”]", "You have 25 days. [1]"),
            (
                "25 days [p3f2a91 \"25 days\"]. By train [p00c1e5 \"go by train\"].",
                "25 days [1]. By train [2].",
            ),
            ("In 2026 you have 25 days of leave [p3f2a91].", "In 2026 you have 25 days of leave [1]."),
            ("A [list] of [p3]. Nothing cited.", "A [list] of [p3]. Nothing cited."),
            ("25 days [p3f2a91 \"25 days\"]. Much more [1].", "25 days [1]. Much more."),
            ("You have 25 days.\n[p3f2a91 \"25 days\"]", "You have 25 days.\n[1]"),
        ];
        for (text, expected) in all {
            let (shown, _, failures) = checked_parts(text);
            assert_eq!((shown.as_str(), failures), (expected, 0), "{text}");
        }
    }

    #[test]
    fn a_source_that_is_cited_twice_has_one_number() {
        let text = "25 days [p3f2a91 \"25 days\"]. Until March [p3f2a91 \"ends in March\"].";
        assert_eq!(checked_parts(text), ("25 days [1]. Until March [1].".to_owned(), 1, 0));
    }

    #[test]
    fn sentences_whose_citation_fails_are_left_out() {
        for text in [
            "You have 28 days [p3f2a91 \"28 days of annual leave\"].",
            "You have 28 days [p3f2a91 \"days of annual leave\"].",
            "You have 25 days [pffffff \"25 days\"].",
            "You have leave [p3f2a91 \"leave\"].",
            "You fly first class [p00c1e5].",
            "You have 28 days.\n[p3f2a91 \"days of annual leave\"]\n",
            "You have 28 days.\n[p3f2a91]\n",
            "You have 28 days. [pffffff \"x\"].",
            "You have 28 days [p3f2a91 \"see [2] above in it\"].",
        ] {
            let (shown, proofs, failures) = checked_parts(&format!("{text} So much."));
            assert_eq!((shown.as_str(), proofs, failures), ("So much.", 0, 1), "{text}");
        }
    }

    #[test]
    fn any_text_is_checked() {
        for text in [
            "",
            "[",
            "[p3f2a91",
            "[p3f2a91 \"",
            "[]",
            "]",
            "[pß000]",
            "[p3f2a91 \"\"]",
            "[p3f2a91 \"a]b",
            "[p3f2ß91]",
        ] {
            checked_parts(text);
        }
    }
}
