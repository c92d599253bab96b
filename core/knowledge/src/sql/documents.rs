//! Rows of documents: whose they are, and which version is read and which can be found.

use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, PersonId, TenantId};
use nod_contract::vector_store::Reader;
use nod_store::blobs::{self, BlobOwner};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{channel_of, delete_unpublished_chunks, increment_revision, person_of, reader_of};
use crate::document::{Document, NewDocument, ReadVersion, Readers, Status};
use crate::language::Language;

struct DocumentRow {
    id: Uuid,
    title: String,
    channel_id: Option<Uuid>,
    only_for: Option<Uuid>,
    added_by: Option<Uuid>,
    platform: String,
    url: String,
    media_type: String,
    delivery_id: Option<Uuid>,
    generation: i32,
    wanted_generation: i32,
    digest: Option<Vec<u8>>,
    wanted_digest: Option<Vec<u8>>,
    chunk_count: i32,
    status: String,
    reason: Option<String>,
    updated_at: Timestamp,
    published_at: Option<Timestamp>,
}

impl From<DocumentRow> for Document {
    fn from(row: DocumentRow) -> Self {
        Self {
            id: row.id,
            title: row.title,
            reader: reader_of(row.channel_id, row.only_for),
            added_by: row.added_by.map(PersonId),
            platform: row.platform,
            url: row.url,
            media_type: row.media_type,
            delivery: row.delivery_id.map(DeliveryId),
            generation: row.generation,
            wanted_generation: row.wanted_generation,
            digest: row.digest,
            wanted_digest: row.wanted_digest,
            chunk_count: row.chunk_count,
            status: Status::from_name(&row.status),
            reason: row.reason,
            updated_at: row.updated_at,
            published_at: row.published_at,
        }
    }
}

pub(crate) async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> sqlx::Result<Option<Document>> {
    let row = sqlx::query_as!(
        DocumentRow,
        "select id, title, channel_id, only_for, added_by, platform, url, media_type, delivery_id, generation,
             wanted_generation, digest, wanted_digest, chunk_count, status, reason, updated_at, published_at
         from documents where tenant_id = $1 and id = $2",
        tenant.0,
        id
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Document::from))
}

/// Returns these readers' documents, by title.
pub(crate) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    readers: &Readers,
) -> sqlx::Result<Vec<Document>> {
    let rows = sqlx::query_as!(
        DocumentRow,
        "select id, title, channel_id, only_for, added_by, platform, url, media_type, delivery_id, generation,
             wanted_generation, digest, wanted_digest, chunk_count, status, reason, updated_at, published_at
         from documents
         where tenant_id = $1 and (channel_id = any($2) or only_for = $3
             or $4 and channel_id is null and only_for is null)
         order by lower(title), id",
        tenant.0,
        &readers.channels,
        readers.person,
        readers.everyone
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Document::from).collect())
}

/// Returns a reader's document of a title, whatever its capitals.
pub(crate) async fn find_by_title(
    conn: &mut PgConnection,
    tenant: TenantId,
    reader: Reader,
    title: &str,
) -> sqlx::Result<Option<Document>> {
    let row = sqlx::query_as!(
        DocumentRow,
        "select id, title, channel_id, only_for, added_by, platform, url, media_type, delivery_id, generation,
             wanted_generation, digest, wanted_digest, chunk_count, status, reason, updated_at, published_at
         from documents
         where tenant_id = $1 and left(lower(title), 500) = left(lower($2), 500) and lower(title) = lower($2)
             and (channel_id = $3 or only_for = $4
             or $3::uuid is null and $4::uuid is null and channel_id is null and only_for is null)
         order by id limit 1",
        tenant.0,
        title.replace('\0', "\u{FFFD}"),
        channel_of(reader),
        person_of(reader)
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Document::from))
}

/// How far a document is.
pub(crate) struct ProgressRow {
    pub(crate) id: Uuid,
    pub(crate) status: String,
    pub(crate) chunk_count: i32,
    pub(crate) reason: Option<String>,
    pub(crate) updated_at: Timestamp,
}

