//! Points as Qdrant takes them, in batches that it takes at once.

use std::collections::{BTreeSet, HashMap};

use nod_contract::ids::TenantId;
use nod_contract::vector_store::{Hit, Point, PointGroup, Space};
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::{ListValue, NamedVectors, PointStruct, ScoredPoint, Value, Vector};

use crate::collection::{DENSE, LEXICAL};
use crate::payload;

/// The most points of a batch.
const MAX_POINTS: usize = 64;
/// The most bytes of a batch. (gRPC's own limit is 4 MiB.)
const MAX_BYTES: usize = 4_000_000;
/// What a point, a window and a term take at most beside their numbers.
const POINT_BYTES: usize = 1_024;
const WINDOW_BYTES: usize = 16;
const TERM_BYTES: usize = 24;

/// Returns what is wrong with the first point that cannot be stored. Qdrant would store those before it.
pub fn find_problem(space: &Space, points: &[Point]) -> Option<String> {
    points.iter().find_map(|point| {
        let problem = find_point_problem(space, point)?;
        Some(format!("chunk {}: {problem}", point.id))
    })
}

fn find_point_problem(space: &Space, point: &Point) -> Option<String> {
    let wrong = point.windows.iter().find(|window| window.len() != space.dimension);
    if let Some(window) = wrong {
        return Some(format!("a vector has {} numbers in place of {}", window.len(), space.dimension));
    }
    if space.dimension == 0 && !point.windows.is_empty() {
        return Some("a vector where chunks are found by their words alone".to_owned());
    }
    let weights = point.terms.iter().map(|(_, weight)| weight);
    if !point.windows.iter().flatten().chain(weights).all(|number| number.is_finite()) {
        return Some("a number that is not finite".to_owned());
    }
    let distinct: BTreeSet<u32> = point.terms.iter().map(|(term, _)| *term).collect();
    (distinct.len() < point.terms.len()).then(|| "a term stands there twice".to_owned())
}

/// Cuts points into batches.
pub fn batches(points: &[Point]) -> Vec<&[Point]> {
    let mut batches = Vec::new();
    let (mut begin, mut bytes) = (0, 0);
    for (at, point) in points.iter().enumerate() {
        let size = max_size(point);
        if at > begin && (at - begin == MAX_POINTS || bytes + size > MAX_BYTES) {
            batches.push(&points[begin..at]);
            (begin, bytes) = (at, 0);
        }
        bytes += size;
    }
    if begin < points.len() {
        batches.push(&points[begin..]);
    }
    batches
}

/// Returns what an encoded point takes at most.
fn max_size(point: &Point) -> usize {
    let windows: usize = point.windows.iter().map(|window| WINDOW_BYTES + 4 * window.len()).sum();
    POINT_BYTES + windows + TERM_BYTES * point.terms.len()
}

pub fn encode(tenant: TenantId, point: &Point) -> PointStruct {
    // A point without any vector still needs the (empty) list of them.
    let mut vectors = NamedVectors::default();
    if !point.windows.is_empty() {
        vectors = vectors.add_vector(DENSE, Vector::new_multi(point.windows.clone()));
    }
    let (terms, weights): (Vec<u32>, Vec<f32>) = point.terms.iter().copied().unzip();
    if !terms.is_empty() {
        vectors = vectors.add_vector(LEXICAL, Vector::new_sparse(terms.clone(), weights));
    }
    let terms = terms.into_iter().map(|term| Value::from(i64::from(term))).collect();
    let group = PointGroup {
        document: point.document,
        generation: point.generation,
        reader: point.reader,
        is_embedded: !point.windows.is_empty(),
    };
    let payload = HashMap::from([
        (payload::TENANT.to_owned(), Value::from(tenant.to_string())),
        (payload::READER.to_owned(), Value::from(payload::reader_key(&point.reader))),
        (payload::DOCUMENT.to_owned(), Value::from(point.document.to_string())),
        (payload::GENERATION.to_owned(), Value::from(i64::from(point.generation))),
        (payload::GROUP.to_owned(), Value::from(payload::group_key(&group))),
        (payload::TERMS.to_owned(), Value { kind: Some(Kind::ListValue(ListValue { values: terms })) }),
        (payload::EMBEDDED.to_owned(), Value::from(i64::from(group.is_embedded))),
    ]);
    PointStruct { id: Some(point.id.to_string().into()), payload, vectors: Some(vectors.into()) }
}

/// Returns the hit that a scored point is; `None` if it is not one of ours.
pub fn decode_hit(point: &ScoredPoint) -> Option<Hit> {
    let Some(PointIdOptions::Uuid(id)) = point.id.as_ref()?.point_id_options.as_ref() else { return None };
    Some(Hit { chunk: id.parse().ok()?, score: point.score })
}

#[cfg(test)]
mod tests {
    use nod_contract::vector_store::Reader;
    use uuid::Uuid;

    use super::*;

    fn point(windows: usize, dimension: usize) -> Point {
        Point {
            id: Uuid::from_u128(1),
            document: Uuid::from_u128(2),
            generation: 1,
            reader: Reader::Everyone,
            windows: vec![vec![0.5; dimension]; windows],
            terms: vec![(7, 1.0)],
        }
    }

    #[test]
    fn a_batch_is_at_most_64_points_and_4_megabytes() {
        let small: Vec<Point> = vec![point(1, 4); 130];
        let lengths: Vec<usize> = batches(&small).iter().map(|batch| batch.len()).collect();
        assert_eq!(lengths, [64, 64, 2]);
        // A megabyte each.
        let large: Vec<Point> = vec![point(250, 1_000); 5];
        let lengths: Vec<usize> = batches(&large).iter().map(|batch| batch.len()).collect();
        assert_eq!(lengths, [3, 2]);
        // What is too large by itself is sent alone, for the server to decide.
        let lengths: Vec<usize> =
            batches(&[point(2_000, 1_000), point(1, 4)]).iter().map(|b| b.len()).collect();
        assert_eq!(lengths, [1, 1]);
        assert!(batches(&[]).is_empty());
    }

    #[test]
    fn a_point_that_cannot_be_stored_says_why() {
        let space = Space { model: Some("m".to_owned()), dimension: 4 };
        let words = Space { model: None, dimension: 0 };
        assert_eq!(find_problem(&space, &[point(2, 4), point(0, 4)]), None);
        let problem = |space: &Space, point: Point| find_problem(space, &[point]).unwrap_or_default();
        assert!(problem(&space, point(1, 3)).ends_with("a vector has 3 numbers in place of 4"));
        assert!(problem(&words, point(1, 0)).ends_with("found by their words alone"));
        assert!(problem(&space, Point { terms: vec![(7, f32::NAN)], ..point(1, 4) }).ends_with("not finite"));
        let twice = Point { terms: vec![(7, 1.0), (7, 2.0)], ..point(1, 4) };
        assert!(problem(&space, twice).ends_with("a term stands there twice"));
    }
}
