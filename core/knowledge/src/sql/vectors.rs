//! Vectors of chunks: those that are missing, and those that there are.

use nod_contract::ids::TenantId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::vector::Windows;

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

pub(super) fn unpack(codes: Option<Vec<u8>>, scales: Option<Vec<f32>>) -> Option<Windows> {
    Some(Windows::from_bytes(&codes?, scales?))
}
