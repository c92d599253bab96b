//! How much the words of a query distinguish: a rare one more than a common one. Pure, and the same for each store.

use std::collections::{BTreeMap, HashSet};

use nod_contract::vector_store::ChunkCounts;

use crate::analysis::MAX_WEIGHT;

/// The words of a query, each with its inverse document frequency.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct QueryTerms(Vec<QueryWord>);

#[derive(Debug, Clone, PartialEq)]
struct QueryWord {
    /// What it can be in the languages of the documents.
    terms: Vec<i32>,
    idf: f32,
}

impl QueryTerms {
    /// `counts` are of the terms of all these words, in their order.
    pub(crate) fn new(words: Vec<Vec<i32>>, counts: &ChunkCounts) -> Self {
        let mut with_term = counts.with_term.iter();
        let word = |terms: Vec<i32>| {
            let with: u64 = with_term.by_ref().take(terms.len()).sum();
            QueryWord { terms, idf: idf(counts.all, with.min(counts.all)) }
        };
        Self(words.into_iter().map(word).collect())
    }

    /// Returns each term once, with how much the rarest of its words distinguishes: two words may share a form.
    pub(crate) fn list(&self) -> Vec<(i32, f32)> {
        let mut all: BTreeMap<i32, f32> = BTreeMap::new();
        for QueryWord { terms, idf } in &self.0 {
            for term in terms {
                let known = all.entry(*term).or_default();
                *known = known.max(*idf);
            }
        }
        all.into_iter().collect()
    }

    /// Returns how much those of the words distinguish that a text has, by its terms.
    pub(crate) fn weigh(&self, there: &HashSet<i32>) -> f32 {
        let found = self.0.iter().filter(|word| word.terms.iter().any(|term| there.contains(term)));
        found.map(|word| word.idf).sum()
    }

    pub(crate) fn contains(&self, term: i32) -> bool {
        self.0.iter().any(|word| word.terms.contains(&term))
    }

    /// Returns the sum over all words.
    pub(crate) fn total(&self) -> f32 {
        self.0.iter().map(|word| word.idf).sum()
    }

    /// Returns the highest score that any text could have.
    pub(crate) fn highest_score(&self) -> f32 {
        self.total() * MAX_WEIGHT
    }
}

fn idf(all: u64, with: u64) -> f32 {
    let (all, with) = (all as f32, with as f32);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_term_distinguishes_more() {
        let counts = ChunkCounts { all: 10, embedded: 0, with_term: vec![1, 5, 4, 0] };
        let words = QueryTerms::new(vec![vec![6], vec![7, 8], vec![9]], &counts);
        let weight = |term: i32| words.weigh(&HashSet::from([term]));
        assert!(weight(9) > weight(6) && weight(6) > weight(7) && weight(7) > 0.0);
        assert_eq!(
            (weight(8), words.weigh(&HashSet::from([7, 8]))),
            (weight(7), weight(7)),
            "one word, in two forms"
        );
        assert_eq!((weight(1), words.contains(1), words.contains(8)), (0.0, false, true));
        assert_eq!(words.list().len(), 4);
        let counts = ChunkCounts { all: 10, embedded: 0, with_term: vec![3, 3, 1] };
        let shared = QueryTerms::new(vec![vec![5], vec![5, 6]], &counts).list();
        assert_eq!(
            shared.iter().map(|(term, _)| *term).collect::<Vec<_>>(),
            [5, 6],
            "a store takes each once"
        );
        assert!((words.highest_score() - words.total() * MAX_WEIGHT).abs() < 1e-5);
        // A store that is counted while it changes may have more with a term than there are.
        assert!(idf(0, 1).is_finite());
    }
}
