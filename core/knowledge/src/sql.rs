//! Rows of documents and their chunks.

use std::collections::{BTreeMap, HashMap};

use sqlx::PgConnection;
use uuid::Uuid;

use crate::analysis::WEIGHT_SCALE;
use crate::document::{CitationRow, Document, NewChunk, NewDocument, ReadVersion, Readers, Status};
use crate::index::{IndexedChunk, IndexedVersion};
use crate::language::Language;
use crate::vector::Windows;
use nod_contract::chat::Membership;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ChannelId, DeliveryId, PersonId, TenantId};
use nod_contract::vector_store::{Point, PointGroup, Reader};
use nod_store::ability::AnsweredRun;
use nod_store::blobs::{self, BlobOwner};

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

fn reader_of(channel: Option<Uuid>, person: Option<Uuid>) -> Reader {
    match (channel, person) {
        (Some(channel), _) => Reader::Channel(ChannelId(channel)),
        (None, Some(person)) => Reader::Person(PersonId(person)),
        (None, None) => Reader::Everyone,
    }
}

fn channel_of(reader: Reader) -> Option<Uuid> {
    match reader {
        Reader::Channel(channel) => Some(channel.0),
        Reader::Everyone | Reader::Person(_) => None,
    }
}

fn person_of(reader: Reader) -> Option<Uuid> {
    match reader {
        Reader::Person(person) => Some(person.0),
        Reader::Everyone | Reader::Channel(_) => None,
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

/// What there is of these readers' documents that can be found.
#[derive(Debug, Default)]
pub(crate) struct ReadableCounts {
    pub(crate) documents: i64,
    pub(crate) chunks: i64,
    /// The languages of most of them.
    pub(crate) languages: Vec<Language>,
}

/// The most languages in which a query is looked up.
const MAX_LANGUAGES: usize = 3;

pub(crate) async fn count_readable(
    conn: &mut PgConnection,
    tenant: TenantId,
    readers: &Readers,
) -> sqlx::Result<ReadableCounts> {
    let rows = sqlx::query!(
        r#"select language as "language: Language", count(*) as "documents!", coalesce(sum(chunk_count), 0) as "chunks!" from documents
         where tenant_id = $1 and generation > 0 and (channel_id = any($2) or only_for = $3
             or $4 and channel_id is null and only_for is null)
         group by language order by count(*) desc, language"#,
        tenant.0,
        &readers.channels,
        readers.person,
        readers.everyone
    )
    .fetch_all(conn)
    .await?;
    let mut counts = ReadableCounts::default();
    for row in rows {
        counts.documents += row.documents;
        counts.chunks += row.chunks;
        counts.languages.push(row.language);
    }
    counts.languages.truncate(MAX_LANGUAGES);
    Ok(counts)
}

/// Returns whether there are documents of everyone that can be found.
pub(crate) async fn has_documents_of_everyone(
    conn: &mut PgConnection,
    tenant: TenantId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select 1 from documents where tenant_id = $1 and channel_id is null and only_for is null
             and generation > 0) as "exists!""#,
        tenant.0
    )
    .fetch_one(conn)
    .await
}

/// A channel that has documents, and who a person is on its platform.
pub(crate) struct DocumentChannel {
    pub(crate) id: Uuid,
    pub(crate) platform: String,
    pub(crate) workspace: String,
    pub(crate) channel_ref: String,
    pub(crate) user_ref: String,
}

/// Returns the channels with documents in those workspaces where a person is.
pub(crate) async fn list_channels(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Vec<DocumentChannel>> {
    sqlx::query_as!(
        DocumentChannel,
        "select c.id, c.platform, c.workspace, c.channel_ref, i.user_ref from channels c
         join identities i on i.tenant_id = c.tenant_id and i.platform = c.platform and i.workspace = c.workspace
             and i.person_id = $2
         where c.tenant_id = $1 and not c.is_dm and exists (
             select 1 from documents d where d.tenant_id = $1 and d.channel_id = c.id and d.generation > 0)
         order by c.created_at, c.id",
        tenant.0,
        person.0
    )
    .fetch_all(conn)
    .await
}

/// Returns what the platform said of users when it was last asked; those who are not known are missing.
pub(crate) async fn list_memberships(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    users: &[String],
) -> sqlx::Result<HashMap<String, Membership>> {
    let rows = sqlx::query!(
        "select user_ref, membership from identities
         where tenant_id = $1 and platform = $2 and workspace = $3 and user_ref = any($4)",
        tenant.0,
        platform,
        workspace,
        users
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.user_ref, Membership::from_name(&row.membership))).collect())
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

