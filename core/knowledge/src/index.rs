//! The search index in memory: which chunk has which term, and the vectors of its windows. It ranks; rows decide what
//! may be read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use nod_contract::vector_store::{ChunkCounts, PointGroup, Reader};
use uuid::Uuid;

use crate::analysis::WEIGHT_SCALE;
use crate::postings::Postings;
use crate::vector::{QueryVector, Windows};

/// Fewer places are not worth compacting.
const MIN_COMPACTED: usize = 1_000;

/// The chunks of a tenant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    /// The version of each document that it holds, and who may read it.
    versions: HashMap<Uuid, (i32, Reader)>,
    /// The number of chunks that have not been removed.
    live_count: usize,
    slots: Vec<Slot>,
    /// The chunks that have a term, each with its weight there.
    postings: HashMap<i32, Postings>,
    /// The windows of all chunks, one after another.
    windows: Windows,
    dimension: usize,
    /// The chunks that have no vectors.
    bare_count: usize,
}

/// The place of a chunk.
#[derive(Debug, Clone)]
struct Slot {
    chunk: Uuid,
    /// `None` if it was removed.
    document: Option<Uuid>,
    windows: Range<usize>,
}

/// A version of a document to add.
#[derive(Debug)]
pub(crate) struct IndexedVersion {
    pub(crate) document: Uuid,
    pub(crate) generation: i32,
    pub(crate) reader: Reader,
    pub(crate) chunks: Vec<IndexedChunk>,
}

/// A chunk to add.
#[derive(Debug)]
pub(crate) struct IndexedChunk {
    pub(crate) chunk: Uuid,
    pub(crate) terms: Vec<(i32, i16)>,
    pub(crate) windows: Option<Windows>,
}

impl Index {
    /// Returns the version of each document that it holds, and who may read it.
    pub(crate) fn versions(&self) -> &HashMap<Uuid, (i32, Reader)> {
        &self.versions
    }

    /// Returns how many chunks it has of each group.
    pub(crate) fn count_groups(&self) -> BTreeMap<PointGroup, u64> {
        let mut counts = BTreeMap::new();
        for (slot, document) in self.slots.iter().filter_map(|slot| Some((slot, slot.document?))) {
            if let Some((generation, reader)) = self.versions.get(&document).copied() {
                let is_embedded = !slot.windows.is_empty();
                *counts.entry(PointGroup { document, generation, reader, is_embedded }).or_default() += 1;
            }
        }
        counts
    }

    /// Returns the documents that one of these may read, of some or of all.
    pub(crate) fn find_readable(&self, readers: &[Reader], of: Option<&[Uuid]>) -> HashSet<Uuid> {
        let readers: HashSet<&Reader> = readers.iter().collect();
        let is_readable =
            |document: &Uuid| self.versions.get(document).is_some_and(|(_, reader)| readers.contains(reader));
        match of {
            Some(of) => of.iter().copied().filter(is_readable).collect(),
            None => self.versions.keys().copied().filter(is_readable).collect(),
        }
    }

    /// Returns how many chunks there are, how many of them have vectors, and how many have each of the terms.
    pub(crate) fn count_chunks(&self, terms: &[i32]) -> ChunkCounts {
        let with = |term: &i32| self.postings.get(term).map_or(0, Postings::count);
        ChunkCounts {
            all: self.live_count as u64,
            embedded: (self.live_count - self.bare_count) as u64,
            with_term: terms.iter().map(with).collect(),
        }
    }

    /// Returns the documents that have chunks without vectors.
    pub(crate) fn bare_documents(&self) -> HashSet<Uuid> {
        self.slots.iter().filter(|slot| slot.windows.is_empty()).filter_map(|slot| slot.document).collect()
    }

    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Adds versions of documents, each in the place of the one that it holds.
    pub(crate) fn replace(&mut self, versions: Vec<IndexedVersion>) {
        let known = versions.iter().map(|version| version.document);
        let known: HashSet<Uuid> = known.filter(|document| self.versions.contains_key(document)).collect();
        if !known.is_empty() {
            self.remove(&known);
        }
        for IndexedVersion { document, generation, reader, chunks } in versions {
            self.versions.insert(document, (generation, reader));
            chunks.into_iter().for_each(|chunk| self.add(document, chunk));
        }
    }

