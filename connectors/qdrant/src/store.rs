//! The calls of the contract, as requests to Qdrant.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::try_join_all;
use nod_contract::ids::TenantId;
use nod_contract::vector_store::{
    ChunkCounts, Hits, Point, PointGroup, Reader, SearchQuery, Space, VectorStore, VectorStoreError,
    VectorStoreHealth,
};
use qdrant_client::qdrant::facet_value::Variant;
use qdrant_client::qdrant::{
    CountPointsBuilder, DeletePointsBuilder, FacetCountsBuilder, FacetHit, Filter, PointsOperationResponse,
    Query, QueryBatchPointsBuilder, QueryPoints, QueryPointsBuilder, UpdateStatus, UpsertPointsBuilder,
    VectorInput, WriteOrdering, WriteOrderingType,
};
use qdrant_client::{Qdrant, QdrantError};
use secrecy::{ExposeSecret, SecretString};
use tonic::Status;
use url::Url;
use uuid::Uuid;

use crate::collection::{self, DENSE, LEXICAL};
use crate::error::{classify, is_not_found, rejected};
use crate::{filter, payload, points};

/// The oldest version that has all that is asked of it: strict mode came with it.
const MIN_VERSION: (u64, u64) = (1, 13);
const MAX_CONNECT_TIME: Duration = Duration::from_secs(2);
/// The most groups of points that are listed.
const MAX_GROUPS: u64 = 1_000_000;

/// A Qdrant server or cluster.
pub struct QdrantStore {
    client: Qdrant,
    timeout: Duration,
    /// The collections that this process has made sure of, so that no point is stored before the indexes: who made the
    /// collection may have been killed before it made them.
    prepared: Mutex<BTreeSet<String>>,
}

