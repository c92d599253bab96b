//! The store of vectors that Nod has without another: indexes in this process, built from rows. Rows are all that it
//! keeps, so nothing is put into it or deleted from it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use nod_contract::ids::TenantId;
use nod_contract::vector_store::{
    ChunkCounts, Hit, Hits, Point, PointGroup, Reader, SearchQuery, Space, VectorStore, VectorStoreError,
    VectorStoreHealth,
};
use sqlx::PgPool;
use uuid::Uuid;

use crate::index::Index;
use crate::sql;
use crate::vector::QueryVector;

/// How many changed documents are loaded at once.
const MAX_LOADED_DOCUMENTS: usize = 500;

/// An index, and the revision of the rows that it was built from.
#[derive(Debug, Clone, Default)]
struct BuiltIndex {
    revision: i64,
    index: Index,
}

/// The index of each tenant, with the vectors of a model.
type Indexes = HashMap<(TenantId, Option<String>), Arc<BuiltIndex>>;

/// The indexes of this replica.
pub struct MemoryStore {
    pool: PgPool,
    indexes: Mutex<Indexes>,
}

impl MemoryStore {
    pub fn new(pool: PgPool) -> Self {
        Self { pool, indexes: Mutex::default() }
    }

    /// Gives up the indexes of a tenant. They are built again when they are asked for.
    pub fn forget(&self, tenant: TenantId) {
        self.lock().retain(|(other, _), _| *other != tenant);
    }

    fn lock(&self) -> MutexGuard<'_, Indexes> {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the index of the current rows: what has changed since it was last asked for is loaded. Searches that have
    /// begun keep the index that they have.
    async fn refresh(&self, space: &Space, tenant: TenantId) -> Result<Arc<BuiltIndex>, VectorStoreError> {
        let mut conn = self.pool.acquire().await.map_err(database_error)?;
        // Read before the rows: if they change in between, the next search looks once more.
        let revision = sql::load_revision(&mut conn, tenant).await.map_err(database_error)?;
        let key = (tenant, space.model.clone());
        let known = self.lock().get(&key).cloned().unwrap_or_default();
        if known.revision == revision {
            return Ok(known);
        }
        let known = if known.index.is_wasteful() { Arc::default() } else { known };
        let versions = known.index.versions();
        // With another model, their vectors may have come meanwhile.
        let bare = space.model.as_ref().map(|_| known.index.bare_documents()).unwrap_or_default();
        let current = sql::load_versions(&mut conn, tenant).await.map_err(database_error)?;
        let removed: Vec<Uuid> =
            versions.keys().filter(|document| !current.contains_key(*document)).copied().collect();
        let changed = current.iter().filter(|(document, version)| {
            versions.get(*document) != Some(*version) || bare.contains(*document)
        });
        let changed: Vec<Uuid> = changed.map(|(document, _)| *document).collect();
        drop(conn);
        let gone: HashSet<Uuid> = removed.into_iter().chain(changed.iter().copied()).collect();
        let begin = move || {
            let mut built = BuiltIndex::clone(&known);
            built.index.remove(&gone);
            built.revision = revision;
            built
        };
        let mut built = tokio::task::spawn_blocking(begin).await.map_err(thread_error)?;
        // A few at a time, so that no more than these are in memory twice.
        for some in changed.chunks(MAX_LOADED_DOCUMENTS) {
            let mut conn = self.pool.acquire().await.map_err(database_error)?;
            let loaded = sql::load_indexed_chunks(&mut conn, tenant, some, space.model.as_deref()).await;
            drop(conn);
            let loaded = loaded.map_err(database_error)?;
            let add = move || {
                built.index.insert(loaded);
                built
            };
            built = tokio::task::spawn_blocking(add).await.map_err(thread_error)?;
        }
        let end = move || {
            built.index.shrink();
            Arc::new(built)
        };
        let built = tokio::task::spawn_blocking(end).await.map_err(thread_error)?;
        let mut indexes = self.lock();
        let newest = indexes.entry(key).or_default();
        if newest.revision < built.revision {
            *newest = built.clone();
        }
        drop(indexes);
        Ok(built)
    }
}