    /// Gives back the room that nothing stands in.
    pub(crate) fn shrink(&mut self) {
        self.postings.values_mut().for_each(Postings::shrink);
        self.slots.shrink_to_fit();
        self.windows.codes.shrink_to_fit();
        self.windows.scales.shrink_to_fit();
    }

    fn add(&mut self, document: Uuid, chunk: IndexedChunk) {
        let Ok(at) = u32::try_from(self.slots.len()) else { return };
        for (term, weight) in chunk.terms {
            self.postings.entry(term).or_default().push(at, weight);
        }
        let begin = self.windows.scales.len();
        let windows = chunk.windows.filter(|windows| {
            let dimension = windows.dimension();
            dimension > 0 && (self.dimension == 0 || self.dimension == dimension)
        });
        match windows {
            Some(windows) => {
                self.dimension = windows.dimension();
                self.windows.codes.extend(windows.codes);
                self.windows.scales.extend(windows.scales);
            }
            None => self.bare_count += 1,
        }
        let windows = begin..self.windows.scales.len();
        self.slots.push(Slot { chunk: chunk.chunk, document: Some(document), windows });
        self.live_count += 1;
    }

    /// Removes documents: all at once, because every posting is looked at. If more is gone than there is, the room is
    /// given back.
    pub(crate) fn remove(&mut self, documents: &HashSet<Uuid>) {
        self.versions.retain(|document, _| !documents.contains(document));
        let mut removed = HashSet::new();
        for (at, slot) in (0_u32..).zip(&mut self.slots) {
            if slot.document.is_some_and(|document| documents.contains(&document)) {
                slot.document = None;
                self.live_count -= 1;
                self.bare_count -= usize::from(slot.windows.is_empty());
                removed.insert(at);
            }
        }
        if removed.is_empty() {
            return;
        }
        self.postings.retain(|_, found| {
            found.retain(|at| !removed.contains(&at));
            found.count() > 0
        });
        if self.slots.len() > MIN_COMPACTED && self.live_count * 2 < self.slots.len() {
            self.compact();
        }
    }

    /// Leaves out the places of the chunks that were removed.
    fn compact(&mut self) {
        let slots = std::mem::take(&mut self.slots);
        let windows = std::mem::take(&mut self.windows);
        let mut places = Vec::with_capacity(slots.len());
        for slot in slots {
            places.push(self.slots.len() as u32);
            if slot.document.is_some() {
                let begin = self.windows.scales.len();
                let codes = slot.windows.start * self.dimension..slot.windows.end * self.dimension;
                self.windows.codes.extend(&windows.codes[codes]);
                self.windows.scales.extend(&windows.scales[slot.windows]);
                self.slots.push(Slot { windows: begin..self.windows.scales.len(), ..slot });
            }
        }
        self.postings.values_mut().for_each(|found| found.renumber(|at| places[at as usize]));
        self.shrink();
    }

    /// Returns the chunks of these documents that have terms of a query, the best first. Each term comes with how much it
    /// distinguishes.
    pub(crate) fn search_terms(
        &self,
        terms: &[(i32, f32)],
        documents: &HashSet<Uuid>,
        most: usize,
    ) -> Vec<(Uuid, f32)> {
        let readable = self.mark_slots(documents);
        let mut scores = vec![0.0_f32; self.slots.len()];
        for (term, idf) in terms {
            for (at, weight) in self.postings.get(term).into_iter().flat_map(Postings::iter) {
                scores[at as usize] += idf * f32::from(weight) / WEIGHT_SCALE;
            }
        }
        let scored = (0_u32..).zip(scores).zip(readable).filter(|((_, score), is_in)| *is_in && *score > 0.0);
        self.best(scored.map(|(scored, _)| scored).collect(), most)
    }