impl QdrantStore {
    /// Creates the client without connecting. `timeout` is for each request, with the client's own retry.
    ///
    /// # Errors
    /// If the address or the key cannot be one.
    pub fn new(
        url: &Url,
        api_key: Option<SecretString>,
        timeout: Duration,
    ) -> Result<Self, VectorStoreError> {
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(rejected("its address must begin with http:// or https://"));
        }
        // Errors repeat the address.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(rejected(
                "its address must hold no name and no password; the key is a setting of its own",
            ));
        }
        let key = api_key.as_ref().map(ExposeSecret::expose_secret);
        // The client's error repeats a key that cannot be sent.
        if key.is_some_and(|key| key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(rejected("its key must be letters, digits and signs of ASCII"));
        }
        let client = Qdrant::from_url(url.as_str())
            .api_key(key)
            .timeout(timeout)
            .connect_timeout(timeout.min(MAX_CONNECT_TIME))
            // It would print to standard output, and wait for the server.
            .skip_compatibility_check()
            .build()
            .map_err(|_| rejected("its address cannot be used"))?;
        Ok(Self { client, timeout, prepared: Mutex::default() })
    }

    fn prepared(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an answer. The client tries once more by itself, so its own time-out may pass twice.
    async fn wait_for<T>(
        &self,
        answer: impl Future<Output = Result<T, QdrantError>>,
    ) -> Result<T, QdrantError> {
        let late = || Status::deadline_exceeded(format!("no answer within {:?}", self.timeout));
        tokio::time::timeout(self.timeout, answer).await.unwrap_or_else(|_| Err(late().into()))
    }

    /// Asks for the version, and refuses one that is too old.
    async fn read_version(&self) -> Result<String, VectorStoreError> {
        let version =
            self.wait_for(self.client.health_check()).await.map_err(|error| classify(&error))?.version;
        let mut parts = version.split('.').map(|part| part.parse::<u64>().ok());
        let number = (parts.next().flatten(), parts.next().flatten());
        if let (Some(major), Some(minor)) = number
            && (major, minor) >= MIN_VERSION
        {
            return Ok(version);
        }
        let (major, minor) = MIN_VERSION;
        Err(rejected(format!("Qdrant {version} is too old: Nod needs {major}.{minor} or later")))
    }

    /// Returns the dimension of a collection; `None` if it does not exist.
    async fn read_dimension(&self, name: &str) -> Result<Option<usize>, VectorStoreError> {
        match self.wait_for(self.client.collection_info(name)).await {
            Ok(response) => Ok(Some(response.result.as_ref().map_or(0, collection::read_dimension))),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(classify(&error)),
        }
    }

    /// Returns whether a collection is there with all its indexes. One that is still being made refuses conditions, and
    /// holds nothing yet.
    async fn is_ready(&self, name: &str, dimension: usize) -> Result<bool, VectorStoreError> {
        if self.prepared().contains(name) {
            return Ok(true);
        }
        let info = match self.wait_for(self.client.collection_info(name)).await {
            Ok(response) => response.result.unwrap_or_default(),
            Err(error) if is_not_found(&error) => return Ok(false),
            Err(error) => return Err(classify(&error)),
        };
        let is_ready = collection::has_indexes(&info) && collection::read_dimension(&info) == dimension;
        if is_ready {
            self.prepared().insert(name.to_owned());
        }
        Ok(is_ready)
    }

    /// Where there is no collection, nothing was stored.
    fn or_missing<T>(
        &self,
        name: &str,
        answer: Result<T, QdrantError>,
        nothing: impl FnOnce() -> T,
    ) -> Result<T, VectorStoreError> {
        match answer {
            Err(error) if is_not_found(&error) => {
                // A server that lost its data.
                self.prepared().remove(name);
                Ok(nothing())
            }
            answer => answer.map_err(|error| classify(&error)),
        }
    }

    /// Creates a collection if it does not exist, and returns its dimension.
    async fn create_collection(&self, name: &str, dimension: usize) -> Result<usize, VectorStoreError> {
        if let Some(existing) = self.read_dimension(name).await? {
            return Ok(existing);
        }
        let creation = Box::pin(self.client.create_collection(collection::creation(name, dimension)));
        let created = self.wait_for(creation).await;
        match created {
            Ok(_) => Ok(dimension),
            // Another replica may have been faster, or only the answer was lost.
            Err(error) => self.read_dimension(name).await?.ok_or_else(|| classify(&error)),
        }
    }

    async fn upsert_batch(&self, name: &str, tenant: TenantId, batch: &[Point]) -> Result<(), QdrantError> {
        let points: Vec<_> = batch.iter().map(|point| points::encode(tenant, point)).collect();
        let upsert = UpsertPointsBuilder::new(name, points).wait(true).ordering(strong());
        require_completed(self.wait_for(self.client.upsert_points(upsert)).await?)
    }

    async fn delete_points(&self, name: &str, filter: Filter) -> Result<(), VectorStoreError> {
        let delete = DeletePointsBuilder::new(name).points(filter).wait(true).ordering(strong());
        let answer = self.wait_for(self.client.delete_points(delete)).await;
        self.or_missing(name, answer.and_then(require_completed), || ())
    }

    async fn count(&self, name: &str, filter: Filter) -> Result<u64, QdrantError> {
        let count = CountPointsBuilder::new(name).filter(filter).exact(true);
        let response = self.wait_for(self.client.count(count)).await?;
        Ok(response.result.map_or(0, |result| result.count))
    }
}

#[async_trait]
impl VectorStore for QdrantStore {
    fn keeps_points(&self) -> bool {
        true
    }

    async fn prepare(&self, space: &Space) -> Result<(), VectorStoreError> {
        let name = collection::name(space);
        self.prepared().remove(&name);
        self.read_version().await?;
        let dimension = self.create_collection(&name, space.dimension).await?;
        if dimension != space.dimension {
            let wanted = space.dimension;
            return Err(rejected(format!("vectors of {name} have {dimension} numbers in place of {wanted}")));
        }
        for index in collection::indexes(&name) {
            let response = self.wait_for(self.client.create_field_index(index)).await;
            response.and_then(require_completed).map_err(|error| classify(&error))?;
        }
        self.prepared().insert(name);
        Ok(())
    }

