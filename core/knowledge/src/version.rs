//! A version of a document: how it begins, and how each step of it ends.

use nod_contract::ids::{Ids, TenantId};
use nod_people::context::Chat;
use nod_store::blobs::{self, BlobOwner};
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use sqlx::PgConnection;

use crate::document::{Document, NewChunk, NewDocument, ReadVersion, Status};
use crate::job::{KnowledgeJob, complete, enqueue_embedding, lane};
use crate::points::Points;
use crate::{card, sql};

/// Begins a version of a document and has it read: the next one of `known`, or the first of a new document. The lane of
/// the documents is locked before, so that none is begun or removed meanwhile.
pub(crate) async fn begin(
    conn: &mut PgConnection,
    tenant: TenantId,
    ids: &dyn Ids,
    known: Option<&Document>,
    new: &NewDocument<'_>,
) -> sqlx::Result<Document> {
    let id = known.map_or_else(|| ids.next(), |known| known.id);
    match known {
        Some(known) => {
            if known.status == Status::Indexing {
                card::show(conn, tenant, known, &card::superseded(&known.title), new.now).await?;
            }
            sql::begin_version(conn, tenant, id, new).await?;
            // What could not be read, or was not read yet, is not wanted any more.
            blobs::release_except(conn, tenant, BlobOwner::document(id), known.digest.as_slice()).await?;
        }
        None => sql::insert(conn, tenant, id, new).await?,
    }
    let document = sql::load(conn, tenant, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let generation = document.wanted_generation;
    let work = KnowledgeJob::IndexDocument { document: id, generation, asked_by: new.added_by };
    jobs::enqueue(conn, tenant, lane(tenant), &work, new.now, new.now).await?;
    Ok(document)
}

/// How a step of a version ended.
pub(crate) enum Outcome {
    /// It was read.
    Read { version: ReadVersion, chunks: Vec<NewChunk> },
    /// All its chunks can be found as soon as it is published.
    Indexed { version: ReadVersion, chunk_count: i32 },
    /// The end of a sentence.
    Failed(String),
    /// The same version, or another document here, has the same bytes. `title` is that document's.
    SameContent { title: String, digest: Vec<u8> },
}

/// Returns that another document here says the same. A new version of a document takes the place of the earlier one even
/// then.
pub(crate) async fn find_same_content(
    core: &Chat,
    tenant: TenantId,
    document: &Document,
    digest: &[u8],
) -> sqlx::Result<Option<Outcome>> {
    if document.generation > 0 {
        return Ok(None);
    }
    let mut conn = core.pool.acquire().await?;
    let title = sql::find_same_content(&mut conn, tenant, (document.reader, document.id), digest).await?;
    // The person who added it would not be told where it went, except by the list; the operator is told by `nod ingest`.
    let is_only_listed = document.delivery.is_none() && document.added_by.is_some();
    Ok(title.map(|title| match is_only_listed {
        true => Outcome::Failed(format!("it says exactly what {} says", card::shorten(&title))),
        false => Outcome::SameContent { title, digest: digest.to_vec() },
    }))
}

/// Ends the job of a step. If the version is not wanted any more, because the document was removed or there is a newer one,
/// what was written of it is given up.
pub(crate) async fn end_step(
    core: &Chat,
    points: &Points,
    claim: &Claim,
    document: &Document,
    outcome: &Outcome,
) -> Result<(), WorkError> {
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    if !store(core, points, &mut tx, claim, document, outcome).await? {
        tx.rollback().await?;
        return complete(core, claim).await;
    }
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Stores how a step ended. Returns false if the version is not wanted any more.
async fn store(
    core: &Chat,
    points: &Points,
    tx: &mut PgConnection,
    claim: &Claim,
    document: &Document,
    outcome: &Outcome,
) -> Result<bool, WorkError> {
    let (tenant, now, id) = (claim.tenant, core.now(), document.id);
    let (title, generation) = (document.title.as_str(), document.wanted_generation);
    // Otherwise vectors have to be computed, or a store must know it before it can be found.
    let is_read_enough = points.model().is_none() && !points.store.keeps_points();
    let shown = match outcome {
        Outcome::Read { version, chunks } => {
            let count = i32::try_from(chunks.len()).unwrap_or(i32::MAX);
            if is_read_enough {
                card::indexed(document, version, count)
            } else {
                card::embedding(title, 0, i64::from(count))
            }
        }
        Outcome::Indexed { version, chunk_count } => card::indexed(document, version, *chunk_count),
        Outcome::Failed(reason) => card::failed(document, reason),
        Outcome::SameContent { title: existing, .. } => card::same_content(title, existing),
    };
    // A message's lane is locked before the document's row, as everywhere.
    card::show(tx, tenant, document, &shown, now).await?;
    if !matches!(outcome, Outcome::Read { .. }) {
        points.enqueue_sweep(tx, tenant, id, now).await?;
    }
    Ok(match outcome {
        Outcome::Read { version, chunks } => {
            if !sql::touch(tx, tenant, id, generation, now).await? {
                return Ok(false);
            }
            sql::store_chunks(tx, tenant, id, generation, chunks).await?;
            if is_read_enough {
                return Ok(sql::publish_version(tx, tenant, id, version, now).await?);
            }
            if let Some(model) = points.model() {
                sql::copy_vectors(tx, tenant, id, generation, model).await?;
            }
            enqueue_embedding(tx, tenant, id, version, now).await?;
            true
        }
        Outcome::Indexed { version, .. } => sql::publish_version(tx, tenant, id, version, now).await?,
        Outcome::Failed(reason) => sql::mark_failed(tx, tenant, id, generation, reason, now).await?,
        Outcome::SameContent { .. } if document.generation > 0 => {
            sql::mark_unchanged(tx, tenant, document).await?
        }
        Outcome::SameContent { digest, .. } => {
            // The other document might have been removed since; then this one is needed after all.
            if sql::find_same_content(tx, tenant, (document.reader, id), digest).await?.is_none() {
                return Err("the document with the same content is gone".into());
            }
            sql::delete(tx, tenant, id).await?
        }
    })
}
