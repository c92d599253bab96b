//! The fake as the real client meets it: what it refuses.
#![allow(clippy::unwrap_used)]

use ::qdrant_client::qdrant::*;
use ::qdrant_client::{Payload, QdrantError};
use tonic::Code;

use super::{Qdrant, QdrantConfig};

const KEY: &str = "qd-test";
const NAME: &str = "c";

struct Fixture {
    fake: Qdrant,
    client: ::qdrant_client::Qdrant,
}

async fn fixture() -> Fixture {
    let fake = Qdrant::start(QdrantConfig { api_key: Some(KEY.to_owned()) }).await.unwrap();
    let client = ::qdrant_client::Qdrant::from_url(&fake.url())
        .api_key(KEY)
        .skip_compatibility_check()
        .build()
        .unwrap();
    Fixture { fake, client }
}

/// A fixture with a collection and its indexes.
async fn filled_fixture() -> Fixture {
    let fixture = fixture().await;
    fixture.client.create_collection(creation()).await.unwrap();
    let tenant = KeywordIndexParamsBuilder::default().is_tenant(true);
    fixture
        .client
        .create_field_index(index("tenant", FieldType::Keyword).field_index_params(tenant))
        .await
        .unwrap();
    fixture.client.create_field_index(index("version", FieldType::Keyword)).await.unwrap();
    fixture
}

fn creation() -> CreateCollectionBuilder {
    creation_of(4, Distance::Cosine)
}

fn creation_of(dimension: u64, distance: Distance) -> CreateCollectionBuilder {
    let mut dense = VectorsConfigBuilder::default();
    let params = VectorParamsBuilder::new(dimension, distance)
        .multivector_config(MultiVectorConfigBuilder::new(MultiVectorComparator::MaxSim));
    dense.add_named_vector_params("dense", params);
    let mut sparse = SparseVectorsConfigBuilder::default();
    sparse.add_named_vector_params("lexical", SparseVectorParamsBuilder::default());
    let strict = StrictModeConfigBuilder::default()
        .enabled(true)
        .unindexed_filtering_retrieve(false)
        .unindexed_filtering_update(false);
    CreateCollectionBuilder::new(NAME)
        .vectors_config(dense)
        .sparse_vectors_config(sparse)
        .strict_mode_config(strict)
}

fn index(field: &str, kind: FieldType) -> CreateFieldIndexCollectionBuilder {
    CreateFieldIndexCollectionBuilder::new(NAME, field, kind).wait(true)
}

fn point(id: u128, vectors: NamedVectors) -> PointStruct {
    let mut payload = Payload::new();
    payload.insert("tenant", "a");
    payload.insert("version", "d:1");
    PointStruct::new(uuid::Uuid::from_u128(id).to_string(), vectors, payload)
}

fn dense(rows: Vec<Vec<f32>>) -> NamedVectors {
    NamedVectors::default().add_vector("dense", Vector::new_multi(rows))
}

fn sparse(indices: Vec<u32>, values: Vec<f32>) -> NamedVectors {
    NamedVectors::default().add_vector("lexical", Vector::new_sparse(indices, values))
}

fn upsert(points: Vec<PointStruct>) -> UpsertPointsBuilder {
    UpsertPointsBuilder::new(NAME, points).wait(true)
}

fn of_tenant() -> Filter {
    Filter::must([Condition::matches("tenant", "a".to_owned())])
}

fn query() -> QueryPointsBuilder {
    QueryPointsBuilder::new(NAME)
        .query(Query::new_nearest(VectorInput::new_multi(vec![vec![1.0; 4]])))
        .using("dense")
        .filter(of_tenant())
        .limit(5)
        .with_payload(false)
}

fn batch(query: QueryPointsBuilder) -> QueryBatchPointsBuilder {
    QueryBatchPointsBuilder::new(NAME, vec![query.build()])
}

fn count() -> CountPointsBuilder {
    CountPointsBuilder::new(NAME).filter(of_tenant()).exact(true)
}

