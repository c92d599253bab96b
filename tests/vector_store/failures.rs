//! A Qdrant that is away, slow, exhausted, strange or not ours.

use std::collections::BTreeMap;
use std::time::Duration;

use nod_contract::vector_store::{Hits, Reader, VectorStore, VectorStoreError};
use nod_qdrant::QdrantStore;
use nod_sandbox::Fault;
use qdrant_client::qdrant::{
    CreateCollectionBuilder, Distance, MultiVectorComparator, MultiVectorConfigBuilder,
    StrictModeConfigBuilder, VectorParamsBuilder, VectorsConfigBuilder,
};
use secrecy::SecretString;
use uuid::Uuid;

use crate::contract::{chunk, query, space, tenant};
use crate::qdrant::{FakeQdrant, KEY, open};

const SHORT: Duration = Duration::from_millis(300);

fn status(code: u16) -> Fault {
    Fault::Status { code, retry_after: None }
}

#[track_caller]
fn assert_unavailable<T: std::fmt::Debug>(outcome: Result<T, VectorStoreError>) {
    assert!(matches!(outcome, Err(VectorStoreError::Unavailable { .. })), "{outcome:?}");
}

#[track_caller]
fn rejection<T: std::fmt::Debug>(outcome: Result<T, VectorStoreError>) -> String {
    match outcome {
        Err(VectorStoreError::Rejected { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

/// Asserts that each call of the contract says that the store is unavailable.
async fn assert_all_unavailable(store: &QdrantStore) {
    let (space, tenant) = (space(), tenant());
    assert_unavailable(store.prepare(&space).await);
    assert_unavailable(store.upsert(&space, tenant, &[chunk(Uuid::now_v7())]).await);
    assert_unavailable(store.count_chunks(&space, tenant, &[1]).await);
    assert_unavailable(store.search(&space, &query(tenant)).await);
    assert_unavailable(store.delete(&space, tenant, Uuid::now_v7(), None).await);
    assert_unavailable(store.list_groups(&space, tenant).await);
    assert_unavailable(store.check(&space).await);
}

#[tokio::test]
async fn a_store_that_is_away_is_unavailable() {
    let FakeQdrant { fake, store } = FakeQdrant::start().await;
    drop(fake);
    assert_all_unavailable(&store).await;
}

#[tokio::test]
async fn a_store_that_hangs_is_unavailable() {
    let world = FakeQdrant::start().await;
    let store = open(&world.fake.url(), Some(KEY), SHORT);
    world.store.prepare(&space()).await.unwrap();
    store.prepare(&space()).await.unwrap();
    for operation in ["points.upsert", "points.query_batch", "points.delete", "points.facet"] {
        world.fake.faults().next(operation, Fault::HangBefore);
    }
    let (space, tenant) = (space(), tenant());
    assert_unavailable(store.upsert(&space, tenant, &[chunk(Uuid::now_v7())]).await);
    assert_unavailable(store.search(&space, &query(tenant)).await);
    assert_unavailable(store.delete(&space, tenant, Uuid::now_v7(), None).await);
    assert_unavailable(store.list_groups(&space, tenant).await);
    assert_eq!(store.search(&space, &query(tenant)).await.unwrap(), Hits::default());
    world.finish();
}

#[tokio::test]
async fn an_exhausted_store_says_when_to_come_again() {
    let world = FakeQdrant::start().await;
    world.store.prepare(&space()).await.unwrap();
    let exhausted = Fault::Status { code: 429, retry_after: Some(7) };
    world.fake.faults().next("points.upsert", exhausted.clone());
    world.fake.faults().next("points.query_batch", exhausted);
    world.fake.faults().next("points.query_batch", status(429));
    let seconds = |outcome: VectorStoreError| match outcome {
        VectorStoreError::Unavailable { retry_after, .. } => retry_after.map(|wait| wait.as_secs()),
        other => panic!("{other:?}"),
    };
    let upsert = world.store.upsert(&space(), tenant(), &[chunk(Uuid::now_v7())]).await;
    assert_eq!(seconds(upsert.unwrap_err()), Some(7));
    assert_eq!(seconds(world.store.search(&space(), &query(tenant())).await.unwrap_err()), Some(7));
    assert_eq!(seconds(world.store.search(&space(), &query(tenant())).await.unwrap_err()), None);
    world.finish();
}

#[tokio::test]
async fn errors_are_sorted_by_whether_a_retry_may_mend_them() {
    let world = FakeQdrant::start().await;
    world.store.prepare(&space()).await.unwrap();
    // The client asks again after these by itself.
    for code in [500, 503, 599] {
        world.fake.faults().next_times("points.query_batch", 2, &status(code));
        assert_unavailable(world.store.search(&space(), &query(tenant())).await);
    }
    world.fake.faults().next("points.query_batch", status(504));
    assert_unavailable(world.store.search(&space(), &query(tenant())).await);
    for code in [400, 401, 403, 412] {
        world.fake.faults().next("points.query_batch", status(code));
        rejection(world.store.search(&space(), &query(tenant())).await);
    }
    world.finish();
}

#[tokio::test]
async fn a_broken_connection_is_made_anew() {
    let world = FakeQdrant::start().await;
    let (space, tenant, point) = (space(), tenant(), chunk(Uuid::now_v7()));
    world.store.prepare(&space).await.unwrap();
    world.fake.faults().next("points.query_batch", Fault::DropConnection);
    assert_eq!(world.store.search(&space, &query(tenant)).await.unwrap(), Hits::default());
    // Stored, and the answer lost: stored again under the same id.
    world.fake.faults().next("points.upsert", Fault::DropResponse);
    world.store.upsert(&space, tenant, std::slice::from_ref(&point)).await.unwrap();
    assert_eq!(world.fake.point_count(), 1);
    world.fake.faults().next_times("points.delete", 2, &Fault::DropResponse);
    assert_unavailable(world.store.delete(&space, tenant, point.document, None).await);
    world.store.delete(&space, tenant, point.document, None).await.unwrap();
    assert_eq!(world.fake.point_count(), 0);
    world.finish();
}

#[tokio::test]
async fn a_write_that_is_only_accepted_is_not_done() {
    let world = FakeQdrant::start().await;
    let (space, tenant, point) = (space(), tenant(), chunk(Uuid::now_v7()));
    world.store.prepare(&space).await.unwrap();
    world.fake.acknowledge_only(2);
    assert_unavailable(world.store.upsert(&space, tenant, std::slice::from_ref(&point)).await);
    assert_unavailable(world.store.delete(&space, tenant, point.document, None).await);
    world.store.upsert(&space, tenant, std::slice::from_ref(&point)).await.unwrap();
    world.finish();
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_never_repeated() {
    let world = FakeQdrant::start().await;
    let wrong = "qd-not-this-one";
    for store in [open(&world.fake.url(), Some(wrong), SHORT), open(&world.fake.url(), None, SHORT)] {
        let (space, tenant) = (space(), tenant());
        let reasons = [
            rejection(store.prepare(&space).await),
            rejection(store.upsert(&space, tenant, &[chunk(Uuid::now_v7())]).await),
            rejection(store.count_chunks(&space, tenant, &[1]).await),
            rejection(store.search(&space, &query(tenant)).await),
            rejection(store.delete(&space, tenant, Uuid::now_v7(), None).await),
            rejection(store.list_groups(&space, tenant).await),
            rejection(store.check(&space).await),
        ];
        for reason in reasons {
            assert!(reason.starts_with("Unauthenticated"), "{reason}");
            assert!(!reason.contains(wrong) && !reason.contains(KEY), "{reason}");
        }
    }
    assert!(world.fake.collections().is_empty());
    world.finish();
}

#[test]
fn settings_that_cannot_work_are_refused_without_repeating_them() {
    let open = |url: &str, key: Option<&str>| {
        let key = key.map(SecretString::from);
        QdrantStore::new(&url.parse().unwrap(), key, SHORT).err().map(|error| error.to_string())
    };
    assert_eq!(open("https://qdrant.example:6334", Some("abc")), None);
    for (url, key) in [
        ("ftp://qdrant.example", None),
        ("http://ana:hunter2@qdrant.example", None),
        ("http://qdrant.example", Some("hunter2\n")),
        ("http://qdrant.example", Some("")),
    ] {
        let error = open(url, key).unwrap();
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_is_too_old_is_refused() {
    let world = FakeQdrant::start().await;
    for version in ["1.12.6", "0.9.0", "unknown"] {
        world.fake.set_version(version);
        let reason = rejection(world.store.check(&space()).await);
        assert_eq!(reason, format!("Qdrant {version} is too old: Nod needs 1.13 or later"));
        rejection(world.store.prepare(&space()).await);
    }
    assert!(world.fake.collections().is_empty());
    for version in ["1.13.0", "1.21.0-dev", "2.0.1"] {
        world.fake.set_version(version);
        assert_eq!(world.store.check(&space()).await.unwrap().version, version);
    }
    world.finish();
}

#[tokio::test]
async fn indexes_come_before_points_even_if_whoever_made_the_collection_was_killed() {
    let world = FakeQdrant::start().await;
    world.fake.faults().next_times("points.create_field_index", 2, &status(503));
    assert_unavailable(world.store.prepare(&space()).await);
    let (tenant, point) = (tenant(), chunk(Uuid::now_v7()));
    // Another process, which was never told to prepare.
    let store = open(&world.fake.url(), Some(KEY), SHORT);
    store.upsert(&space(), tenant, std::slice::from_ref(&point)).await.unwrap();
    assert_eq!(store.search(&space(), &query(tenant)).await.unwrap().dense.len(), 1);
    world.finish();
}

#[tokio::test]
async fn a_collection_that_is_still_being_made_is_empty() {
    let world = FakeQdrant::start().await;
    world.fake.faults().next_times("points.create_field_index", 2, &status(503));
    assert_unavailable(world.store.prepare(&space()).await);
    let (space, tenant) = (space(), tenant());
    assert_eq!(world.store.search(&space, &query(tenant)).await.unwrap(), Hits::default());
    let counts = world.store.count_chunks(&space, tenant, &[1]).await.unwrap();
    assert_eq!((counts.all, counts.with_term), (0, vec![0]));
    assert_eq!(world.store.count_readable(&space, tenant, &[Reader::Everyone]).await.unwrap(), 0);
    assert_eq!(world.store.list_groups(&space, tenant).await.unwrap(), BTreeMap::new());
    world.store.delete(&space, tenant, Uuid::now_v7(), None).await.unwrap();
    world.finish();
}

#[tokio::test]
async fn a_collection_whose_creation_was_not_answered_is_there() {
    let world = FakeQdrant::start().await;
    world.fake.faults().next("collections.create", Fault::DropResponse);
    world.store.prepare(&space()).await.unwrap();
    // Two that create it at the same time.
    world.fake.clear();
    world.fake.faults().next("collections.create", status(409));
    assert_eq!(rejection(world.store.prepare(&space()).await), "AlreadyExists: a planned fault");
    world.store.prepare(&space()).await.unwrap();
    world.finish();
}

#[tokio::test]
async fn a_server_that_lost_its_data_is_filled_again() {
    let world = FakeQdrant::start().await;
    let (tenant, point) = (tenant(), chunk(Uuid::now_v7()));
    world.store.upsert(&space(), tenant, std::slice::from_ref(&point)).await.unwrap();
    world.fake.clear();
    assert_eq!(world.store.search(&space(), &query(tenant)).await.unwrap(), Hits::default());
    assert_eq!(world.store.list_groups(&space(), tenant).await.unwrap(), BTreeMap::new());
    world.store.upsert(&space(), tenant, std::slice::from_ref(&point)).await.unwrap();
    let versions = world.store.list_groups(&space(), tenant).await.unwrap();
    assert_eq!(versions.values().sum::<u64>(), 1);
    world.finish();
}

#[tokio::test]
async fn a_collection_with_another_dimension_is_refused() {
    let world = FakeQdrant::start().await;
    world.store.prepare(&space()).await.unwrap();
    let name = world.fake.collections().remove(0);
    world.fake.clear();
    let mut dense = VectorsConfigBuilder::default();
    let params = VectorParamsBuilder::new(3, Distance::Cosine)
        .multivector_config(MultiVectorConfigBuilder::new(MultiVectorComparator::MaxSim));
    dense.add_named_vector_params("dense", params);
    let strict = StrictModeConfigBuilder::default()
        .enabled(true)
        .unindexed_filtering_retrieve(false)
        .unindexed_filtering_update(false);
    let client = ::qdrant_client::Qdrant::from_url(&world.fake.url()).api_key(KEY).skip_compatibility_check();
    let creation = CreateCollectionBuilder::new(&name).vectors_config(dense).strict_mode_config(strict);
    client.build().unwrap().create_collection(creation).await.unwrap();
    let reason = rejection(world.store.prepare(&space()).await);
    assert_eq!(reason, format!("vectors of {name} have 3 numbers in place of 8"));
    assert_eq!(world.store.check(&space()).await.unwrap().dimension, Some(3));
    // Nothing is written to it: neither points nor indexes.
    rejection(world.store.upsert(&space(), tenant(), &[chunk(Uuid::now_v7())]).await);
    assert_eq!(world.fake.point_count(), 0);
    world.finish();
}