/// Returns the title of another document of the same readers with the same bytes, of which no next version is on its way.
pub(crate) async fn find_same_content(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: &Document,
    digest: &[u8],
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "select title from documents where tenant_id = $1 and id <> $2 and digest = $3 and wanted_digest = $3
             and generation > 0 and (channel_id = $4 or only_for = $5 or $4::uuid is null and $5::uuid is null
                 and channel_id is null and only_for is null)
         order by created_at limit 1",
        tenant.0,
        document.id,
        digest,
        channel_of(document.reader),
        person_of(document.reader)
    )
    .fetch_optional(conn)
    .await
}

/// Stores the text of a version that is not found yet, in the place of an earlier attempt. Returns false and changes
/// nothing if the version is no longer wanted: a newer one is being read, or the document was removed.
pub(crate) async fn store_chunks(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
    generation: i32,
    chunks: &[NewChunk],
) -> sqlx::Result<bool> {
    let wanted = sqlx::query_scalar!(
        "select id from documents
         where tenant_id = $1 and id = $2 and wanted_generation = $3 and status = 'indexing' for update",
        tenant.0,
        document,
        generation
    )
    .fetch_optional(&mut *conn)
    .await?;
    if wanted.is_none() {
        return Ok(false);
    }
    delete_unpublished_chunks(conn, tenant, document).await?;
    sqlx::query!(
        r#"insert into document_chunks (tenant_id, id, document_id, only_for, generation, position, page, heading, text,
                 terms, weights)
             select $1, c.id, $2, d.only_for, $3, c.position, c.page, c.heading, c.text, c.terms, c.weights
             from documents d, jsonb_to_recordset($4) as c (id uuid, position int, page int, heading text, text text,
                 terms int[], weights smallint[])
             where d.tenant_id = $1 and d.id = $2"#,
        tenant.0,
        document,
        generation,
        chunk_rows(chunks)
    )
    .execute(conn)
    .await?;
    Ok(true)
}

async fn delete_unpublished_chunks(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from document_chunks c using documents d
         where d.tenant_id = $1 and d.id = $2 and c.tenant_id = $1 and c.document_id = $2
             and c.generation <> d.generation",
        tenant.0,
        document
    )
    .execute(conn)
    .await?;
    Ok(())
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

/// A chunk that has no vectors yet.
pub(crate) struct BareChunk {
    pub(crate) id: Uuid,
    pub(crate) title: String,
    pub(crate) heading: String,
    pub(crate) text: String,
}

/// Returns the first chunks of a version that have no vectors of a model.
pub(crate) async fn list_bare_chunks(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
    generation: i32,
    model: &str,
    most: i64,
) -> sqlx::Result<Vec<BareChunk>> {
    sqlx::query_as!(
        BareChunk,
        "select c.id, d.title, c.heading, c.text from document_chunks c
         join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id
         where c.tenant_id = $1 and c.document_id = $2 and c.generation = $3 and not exists (
             select 1 from chunk_vectors v where v.tenant_id = $1 and v.chunk_id = c.id and v.model = $4)
         order by c.position limit $5",
        tenant.0,
        document,
        generation,
        model,
        most
    )
    .fetch_all(conn)
    .await
}

/// Returns the first version after a document that can be found and has chunks without vectors of a model.
pub(crate) async fn find_bare_version(
    conn: &mut PgConnection,
    tenant: TenantId,
    model: &str,
    after: Uuid,
) -> sqlx::Result<Option<(Uuid, i32)>> {
    let found = sqlx::query!(
        "select d.id, d.generation from documents d
         where d.tenant_id = $1 and d.id > $3 and d.generation > 0 and exists (
             select 1 from document_chunks c where c.tenant_id = $1 and c.document_id = d.id
                 and c.generation = d.generation and not exists (
                     select 1 from chunk_vectors v where v.tenant_id = $1 and v.chunk_id = c.id and v.model = $2))
         order by d.id limit 1",
        tenant.0,
        model,
        after
    )
    .fetch_optional(conn)
    .await?;
    Ok(found.map(|row| (row.id, row.generation)))
}

