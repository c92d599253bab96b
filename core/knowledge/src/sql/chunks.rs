//! Rows of chunks: the text of a version, as it is read and as it is found.

use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;
use sqlx::PgConnection;
use uuid::Uuid;

use super::delete_unpublished_chunks;
use super::vectors::unpack;
use crate::document::{NewChunk, Readers};
use crate::language::Language;
use crate::vector::Windows;

/// Stores the text of a version that is not found yet, in the place of an earlier attempt.
pub(crate) async fn store_chunks(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: Uuid,
    generation: i32,
    chunks: &[NewChunk],
) -> sqlx::Result<()> {
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
