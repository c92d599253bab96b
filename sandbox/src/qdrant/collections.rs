//! Collections and their indexes.

use std::collections::{BTreeMap, HashMap};

use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    CollectionConfig, CollectionInfo, CollectionParams, CollectionStatus, CreateCollection,
    CreateFieldIndexCollection, Distance, FieldType, IntegerIndexParams, KeywordIndexParams,
    MultiVectorComparator, MultiVectorConfig, OptimizerStatus, PayloadSchemaInfo, PayloadSchemaType,
    SparseVectorParams, StrictModeConfig, VectorParams,
};
use tonic::Status;

use super::refusal::{Refusal, no_story_may, not_here, require_known, wrong_input};
use super::state::{Collection, Index, IndexKind, State};

const MAX_DIMENSION: u64 = 65_536;
const MAX_NAME_LENGTH: usize = 255;

pub(super) fn create(state: &mut State, request: &CreateCollection) -> Result<(), Refusal> {
    let name = &request.collection_name;
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME_LENGTH
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if !is_name {
        return Err(wrong_input("collection name cannot be used"));
    }
    let known = CreateCollection {
        collection_name: name.clone(),
        hnsw_config: request.hnsw_config,
        vectors_config: request.vectors_config.clone(),
        sparse_vectors_config: request.sparse_vectors_config.clone(),
        strict_mode_config: request.strict_mode_config.clone(),
        ..CreateCollection::default()
    };
    require_known(request, &known, "these settings of a collection")?;
    let strict = StrictModeConfig {
        enabled: Some(true),
        unindexed_filtering_retrieve: Some(false),
        unindexed_filtering_update: Some(false),
        ..StrictModeConfig::default()
    };
    if request.strict_mode_config != Some(strict) {
        return Err(no_story_may("a collection without strict mode"));
    }
    if state.collections.contains_key(name) {
        return Err(
            Status::already_exists(format!("Wrong input: Collection `{name}` already exists!")).into()
        );
    }
    let dense = read_dense_config(request)?;
    let sparse = request.sparse_vectors_config.clone().unwrap_or_default().map;
    if sparse.values().any(|params| *params != SparseVectorParams::default()) {
        return Err(not_here("settings of sparse vectors"));
    }
    let sparse = sparse.into_keys().collect();
    let collection = Collection {
        creation: request.clone(),
        dense,
        sparse,
        indexes: BTreeMap::new(),
        points: BTreeMap::new(),
    };
    state.collections.insert(name.clone(), collection);
    Ok(())
}

fn read_dense_config(request: &CreateCollection) -> Result<BTreeMap<String, usize>, Refusal> {
    let named = match request.vectors_config.as_ref().map(|config| &config.config) {
        None => return Ok(BTreeMap::new()),
        Some(Some(Config::ParamsMap(named))) => named,
        Some(_) => return Err(not_here("vectors without a name")),
    };
    let read = |(name, params): (&String, &VectorParams)| {
        if params.size == 0 || params.size > MAX_DIMENSION {
            return Err(wrong_input(format!("vector size must be from 1 to {MAX_DIMENSION}")));
        }
        let known = VectorParams {
            size: params.size,
            distance: Distance::Cosine.into(),
            multivector_config: Some(MultiVectorConfig { comparator: MultiVectorComparator::MaxSim.into() }),
            ..VectorParams::default()
        };
        require_known(params, &known, "vectors other than multivectors with cosine")?;
        Ok((name.clone(), usize::try_from(params.size).unwrap_or(usize::MAX)))
    };
    named.map.iter().map(read).collect()
}

pub(super) fn describe(state: &mut State, name: &str) -> Result<CollectionInfo, Refusal> {
    let collection = state.collection(name)?;
    let params = CollectionParams {
        shard_number: 1,
        vectors_config: collection.creation.vectors_config.clone(),
        sparse_vectors_config: collection.creation.sparse_vectors_config.clone(),
        ..CollectionParams::default()
    };
    let config = CollectionConfig {
        params: Some(params),
        hnsw_config: collection.creation.hnsw_config,
        strict_mode_config: collection.creation.strict_mode_config.clone(),
        ..CollectionConfig::default()
    };
    let schema = |(field, index): (&String, &Index)| {
        let data_type = match index.kind {
            IndexKind::Keyword => PayloadSchemaType::Keyword,
            IndexKind::Integer => PayloadSchemaType::Integer,
        };
        let params = index.params.clone();
        (field.clone(), PayloadSchemaInfo { data_type: data_type.into(), params, points: None })
    };
    let payload_schema: HashMap<_, _> = collection.indexes.iter().map(schema).collect();
    Ok(CollectionInfo {
        status: CollectionStatus::Green.into(),
        optimizer_status: Some(OptimizerStatus { ok: true, error: String::new() }),
        segments_count: 1,
        config: Some(config),
        payload_schema,
        points_count: Some(collection.points.len() as u64),
        ..CollectionInfo::default()
    })
}

pub(super) fn create_index(state: &mut State, request: &CreateFieldIndexCollection) -> Result<(), Refusal> {
    let collection = state.collection(&request.collection_name)?;
    let known = CreateFieldIndexCollection {
        collection_name: request.collection_name.clone(),
        wait: request.wait,
        field_name: request.field_name.clone(),
        field_type: request.field_type,
        field_index_params: request.field_index_params.clone(),
        ..CreateFieldIndexCollection::default()
    };
    require_known(request, &known, "these settings of an index")?;
    if request.wait != Some(true) {
        return Err(no_story_may("an index that is not waited for"));
    }
    if request.field_name.is_empty() {
        return Err(wrong_input("a field without a name"));
    }
    let index = read_index(request)?;
    match collection.indexes.get(&request.field_name) {
        Some(existing) if *existing == index => return Ok(()),
        Some(_) => return Err(not_here("an index that changes")),
        None => {}
    }
    if index.is_tenant && collection.tenant_field().is_some() {
        return Err(not_here("two fields that tell tenants apart"));
    }
    if !collection.points.is_empty() {
        return Err(no_story_may("an index after there are points"));
    }
    collection.indexes.insert(request.field_name.clone(), index);
    Ok(())
}

fn read_index(request: &CreateFieldIndexCollection) -> Result<Index, Refusal> {
    let params = request.field_index_params.as_ref().and_then(|params| params.index_params.as_ref());
    let kind = request.field_type.and_then(|kind| FieldType::try_from(kind).ok());
    let (kind, is_tenant) = match (kind, params) {
        (Some(FieldType::Keyword), None) => (IndexKind::Keyword, false),
        (Some(FieldType::Keyword), Some(IndexParams::KeywordIndexParams(params))) => {
            let KeywordIndexParams { is_tenant, enable_hnsw, .. } = *params;
            let known = KeywordIndexParams { is_tenant, enable_hnsw, ..KeywordIndexParams::default() };
            require_known(params, &known, "these settings of an index of words")?;
            (IndexKind::Keyword, is_tenant == Some(true))
        }
        (Some(FieldType::Integer), Some(IndexParams::IntegerIndexParams(params))) => {
            let IntegerIndexParams { enable_hnsw, .. } = *params;
            let known = IntegerIndexParams {
                lookup: Some(true),
                range: Some(false),
                enable_hnsw,
                ..IntegerIndexParams::default()
            };
            require_known(params, &known, "an index of numbers for more than equality")?;
            (IndexKind::Integer, false)
        }
        _ => return Err(not_here("this kind of index")),
    };
    Ok(Index { kind, is_tenant, params: request.field_index_params.clone() })
}