/// Returns how many chunks of a version have vectors of a model, and how many there are.
pub(crate) async fn count_embedded(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
    generation: i32,
    model: &str,
) -> sqlx::Result<(i64, i64)> {
    let row = sqlx::query!(
        r#"select count(v.chunk_id) as "embedded!", count(*) as "all!" from document_chunks c
         left join chunk_vectors v on v.tenant_id = $1 and v.chunk_id = c.id and v.model = $4
         where c.tenant_id = $1 and c.document_id = $2 and c.generation = $3"#,
        tenant.0,
        document,
        generation,
        model
    )
    .fetch_one(conn)
    .await?;
    Ok((row.embedded, row.all))
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

/// Returns how many numbers a vector of a model has, as far as there are any.
pub(crate) async fn find_dimension(
    conn: &mut PgConnection,
    tenant: TenantId,
    model: &str,
) -> sqlx::Result<Option<i32>> {
    let found = sqlx::query_scalar!(
        r#"select octet_length(codes) / cardinality(scales) as "dimension!" from chunk_vectors
         where tenant_id = $1 and model = $2 and scales <> '{}' limit 1"#,
        tenant.0,
        model
    )
    .fetch_optional(conn)
    .await?;
    Ok(found)
}

/// Stores the vectors of chunks, as far as these are still there.
pub(crate) async fn store_vectors(
    conn: &mut PgConnection,
    tenant: TenantId,
    model: &str,
    vectors: &[(Uuid, Windows)],
) -> sqlx::Result<()> {
    for (chunk, windows) in vectors {
        sqlx::query!(
            "insert into chunk_vectors (tenant_id, chunk_id, model, codes, scales)
             select $1, c.id, $3, $4, $5 from document_chunks c where c.tenant_id = $1 and c.id = $2
             on conflict (tenant_id, chunk_id, model) do nothing",
            tenant.0,
            chunk,
            model,
            windows.to_bytes(),
            &windows.scales
        )
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Copies the vectors of chunks that say the same in the version that can be found.
pub(crate) async fn copy_vectors(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
    generation: i32,
    model: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into chunk_vectors (tenant_id, chunk_id, model, codes, scales)
         select distinct on (c.id) $1, c.id, v.model, v.codes, v.scales from document_chunks c
         join documents d on d.tenant_id = $1 and d.id = c.document_id
         join document_chunks e on e.tenant_id = $1 and e.document_id = c.document_id and e.generation = d.generation
             and e.heading = c.heading and e.text = c.text
         join chunk_vectors v on v.tenant_id = $1 and v.chunk_id = e.id and v.model = $4
         where c.tenant_id = $1 and c.document_id = $2 and c.generation = $3
         on conflict (tenant_id, chunk_id, model) do nothing",
        tenant.0,
        document,
        generation,
        model
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the vectors of all other models, once all chunks have those of this one.
pub(crate) async fn delete_other_vectors(
    conn: &mut PgConnection,
    tenant: TenantId,
    model: &str,
) -> sqlx::Result<()> {
    sqlx::query!("delete from chunk_vectors where tenant_id = $1 and model <> $2", tenant.0, model)
        .execute(conn)
        .await?;
    Ok(())
}

/// One statement stores them all, because it holds the lane of the document's message meanwhile.
fn chunk_rows(chunks: &[NewChunk]) -> serde_json::Value {
    let row = |(position, chunk): (usize, &NewChunk)| {
        let (terms, weights): (Vec<i32>, Vec<i16>) = chunk.terms.iter().copied().unzip();
        serde_json::json!({
            "id": chunk.id, "position": position, "page": chunk.page, "heading": chunk.heading, "text": chunk.text,
            "terms": terms, "weights": weights,
        })
    };
    chunks.iter().enumerate().map(row).collect()
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

/// Tells the replicas that the text that can be found, or its vectors, has changed.
pub(crate) async fn increment_revision(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into knowledge_revisions (tenant_id, revision) values ($1, 1)
         on conflict (tenant_id) do update set revision = knowledge_revisions.revision + 1",
        tenant.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns the revision of the text that can be found.
pub(crate) async fn load_revision(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<i64> {
    let found =
        sqlx::query_scalar!("select revision from knowledge_revisions where tenant_id = $1", tenant.0)
            .fetch_optional(conn)
            .await?;
    Ok(found.unwrap_or_default())
}

/// Returns the version of each document of a tenant that can be found, and who may read it.
pub(crate) async fn load_versions(
    conn: &mut PgConnection,
    tenant: TenantId,
) -> sqlx::Result<HashMap<Uuid, (i32, Reader)>> {
    let rows = sqlx::query!(
        "select id, generation, channel_id, only_for from documents where tenant_id = $1 and generation > 0",
        tenant.0
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.id, (row.generation, reader_of(row.channel_id, row.only_for))))
        .collect())
}

/// Returns documents as they can be found now: their versions and their chunks, with the vectors of a model.
pub(crate) async fn load_indexed_chunks(
    conn: &mut PgConnection,
    tenant: TenantId,
    documents: &[Uuid],
    model: Option<&str>,
) -> sqlx::Result<Vec<IndexedVersion>> {
    let rows = sqlx::query!(
        r#"select c.id, c.document_id, c.generation, d.channel_id, d.only_for, c.terms, c.weights,
             v.codes as "codes?", v.scales as "scales?"
         from document_chunks c
         join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id and d.generation = c.generation
         left join chunk_vectors v on v.tenant_id = c.tenant_id and v.chunk_id = c.id and v.model = $3
         where c.tenant_id = $1 and c.document_id = any($2) order by c.document_id, c.position"#,
        tenant.0,
        documents,
        model
    )
    .fetch_all(conn)
    .await?;
    let mut loaded: Vec<IndexedVersion> = Vec::new();
    for row in rows {
        let chunk = IndexedChunk {
            chunk: row.id,
            terms: row.terms.into_iter().zip(row.weights).collect(),
            windows: unpack(row.codes, row.scales),
        };
        match loaded.last_mut().filter(|version| version.document == row.document_id) {
            Some(version) => version.chunks.push(chunk),
            None => loaded.push(IndexedVersion {
                document: row.document_id,
                generation: row.generation,
                reader: reader_of(row.channel_id, row.only_for),
                chunks: vec![chunk],
            }),
        }
    }
    Ok(loaded)
}

/// A chunk as a point.
pub(crate) struct PointRow {
    pub(crate) position: i32,
    point: Point,
    windows: Option<Windows>,
}

impl PointRow {
    /// Vectors of another dimension are as good as none.
    pub(crate) fn into_point(self, dimension: usize) -> Point {
        let windows = self.windows.filter(|windows| dimension > 0 && windows.dimension() == dimension);
        Point { windows: windows.map(|windows| windows.unpack()).unwrap_or_default(), ..self.point }
    }
}

/// Returns the chunks of a version from a position on, with the vectors of a model as far as there are any.
pub(crate) async fn list_points(
    conn: &mut PgConnection,
    tenant: TenantId,
    (document, generation): (Uuid, i32),
    model: Option<&str>,
    from: i32,
    most: i64,
) -> sqlx::Result<Vec<PointRow>> {
    let rows = sqlx::query!(
        r#"select c.id, c.position, d.channel_id, d.only_for, c.terms, c.weights, v.codes as "codes?",
             v.scales as "scales?"
         from document_chunks c
         join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id
         left join chunk_vectors v on v.tenant_id = c.tenant_id and v.chunk_id = c.id and v.model = $4
         where c.tenant_id = $1 and c.document_id = $2 and c.generation = $3 and c.position >= $5
         order by c.position limit $6"#,
        tenant.0,
        document,
        generation,
        model,
        from,
        most
    )
    .fetch_all(conn)
    .await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let weight = |(term, weight): (i32, i16)| (term.cast_unsigned(), f32::from(weight) / WEIGHT_SCALE);
        let point = Point {
            id: row.id,
            document,
            generation,
            reader: reader_of(row.channel_id, row.only_for),
            windows: Vec::new(),
            terms: row.terms.into_iter().zip(row.weights).map(weight).collect(),
        };
        all.push(PointRow { position: row.position, point, windows: unpack(row.codes, row.scales) });
    }
    Ok(all)
}

/// What points there should be of a document.
pub(crate) struct VersionRow {
    pub(crate) document: Uuid,
    /// The version whose text can be found, or 0.
    pub(crate) generation: i32,
    pub(crate) status: Status,
    reader: Reader,
    embedded: u64,
    bare: u64,
}

impl VersionRow {
    /// Returns how many points of each group there should be of its version.
    pub(crate) fn groups(&self) -> BTreeMap<PointGroup, u64> {
        let Self { document, generation, reader, .. } = *self;
        let group = |is_embedded| PointGroup { document, generation, reader, is_embedded };
        let groups = [(group(true), self.embedded), (group(false), self.bare)];
        groups.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

/// Returns all documents, with how many chunks of their version have vectors of a model.
pub(crate) async fn list_versions(
    conn: &mut PgConnection,
    tenant: TenantId,
    model: Option<&str>,
) -> sqlx::Result<Vec<VersionRow>> {
    let rows = sqlx::query!(
        r#"select d.id, d.generation, d.status, d.channel_id, d.only_for, count(v.chunk_id) as "embedded!",
             count(c.id) as "all!" from documents d
         left join document_chunks c on c.tenant_id = d.tenant_id and c.document_id = d.id
             and c.generation = d.generation
         left join chunk_vectors v on v.tenant_id = c.tenant_id and v.chunk_id = c.id and v.model = $2
         where d.tenant_id = $1 group by d.tenant_id, d.id order by d.id"#,
        tenant.0,
        model
    )
    .fetch_all(conn)
    .await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        all.push(VersionRow {
            document: row.id,
            generation: row.generation,
            status: Status::from_name(&row.status),
            reader: reader_of(row.channel_id, row.only_for),
            embedded: row.embedded.cast_unsigned(),
            bare: (row.all - row.embedded).cast_unsigned(),
        });
    }
    Ok(all)
}

fn unpack(codes: Option<Vec<u8>>, scales: Option<Vec<f32>>) -> Option<Windows> {
    Some(Windows::from_bytes(&codes?, scales?))
}

/// A chunk with the title of its document.
pub(crate) struct FoundChunk {
    pub(crate) id: Uuid,
    pub(crate) document_id: Uuid,
    pub(crate) generation: i32,
    pub(crate) title: String,
    pub(crate) page: Option<i32>,
    pub(crate) heading: String,
    pub(crate) text: String,
    pub(crate) language: Language,
    pub(crate) published_at: Timestamp,
}

/// Returns those of the chunks that these readers may read, of the current version only.
pub(crate) async fn load_chunks(
    conn: &mut PgConnection,
    tenant: TenantId,
    chunks: &[Uuid],
    readers: &Readers,
) -> sqlx::Result<Vec<FoundChunk>> {
    sqlx::query_as!(
        FoundChunk,
        r#"select c.id, c.document_id, c.generation, d.title, c.page, c.heading, c.text,
             d.language as "language: Language", d.published_at as "published_at!" from document_chunks c
         join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id and d.generation = c.generation
         where c.tenant_id = $1 and c.id = any($2) and (d.channel_id = any($3) or d.only_for = $4
             or $5 and d.channel_id is null and d.only_for is null)"#,
        tenant.0,
        chunks,
        &readers.channels,
        readers.person,
        readers.everyone
    )
    .fetch_all(conn)
    .await
}

/// A chunk that may answer a query, with the vectors of its windows.
pub(crate) struct CandidateRow {
    pub(crate) chunk: FoundChunk,
    pub(crate) windows: Option<Windows>,
}

/// Returns those of the chunks that these readers may read, of the current version only, with the vectors of a model.
pub(crate) async fn load_candidates(
    conn: &mut PgConnection,
    tenant: TenantId,
    chunks: &[Uuid],
    readers: &Readers,
    model: Option<&str>,
) -> sqlx::Result<Vec<CandidateRow>> {
    let rows = sqlx::query!(
        r#"select c.id, c.document_id, c.generation, d.title, c.page, c.heading, c.text,
             d.language as "language: Language", d.published_at as "published_at!", v.codes as "codes?", v.scales as "scales?" from document_chunks c
         join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id and d.generation = c.generation
         left join chunk_vectors v on v.tenant_id = c.tenant_id and v.chunk_id = c.id and v.model = $6
         where c.tenant_id = $1 and c.id = any($2) and (d.channel_id = any($3) or d.only_for = $4
             or $5 and d.channel_id is null and d.only_for is null)"#,
        tenant.0,
        chunks,
        &readers.channels,
        readers.person,
        readers.everyone,
        model
    )
    .fetch_all(conn)
    .await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let windows = unpack(row.codes, row.scales);
        let chunk = FoundChunk {
            id: row.id,
            document_id: row.document_id,
            generation: row.generation,
            title: row.title,
            page: row.page,
            heading: row.heading,
            text: row.text,
            language: row.language,
            published_at: row.published_at,
        };
        all.push(CandidateRow { chunk, windows });
    }
    Ok(all)
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

/// Stores a citation of an answer; of one passage, a run has one.
pub(crate) async fn insert_citation(
    conn: &mut PgConnection,
    run: &AnsweredRun,
    citation: &CitationRow,
) -> sqlx::Result<()> {
    // If the document was removed meanwhile, there is nothing left to show.
    sqlx::query!(
        "insert into rag_context (tenant_id, id, run_id, document_id, chunk_id, generation, only_for, channel_id, title,
             place, quote, cited_at)
         select $1, $2, $3, d.id, $5, $6, $7, $8, $9, $10, $11, $12
         from documents d where d.tenant_id = $1 and d.id = $4
         on conflict (tenant_id, id) do update set quote = excluded.quote, cited_at = excluded.cited_at",
        run.tenant.0,
        citation.id,
        run.run.0,
        citation.document,
        citation.chunk,
        citation.generation,
        citation.person,
        citation.channel,
        citation.title,
        citation.place,
        citation.quote,
        run.now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A citation, and the passage as it is now.
pub(crate) struct Citation {
    pub(crate) title: String,
    pub(crate) place: String,
    pub(crate) quote: String,
    /// `None` if the document has changed since, or they may read only what was cited.
    pub(crate) text: Option<String>,
}

/// Returns a citation of an answer that was given to this channel or to the person among the readers.
pub(crate) async fn load_citation(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    readers: &Readers,
    place: Option<Uuid>,
) -> sqlx::Result<Option<Citation>> {
    sqlx::query_as!(
        Citation,
        r#"select r.title, r.place, r.quote, c.text as "text?" from rag_context r
         join documents d on d.tenant_id = r.tenant_id and d.id = r.document_id
         left join document_chunks c on c.tenant_id = r.tenant_id and c.id = r.chunk_id
             and c.generation = d.generation and (d.channel_id = any($3) or d.only_for = $4
                 or $5 and d.channel_id is null and d.only_for is null)
         where r.tenant_id = $1 and r.id = $2 and (r.channel_id = $6 or r.only_for = $4)"#,
        tenant.0,
        id,
        &readers.channels,
        readers.person,
        readers.everyone,
        place
    )
    .fetch_optional(conn)
    .await
}

/// Returns the text of a document that these readers may read, from its beginning.
pub(crate) async fn list_chunks(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
    readers: &Readers,
) -> sqlx::Result<Vec<FoundChunk>> {
    sqlx::query_as!(
        FoundChunk,
        r#"select c.id, c.document_id, c.generation, d.title, c.page, c.heading, c.text,
             d.language as "language: Language", d.published_at as "published_at!" from document_chunks c
         join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id and d.generation = c.generation
         where c.tenant_id = $1 and c.document_id = $2 and (d.channel_id = any($3) or d.only_for = $4
             or $5 and d.channel_id is null and d.only_for is null)
         order by c.position"#,
        tenant.0,
        document,
        &readers.channels,
        readers.person,
        readers.everyone
    )
    .fetch_all(conn)
    .await
}
