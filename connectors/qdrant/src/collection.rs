//! The collection of a space: its name, its vectors, its indexes.

use nod_contract::vector_store::Space;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    CollectionInfo, CreateCollectionBuilder, CreateFieldIndexCollectionBuilder, Distance, FieldType,
    HnswConfigDiffBuilder, IntegerIndexParamsBuilder, KeywordIndexParamsBuilder, MultiVectorComparator,
    MultiVectorConfigBuilder, SparseVectorParamsBuilder, SparseVectorsConfigBuilder, StrictModeConfigBuilder,
    VectorParamsBuilder, VectorsConfigBuilder,
};
use sha2::{Digest, Sha256};

use crate::payload;

/// A vector for each window of a chunk.
pub const DENSE: &str = "dense";
/// The terms of a chunk, with their weights.
pub const LEXICAL: &str = "lexical";

/// How the name of a collection begins, and how many letters of a digest follow.
const PREFIX: &str = "nod_";
const NAME_LENGTH: usize = 12;
/// How many neighbours a point has in the graph of its tenant.
const TENANT_NEIGHBOURS: u64 = 16;

/// Returns the collection's name. Another model or dimension is another collection, so both can be there during a change.
pub fn name(space: &Space) -> String {
    let model = space.model.as_deref().unwrap_or_default();
    let digest = hex::encode(Sha256::digest(format!("{model}\n{}", space.dimension)));
    format!("{PREFIX}{}", &digest[..NAME_LENGTH])
}

/// Returns whether a collection has a name that a space has.
pub fn is_ours(name: &str) -> bool {
    let digest = name.strip_prefix(PREFIX).unwrap_or_default();
    digest.len() == NAME_LENGTH && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the request that creates a collection.
pub fn creation(name: &str, dimension: usize) -> CreateCollectionBuilder {
    // The query carries how rare its terms are, so no modifier.
    let mut sparse = SparseVectorsConfigBuilder::default();
    sparse.add_named_vector_params(LEXICAL, SparseVectorParamsBuilder::default());
    let creation = CreateCollectionBuilder::new(name)
        .sparse_vectors_config(sparse)
        // Graphs within a tenant, and none across them.
        .hnsw_config(HnswConfigDiffBuilder::default().m(0).payload_m(TENANT_NEIGHBOURS))
        // A condition on a field without an index would look at all points of all tenants.
        .strict_mode_config(
            StrictModeConfigBuilder::default()
                .enabled(true)
                .unindexed_filtering_retrieve(false)
                .unindexed_filtering_update(false),
        );
    if dimension == 0 {
        return creation;
    }
    let mut dense = VectorsConfigBuilder::default();
    // The greatest of the products with each window is that of the best one.
    let best_window = MultiVectorConfigBuilder::new(MultiVectorComparator::MaxSim);
    let params = VectorParamsBuilder::new(dimension as u64, Distance::Cosine).multivector_config(best_window);
    dense.add_named_vector_params(DENSE, params);
    creation.vectors_config(dense)
}

/// Returns the requests that create the indexes. The graph of a tenant is built along the first, so it must be there
/// before there are points.
pub fn indexes(name: &str) -> Vec<CreateFieldIndexCollectionBuilder> {
    let index = |field, kind| CreateFieldIndexCollectionBuilder::new(name, field, kind).wait(true);
    // Nobody searches by these alone, so they need no links in the graph.
    let keyword = |field| {
        index(field, FieldType::Keyword)
            .field_index_params(KeywordIndexParamsBuilder::default().enable_hnsw(false))
    };
    let number = |field| {
        index(field, FieldType::Integer)
            .field_index_params(IntegerIndexParamsBuilder::new(true, false).enable_hnsw(false))
    };
    vec![
        index(payload::TENANT, FieldType::Keyword)
            .field_index_params(KeywordIndexParamsBuilder::default().is_tenant(true)),
        keyword(payload::READER),
        keyword(payload::DOCUMENT),
        keyword(payload::GROUP),
        number(payload::GENERATION),
        number(payload::TERMS),
        number(payload::EMBEDDED),
    ]
}

/// Returns whether a collection has all its indexes.
pub fn has_indexes(info: &CollectionInfo) -> bool {
    payload::FIELDS.iter().all(|field| info.payload_schema.contains_key(*field))
}

/// Returns how many numbers a vector of a collection has; 0 if it has none.
pub fn read_dimension(info: &CollectionInfo) -> usize {
    let params = info.config.as_ref().and_then(|config| config.params.as_ref());
    let config = params.and_then(|params| params.vectors_config.as_ref()?.config.as_ref());
    let size = match config {
        Some(Config::ParamsMap(vectors)) => vectors.map.get(DENSE).map_or(0, |dense| dense.size),
        Some(Config::Params(_)) | None => 0,
    };
    usize::try_from(size).unwrap_or(usize::MAX)
}
