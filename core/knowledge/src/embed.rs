//! The jobs that compute vectors. Each works for a few seconds and then lets others of its lane go first; what is
//! committed is not computed again.

use std::sync::Arc;
use std::time::Duration;

use nod_contract::clock::Timestamp;
use nod_contract::embedding::{EmbedError, Embedder, TextKind};
use nod_contract::ids::{TenantId, named_lane_id};
use nod_people::context::Chat;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use sqlx::PgConnection;
use tokio::time::Instant;
use uuid::Uuid;

use crate::document::{Document, ReadVersion, Status};
use crate::job::{KnowledgeJob, complete, enqueue_embedding};
use crate::points::{Points, PointsError};
use crate::sql::BareChunk;
use crate::vector::Windows;
use crate::version::{Outcome, end_step, find_same_content};
use crate::window::split_windows;
use crate::{card, sql};

/// How long one job works, so that a short document does not wait for a long one.
const SLICE: Duration = Duration::from_secs(5);
/// How many chunks are computed between two commits.
const BATCH: i64 = 4;

/// How often a slice is tried: for about eight minutes, because what was computed is lost when the document fails.
const MAX_ATTEMPTS: i32 = 12;

/// What became of a batch.
enum Batch {
    Stored,
    /// There is nothing left to compute.
    Empty,
    /// The end of a sentence.
    Failed(String),
}

/// Has the vectors computed that are missing because there is another model now, of the documents after this one.
pub(crate) async fn enqueue_missing(
    conn: &mut PgConnection,
    tenant: TenantId,
    model: &str,
    after: Uuid,
    now: Timestamp,
) -> sqlx::Result<()> {
    let lane = named_lane_id(&["knowledge", "missing", &tenant.to_string()]);
    let work = KnowledgeJob::EmbedMissing { model: model.to_owned(), after };
    jobs::enqueue_once(conn, tenant, lane, &work, now).await
}

/// Computes vectors of a version that was read, and publishes it when all are there.
pub(crate) async fn embed_chunks(
    core: &Chat,
    embedder: Option<&Arc<dyn Embedder>>,
    points: &Points,
    claim: &Claim,
    id: Uuid,
    version: ReadVersion,
) -> Result<(), WorkError> {
    let (tenant, until) = (claim.tenant, Instant::now() + SLICE);
    loop {
        let mut conn = core.pool.acquire().await?;
        let document = sql::load(&mut conn, tenant, id).await?.filter(|found| is_wanted(found, &version));
        drop(conn);
        let Some(document) = document else { return complete(core, claim).await };
        // It may have been published since this one was read: two equal files of one folder are both read first.
        if let Some(outcome) = find_same_content(core, tenant, &document, &version.digest).await? {
            return end_step(core, points, claim, &document, &outcome).await;
        }
        let batch = match embedder {
            Some(embedder) => match embed_batch(core, embedder, claim, id, version.generation).await {
                // What fails again and again must not keep the next documents waiting, nor its reader in the dark.
                Err(error) if claim.attempt >= MAX_ATTEMPTS => {
                    tracing::error!(document = %id, %error, "could not compute the vectors of a document");
                    Batch::Failed("the embedding model did not answer; my operator can see why".to_owned())
                }
                batch => batch?,
            },
            // The model was taken away meanwhile.
            None => Batch::Empty,
        };
        match batch {
            Batch::Empty => {
                let outcome = put_points(core, points, claim, &document, version).await?;
                return end_step(core, points, claim, &document, &outcome).await;
            }
            Batch::Failed(reason) => {
                return end_step(core, points, claim, &document, &Outcome::Failed(reason)).await;
            }
            Batch::Stored if Instant::now() >= until => {
                let Some(embedder) = embedder else { continue };
                return go_on_later(core, embedder, claim, &document, version).await;
            }
            Batch::Stored => {}
        }
    }
}

fn is_wanted(document: &Document, version: &ReadVersion) -> bool {
    document.wanted_generation == version.generation && document.status == Status::Indexing
}

/// Computes missing vectors of the documents of a tenant after one. Replicas that have another model leave them alone.
pub(crate) async fn embed_missing(
    core: &Chat,
    embedder: Option<&Arc<dyn Embedder>>,
    points: &Points,
    claim: &Claim,
    model: &str,
    mut after: Uuid,
) -> Result<(), WorkError> {
    let (tenant, until) = (claim.tenant, Instant::now() + SLICE);
    let Some(embedder) = embedder.filter(|embedder| embedder.model().id == model) else {
        return complete(core, claim).await;
    };
    loop {
        let mut conn = core.pool.acquire().await?;
        let found = sql::find_bare_version(&mut conn, tenant, model, after).await?;
        drop(conn);
        let Some((document, generation)) = found else {
            return end_missing(core, points, claim, model).await;
        };
        loop {
            match embed_batch(core, embedder, claim, document, generation).await? {
                Batch::Stored if Instant::now() < until => {}
                Batch::Stored => {
                    let mut tx = core.begin().await?;
                    jobs::assert_lease(&mut tx, claim).await?;
                    enqueue_missing(&mut tx, tenant, model, after, core.now()).await?;
                    jobs::complete(&mut tx, claim).await?;
                    tx.commit().await?;
                    core.jobs.wake();
                    return Ok(());
                }
                Batch::Empty => break,
                Batch::Failed(reason) => {
                    // Its words can still be found.
                    tracing::error!(%document, reason, "could not index a document with the new embedding model");
                    break;
                }
            }
        }
        after = document;
    }
}