pub(crate) async fn list_progress(
    conn: &mut PgConnection,
    tenant: TenantId,
    documents: &[Uuid],
) -> sqlx::Result<Vec<ProgressRow>> {
    sqlx::query_as!(
        ProgressRow,
        "select id, status, chunk_count, reason, updated_at from documents where tenant_id = $1 and id = any($2)",
        tenant.0,
        documents
    )
    .fetch_all(conn)
    .await
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    new: &NewDocument<'_>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into documents (tenant_id, id, title, channel_id, only_for, added_by, platform, url, media_type,
             delivery_id, status, created_at, updated_at)
         values ($1, $2, $3, case when $5::uuid is null then $4::uuid end, $5, $6, $7, $8, $9, $10, 'indexing', $11, $11)",
        tenant.0,
        id,
        new.file.name.replace('\0', "\u{FFFD}"),
        channel_of(new.reader),
        person_of(new.reader),
        new.added_by.map(|person| person.0),
        new.platform,
        new.url,
        new.file.media_type.replace('\0', "\u{FFFD}"),
        new.delivery.map(|delivery| delivery.0),
        new.now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Begins the next version of a document from another file.
pub(crate) async fn begin_version(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    new: &NewDocument<'_>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update documents set wanted_generation = wanted_generation + 1, status = 'indexing', reason = null,
             platform = $3, url = $4, media_type = $5, delivery_id = $6, updated_at = $7, wanted_digest = null
         where tenant_id = $1 and id = $2",
        tenant.0,
        id,
        new.platform,
        new.url,
        new.file.media_type.replace('\0', "\u{FFFD}"),
        new.delivery.map(|delivery| delivery.0),
        new.now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Begins the next version of a document from the bytes that are kept, or from what its address on the web gives now. Returns its number, or `None` if one is being
/// read since `stuck_before` or later.
pub(crate) async fn begin_rereading(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
    stuck_before: Timestamp,
    now: Timestamp,
) -> sqlx::Result<Option<i32>> {
    sqlx::query_scalar!(
        "update documents set wanted_generation = wanted_generation + 1, status = 'indexing', reason = null,
             updated_at = $4, wanted_digest = case when platform = 'web' then null else wanted_digest end
         where tenant_id = $1 and id = $2 and (status <> 'indexing' or updated_at < $3) returning wanted_generation",
        tenant.0,
        document,
        stuck_before,
        now
    )
    .fetch_optional(conn)
    .await
}

/// Keeps the bytes of the version that is being read; of those before, only what can be found. Does nothing if the
/// version is not wanted any more.
pub(crate) async fn store_bytes(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: &Document,
    bytes: &[u8],
    media_type: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    let digest = blobs::digest_of(bytes);
    let updated = sqlx::query!(
        "update documents set wanted_digest = $4, media_type = $5
         where tenant_id = $1 and id = $2 and wanted_generation = $3 and status = 'indexing'",
        tenant.0,
        document.id,
        document.wanted_generation,
        digest,
        media_type.replace('\0', "\u{FFFD}")
    )
    .execute(&mut *conn)
    .await?;
    if updated.rows_affected() == 0 {
        return Ok(());
    }
    let owner = BlobOwner::document(document.id);
    blobs::store(conn, tenant, owner, bytes, now).await?;
    let kept: Vec<_> = document.digest.iter().cloned().chain([digest]).collect();
    blobs::release_except(conn, tenant, owner, &kept).await
}

/// Returns the title of another document of a reader than this one with the same bytes, of which no next version is on its
/// way.
pub(crate) async fn find_same_content(
    conn: &mut PgConnection,
    tenant: TenantId,
    (reader, document): (Reader, Uuid),
    digest: &[u8],
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "select title from documents where tenant_id = $1 and id <> $2 and digest = $3 and wanted_digest = $3
             and generation > 0 and (channel_id = $4 or only_for = $5 or $4::uuid is null and $5::uuid is null
                 and channel_id is null and only_for is null)
         order by created_at limit 1",
        tenant.0,
        document,
        digest,
        channel_of(reader),
        person_of(reader)
    )
    .fetch_optional(conn)
    .await
}