    /// Returns the chunks of these documents that are nearest to a query, the nearest first. A score is the cosine of
    /// the best window.
    pub(crate) fn search_vector(
        &self,
        query: &QueryVector,
        documents: &HashSet<Uuid>,
        most: usize,
    ) -> Vec<(Uuid, f32)> {
        if query.codes.len() != self.dimension {
            return Vec::new();
        }
        let best_cosine = |windows: &Range<usize>| {
            let codes = &self.windows.codes[windows.start * self.dimension..windows.end * self.dimension];
            query.best_cosine(codes, &self.windows.scales[windows.clone()])
        };
        let readable = (0_u32..).zip(&self.slots).zip(self.mark_slots(documents)).filter(|(_, is_in)| *is_in);
        let scores = readable.filter_map(|((at, slot), _)| Some((at, best_cosine(&slot.windows)?))).collect();
        self.best(scores, most)
    }

    /// Returns for each slot whether its chunk belongs to one of these documents.
    fn mark_slots(&self, documents: &HashSet<Uuid>) -> Vec<bool> {
        // The chunks of a document stand together, so it is looked up once.
        let mut last = (None, false);
        let is_in = |slot: &Slot| {
            if slot.document != last.0 {
                last = (slot.document, slot.document.is_some_and(|document| documents.contains(&document)));
            }
            last.1
        };
        self.slots.iter().map(is_in).collect()
    }

