//! The jobs of this crate, and the lane in which documents are read.

use nod_contract::ids::{TenantId, named_lane_id};
use nod_store::jobs::Job;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::document::ReadVersion;

/// How often a document is tried.
pub(crate) const MAX_ATTEMPTS: i32 = 4;

/// The jobs of this crate.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum KnowledgeJob {
    /// Reads a version of a document.
    IndexDocument { document: Uuid, generation: i32 },
    /// Computes the vectors of a version that was read, and publishes it.
    EmbedChunks { document: Uuid, version: ReadVersion },
    /// Computes the vectors that are missing because there is another model now.
    EmbedMissing { model: String },
}

impl Job for KnowledgeJob {
    const KINDS: &'static [&'static str] = &["index_document", "embed_chunks", "embed_missing"];
}

/// Returns the lane of a tenant's documents. They are read one after another, and no conversation waits for them.
pub(crate) fn lane(tenant: TenantId) -> Uuid {
    named_lane_id(&["knowledge", &tenant.to_string()])
}
