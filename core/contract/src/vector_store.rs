//! The contract with a store of vectors: it ranks the pieces of documents. What may be read is decided by rows, after it
//! has answered, so a stale point costs a result and never shows one.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::ids::{ChannelId, PersonId, TenantId};

/// Who may read a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reader {
    /// All members of the organisation.
    Everyone,
    /// Those in a channel.
    Channel(ChannelId),
    Person(PersonId),
}

/// The points of one embedding model: vectors of two models cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// The model's id; `None` if chunks are found by their words alone.
    pub model: Option<String>,
    /// How many numbers a vector has; 0 without a model.
    pub dimension: usize,
}

/// A chunk of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The chunk.
    pub id: Uuid,
    pub document: Uuid,
    /// The version of the document.
    pub generation: i32,
    pub reader: Reader,
    /// A vector of length 1 for each window of its text; empty if there are none yet.
    pub windows: Vec<Vec<f32>>,
    /// Its terms with their BM25 weights, by term.
    pub terms: Vec<(u32, f32)>,
}

/// What is looked for. The tenant and the readers are part of every search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuery {
    pub tenant: TenantId,
    /// A chunk is found if one of them may read it.
    pub readers: Vec<Reader>,
    /// Only these documents; `None` for all.
    pub documents: Option<Vec<Uuid>>,
    /// `None` if it is looked up by its words alone.
    pub vector: Option<Vec<f32>>,
    /// The query's terms, each with how much it distinguishes.
    pub terms: Vec<(u32, f32)>,
    /// The most chunks of each of the two searches.
    pub limit: usize,
}

/// A chunk that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub chunk: Uuid,
    pub score: f32,
}

/// What the two searches found, the best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hits {
    /// By meaning: the cosine of a chunk's best window.
    pub dense: Vec<Hit>,
    /// By words: the sum of the weights of the terms that a chunk has, each times the query's.
    pub lexical: Vec<Hit>,
}

/// What points have in common that are looked up alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PointGroup {
    pub document: Uuid,
    pub generation: i32,
    pub reader: Reader,
    /// Whether they have vectors.
    pub is_embedded: bool,
}

/// How many chunks of a tenant there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkCounts {
    pub all: u64,
    /// Those that have vectors of the space.
    pub embedded: u64,
    /// Those that have each of the terms that were asked for, in their order.
    pub with_term: Vec<u64>,
}

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VectorStoreError {
    /// It does not answer now, or not in time. A retry might succeed.
    #[error("the vector store does not answer: {reason}")]
    Unavailable { reason: String, retry_after: Option<Duration> },
    /// It does not accept this request, this key or this dimension.
    #[error("the vector store refuses: {reason}")]
    Rejected { reason: String },
}

/// What a store says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorStoreHealth {
    pub version: String,
    /// How many numbers a vector of the asked space has there; `None` if the space does not exist yet.
    pub dimension: Option<usize>,
}

/// A store of vectors. All calls can be repeated.
#[async_trait]
pub trait VectorStore: Send + Sync {
    /// Returns whether it holds only the points that it is given. If not, it reads rows, and need not be given any.
    fn keeps_points(&self) -> bool;

    /// Creates a space if it does not exist.
    ///
    /// # Errors
    /// If the store does not answer, or if the space exists with another dimension.
    async fn prepare(&self, space: &Space) -> Result<(), VectorStoreError>;

    /// Stores points, in the place of those with the same ids. They can be found when it returns.
    ///
    /// # Errors
    /// If the store does not answer or refuses.
    async fn upsert(&self, space: &Space, tenant: TenantId, points: &[Point])
    -> Result<(), VectorStoreError>;

    /// # Errors
    /// If the store does not answer or refuses.
    async fn count_chunks(
        &self,
        space: &Space,
        tenant: TenantId,
        terms: &[u32],
    ) -> Result<ChunkCounts, VectorStoreError>;

    /// Returns how many chunks these readers may read.
    ///
    /// # Errors
    /// If the store does not answer or refuses.
    async fn count_readable(
        &self,
        space: &Space,
        tenant: TenantId,
        readers: &[Reader],
    ) -> Result<u64, VectorStoreError>;

    /// # Errors
    /// If the store does not answer or refuses.
    async fn search(&self, space: &Space, query: &SearchQuery) -> Result<Hits, VectorStoreError>;

    /// Deletes the points of a document, except those of one version. They are gone when it returns.
    ///
    /// # Errors
    /// If the store does not answer or refuses.
    async fn delete(
        &self,
        space: &Space,
        tenant: TenantId,
        document: Uuid,
        except: Option<i32>,
    ) -> Result<(), VectorStoreError>;

    /// Deletes what other spaces than this one hold of a tenant, or of one of its documents: those of earlier models.
    ///
    /// # Errors
    /// If the store does not answer or refuses.
    async fn delete_elsewhere(
        &self,
        space: &Space,
        tenant: TenantId,
        document: Option<Uuid>,
    ) -> Result<(), VectorStoreError>;

    /// Returns how many points there are of each group.
    ///
    /// # Errors
    /// If the store does not answer or refuses.
    async fn list_groups(
        &self,
        space: &Space,
        tenant: TenantId,
    ) -> Result<BTreeMap<PointGroup, u64>, VectorStoreError>;

    /// # Errors
    /// If the store does not answer or refuses.
    async fn check(&self, space: &Space) -> Result<VectorStoreHealth, VectorStoreError>;
}
