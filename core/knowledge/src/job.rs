//! The jobs of this crate, and the lane in which documents are read.

use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId, named_lane_id};
use nod_people::context::Chat;
use nod_store::jobs::{Claim, Job, WorkError, sql as jobs};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::document::ReadVersion;

/// How often a document is tried.
pub(crate) const MAX_ATTEMPTS: i32 = 4;

/// The jobs of this crate.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum KnowledgeJob {
    /// Reads a version of a document. Whoever asked for it must be served; the operator, and who asked by a button or a
    /// command, is.
    IndexDocument {
        document: Uuid,
        generation: i32,
        #[serde(default)]
        asked_by: Option<PersonId>,
    },
    /// Computes the vectors of a version that was read, has the store know it, and publishes it.
    EmbedChunks { document: Uuid, version: ReadVersion },
    /// Computes the vectors that are missing because there is another model now, of the documents after this one.
    EmbedMissing {
        model: String,
        #[serde(default)]
        after: Uuid,
    },
    /// Deletes the points of a document in a space that are not of its current version.
    SweepPoints { document: Uuid, model: Option<String>, dimension: usize },
    /// Makes the points those that the rows ask for.
    ReconcilePoints {},
}

impl Job for KnowledgeJob {
    const KINDS: &'static [&'static str] =
        &["index_document", "embed_chunks", "embed_missing", "sweep_points", "reconcile_points"];
}

/// Returns the lane of a tenant's documents. They are read one after another, and no conversation waits for them.
pub(crate) fn lane(tenant: TenantId) -> Uuid {
    named_lane_id(&["knowledge", &tenant.to_string()])
}

/// Has the vectors of a version computed that was read.
pub(crate) async fn enqueue_embedding(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
    version: &ReadVersion,
    now: Timestamp,
) -> sqlx::Result<()> {
    let work = KnowledgeJob::EmbedChunks { document, version: version.clone() };
    jobs::enqueue(conn, tenant, lane(tenant), &work, now, now).await
}

/// Ends a job that has nothing else to store.
pub(crate) async fn complete(core: &Chat, claim: &Claim) -> Result<(), WorkError> {
    let mut tx = core.begin().await?;
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}
