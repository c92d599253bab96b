//! Points: stored, deleted, counted, searched.

use std::collections::{BTreeMap, HashMap};

use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::vectors::VectorsOptions;
use qdrant_client::qdrant::{
    CountPoints, DeletePoints, FacetCounts, FacetHit, FacetValue, Filter, NamedVectors, PointId, PointStruct,
    QueryBatchPoints, QueryPoints, ScoredPoint, UpdateResult, UpdateStatus, UpsertPoints, Value, Vector,
    facet_value, point_id, query, vector, vector_input, with_payload_selector,
};
use uuid::Uuid;

use super::filter;
use super::refusal::{Refusal, no_story_may, not_here, require_known, wrong_input};
use super::state::{Collection, IndexKind, State, StoredPoint, integers, strings};
use super::vectors::{max_sim, read_rows, read_sparse, sparse_product};

pub(super) fn upsert(state: &mut State, mut request: UpsertPoints) -> Result<UpdateResult, Refusal> {
    let collection = state.collection(&request.collection_name)?;
    // Numbers are left out of comparisons: one that is not a number equals nothing.
    let points = std::mem::take(&mut request.points);
    let known = UpsertPoints {
        collection_name: request.collection_name.clone(),
        wait: request.wait,
        ordering: request.ordering,
        ..UpsertPoints::default()
    };
    require_known(&request, &known, "these settings of a write")?;
    require_wait(request.wait)?;
    if points.is_empty() {
        return Err(wrong_input("Empty update request"));
    }
    // Those before a wrong one are stored.
    for point in &points {
        let (id, point) = read_point(collection, point)?;
        collection.points.insert(id, point);
    }
    Ok(result(state))
}

fn require_wait(wait: Option<bool>) -> Result<(), Refusal> {
    if wait == Some(true) { Ok(()) } else { Err(no_story_may("a write that is not waited for")) }
}

fn result(state: &mut State) -> UpdateResult {
    let status =
        if state.acknowledged_only > 0 { UpdateStatus::Acknowledged } else { UpdateStatus::Completed };
    state.acknowledged_only = state.acknowledged_only.saturating_sub(1);
    UpdateResult { operation_id: Some(state.operations.len() as u64), status: status.into() }
}

fn read_point(collection: &Collection, point: &PointStruct) -> Result<(Uuid, StoredPoint), Refusal> {
    let Some(PointId { point_id_options: Some(point_id::PointIdOptions::Uuid(id)) }) = &point.id else {
        return Err(not_here("points whose id is no UUID"));
    };
    let id = id.parse().map_err(|_| wrong_input(format!("Unable to parse UUID: {id}")))?;
    let Some(VectorsOptions::Vectors(named)) =
        point.vectors.as_ref().and_then(|vectors| vectors.vectors_options.as_ref())
    else {
        return Err(wrong_input("Expected some vectors, and each with a name"));
    };
    check_payload(collection, &point.payload)?;
    let mut stored = StoredPoint { payload: point.payload.clone(), ..StoredPoint::default() };
    read_vectors(collection, named, &mut stored)?;
    Ok((id, stored))
}

fn check_payload(collection: &Collection, payload: &HashMap<String, Value>) -> Result<(), Refusal> {
    let Some(tenant) = collection.tenant_field() else {
        return Err(no_story_may("a point before there is the index of tenants"));
    };
    if payload.get(tenant).and_then(Value::as_str).is_none_or(String::is_empty) {
        return Err(no_story_may(format!("a point without {tenant}")));
    }
    for (field, value) in payload {
        let fits = match collection.indexes.get(field).map(|index| index.kind) {
            None => return Err(no_story_may(format!("a field without an index: {field}"))),
            Some(IndexKind::Keyword) => strings(value).is_some(),
            Some(IndexKind::Integer) => integers(value).is_some(),
        };
        if !fits {
            return Err(no_story_may(format!("a field that its index does not hold: {field}")));
        }
    }
    Ok(())
}

fn read_vectors(
    collection: &Collection,
    named: &NamedVectors,
    stored: &mut StoredPoint,
) -> Result<(), Refusal> {
    for (name, given) in &named.vectors {
        let rest = Vector { vector: None, ..given.clone() };
        require_known(&rest, &Vector::default(), "vectors as they were before 1.16")?;
        match (&given.vector, collection.dense.get(name)) {
            (Some(vector::Vector::MultiDense(rows)), Some(dimension)) => {
                stored.dense.insert(name.clone(), read_rows(rows, *dimension)?);
            }
            (Some(vector::Vector::Sparse(terms)), None) if collection.sparse.contains(name) => {
                stored.sparse.insert(name.clone(), read_sparse(terms)?);
            }
            _ => return Err(wrong_input(format!("Not existing vector name error: {name}"))),
        }
    }
    Ok(())
}

pub(super) fn delete(state: &mut State, request: &DeletePoints) -> Result<UpdateResult, Refusal> {
    let collection = state.collection(&request.collection_name)?;
    let known = DeletePoints {
        collection_name: request.collection_name.clone(),
        wait: request.wait,
        points: request.points.clone(),
        ordering: request.ordering,
        ..DeletePoints::default()
    };
    require_known(request, &known, "these settings of a write")?;
    require_wait(request.wait)?;
    let selector = request.points.as_ref().and_then(|points| points.points_selector_one_of.as_ref());
    let Some(PointsSelectorOneOf::Filter(filter)) = selector else {
        return Err(no_story_may("points that are deleted without a filter"));
    };
    let filter = filter::check(collection, Some(filter))?;
    collection.points.retain(|_, point| !filter.accepts(&point.payload));
    Ok(result(state))
}

