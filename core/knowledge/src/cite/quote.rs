//! Whether copied words stand in a passage.

use std::ops::Range;

use super::words::{compared_words, has_digit};

/// The fewest words that prove something, unless there is a number among them.
const MIN_QUOTE_WORDS: usize = 3;
/// In how many words of a passage the parts of a quote with "…" have to stand.
const MAX_SPAN_WORDS: usize = 60;
/// In how many words of a quote one may differ. A longer quote than the span may not differ at all.
const WORDS_PER_DIFFERENCE: usize = 10;
/// Words that turn a sentence into its opposite.
const NEGATIONS: &str = "not no never none nor neither nobody nothing without cannot cant dont doesnt didnt isnt arent \
    wasnt werent wont wouldnt shouldnt mustnt couldnt hasnt havent nein nicht nichts kein keine keinen keinem keiner keines nie \
    niemals niemand ohne weder ne pas sans jamais aucun aucune rien ni nunca jamás sin ningún ninguno ninguna nada non \
    senza nessuno nessun nessuna niet geen nooit zonder não nem sem";

/// The parts of a quote between its "…".
pub(super) struct Quote(Vec<Vec<String>>);

impl Quote {
    pub(super) fn parse(text: &str) -> Self {
        let parts = text.replace('…', "...");
        let parts = parts.split("...").map(compared_words).filter(|part| !part.is_empty());
        Self(parts.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_too_short(&self) -> bool {
        let proves = |part: &Vec<String>| part.len() >= MIN_QUOTE_WORDS || part.iter().any(|w| has_digit(w));
        !self.0.iter().any(proves)
    }

    /// Returns where all parts stand in the passage, in order and near each other.
    pub(super) fn find_in(&self, passage: &[String]) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        let Some((first, rest)) = self.0.split_first() else { return all };
        let mut from = 0;
        while let Some((begin, mut end)) = find_run(&passage[from..], first) {
            let span = &passage[from + begin..];
            let span = &span[..span.len().min(MAX_SPAN_WORDS)];
            end -= begin;
            let follows = |part: &Vec<String>| {
                let found = span.get(end..).and_then(|left| find_run(left, part));
                end += found.map_or(0, |(_, length)| length);
                found.is_some()
            };
            let begin = from + begin;
            if rest.iter().all(follows) {
                all.push(begin..begin + end);
                from = begin + end;
            } else {
                from = begin + 1;
            }
        }
        all
    }
}

pub(super) fn is_negation(word: &str) -> bool {
    NEGATIONS.split_whitespace().any(|negation| negation == word)
}

/// Returns where a run of words begins and ends; of several, the one that ends first.
fn find_run(passage: &[String], run: &[String]) -> Option<(usize, usize)> {
    let most = if run.len() > MAX_SPAN_WORDS { 0 } else { run.len() / WORDS_PER_DIFFERENCE };
    if most == 0 {
        let begin = passage.windows(run.len()).position(|window| window == run)?;
        return Some((begin, begin + run.len()));
    }
    // The differences between the first words of the run and the passage up to here, and where that begins.
    let cost = |word: &str| if may_differ(word) { 1 } else { most + 1 };
    let mut row = vec![(0, 0)];
    for word in run {
        row.push((row[row.len() - 1].0 + cost(word), 0));
    }
    for (at, here) in passage.iter().enumerate() {
        let mut next = vec![(0, at + 1)];
        for (n, word) in run.iter().enumerate() {
            let (replaced, begin) = row[n];
            let replaced = (replaced + difference(word, here, most), begin);
            let extra = (row[n + 1].0 + cost(here), row[n + 1].1);
            let missing = (next[n].0 + cost(word), next[n].1);
            // Of equal ones the last is taken: a run begins where its first word stands.
            let best = [missing, extra, replaced].into_iter().rev().min_by_key(|(cost, _)| *cost);
            next.push(best.unwrap_or(replaced));
        }
        row = next;
        if let Some((_, begin)) = row.last().filter(|(cost, _)| *cost <= most) {
            return Some((*begin, at + 1));
        }
    }
    None
}

fn difference(a: &str, b: &str, most: usize) -> usize {
    // "unpaid" is no spelling of "paid".
    let may_differ = may_differ(a) && may_differ(b) && !a.ends_with(b) && !b.ends_with(a);
    match a == b {
        true => 0,
        false if may_differ => 1,
        false => most + 1,
    }
}

fn may_differ(word: &str) -> bool {
    !has_digit(word) && !is_negation(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSAGE: &str = "Every full-time employee has 25 days of paid annual leave a year, and may not carry over more \
        than 5 days. Infor-\nmation is with the office in Berlin.";

    fn is_in(quote: &Quote, passage: &str) -> bool {
        !quote.find_in(&compared_words(passage)).is_empty()
    }

    #[test]
    fn a_quote_stands_in_the_passage_or_does_not() {
        for (quote, expected) in [
            ("25 days of paid annual leave", true),
            ("Information is with the office", true),
            ("full\u{ad}-time employee has 25 days", true),
            ("25 days … may not carry over", true),
            ("25 days ... with the office...", true),
            ("may not carry over [...] 25 days", false),
            ("days of annual leave", false),
            ("employee has 25 days of paid yearly leave a", false),
            // One of ten may differ.
            ("employee has 25 days of paid yearly leave a year and", true),
            ("employee has 25 days of paid leave a year and may not", true),
            ("employee has 25 days of really paid annual leave a year", true),
            ("employee has 28 days of paid annual leave a year and", false),
            ("employee has 25 days of unpaid annual leave a year and", false),
            ("annual leave a year and may carry over more than 5", false),
            ("annual leave a year and may now carry over more than", false),
            ("employee has 25 days of paid yearly holiday a year and", false),
        ] {
            assert_eq!(is_in(&Quote::parse(quote), PASSAGE), expected, "{quote}");
        }
    }

    #[test]
    fn the_parts_of_a_quote_stand_near_each_other() {
        let far = |words: usize| format!("We have lunch {} at the station", "so ".repeat(words));
        for (between, expected) in [(54, true), (55, false)] {
            let quote = Quote::parse("we have lunch … at the station");
            assert_eq!(is_in(&quote, &far(between)), expected, "{between}");
        }
        let twice = format!("{}. We have lunch at the station", far(80));
        assert!(is_in(&Quote::parse("we have lunch … at the station"), &twice));
    }

    #[test]
    fn a_quote_stands_in_several_places() {
        let places = Quote::parse("a 5").find_in(&compared_words("a 5 b a 5 a 6 a 5"));
        assert_eq!(places, [0..2, 3..5, 7..9]);
    }

    #[test]
    fn few_words_prove_nothing() {
        for (quote, expected) in
            [("leave", true), ("25 days", false), ("a … b … c", true), ("go by train", false)]
        {
            assert_eq!(Quote::parse(quote).is_too_short(), expected, "{quote}");
        }
        assert!(Quote::parse(" … ").is_empty());
    }
}