#[async_trait]
impl VectorStore for MemoryStore {
    fn keeps_points(&self) -> bool {
        false
    }

    async fn prepare(&self, _: &Space) -> Result<(), VectorStoreError> {
        Ok(())
    }

    async fn upsert(&self, _: &Space, _: TenantId, _: &[Point]) -> Result<(), VectorStoreError> {
        Ok(())
    }

    async fn count_chunks(
        &self,
        space: &Space,
        tenant: TenantId,
        terms: &[u32],
    ) -> Result<ChunkCounts, VectorStoreError> {
        let built = self.refresh(space, tenant).await?;
        let terms: Vec<i32> = terms.iter().map(|term| term.cast_signed()).collect();
        let counts = built.index.count_chunks(&terms);
        // Vectors of another dimension are as good as none.
        let embedded = if built.index.dimension() == space.dimension { counts.embedded } else { 0 };
        Ok(ChunkCounts { embedded, ..counts })
    }

    async fn count_readable(
        &self,
        space: &Space,
        tenant: TenantId,
        readers: &[Reader],
    ) -> Result<u64, VectorStoreError> {
        let groups = self.list_groups(space, tenant).await?;
        let readable = groups.iter().filter(|(group, _)| readers.contains(&group.reader));
        Ok(readable.map(|(_, count)| count).sum())
    }

    async fn search(&self, space: &Space, query: &SearchQuery) -> Result<Hits, VectorStoreError> {
        if let Some(vector) = query.vector.as_ref().filter(|vector| vector.len() != space.dimension) {
            let reason = format!("a vector has {} numbers in place of {}", vector.len(), space.dimension);
            return Err(VectorStoreError::Rejected { reason });
        }
        let built = self.refresh(space, query.tenant).await?;
        let query = query.clone();
        // Among many documents it takes long enough to hold up others.
        tokio::task::spawn_blocking(move || rank(&built.index, &query)).await.map_err(thread_error)
    }

    async fn delete(&self, _: &Space, _: TenantId, _: Uuid, _: Option<i32>) -> Result<(), VectorStoreError> {
        Ok(())
    }

    async fn delete_elsewhere(
        &self,
        _: &Space,
        _: TenantId,
        _: Option<Uuid>,
    ) -> Result<(), VectorStoreError> {
        Ok(())
    }

    async fn list_groups(
        &self,
        space: &Space,
        tenant: TenantId,
    ) -> Result<BTreeMap<PointGroup, u64>, VectorStoreError> {
        Ok(self.refresh(space, tenant).await?.index.count_groups())
    }

    async fn check(&self, space: &Space) -> Result<VectorStoreHealth, VectorStoreError> {
        let indexes = self.lock();
        let of_space = indexes.iter().filter(|((_, model), _)| *model == space.model);
        let dimension = of_space.map(|(_, built)| built.index.dimension()).max();
        let dimension = dimension.filter(|dimension| *dimension > 0 || space.model.is_none());
        Ok(VectorStoreHealth { version: env!("CARGO_PKG_VERSION").to_owned(), dimension })
    }
}

fn rank(index: &Index, query: &SearchQuery) -> Hits {
    let readable = index.find_readable(&query.readers, query.documents.as_deref());
    let hits = |found: Vec<(Uuid, f32)>| {
        found.into_iter().map(|(chunk, score)| Hit { chunk, score }).collect::<Vec<_>>()
    };
    let vector = query.vector.as_ref().map(|vector| QueryVector::pack(vector));
    let dense = vector.map(|vector| index.search_vector(&vector, &readable, query.limit));
    let terms: Vec<(i32, f32)> = query.terms.iter().map(|(term, idf)| (term.cast_signed(), *idf)).collect();
    Hits {
        dense: hits(dense.unwrap_or_default()),
        lexical: hits(index.search_terms(&terms, &readable, query.limit)),
    }
}

fn database_error(error: sqlx::Error) -> VectorStoreError {
    VectorStoreError::Unavailable { reason: error.to_string(), retry_after: None }
}

fn thread_error(error: tokio::task::JoinError) -> VectorStoreError {
    VectorStoreError::Unavailable {
        reason: format!("the search in memory stopped: {error}"),
        retry_after: None,
    }
}