    async fn upsert(
        &self,
        space: &Space,
        tenant: TenantId,
        points: &[Point],
    ) -> Result<(), VectorStoreError> {
        if let Some(problem) = points::find_problem(space, points) {
            return Err(rejected(problem));
        }
        let name = collection::name(space);
        if !self.prepared().contains(&name) {
            self.prepare(space).await?;
        }
        for batch in points::batches(points) {
            let mut outcome = self.upsert_batch(&name, tenant, batch).await;
            if outcome.as_ref().is_err_and(is_not_found) {
                // A server that lost its data.
                self.prepare(space).await?;
                outcome = self.upsert_batch(&name, tenant, batch).await;
            }
            outcome.map_err(|error| classify(&error))?;
        }
        Ok(())
    }

    async fn count_chunks(
        &self,
        space: &Space,
        tenant: TenantId,
        terms: &[u32],
    ) -> Result<ChunkCounts, VectorStoreError> {
        let name = collection::name(space);
        if !self.is_ready(&name, space.dimension).await? {
            return Ok(ChunkCounts { with_term: vec![0; terms.len()], ..ChunkCounts::default() });
        }
        let filters = [filter::tenant(tenant), filter::embedded(tenant)];
        let filters = filters.into_iter().chain(terms.iter().map(|term| filter::term(tenant, *term)));
        let counts = try_join_all(filters.map(|filter| self.count(&name, filter))).await;
        let counts = self.or_missing(&name, counts, || vec![0; terms.len() + 2])?;
        let mut counts = counts.into_iter();
        let mut next = || counts.next().unwrap_or_default();
        Ok(ChunkCounts { all: next(), embedded: next(), with_term: counts.collect() })
    }

    async fn count_readable(
        &self,
        space: &Space,
        tenant: TenantId,
        readers: &[Reader],
    ) -> Result<u64, VectorStoreError> {
        let name = collection::name(space);
        if readers.is_empty() || !self.is_ready(&name, space.dimension).await? {
            return Ok(0);
        }
        let count = self.count(&name, filter::readable(tenant, readers)).await;
        self.or_missing(&name, count, || 0)
    }

    async fn search(&self, space: &Space, query: &SearchQuery) -> Result<Hits, VectorStoreError> {
        let name = collection::name(space);
        let dense = query.vector.as_ref().map(|vector| {
            let vector = VectorInput::new_multi(vec![vector.clone()]);
            search_by(&name, query, DENSE, vector)
        });
        let lexical = (!query.terms.is_empty()).then(|| {
            let (terms, weights): (Vec<u32>, Vec<f32>) = query.terms.iter().copied().unzip();
            search_by(&name, query, LEXICAL, VectorInput::new_sparse(terms, weights))
        });
        let has_no_reader = query.readers.is_empty() || query.documents.as_ref().is_some_and(Vec::is_empty);
        if query.limit == 0 || has_no_reader || (dense.is_none() && lexical.is_none()) {
            return Ok(Hits::default());
        }
        if !self.is_ready(&name, space.dimension).await? {
            return Ok(Hits::default());
        }
        let (has_dense, has_lexical) = (dense.is_some(), lexical.is_some());
        let queries: Vec<QueryPoints> = dense.into_iter().chain(lexical).collect();
        let answer =
            self.wait_for(self.client.query_batch(QueryBatchPointsBuilder::new(&name, queries))).await;
        let answer = self.or_missing(&name, answer, Default::default)?;
        let mut lists = answer.result.iter().map(|list| list.result.iter().filter_map(points::decode_hit));
        let mut take = |has: bool| {
            if has { lists.next().into_iter().flatten().collect() } else { Vec::new() }
        };
        Ok(Hits { dense: take(has_dense), lexical: take(has_lexical) })
    }