/// Gives up the vectors of earlier models.
async fn end_missing(core: &Chat, points: &Points, claim: &Claim, model: &str) -> Result<(), WorkError> {
    points.delete_earlier(&core.pool, claim.tenant).await?;
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    sql::delete_other_vectors(&mut tx, claim.tenant, model).await?;
    sql::increment_revision(&mut tx, claim.tenant).await?;
    points.enqueue_reconcile(&mut tx, claim.tenant, core.now()).await?;
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Computes and commits the vectors of the next chunks.
async fn embed_batch(
    core: &Chat,
    embedder: &Arc<dyn Embedder>,
    claim: &Claim,
    document: Uuid,
    generation: i32,
) -> Result<Batch, WorkError> {
    let (tenant, model) = (claim.tenant, embedder.model().id.as_str());
    let mut conn = core.pool.acquire().await?;
    let chunks = sql::list_bare_chunks(&mut conn, tenant, document, generation, model, BATCH).await?;
    let known = sql::find_dimension(&mut conn, tenant, model).await?;
    drop(conn);
    if chunks.is_empty() {
        return Ok(Batch::Empty);
    }
    let vectors = match embed(embedder.as_ref(), &chunks).await {
        Ok(vectors) => vectors,
        Err(error @ EmbedError::Unavailable { .. }) => return Err(error.to_string().into()),
        Err(error @ EmbedError::Rejected { .. }) => {
            tracing::error!(%document, %error, "could not compute the vectors of a document");
            return Ok(Batch::Failed("the embedding model refused it; my operator can see why".to_owned()));
        }
    };
    let dimension = vectors.first().map(|(_, windows)| windows.dimension());
    if let (Some(now), Some(known)) = (dimension, known.and_then(|known| usize::try_from(known).ok()))
        && now != known
    {
        tracing::error!(now, known, "the embedding model's dimension has changed, but not its name");
        return Ok(Batch::Failed(format!(
            "the embedding model gives {now} numbers, and my index has {known}"
        )));
    }
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    sql::store_vectors(&mut tx, tenant, model, &vectors).await?;
    tx.commit().await?;
    Ok(Batch::Stored)
}

async fn embed(embedder: &dyn Embedder, chunks: &[BareChunk]) -> Result<Vec<(Uuid, Windows)>, EmbedError> {
    let mut all = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let texts = split_windows(embedder, &chunk.title, &chunk.heading, &chunk.text);
        let count = texts.len();
        let vectors = embedder.embed(texts, TextKind::Passage).await?;
        let dimension = vectors.first().map_or(0, Vec::len);
        if vectors.len() != count || dimension == 0 || vectors.iter().any(|v| v.len() != dimension) {
            return Err(EmbedError::Rejected {
                reason: "it does not give one vector for each text".to_owned(),
            });
        }
        all.push((chunk.id, Windows::pack(&vectors)));
    }
    Ok(all)
}

/// Has the store know a version, and returns that it can be published. Killed in between, the same points are put again.
async fn put_points(
    core: &Chat,
    points: &Points,
    claim: &Claim,
    document: &Document,
    version: ReadVersion,
) -> Result<Outcome, WorkError> {
    match points.put_version(&core.pool, claim.tenant, document.id, version.generation).await {
        Ok(()) => {
            let mut conn = core.pool.acquire().await?;
            let (_, count) =
                sql::count_embedded(&mut conn, claim.tenant, document.id, version.generation, "").await?;
            Ok(Outcome::Indexed { version, chunk_count: i32::try_from(count).unwrap_or(i32::MAX) })
        }
        Err(PointsError::Store(error)) if claim.attempt >= MAX_ATTEMPTS => {
            tracing::error!(document = %document.id, %error, "could not put the points of a document");
            Ok(Outcome::Failed("my index of documents did not answer; my operator can see why".to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Shows how far it is, and lets the lane's next job go first.
async fn go_on_later(
    core: &Chat,
    embedder: &Arc<dyn Embedder>,
    claim: &Claim,
    document: &Document,
    version: ReadVersion,
) -> Result<(), WorkError> {
    let (tenant, model, now) = (claim.tenant, embedder.model().id.as_str(), core.now());
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    let (done, all) = sql::count_embedded(&mut tx, tenant, document.id, version.generation, model).await?;
    let shown = card::embedding(&document.title, done, all);
    card::show(&mut tx, tenant, document, &shown, now).await?;
    if !sql::touch(&mut tx, tenant, document.id, version.generation, now).await? {
        // It was removed meanwhile, or there is a newer version, and its message says so.
        tx.rollback().await?;
        return complete(core, claim).await;
    }
    enqueue_embedding(&mut tx, tenant, document.id, &version, now).await?;
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}