pub(super) fn count(state: &mut State, request: &CountPoints) -> Result<u64, Refusal> {
    let collection = state.collection(&request.collection_name)?;
    let known = CountPoints {
        collection_name: request.collection_name.clone(),
        filter: request.filter.clone(),
        exact: request.exact,
        ..CountPoints::default()
    };
    require_known(request, &known, "these settings of a count")?;
    if request.exact == Some(false) {
        return Err(no_story_may("a count that is not exact"));
    }
    Ok(matching(collection, request.filter.as_ref())?.len() as u64)
}

fn matching<'a>(
    collection: &'a Collection,
    filter: Option<&Filter>,
) -> Result<Vec<(&'a Uuid, &'a StoredPoint)>, Refusal> {
    let filter = filter::check(collection, filter)?;
    Ok(collection.points.iter().filter(|(_, point)| filter.accepts(&point.payload)).collect())
}

pub(super) fn facet(state: &mut State, request: &FacetCounts) -> Result<Vec<FacetHit>, Refusal> {
    let collection = state.collection(&request.collection_name)?;
    let known = FacetCounts {
        collection_name: request.collection_name.clone(),
        key: request.key.clone(),
        filter: request.filter.clone(),
        limit: request.limit,
        exact: request.exact,
        ..FacetCounts::default()
    };
    require_known(request, &known, "these settings of a facet")?;
    if request.exact != Some(true) {
        return Err(no_story_may("a facet that is not exact"));
    }
    if collection.indexes.get(&request.key).map(|index| index.kind) != Some(IndexKind::Keyword) {
        return Err(wrong_input(format!("`{}` has no index for a facet", request.key)));
    }
    let limit = read_limit(request.limit)?;
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, point) in matching(collection, request.filter.as_ref())? {
        for value in point.payload.get(&request.key).and_then(strings).unwrap_or_default() {
            *counts.entry(value).or_default() += 1;
        }
    }
    let mut hits: Vec<(&str, u64)> = counts.into_iter().collect();
    hits.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let hit = |(value, count): (&str, u64)| {
        let value = FacetValue { variant: Some(facet_value::Variant::StringValue(value.to_owned())) };
        FacetHit { value: Some(value), count }
    };
    Ok(hits.into_iter().take(limit).map(hit).collect())
}

fn read_limit(limit: Option<u64>) -> Result<usize, Refusal> {
    match limit {
        None => Err(no_story_may("a request that leaves its limit to the server")),
        Some(0) => Err(wrong_input("Validation error: limit: value 0 invalid, must be 1 or larger")),
        Some(limit) => Ok(usize::try_from(limit).unwrap_or(usize::MAX)),
    }
}

pub(super) fn query_batch(
    state: &mut State,
    request: &QueryBatchPoints,
) -> Result<Vec<Vec<ScoredPoint>>, Refusal> {
    let collection = state.collection(&request.collection_name)?;
    let known =
        QueryBatchPoints { collection_name: request.collection_name.clone(), ..QueryBatchPoints::default() };
    let rest = QueryBatchPoints { query_points: Vec::new(), ..request.clone() };
    require_known(&rest, &known, "these settings of a search")?;
    if request.query_points.is_empty() {
        return Err(not_here("a batch without a search"));
    }
    if request.query_points.iter().any(|query| query.collection_name != request.collection_name) {
        return Err(not_here("a batch over several collections"));
    }
    request.query_points.iter().map(|query| query_one(collection, query)).collect()
}

fn query_one(collection: &Collection, request: &QueryPoints) -> Result<Vec<ScoredPoint>, Refusal> {
    let known = QueryPoints {
        collection_name: request.collection_name.clone(),
        using: request.using.clone(),
        filter: request.filter.clone(),
        limit: request.limit,
        with_payload: request.with_payload.clone(),
        ..QueryPoints::default()
    };
    let rest = QueryPoints { query: None, ..request.clone() };
    require_known(&rest, &known, "these settings of a search")?;
    let payload = request.with_payload.as_ref().and_then(|with| with.selector_options.as_ref());
    if payload != Some(&with_payload_selector::SelectorOptions::Enable(false)) {
        return Err(not_here("searches that return fields"));
    }
    let limit = read_limit(request.limit)?;
    let Some(query::Variant::Nearest(input)) =
        request.query.as_ref().and_then(|query| query.variant.as_ref())
    else {
        return Err(not_here("searches other than for the nearest"));
    };
    let using = request.using.as_deref().unwrap_or_default();
    let points = matching(collection, request.filter.as_ref())?;
    let scored: Vec<(&Uuid, f32)> = match (&input.variant, collection.dense.get(using)) {
        (Some(vector_input::Variant::MultiDense(rows)), Some(dimension)) => {
            let rows = read_rows(rows, *dimension)?;
            let score = |point: &StoredPoint| Some(max_sim(&rows, point.dense.get(using)?));
            points.into_iter().filter_map(|(id, point)| Some((id, score(point)?))).collect()
        }
        (Some(vector_input::Variant::Sparse(terms)), None) if collection.sparse.contains(using) => {
            let terms = read_sparse(terms)?;
            let score = |point: &StoredPoint| sparse_product(&terms, point.sparse.get(using)?);
            points.into_iter().filter_map(|(id, point)| Some((id, score(point)?))).collect()
        }
        _ => return Err(wrong_input(format!("Not existing vector name error: {using}"))),
    };
    Ok(best(scored, limit))
}

fn best(mut scored: Vec<(&Uuid, f32)>, limit: usize) -> Vec<ScoredPoint> {
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let point = |(id, score): (&Uuid, f32)| ScoredPoint {
        id: Some(PointId::from(id.to_string())),
        score,
        ..ScoredPoint::default()
    };
    scored.into_iter().take(limit).map(point).collect()
}
