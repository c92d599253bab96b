//! One order from two searches: by words and by meaning. Pure.
//!
//! Scores are added, not ranks: ranks lose how much better the first is than the second.

use std::collections::HashMap;

use uuid::Uuid;

/// How much meaning counts; the rest is words.
const DENSE_WEIGHT: f32 = 0.6;
/// How many of the best are raised by their neighbours, and by how many each.
pub(crate) const MAX_LIFTED: usize = 50;
const NEIGHBOURS: usize = 3;
/// How much a neighbour raises, and from which cosine on.
const LIFT: f32 = 0.4;
const MIN_LIFT_COSINE: f32 = 0.4;

/// A chunk that one of the searches found. A score that is 0 was not found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) chunk: Uuid,
    /// The cosine of its best window.
    pub(crate) dense: f32,
    /// Its BM25 score as a part of the highest that any text could have.
    pub(crate) lexical: f32,
    /// What it is ordered by.
    pub(crate) score: f32,
}

/// Returns one score for a cosine and a part of the highest BM25 score.
pub(crate) fn score(dense: f32, lexical: f32) -> f32 {
    DENSE_WEIGHT * dense + (1.0 - DENSE_WEIGHT) * lexical
}

/// Returns what either search found, the best first.
pub(crate) fn fuse(dense: &[(Uuid, f32)], lexical: &[(Uuid, f32)]) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = dense
        .iter()
        .map(|(chunk, score)| Candidate { chunk: *chunk, dense: *score, lexical: 0.0, score: 0.0 })
        .collect();
    let known: HashMap<Uuid, usize> =
        all.iter().enumerate().map(|(at, candidate)| (candidate.chunk, at)).collect();
    for (chunk, score) in lexical {
        match known.get(chunk) {
            Some(at) => all[*at].lexical = *score,
            None => all.push(Candidate { chunk: *chunk, dense: 0.0, lexical: *score, score: 0.0 }),
        }
    }
    for candidate in &mut all {
        candidate.score = score(candidate.dense, candidate.lexical);
    }
    sort(&mut all);
    all
}

/// Returns what either search found in an order by ranks, for comparison and for stores that give no scores.
pub(crate) fn fuse_ranks(dense: &[Uuid], lexical: &[Uuid]) -> Vec<Uuid> {
    /// How much the first ranks differ; the larger, the less.
    const K: f32 = 10.0;
    let mut scores: HashMap<Uuid, f32> = HashMap::new();
    for (weight, ranked) in [(DENSE_WEIGHT, dense), (1.0 - DENSE_WEIGHT, lexical)] {
        for (rank, chunk) in ranked.iter().enumerate() {
            *scores.entry(*chunk).or_default() += weight / (K + 1.0 + rank as f32);
        }
    }
    let mut all: Vec<(Uuid, f32)> = scores.into_iter().collect();
    all.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    all.into_iter().map(|(chunk, _)| chunk).collect()
}

/// Raises those of the best that say nearly the same as a better one. `means` are the mean vectors of the candidates, in
/// their order; those without one stay.
pub(crate) fn lift(candidates: &mut [Candidate], means: &[Option<Vec<f32>>]) {
    let count = candidates.len().min(means.len()).min(MAX_LIFTED);
    let before: Vec<f32> = candidates.iter().map(|candidate| candidate.score).collect();
    for at in 0..count {
        let Some(own) = &means[at] else { continue };
        let mut near: Vec<(f32, usize)> = (0..count)
            .filter(|other| *other != at)
            .filter_map(|other| Some((cosine(own, means[other].as_ref()?), other)))
            .collect();
        near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let raised: f32 = near
            .iter()
            .take(NEIGHBOURS)
            .map(|(cosine, other)| {
                let weight = ((cosine - MIN_LIFT_COSINE) / (1.0 - MIN_LIFT_COSINE)).max(0.0);
                weight * (before[*other] - before[at]).max(0.0)
            })
            .sum();
        candidates[at].score += LIFT * raised;
    }
    sort(candidates);
}

/// Equal scores keep their order, so that an answer can be repeated.
fn sort(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    #[test]
    fn what_both_find_is_first() {
        let all = fuse(&[(id(1), 0.8), (id(2), 0.7)], &[(id(2), 0.6), (id(3), 0.9)]);
        assert_eq!(all.iter().map(|c| c.chunk).collect::<Vec<_>>(), [id(2), id(1), id(3)]);
        assert!((all[0].score - (0.6 * 0.7 + 0.4 * 0.6)).abs() < 1e-6);
        assert_eq!(fuse(&[], &[]), []);
    }

    #[test]
    fn a_neighbour_of_a_better_one_is_raised() {
        let mut all = fuse(&[(id(1), 0.9), (id(2), 0.5), (id(3), 0.49)], &[]);
        lift(&mut all, &[Some(vec![1.0, 0.0]), Some(vec![0.0, 1.0]), Some(vec![1.0, 0.0])]);
        assert_eq!(all.iter().map(|c| c.chunk).collect::<Vec<_>>(), [id(1), id(3), id(2)]);
        let unchanged = all.clone();
        lift(&mut all, &[None, None, None]);
        assert_eq!(all, unchanged);
    }
}
