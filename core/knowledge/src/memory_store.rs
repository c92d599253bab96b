//! The store of vectors that Nod has without another: indexes in this process, built from rows. Rows are all that it
//! keeps, so nothing is put into it or deleted from it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

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

/// An index that follows the rows.
#[derive(Debug, Default)]
struct Followed {
    index: RwLock<Index>,
    /// The revision of the rows that it was last brought to. Whoever brings it further holds this: others wait for them and
    /// do not read the same rows.
    revision: tokio::sync::Mutex<i64>,
}

/// The index of each tenant, with the vectors of a model.
type Indexes = HashMap<(TenantId, Option<String>), Arc<Followed>>;

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

    /// Returns the index of the current rows: what has changed since it was last asked for is loaded. Stopped in between,
    /// it keeps what it has, and the next one loads what is missing.
    async fn refresh(&self, space: &Space, tenant: TenantId) -> Result<Arc<Followed>, VectorStoreError> {
        let followed = self.lock().entry((tenant, space.model.clone())).or_default().clone();
        let mut known = followed.revision.lock().await;
        let mut conn = self.pool.acquire().await.map_err(database_error)?;
        // Read before the rows: if they change in between, the next search looks once more.
        let revision = sql::load_revision(&mut conn, tenant).await.map_err(database_error)?;
        if *known == revision {
            drop(known);
            return Ok(followed);
        }
        let current = sql::load_versions(&mut conn, tenant).await.map_err(database_error)?;
        drop(conn);
        let (gone, changed) = followed.compare(current, space.model.is_some());
        if !gone.is_empty() {
            followed.change(move |index| index.remove(&gone)).await?;
        }
        // A few at a time, so that no more than these are in memory twice.
        for some in changed.chunks(MAX_LOADED_DOCUMENTS) {
            let mut conn = self.pool.acquire().await.map_err(database_error)?;
            let loaded = sql::load_indexed_chunks(&mut conn, tenant, some, space.model.as_deref()).await;
            drop(conn);
            let loaded = loaded.map_err(database_error)?;
            followed.change(move |index| index.replace(loaded)).await?;
        }
        followed.change(Index::shrink).await?;
        *known = revision;
        drop(known);
        Ok(followed)
    }
}

impl Followed {
    /// Returns which documents are gone, and which the index does not have as they are now.
    fn compare(&self, current: HashMap<Uuid, (i32, Reader)>, has_model: bool) -> (HashSet<Uuid>, Vec<Uuid>) {
        let index = self.read();
        let known = index.versions();
        // With another model, their vectors may have come meanwhile.
        let bare = if has_model { index.bare_documents() } else { HashSet::new() };
        let gone = known.keys().filter(|document| !current.contains_key(*document)).copied().collect();
        let changed = current
            .into_iter()
            .filter(|(document, version)| known.get(document) != Some(version) || bare.contains(document));
        (gone, changed.map(|(document, _)| document).collect())
    }

    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the index on a thread of its own: among many documents it takes long enough to hold up others.
    async fn change(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Index) + Send + 'static,
    ) -> Result<(), VectorStoreError> {
        let followed = self.clone();
        let change = move || change(&mut followed.index.write().unwrap_or_else(PoisonError::into_inner));
        tokio::task::spawn_blocking(change).await.map_err(thread_error)
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
        let followed = self.refresh(space, tenant).await?;
        let terms: Vec<i32> = terms.iter().map(|term| term.cast_signed()).collect();
        let index = followed.read();
        let counts = index.count_chunks(&terms);
        // Vectors of another dimension are as good as none.
        let embedded = if index.dimension() == space.dimension { counts.embedded } else { 0 };
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
        let followed = self.refresh(space, query.tenant).await?;
        let query = query.clone();
        // Among many documents it takes long enough to hold up others.
        tokio::task::spawn_blocking(move || rank(&followed.read(), &query)).await.map_err(thread_error)
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
        Ok(self.refresh(space, tenant).await?.read().count_groups())
    }

    async fn check(&self, space: &Space) -> Result<VectorStoreHealth, VectorStoreError> {
        let indexes = self.lock();
        let of_space = indexes.iter().filter(|((_, model), _)| *model == space.model);
        let dimension = of_space.map(|(_, followed)| followed.read().dimension()).max();
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