fn facet() -> FacetCountsBuilder {
    FacetCountsBuilder::new(NAME, "version").filter(of_tenant()).limit(10).exact(true)
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, QdrantError>, code: Code) {
    match outcome {
        Err(QdrantError::ResponseError { status }) => assert_eq!(status.code(), code, "{status:?}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_collection_is_created_once_and_only_as_it_can_be() {
    let Fixture { fake, client } = fixture().await;
    assert_refused(client.collection_info(NAME).await, Code::NotFound);
    assert_refused(client.create_field_index(index("tenant", FieldType::Keyword)).await, Code::NotFound);
    assert_refused(client.create_collection(creation_of(0, Distance::Cosine)).await, Code::InvalidArgument);
    assert_refused(client.create_collection(creation_of(4, Distance::Dot)).await, Code::Unimplemented);
    assert_refused(client.create_collection(creation().shard_number(2)).await, Code::Unimplemented);
    assert_refused(client.create_collection(creation().collection_name("a/b")).await, Code::InvalidArgument);
    client.create_collection(creation()).await.unwrap();
    assert_refused(client.create_collection(creation()).await, Code::AlreadyExists);
    assert_refused(client.create_field_index(index("day", FieldType::Datetime)).await, Code::Unimplemented);
    // Neither dimension nor strict mode is to be forgotten.
    let config = client.collection_info(NAME).await.unwrap().result.unwrap().config.unwrap();
    assert_eq!(config.strict_mode_config.unwrap().enabled, Some(true));
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_wrong_point_is_refused_after_those_before_it_were_stored() {
    let Fixture { fake, client } = filled_fixture().await;
    let wrong = [
        dense(vec![vec![1.0; 3]]),
        dense(vec![]),
        dense(vec![vec![1.0, f32::NAN, 0.0, 0.0]]),
        sparse(vec![1, 2], vec![1.0]),
        sparse(vec![1, 1], vec![1.0, 2.0]),
        sparse(vec![1], vec![f32::INFINITY]),
        NamedVectors::default().add_vector("title", Vector::new_multi(vec![vec![1.0; 4]])),
        NamedVectors::default().add_vector("lexical", Vector::new_multi(vec![vec![1.0; 4]])),
    ];
    for vectors in wrong {
        let points = vec![point(1, sparse(vec![1], vec![1.0])), point(2, vectors)];
        assert_refused(client.upsert_points(upsert(points)).await, Code::InvalidArgument);
    }
    assert_eq!(fake.point_count(), 1);
    assert_refused(client.upsert_points(upsert(vec![])).await, Code::InvalidArgument);
    let number = PointStruct { id: Some(7.into()), ..point(3, NamedVectors::default()) };
    assert_refused(client.upsert_points(upsert(vec![number])).await, Code::Unimplemented);
    let bare = PointStruct { vectors: None, ..point(3, NamedVectors::default()) };
    assert_refused(client.upsert_points(upsert(vec![bare])).await, Code::InvalidArgument);
    // More than gRPC takes at once.
    let large = point(4, dense(vec![vec![1.0; 4]; 300_000]));
    assert_refused(client.upsert_points(upsert(vec![large])).await, Code::OutOfRange);
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_search_that_cannot_be_is_refused() {
    let Fixture { fake, client } = filled_fixture().await;
    let multi = |length| Query::new_nearest(VectorInput::new_multi(vec![vec![1.0; length]]));
    let sparse = |indices: Vec<u32>| {
        let values = vec![1.0; 2];
        query().using("lexical").query(Query::new_nearest(VectorInput::new_sparse(indices, values)))
    };
    let refused = [
        (query().query(multi(5)), Code::InvalidArgument),
        (query().using("title"), Code::InvalidArgument),
        (query().using("lexical"), Code::InvalidArgument),
        (query().limit(0), Code::InvalidArgument),
        (sparse(vec![1]), Code::InvalidArgument),
        (query().query(vec![vec![f32::NAN; 4]]), Code::InvalidArgument),
        (sparse(vec![1, 1]), Code::InvalidArgument),
        (query().filter(and(Condition::matches("kind", "pdf".to_owned()))), Code::InvalidArgument),
        (query().filter(and(Condition::matches("version", 1))), Code::InvalidArgument),
        (query().filter(and(Condition::is_empty("version"))), Code::Unimplemented),
        (query().filter(and(Condition::matches("version", Vec::<String>::new()))), Code::Unimplemented),
        (query().with_payload(true), Code::Unimplemented),
        (query().score_threshold(0.5), Code::Unimplemented),
        (query().query(Query::new_fusion(Fusion::Rrf)), Code::Unimplemented),
    ];
    for (query, code) in refused {
        assert_refused(client.query_batch(batch(query)).await, code);
    }
    assert_refused(client.query(query()).await, Code::Unimplemented);
    assert_refused(
        client.scroll(ScrollPointsBuilder::new(NAME).filter(of_tenant())).await,
        Code::Unimplemented,
    );
    assert_refused(client.facet(facet().key("kind".to_owned())).await, Code::InvalidArgument);
    assert_refused(client.facet(facet().limit(0)).await, Code::InvalidArgument);
    assert_eq!(fake.violations(), Vec::<String>::new());
}

fn and(condition: Condition) -> Filter {
    let mut filter = of_tenant();
    filter.must.push(condition);
    filter
}

#[tokio::test]
async fn what_no_story_may_ask_for_is_recorded() {
    let Fixture { fake, client } = filled_fixture().await;
    let vectors = || sparse(vec![1], vec![1.0]);
    let any_tenant = || Filter::must([Condition::matches("version", "d:1".to_owned())]);
    let two = || Filter::must([Condition::matches("tenant", vec!["a".to_owned(), "b".to_owned()])]);
    let not_theirs = || Filter::must_not([Condition::matches("tenant", "b".to_owned())]);
    let mut expected = 0;
    let mut assert_recorded = |outcome: Result<(), QdrantError>| {
        assert_refused(outcome, Code::InvalidArgument);
        expected += 1;
        assert_eq!(fake.violations().len(), expected, "{:?}", fake.violations());
    };
    for filter in [Filter::default(), any_tenant(), two(), not_theirs()] {
        assert_recorded(client.query_batch(batch(query().filter(filter.clone()))).await.map(drop));
        assert_recorded(client.count(count().filter(filter.clone())).await.map(drop));
        assert_recorded(client.facet(facet().filter(filter.clone())).await.map(drop));
        let delete = DeletePointsBuilder::new(NAME).points(filter).wait(true);
        assert_recorded(client.delete_points(delete).await.map(drop));
    }
    let by_id = PointsIdsList { ids: vec![uuid::Uuid::nil().to_string().into()] };
    let delete = DeletePointsBuilder::new(NAME);
    assert_recorded(client.delete_points(delete.clone().points(by_id).wait(true)).await.map(drop));
    assert_recorded(client.delete_points(delete.points(of_tenant())).await.map(drop));
    assert_recorded(client.upsert_points(upsert(vec![point(1, vectors())]).wait(false)).await.map(drop));
    let mut nobodys = point(1, vectors());
    nobodys.payload.remove("tenant");
    assert_recorded(client.upsert_points(upsert(vec![nobodys])).await.map(drop));
    let mut said = point(1, vectors());
    said.payload.insert("text".to_owned(), "25 days".into());
    assert_recorded(client.upsert_points(upsert(vec![said])).await.map(drop));
    assert_recorded(client.count(count().exact(false)).await.map(drop));
    assert_recorded(client.facet(facet().exact(false)).await.map(drop));
    assert_recorded(client.create_field_index(index("kind", FieldType::Keyword).wait(false)).await.map(drop));
    let lenient = StrictModeConfigBuilder::default().enabled(false);
    let lenient = creation().collection_name("lenient").strict_mode_config(lenient);
    assert_recorded(client.create_collection(lenient).await.map(drop));
    // Points before the index of tenants, and an index after points.
    client.upsert_points(upsert(vec![point(1, vectors())])).await.unwrap();
    assert_recorded(client.create_field_index(index("kind", FieldType::Keyword)).await.map(drop));
    client.create_collection(creation().collection_name("bare")).await.unwrap();
    let early = UpsertPointsBuilder::new("bare", vec![point(1, vectors())]).wait(true);
    assert_recorded(client.upsert_points(early).await.map(drop));
    assert_eq!(fake.point_count(), 1);
}

#[tokio::test]
async fn all_but_the_version_needs_the_key() {
    let Fixture { fake, .. } = filled_fixture().await;
    let client = ::qdrant_client::Qdrant::from_url(&fake.url()).skip_compatibility_check().build().unwrap();
    assert_eq!(client.health_check().await.unwrap().version, super::VERSION);
    assert_refused(client.collection_info(NAME).await, Code::Unauthenticated);
    assert_refused(client.query_batch(batch(query())).await, Code::Unauthenticated);
    fake.set_version("1.12.0");
    assert_eq!(client.health_check().await.unwrap().version, "1.12.0");
}