/// Makes a version the one that can be found, in the place of the earlier one. Returns false and changes nothing if it is
/// no longer wanted.
pub(crate) async fn publish_version(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
    version: &ReadVersion,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let updated = sqlx::query!(
        "update documents d set generation = $3, digest = $4, pages = $5, status = 'indexed', reason = null,
             updated_at = $6, published_at = $6, language = $7, chunk_count = (select count(*) from document_chunks c
                 where c.tenant_id = $1 and c.document_id = $2 and c.generation = $3)
         where d.tenant_id = $1 and d.id = $2 and d.wanted_generation = $3 and d.status = 'indexing'",
        tenant.0,
        document,
        version.generation,
        version.digest,
        version.pages,
        now,
        version.language as Language
    )
    .execute(&mut *conn)
    .await?;
    let is_wanted = updated.rows_affected() > 0;
    if is_wanted {
        delete_unpublished_chunks(conn, tenant, document).await?;
        increment_revision(conn, tenant).await?;
        let kept = std::slice::from_ref(&version.digest);
        blobs::release_except(conn, tenant, BlobOwner::document(document), kept).await?;
    }
    Ok(is_wanted)
}

/// Marks that a version is still being worked on. Returns false if it is no longer wanted.
pub(crate) async fn touch(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
    generation: i32,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let updated = sqlx::query!(
        "update documents set updated_at = $4
         where tenant_id = $1 and id = $2 and wanted_generation = $3 and status = 'indexing'",
        tenant.0,
        document,
        generation,
        now
    )
    .execute(conn)
    .await?;
    Ok(updated.rows_affected() > 0)
}

/// Marks a version as unreadable, with the reason as the end of a sentence. An earlier version stays.
pub(crate) async fn mark_failed(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
    generation: i32,
    reason: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let updated = sqlx::query!(
        "update documents set status = 'failed', reason = $4, updated_at = $5
         where tenant_id = $1 and id = $2 and wanted_generation = $3 and status = 'indexing'",
        tenant.0,
        document,
        generation,
        reason,
        now
    )
    .execute(&mut *conn)
    .await?;
    delete_unpublished_chunks(conn, tenant, document).await?;
    Ok(updated.rows_affected() > 0)
}

/// Removes a document with its text and its bytes. Returns false if it is gone already.
pub(crate) async fn delete(conn: &mut PgConnection, tenant: TenantId, document: Uuid) -> sqlx::Result<bool> {
    let deleted = sqlx::query!("delete from documents where tenant_id = $1 and id = $2", tenant.0, document)
        .execute(&mut *conn)
        .await?;
    if deleted.rows_affected() > 0 {
        increment_revision(conn, tenant).await?;
        blobs::release_except(conn, tenant, BlobOwner::document(document), &[]).await?;
    }
    Ok(deleted.rows_affected() > 0)
}

/// Ends a version whose bytes are those of the current one. Its number is not used again: a store of vectors may have points
/// of it.
pub(crate) async fn mark_unchanged(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: &Document,
) -> sqlx::Result<bool> {
    let updated = sqlx::query!(
        "update documents set status = 'indexed', reason = null, wanted_digest = digest
         where tenant_id = $1 and id = $2 and wanted_generation = $3 and status = 'indexing'",
        tenant.0,
        document.id,
        document.wanted_generation
    )
    .execute(&mut *conn)
    .await?;
    let is_wanted = updated.rows_affected() > 0;
    if is_wanted {
        delete_unpublished_chunks(conn, tenant, document.id).await?;
        let owner = BlobOwner::document(document.id);
        blobs::release_except(conn, tenant, owner, document.digest.as_slice()).await?;
    }
    Ok(is_wanted)
}