    /// Equal scores keep the order of the documents, so that an answer can be repeated.
    fn best(&self, mut scores: Vec<(u32, f32)>, most: usize) -> Vec<(Uuid, f32)> {
        let order = |(a, x): &(u32, f32), (b, y): &(u32, f32)| y.total_cmp(x).then(a.cmp(b));
        if scores.len() > most && most > 0 {
            scores.select_nth_unstable_by(most - 1, order);
        }
        scores.truncate(most);
        scores.sort_by(order);
        scores.into_iter().map(|(at, score)| (self.slots[at as usize].chunk, score)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{query_words, terms, weighted_terms};
    use crate::language::Language;
    use crate::rarity::QueryTerms;

    fn id(n: usize) -> Uuid {
        Uuid::from_u128(n as u128)
    }

    fn chunk(at: usize, text: &str, vector: Option<&[f32]>) -> IndexedChunk {
        let windows = vector.map(|vector| Windows::pack(&[vector.to_vec()]));
        IndexedChunk { chunk: id(at), terms: weighted_terms("", "", text, Language::English), windows }
    }

    fn replace(index: &mut Index, document: Uuid, generation: i32, chunks: Vec<IndexedChunk>) {
        let reader = Reader::Everyone;
        index.replace(vec![IndexedVersion { document, generation, reader, chunks }]);
        index.shrink();
    }

    fn search(index: &Index, query: &str, documents: &HashSet<Uuid>) -> Vec<(Uuid, f32)> {
        let words = query_words(query, &[Language::English]);
        let counts = index.count_chunks(&words.concat());
        let terms = QueryTerms::new(words, &counts);
        let hits = index.search_terms(&terms.list(), documents, 10);
        hits.into_iter().map(|(chunk, score)| (chunk, score / terms.highest_score())).collect()
    }

    fn index(texts: &[&str]) -> Index {
        let mut index = Index::default();
        for (at, text) in texts.iter().enumerate() {
            replace(&mut index, id(at), 1, vec![chunk(at, text, None)]);
        }
        index
    }

    fn all(index: &Index) -> HashSet<Uuid> {
        index.find_readable(&[Reader::Everyone], None)
    }

    fn chunk_numbers(hits: &[(Uuid, f32)]) -> Vec<u128> {
        hits.iter().map(|(chunk, _)| chunk.as_u128()).collect()
    }

    #[test]
    fn the_chunk_with_the_rare_words_is_first() {
        let index = index(&["we work and we rest", "25 days of annual leave", "we leave at five"]);
        let hits = search(&index, "annual leave", &all(&index));
        assert_eq!(chunk_numbers(&hits), [1, 2]);
        assert!(hits[0].1 > 0.3 && hits[0].1 <= 1.0, "{hits:?}");
    }

    #[test]
    fn documents_that_may_not_be_read_are_not_found() {
        let mut index = index(&["annual leave", "annual leave"]);
        let only = HashSet::from([id(1)]);
        assert_eq!(chunk_numbers(&search(&index, "leave", &only)), [1]);
        assert_eq!(index.find_readable(&[Reader::Everyone], Some(&[id(1), id(7)])), only);
        assert_eq!(index.find_readable(&[], None), HashSet::new());
        replace(&mut index, id(0), 2, vec![chunk(0, "annual leave", Some(&[1.0, 0.0]))]);
        replace(&mut index, id(1), 2, vec![chunk(1, "annual leave", Some(&[0.0, 1.0]))]);
        assert_eq!(chunk_numbers(&index.search_vector(&QueryVector::pack(&[1.0, 0.0]), &only, 10)), [1]);
    }

    #[test]
    fn words_that_stand_nowhere_lower_the_support() {
        let index = index(&["the weather in May", "the budget of May"]);
        let support = |query: &str| search(&index, query, &all(&index))[0].1;
        assert!(support("weather") > 3.0 * support("weather for parental allowance of contractors"));
    }

    #[test]
    fn a_new_version_takes_the_earlier_ones_place() {
        let mut index = index(&["annual leave", "we work"]);
        let fresh = self::index(&["we rest", "we work"]);
        replace(&mut index, id(0), 2, vec![chunk(7, "we rest", None)]);
        assert_eq!(search(&index, "annual leave", &all(&index)), []);
        assert_eq!(chunk_numbers(&search(&index, "rest", &all(&index))), [7]);
        let terms = terms("rest", Language::English);
        assert_eq!(index.count_chunks(&terms), fresh.count_chunks(&terms));
        let versions =
            index.count_groups().into_iter().map(|(group, n)| (group.document, group.generation, n));
        assert_eq!(versions.collect::<Vec<_>>(), [(id(0), 2, 1), (id(1), 1, 1)]);
        index.remove(&HashSet::from([id(0), id(1)]));
        assert_eq!((index.count_chunks(&[]), index.postings.len()), (ChunkCounts::default(), 0));
    }

    #[test]
    fn the_best_window_decides_and_a_chunk_without_vectors_is_noticed() {
        let mut index = Index::default();
        let windows = |vectors: &[Vec<f32>]| Some(Windows::pack(vectors));
        let chunk = |at, windows| IndexedChunk { chunk: id(at), terms: Vec::new(), windows };
        replace(&mut index, id(1), 1, vec![chunk(1, windows(&[vec![0.6, 0.8], vec![0.0, 1.0]]))]);
        replace(&mut index, id(2), 1, vec![chunk(2, windows(&[vec![0.0, 1.0], vec![1.0, 0.0]]))]);
        assert_eq!((index.count_chunks(&[]).embedded, index.dimension()), (2, 2));
        let hits = index.search_vector(&QueryVector::pack(&[1.0, 0.0]), &all(&index), 10);
        assert_eq!(chunk_numbers(&hits), [2, 1]);
        assert!((hits[1].1 - 0.6).abs() < 0.02, "{hits:?}");
        assert_eq!(index.search_vector(&QueryVector::pack(&[1.0]), &all(&index), 10), []);
        // Vectors of another dimension are as good as none.
        replace(&mut index, id(3), 1, vec![chunk(3, windows(&[vec![1.0, 0.0, 0.0]]))]);
        assert_eq!((index.count_chunks(&[]).embedded, index.dimension()), (2, 2));
    }
}
