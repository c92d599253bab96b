//! What a store of vectors promises, whichever it is.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use nod_contract::ids::{ChannelId, PersonId, TenantId};
use nod_contract::vector_store::{
    ChunkCounts, Hit, Hits, Point, PointGroup, Reader, SearchQuery, Space, VectorStore, VectorStoreError,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use uuid::Uuid;

const DIMENSION: usize = 8;

/// A store under test, and how points come to it and go: one that reads them from rows needs the rows first.
#[async_trait]
pub trait StoreUnderTest: Sync {
    fn store(&self) -> &dyn VectorStore;

    /// How far a score may be from the exact one.
    fn tolerance(&self) -> f32 {
        1e-3
    }

    async fn publish(
        &self,
        space: &Space,
        tenant: TenantId,
        points: &[Point],
    ) -> Result<(), VectorStoreError>;

    async fn withdraw(
        &self,
        space: &Space,
        tenant: TenantId,
        document: Uuid,
        except: Option<i32>,
    ) -> Result<(), VectorStoreError>;
}

type Subject<'a> = &'a dyn StoreUnderTest;

pub fn space() -> Space {
    Space { model: Some("contract suite".to_owned()), dimension: DIMENSION }
}

fn words_space() -> Space {
    Space { model: None, dimension: 0 }
}

pub fn tenant() -> TenantId {
    TenantId(Uuid::now_v7())
}

/// Returns a vector along one axis.
fn axis(at: usize) -> Vec<f32> {
    (0..DIMENSION).map(|n| if n == at { 1.0 } else { 0.0 }).collect()
}

/// Returns a chunk that everyone may read and each search below finds.
pub fn chunk(document: Uuid) -> Point {
    Point {
        id: Uuid::now_v7(),
        document,
        generation: 1,
        reader: Reader::Everyone,
        windows: vec![axis(0)],
        terms: vec![(1, 1.0)],
    }
}

pub fn query(tenant: TenantId) -> SearchQuery {
    SearchQuery {
        tenant,
        readers: vec![Reader::Everyone],
        documents: None,
        vector: Some(axis(0)),
        terms: vec![(1, 1.0)],
        limit: 100,
    }
}

fn ids(hits: &[Hit]) -> BTreeSet<Uuid> {
    hits.iter().map(|hit| hit.chunk).collect()
}

fn ids_of(points: &[&Point]) -> BTreeSet<Uuid> {
    points.iter().map(|point| point.id).collect()
}

/// Returns the groups of these points, with how many each has.
fn groups(of: &[(&Point, u64)]) -> BTreeMap<PointGroup, u64> {
    let group = |(point, count): &(&Point, u64)| {
        let Point { document, generation, reader, .. } = **point;
        (PointGroup { document, generation, reader, is_embedded: !point.windows.is_empty() }, *count)
    };
    of.iter().map(group).collect()
}

#[track_caller]
fn assert_found(hits: &Hits, points: &[&Point]) {
    assert_eq!(ids(&hits.dense), ids_of(points), "by meaning: {hits:?}");
    assert_eq!(ids(&hits.lexical), ids_of(points), "by words: {hits:?}");
    assert_eq!(hits.dense.len(), points.len(), "each once: {hits:?}");
    assert_eq!(hits.lexical.len(), points.len(), "each once: {hits:?}");
}

pub async fn points_put_twice_are_there_once(subject: Subject<'_>) {
    let (space, tenant, document) = (space(), tenant(), Uuid::now_v7());
    let points = [chunk(document), chunk(document)];
    subject.publish(&space, tenant, &points).await.unwrap();
    subject.publish(&space, tenant, &points).await.unwrap();
    let hits = subject.store().search(&space, &query(tenant)).await.unwrap();
    assert_found(&hits, &[&points[0], &points[1]]);
    let versions = subject.store().list_groups(&space, tenant).await.unwrap();
    assert_eq!(versions, groups(&[(&points[0], 2)]));
}

pub async fn another_tenants_points_are_never_found(subject: Subject<'_>) {
    let (space, ours, theirs) = (space(), tenant(), tenant());
    let channel = Reader::Channel(ChannelId(Uuid::now_v7()));
    let mine = chunk(Uuid::now_v7());
    let foreign = [chunk(Uuid::now_v7()), Point { reader: channel, ..chunk(Uuid::now_v7()) }];
    subject.publish(&space, ours, std::slice::from_ref(&mine)).await.unwrap();
    subject.publish(&space, theirs, &foreign).await.unwrap();
    let all_readers = vec![Reader::Everyone, channel];
    let searches = [
        query(ours),
        SearchQuery { readers: all_readers.clone(), ..query(ours) },
        SearchQuery { documents: Some(vec![mine.document, foreign[0].document]), ..query(ours) },
    ];
    for search in searches {
        assert_found(&subject.store().search(&space, &search).await.unwrap(), &[&mine]);
    }
    let documents = Some(foreign.iter().map(|point| point.document).collect());
    let theirs_only = SearchQuery { documents, readers: all_readers, ..query(ours) };
    assert_eq!(subject.store().search(&space, &theirs_only).await.unwrap(), Hits::default());
    // Nor counted, listed or deleted.
    let counts = subject.store().count_chunks(&space, ours, &[1]).await.unwrap();
    assert_eq!(counts, ChunkCounts { all: 1, embedded: 1, with_term: vec![1] });
    let listed = subject.store().list_groups(&space, ours).await.unwrap();
    assert_eq!(listed, groups(&[(&mine, 1)]));
    subject.withdraw(&space, ours, foreign[0].document, None).await.unwrap();
    let hits = subject.store().search(&space, &query(theirs)).await.unwrap();
    assert_found(&hits, &[&foreign[0]]);
}

pub async fn only_readers_find_a_point(subject: Subject<'_>) {
    let (space, tenant) = (space(), tenant());
    // The same id, so that the kind of reader decides.
    let id = Uuid::now_v7();
    let readers = [
        Reader::Everyone,
        Reader::Channel(ChannelId(id)),
        Reader::Person(PersonId(id)),
        Reader::Channel(ChannelId(Uuid::now_v7())),
    ];
    let points = readers.map(|reader| Point { reader, ..chunk(Uuid::now_v7()) });
    subject.publish(&space, tenant, &points).await.unwrap();
    for (reader, point) in readers.iter().zip(&points) {
        let search = SearchQuery { readers: vec![*reader], ..query(tenant) };
        assert_found(&subject.store().search(&space, &search).await.unwrap(), &[point]);
    }
    let two = SearchQuery { readers: vec![readers[0], readers[2]], ..query(tenant) };
    assert_found(&subject.store().search(&space, &two).await.unwrap(), &[&points[0], &points[2]]);
    for readers in [vec![], vec![Reader::Person(PersonId(Uuid::now_v7()))]] {
        let search = SearchQuery { readers, ..query(tenant) };
        assert_eq!(subject.store().search(&space, &search).await.unwrap(), Hits::default());
    }
}

pub async fn other_documents_are_not_found(subject: Subject<'_>) {
    let (space, tenant) = (space(), tenant());
    let points = [chunk(Uuid::now_v7()), chunk(Uuid::now_v7()), chunk(Uuid::now_v7())];
    subject.publish(&space, tenant, &points).await.unwrap();
    let within = |documents: Vec<Uuid>| SearchQuery { documents: Some(documents), ..query(tenant) };
    let search = within(vec![points[0].document, points[2].document]);
    assert_found(&subject.store().search(&space, &search).await.unwrap(), &[&points[0], &points[2]]);
    for documents in [vec![], vec![Uuid::now_v7()]] {
        let hits = subject.store().search(&space, &within(documents)).await.unwrap();
        assert_eq!(hits, Hits::default());
    }
}

pub async fn a_new_version_stands_beside_the_old_one(subject: Subject<'_>) {
    let (space, tenant, document) = (space(), tenant(), Uuid::now_v7());
    let old = [chunk(document), chunk(document)];
    let new = Point { generation: 2, ..chunk(document) };
    let other = chunk(Uuid::now_v7());
    subject.publish(&space, tenant, &[old[0].clone(), old[1].clone(), other.clone()]).await.unwrap();
    subject.publish(&space, tenant, std::slice::from_ref(&new)).await.unwrap();
    let hits = subject.store().search(&space, &query(tenant)).await.unwrap();
    assert_found(&hits, &[&old[0], &old[1], &new, &other]);
    subject.withdraw(&space, tenant, document, Some(2)).await.unwrap();
    let hits = subject.store().search(&space, &query(tenant)).await.unwrap();
    assert_found(&hits, &[&new, &other]);
    // A version that was never there keeps nothing.
    subject.withdraw(&space, tenant, document, Some(22)).await.unwrap();
    assert_found(&subject.store().search(&space, &query(tenant)).await.unwrap(), &[&other]);
}

pub async fn a_point_is_found_at_once_and_gone_at_once(subject: Subject<'_>) {
    let (space, tenant) = (space(), tenant());
    for _ in 0..10 {
        let point = chunk(Uuid::now_v7());
        subject.publish(&space, tenant, std::slice::from_ref(&point)).await.unwrap();
        assert_found(&subject.store().search(&space, &query(tenant)).await.unwrap(), &[&point]);
        subject.withdraw(&space, tenant, point.document, None).await.unwrap();
        assert_eq!(subject.store().search(&space, &query(tenant)).await.unwrap(), Hits::default());
        // Once more changes nothing.
        subject.withdraw(&space, tenant, point.document, None).await.unwrap();
    }
}

pub async fn a_leg_without_a_hit_is_empty(subject: Subject<'_>) {
    let (space, tenant, document) = (space(), tenant(), Uuid::now_v7());
    let without_vector = Point { windows: vec![], terms: vec![(2, 1.0)], ..chunk(document) };
    let without_terms = Point { terms: vec![], ..chunk(document) };
    let bare = Point { windows: vec![], terms: vec![], ..chunk(document) };
    let points = [without_vector.clone(), without_terms.clone(), bare];
    subject.publish(&space, tenant, &points).await.unwrap();
    let search = async |search: SearchQuery| subject.store().search(&space, &search).await.unwrap();
    let hits = search(SearchQuery { terms: vec![(3, 1.0)], ..query(tenant) }).await;
    assert_eq!((ids(&hits.dense), hits.lexical), (ids_of(&[&without_terms]), vec![]));
    let hits = search(SearchQuery { vector: None, terms: vec![(2, 1.0)], ..query(tenant) }).await;
    assert_eq!((hits.dense, ids(&hits.lexical)), (vec![], ids_of(&[&without_vector])));
    let hits = search(SearchQuery { terms: vec![], ..query(tenant) }).await;
    assert_eq!((ids(&hits.dense), hits.lexical), (ids_of(&[&without_terms]), vec![]));
    let nothing = [
        SearchQuery { vector: None, terms: vec![], ..query(tenant) },
        SearchQuery { limit: 0, ..query(tenant) },
        query(self::tenant()),
    ];
    for empty in nothing {
        assert_eq!(search(empty).await, Hits::default());
    }
    let counts = subject.store().count_chunks(&space, tenant, &[1, 2]).await.unwrap();
    assert_eq!(counts, ChunkCounts { all: 3, embedded: 1, with_term: vec![0, 1] });
}

pub async fn the_best_window_counts(subject: Subject<'_>) {
    let (space, tenant, document) = (space(), tenant(), Uuid::now_v7());
    let half = vec![0.5; 4].into_iter().chain(vec![0.0; 4]).collect::<Vec<f32>>();
    let best = Point { windows: vec![axis(5), axis(0), axis(6)], ..chunk(document) };
    // In sum its windows would be nearer.
    let second = Point { windows: vec![half.clone(), half.clone(), half.clone(), half], ..chunk(document) };
    let points = [second.clone(), best.clone()];
    subject.publish(&space, tenant, &points).await.unwrap();
    let hits = subject.store().search(&space, &query(tenant)).await.unwrap();
    assert_eq!(hits.dense.iter().map(|hit| hit.chunk).collect::<Vec<_>>(), [best.id, second.id]);
    assert_near(hits.dense[0].score, 1.0, subject.tolerance());
    assert_near(hits.dense[1].score, 0.5, subject.tolerance());
    // The most chunks, not the most windows.
    let hits =
        subject.store().search(&space, &SearchQuery { limit: 1, ..query(tenant) }).await.unwrap().dense;
    assert_eq!(hits.len(), 1);
}

#[track_caller]
fn assert_near(score: f32, expected: f32, tolerance: f32) {
    assert!((score - expected).abs() < tolerance, "{score} in place of {expected}");
}

/// Sets of random points, and what a search finds in each.
pub async fn scores_are_those_of_a_plain_loop(subject: Subject<'_>) {
    let space = space();
    for seed in 0..20 {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let (tenant, other) = (tenant(), tenant());
        let readers = [
            Reader::Everyone,
            Reader::Channel(ChannelId(new_id(rng))),
            Reader::Person(PersonId(new_id(rng))),
        ];
        let documents = [new_id(rng), new_id(rng), new_id(rng)];
        let points: Vec<Point> = (0..60).map(|_| random_point(rng, &documents, &readers)).collect();
        subject.publish(&space, tenant, &points[..50]).await.unwrap();
        subject.publish(&space, other, &points[50..]).await.unwrap();
        for _ in 0..10 {
            let search = random_query(rng, tenant, &documents, &readers);
            let hits = subject.store().search(&space, &search).await.unwrap();
            let candidates: Vec<&Point> =
                points[..50].iter().filter(|point| is_wanted(&search, point)).collect();
            let by_meaning = candidates.iter().filter_map(|point| Some((point.id, cosine(&search, point)?)));
            assert_scores(&hits.dense, by_meaning.collect(), search.limit, subject.tolerance());
            let by_words = candidates.iter().filter_map(|point| Some((point.id, overlap(&search, point)?)));
            assert_scores(&hits.lexical, by_words.collect(), search.limit, subject.tolerance());
        }
    }
}

fn new_id(rng: &mut ChaCha8Rng) -> Uuid {
    Uuid::from_u128(rng.random::<u128>() ^ Uuid::now_v7().as_u128())
}

fn random_unit(rng: &mut ChaCha8Rng) -> Vec<f32> {
    let vector: Vec<f32> = (0..DIMENSION).map(|_| rng.random_range(-1.0..1.0)).collect();
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.into_iter().map(|x| x / length).collect()
}

fn random_terms(rng: &mut ChaCha8Rng, most: usize) -> Vec<(u32, f32)> {
    // Terms are hashes, so they are as large as a number can be.
    let terms: BTreeMap<u32, f32> = (0..rng.random_range(0..=most))
        .map(|_| (u32::MAX - rng.random_range(0..12), rng.random_range(0.1..3.0)))
        .collect();
    terms.into_iter().collect()
}

fn random_point(rng: &mut ChaCha8Rng, documents: &[Uuid], readers: &[Reader]) -> Point {
    let at = rng.random_range(0..documents.len());
    Point {
        id: new_id(rng),
        document: documents[at],
        generation: 1,
        reader: readers[at],
        windows: (0..rng.random_range(0..4)).map(|_| random_unit(rng)).collect(),
        terms: random_terms(rng, 6),
    }
}

fn random_query(
    rng: &mut ChaCha8Rng,
    tenant: TenantId,
    documents: &[Uuid],
    readers: &[Reader],
) -> SearchQuery {
    SearchQuery {
        tenant,
        readers: readers[..rng.random_range(1..=readers.len())].to_vec(),
        documents: rng.random_bool(0.4).then(|| documents[..rng.random_range(1..documents.len())].to_vec()),
        vector: rng.random_bool(0.9).then(|| random_unit(rng)),
        terms: random_terms(rng, 5),
        limit: rng.random_range(1..40),
    }
}

fn is_wanted(search: &SearchQuery, point: &Point) -> bool {
    search.readers.contains(&point.reader)
        && search.documents.as_ref().is_none_or(|documents| documents.contains(&point.document))
}

fn cosine(search: &SearchQuery, point: &Point) -> Option<f32> {
    let query = search.vector.as_ref()?;
    let product = |window: &Vec<f32>| window.iter().zip(query).map(|(x, y)| x * y).sum::<f32>();
    point.windows.iter().map(product).reduce(f32::max)
}

fn overlap(search: &SearchQuery, point: &Point) -> Option<f32> {
    let weight = |term: &u32| point.terms.iter().find(|(other, _)| other == term).map(|(_, weight)| *weight);
    search.terms.iter().filter_map(|(term, idf)| Some(weight(term)? * idf)).reduce(|x, y| x + y)
}

#[track_caller]
fn assert_scores(hits: &[Hit], expected: BTreeMap<Uuid, f32>, limit: usize, tolerance: f32) {
    for hit in hits {
        assert_near(hit.score, *expected.get(&hit.chunk).expect("it is one of those wanted"), tolerance);
    }
    assert_eq!(ids(hits).len(), hits.len(), "each once");
    // Of those with the same score, any may be the last.
    let mut scores: Vec<f32> = expected.into_values().collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    scores.truncate(limit);
    assert_eq!(hits.len(), scores.len());
    for (hit, score) in hits.iter().zip(scores) {
        assert_near(hit.score, score, tolerance);
    }
}

pub async fn chunks_are_counted(subject: Subject<'_>) {
    let (space, tenant, document) = (space(), tenant(), Uuid::now_v7());
    let with =
        |terms: &[u32]| Point { terms: terms.iter().map(|term| (*term, 0.5)).collect(), ..chunk(document) };
    let points = [with(&[7]), with(&[7, u32::MAX]), with(&[7, 8]), with(&[])];
    subject.publish(&space, tenant, &points).await.unwrap();
    let count = async |terms: &[u32]| subject.store().count_chunks(&space, tenant, terms).await.unwrap();
    let counts = ChunkCounts { all: 4, embedded: 4, with_term: vec![1, 3, 0, 1] };
    assert_eq!(count(&[u32::MAX, 7, 9, 8]).await, counts);
    assert_eq!(count(&[]).await, ChunkCounts { all: 4, embedded: 4, with_term: vec![] });
    let many: Vec<u32> = (0..100).collect();
    assert_eq!(count(&many).await.with_term.iter().sum::<u64>(), 4);
}

pub async fn groups_are_counted(subject: Subject<'_>) {
    let (space, tenant) = (space(), tenant());
    let (channel, person) =
        (Reader::Channel(ChannelId(Uuid::now_v7())), Reader::Person(PersonId(Uuid::now_v7())));
    let of_channel = Point { reader: channel, ..chunk(Uuid::now_v7()) };
    let bare = Point { id: Uuid::now_v7(), windows: vec![], ..of_channel.clone() };
    let own = Point { reader: person, ..chunk(Uuid::now_v7()) };
    let points = [of_channel.clone(), bare.clone(), own.clone(), chunk(Uuid::now_v7())];
    subject.publish(&space, tenant, &points).await.unwrap();
    let listed = subject.store().list_groups(&space, tenant).await.unwrap();
    assert_eq!(listed, groups(&points.each_ref().map(|point| (point, 1))));
    for (readers, count) in [(vec![], 0), (vec![channel], 2), (vec![person, Reader::Everyone], 2)] {
        assert_eq!(subject.store().count_readable(&space, tenant, &readers).await.unwrap(), count);
    }
    // A document that changes its reader.
    let moved = Point { reader: channel, ..own };
    subject.publish(&space, tenant, std::slice::from_ref(&moved)).await.unwrap();
    assert_eq!(subject.store().count_readable(&space, tenant, &[person]).await.unwrap(), 0);
    assert_eq!(subject.store().count_readable(&space, tenant, &[channel]).await.unwrap(), 3);
}

pub async fn versions_are_counted(subject: Subject<'_>) {
    let (space, tenant) = (space(), tenant());
    let documents = [Uuid::now_v7(), Uuid::now_v7()];
    let version = |document, generation| Point { generation, ..chunk(document) };
    let points = [
        version(documents[0], 1),
        version(documents[0], 2),
        version(documents[0], 2),
        version(documents[1], 12),
    ];
    assert_eq!(subject.store().list_groups(&space, tenant).await.unwrap(), BTreeMap::new());
    subject.publish(&space, tenant, &points).await.unwrap();
    let listed = subject.store().list_groups(&space, tenant).await.unwrap();
    assert_eq!(listed, groups(&[(&points[0], 1), (&points[1], 2), (&points[3], 1)]));
    // A point that changes its version is counted with the new one alone.
    let changed = Point { generation: 13, ..points[3].clone() };
    subject.publish(&space, tenant, std::slice::from_ref(&changed)).await.unwrap();
    let listed = subject.store().list_groups(&space, tenant).await.unwrap();
    assert_eq!(listed, groups(&[(&points[0], 1), (&points[1], 2), (&changed, 1)]));
}

pub async fn words_alone_are_a_space_too(subject: Subject<'_>) {
    let (space, tenant) = (words_space(), tenant());
    subject.store().prepare(&space).await.unwrap();
    let point = Point { windows: vec![], ..chunk(Uuid::now_v7()) };
    subject.publish(&space, tenant, std::slice::from_ref(&point)).await.unwrap();
    let search = SearchQuery { vector: None, ..query(tenant) };
    let hits = subject.store().search(&space, &search).await.unwrap();
    assert_eq!((hits.dense, ids(&hits.lexical)), (vec![], ids_of(&[&point])));
    assert_eq!(subject.store().check(&space).await.unwrap().dimension, Some(0));
    // The other space has nothing of it.
    let hits = subject.store().search(&self::space(), &query(tenant)).await.unwrap();
    assert_eq!(hits, Hits::default());
}

pub async fn many_points_are_all_stored(subject: Subject<'_>) {
    let (space, tenant, document) = (space(), tenant(), Uuid::now_v7());
    let points: Vec<Point> = (0..200).map(|_| chunk(document)).collect();
    subject.publish(&space, tenant, &points).await.unwrap();
    let versions = subject.store().list_groups(&space, tenant).await.unwrap();
    assert_eq!(versions, groups(&[(&points[0], 200)]));
    let hits = subject.store().search(&space, &SearchQuery { limit: 500, ..query(tenant) }).await.unwrap();
    assert_found(&hits, &points.iter().collect::<Vec<_>>());
    subject.withdraw(&space, tenant, document, None).await.unwrap();
    assert_eq!(subject.store().list_groups(&space, tenant).await.unwrap(), BTreeMap::new());
}

pub async fn a_wrong_dimension_writes_nothing(subject: Subject<'_>) {
    let (space, tenant, document) = (space(), tenant(), Uuid::now_v7());
    // The wrong one is in another batch than the first.
    let mut points: Vec<Point> = (0..100).map(|_| chunk(document)).collect();
    points.push(Point { windows: vec![axis(0), vec![1.0; DIMENSION - 1]], ..chunk(document) });
    let refused = subject.publish(&space, tenant, &points).await;
    assert!(matches!(refused, Err(VectorStoreError::Rejected { .. })), "{refused:?}");
    let counts = subject.store().count_chunks(&space, tenant, &[1]).await.unwrap();
    assert_eq!(counts, ChunkCounts { with_term: vec![0], ..ChunkCounts::default() });
}

pub async fn a_vector_of_another_dimension_is_refused(subject: Subject<'_>) {
    let (space, tenant) = (space(), tenant());
    subject.publish(&space, tenant, &[chunk(Uuid::now_v7())]).await.unwrap();
    let search = SearchQuery { vector: Some(vec![1.0; DIMENSION + 1]), ..query(tenant) };
    let refused = subject.store().search(&space, &search).await;
    assert!(matches!(refused, Err(VectorStoreError::Rejected { .. })), "{refused:?}");
}

pub async fn what_was_never_prepared_is_empty(subject: Subject<'_>) {
    let space = Space { model: Some(format!("never prepared {}", Uuid::now_v7())), dimension: DIMENSION };
    let tenant = tenant();
    let store = subject.store();
    assert_eq!(store.check(&space).await.unwrap().dimension, None);
    assert_eq!(store.search(&space, &query(tenant)).await.unwrap(), Hits::default());
    let counts = store.count_chunks(&space, tenant, &[1, 2]).await.unwrap();
    assert_eq!(counts, ChunkCounts { with_term: vec![0, 0], ..ChunkCounts::default() });
    assert_eq!(store.list_groups(&space, tenant).await.unwrap(), BTreeMap::new());
    store.delete(&space, tenant, Uuid::now_v7(), None).await.unwrap();
    assert_eq!(store.check(&space).await.unwrap().dimension, None, "none of these creates it");
}

pub async fn earlier_spaces_are_cleared(subject: Subject<'_>) {
    let (now, ours, theirs) = (space(), tenant(), tenant());
    let earlier = Space { model: Some("an earlier model".to_owned()), ..now.clone() };
    let (kept, gone) = (chunk(Uuid::now_v7()), chunk(Uuid::now_v7()));
    let foreign = chunk(Uuid::now_v7());
    let store = subject.store();
    for space in [&earlier, &now] {
        subject.publish(space, ours, &[kept.clone(), gone.clone()]).await.unwrap();
        subject.publish(space, theirs, std::slice::from_ref(&foreign)).await.unwrap();
    }
    store.delete_elsewhere(&now, ours, Some(gone.document)).await.unwrap();
    assert_found(&store.search(&earlier, &query(ours)).await.unwrap(), &[&kept]);
    store.delete_elsewhere(&now, ours, None).await.unwrap();
    assert_eq!(store.search(&earlier, &query(ours)).await.unwrap(), Hits::default());
    assert_found(&store.search(&now, &query(ours)).await.unwrap(), &[&kept, &gone]);
    assert_found(&store.search(&earlier, &query(theirs)).await.unwrap(), &[&foreign]);
}

pub async fn preparing_twice_keeps_the_points(subject: Subject<'_>) {
    let (space, tenant) = (space(), tenant());
    let store = subject.store();
    store.prepare(&space).await.unwrap();
    assert_eq!(store.check(&space).await.unwrap().dimension, Some(DIMENSION));
    let point = chunk(Uuid::now_v7());
    subject.publish(&space, tenant, std::slice::from_ref(&point)).await.unwrap();
    store.prepare(&space).await.unwrap();
    assert_found(&store.search(&space, &query(tenant)).await.unwrap(), &[&point]);
}