    async fn delete(
        &self,
        space: &Space,
        tenant: TenantId,
        document: Uuid,
        except: Option<i32>,
    ) -> Result<(), VectorStoreError> {
        let name = collection::name(space);
        if !self.is_ready(&name, space.dimension).await? {
            return Ok(());
        }
        self.delete_points(&name, filter::document(tenant, document, except)).await
    }

    async fn delete_elsewhere(
        &self,
        space: &Space,
        tenant: TenantId,
        document: Option<Uuid>,
    ) -> Result<(), VectorStoreError> {
        let list = self.wait_for(self.client.list_collections()).await.map_err(|error| classify(&error))?;
        let own = collection::name(space);
        let names = list.collections.into_iter().map(|collection| collection.name);
        for name in names.filter(|name| collection::is_ours(name) && *name != own) {
            // Without its indexes it would refuse the condition. What this version did not make is left alone.
            let info = self.wait_for(self.client.collection_info(&name)).await;
            let info = self.or_missing(&name, info, Default::default)?.result.unwrap_or_default();
            if collection::has_indexes(&info) {
                let filter = match document {
                    Some(document) => filter::document(tenant, document, None),
                    None => filter::tenant(tenant),
                };
                self.delete_points(&name, filter).await?;
            }
        }
        Ok(())
    }

    async fn list_groups(
        &self,
        space: &Space,
        tenant: TenantId,
    ) -> Result<BTreeMap<PointGroup, u64>, VectorStoreError> {
        let name = collection::name(space);
        if !self.is_ready(&name, space.dimension).await? {
            return Ok(BTreeMap::new());
        }
        let facet = FacetCountsBuilder::new(&name, payload::GROUP)
            .filter(filter::tenant(tenant))
            .limit(MAX_GROUPS)
            .exact(true);
        let answer =
            self.or_missing(&name, self.wait_for(self.client.facet(facet)).await, Default::default)?;
        if answer.hits.len() as u64 >= MAX_GROUPS {
            return Err(rejected(format!("it has more than {MAX_GROUPS} versions of documents")));
        }
        Ok(answer.hits.iter().filter_map(read_group_count).collect())
    }

    async fn check(&self, space: &Space) -> Result<VectorStoreHealth, VectorStoreError> {
        let version = self.read_version().await?;
        // The version is told without a key, this is not.
        let dimension = self.read_dimension(&collection::name(space)).await?;
        Ok(VectorStoreHealth { version, dimension })
    }
}

fn search_by(name: &str, query: &SearchQuery, using: &str, vector: VectorInput) -> QueryPoints {
    QueryPointsBuilder::new(name)
        .query(Query::new_nearest(vector))
        .using(using)
        .filter(filter::search(query))
        .limit(query.limit as u64)
        .with_payload(false)
        .build()
}

/// Changes of one document never overtake each other between the nodes of a cluster.
fn strong() -> WriteOrdering {
    WriteOrdering { r#type: WriteOrderingType::Strong.into() }
}

/// A change that the server has only accepted is not made yet; made again, it does no harm.
fn require_completed(response: PointsOperationResponse) -> Result<(), QdrantError> {
    let status = response.result.map_or(UpdateStatus::UnknownUpdateStatus, |result| result.status());
    match status {
        UpdateStatus::Completed => Ok(()),
        status => Err(Status::deadline_exceeded(format!("the change is not made yet ({status:?})")).into()),
    }
}

fn read_group_count(hit: &FacetHit) -> Option<(PointGroup, u64)> {
    match hit.value.as_ref()?.variant.as_ref()? {
        Variant::StringValue(group) => Some((payload::parse_group(group)?, hit.count)),
        Variant::IntegerValue(_) | Variant::BoolValue(_) => None,
    }
}
