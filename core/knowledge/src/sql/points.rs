//! What an index is built from and what a store of vectors is told: versions, and chunks with their vectors.

use std::collections::{BTreeMap, HashMap};

use nod_contract::ids::TenantId;
use nod_contract::vector_store::{Point, PointGroup, Reader};
use sqlx::PgConnection;
use uuid::Uuid;

use super::reader_of;
use super::vectors::unpack;
use crate::analysis::WEIGHT_SCALE;
use crate::document::Status;
use crate::index::{IndexedChunk, IndexedVersion};
use crate::vector::Windows;

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
