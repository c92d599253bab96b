//! How much the terms of a query distinguish: a rare one more than a common one. Pure, and the same for each store.

use nod_contract::vector_store::ChunkCounts;

use crate::analysis::MAX_WEIGHT;

/// The terms of a query, each with its inverse document frequency.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct QueryTerms(Vec<(i32, f32)>);

impl QueryTerms {
    /// `counts` are of these terms, in their order.
    pub(crate) fn new(terms: &[i32], counts: &ChunkCounts) -> Self {
        let idf = |(term, with): (&i32, &u64)| (*term, idf(counts.all, *with));
        Self(terms.iter().zip(&counts.with_term).map(idf).collect())
    }

    pub(crate) fn as_slice(&self) -> &[(i32, f32)] {
        &self.0
    }

    /// Returns how much a term distinguishes; 0 if the query does not have it.
    pub(crate) fn idf(&self, term: i32) -> f32 {
        self.0.iter().find(|(other, _)| *other == term).map_or(0.0, |(_, idf)| *idf)
    }

    pub(crate) fn contains(&self, term: i32) -> bool {
        self.0.iter().any(|(other, _)| *other == term)
    }

    /// Returns the sum over all terms.
    pub(crate) fn total(&self) -> f32 {
        self.0.iter().map(|(_, idf)| idf).sum()
    }

    /// Returns the highest score that any text could have.
    pub(crate) fn highest_score(&self) -> f32 {
        self.0.iter().fold(0.0, |sum, (_, idf)| sum + idf * MAX_WEIGHT)
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
        let counts = ChunkCounts { all: 10, embedded: 0, with_term: vec![1, 9, 0] };
        let terms = QueryTerms::new(&[7, 8, 9], &counts);
        assert!(terms.idf(9) > terms.idf(7) && terms.idf(7) > terms.idf(8) && terms.idf(8) > 0.0);
        assert_eq!((terms.idf(1), terms.contains(1), terms.contains(8)), (0.0, false, true));
        assert!((terms.highest_score() - terms.total() * MAX_WEIGHT).abs() < 1e-5);
        // A store that is counted while it changes may have more with a term than there are.
        assert!(idf(0, 1).is_finite());
    }
}
