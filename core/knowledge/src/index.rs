//! The search index in memory: which chunk has which term. It ranks; rows decide what may be read.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::analysis::{MAX_WEIGHT, WEIGHT_SCALE};

/// The chunks of a tenant.
#[derive(Debug, Default)]
pub(crate) struct Index {
    chunks: Vec<ChunkKey>,
    /// The chunks that have a term, each with its weight there.
    postings: HashMap<i32, Vec<(u32, i16)>>,
}

/// A chunk and its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkKey {
    pub(crate) chunk: Uuid,
    pub(crate) document: Uuid,
}

/// A chunk that has terms of the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hit {
    pub(crate) key: ChunkKey,
    /// Its BM25 score as a part of the highest that any text could have, from 0 to 1.
    pub(crate) support: f32,
}

impl Index {
    /// Adds a chunk with its weighted terms.
    pub(crate) fn add(&mut self, key: ChunkKey, terms: impl Iterator<Item = (i32, i16)>) {
        let Ok(at) = u32::try_from(self.chunks.len()) else { return };
        self.chunks.push(key);
        for (term, weight) in terms {
            self.postings.entry(term).or_default().push((at, weight));
        }
    }

    /// Returns how much a term distinguishes: a rare one more than a common one.
    pub(crate) fn idf(&self, term: i32) -> f32 {
        let all = self.chunks.len() as f32;
        let with = self.postings.get(&term).map_or(0.0, |found| found.len() as f32);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    /// Returns the best chunks of these documents, the best first.
    pub(crate) fn search(&self, terms: &[i32], documents: &HashSet<Uuid>, most: usize) -> Vec<Hit> {
        let mut scores: HashMap<u32, f32> = HashMap::new();
        let mut highest = 0.0;
        for term in terms {
            let idf = self.idf(*term);
            highest += idf * MAX_WEIGHT;
            for (at, weight) in self.postings.get(term).into_iter().flatten() {
                if documents.contains(&self.chunks[*at as usize].document) {
                    *scores.entry(*at).or_default() += idf * f32::from(*weight) / WEIGHT_SCALE;
                }
            }
        }
        let mut hits: Vec<(u32, f32)> = scores.into_iter().collect();
        // Equal scores keep the order of the documents, so that an answer can be repeated.
        hits.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        hits.truncate(most);
        let hit = |(at, score): (u32, f32)| Hit { key: self.chunks[at as usize], support: score / highest };
        hits.into_iter().map(hit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{query_terms, weighted_terms};

    fn index(texts: &[&str]) -> Index {
        let mut index = Index::default();
        for (at, text) in texts.iter().enumerate() {
            let id = Uuid::from_u128(at as u128);
            index.add(ChunkKey { chunk: id, document: id }, weighted_terms("", "", text).into_iter());
        }
        index
    }

    fn all(index: &Index) -> HashSet<Uuid> {
        index.chunks.iter().map(|key| key.document).collect()
    }

    #[test]
    fn the_chunk_with_the_rare_words_is_first() {
        let index = index(&["we work and we rest", "25 days of annual leave", "we leave at five"]);
        let hits = index.search(&query_terms("annual leave"), &all(&index), 10);
        assert_eq!(hits.iter().map(|h| h.key.chunk.as_u128()).collect::<Vec<_>>(), [1, 2]);
        assert!(hits[0].support > 0.3 && hits[0].support <= 1.0, "{hits:?}");
    }

    #[test]
    fn documents_that_may_not_be_read_are_not_found() {
        let index = index(&["annual leave", "annual leave"]);
        let only = HashSet::from([Uuid::from_u128(1)]);
        let hits = index.search(&query_terms("leave"), &only, 10);
        assert_eq!(hits.iter().map(|h| h.key.document).collect::<HashSet<_>>(), only);
    }

    #[test]
    fn words_that_stand_nowhere_lower_the_support() {
        let index = index(&["the weather in May", "the budget of May"]);
        let support = |query: &str| index.search(&query_terms(query), &all(&index), 1)[0].support;
        assert!(support("weather") > 3.0 * support("weather for parental allowance of contractors"));
    }
}
