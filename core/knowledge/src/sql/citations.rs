//! Rows of citations: what an answer rests on, and what its buttons show.

use nod_contract::ids::TenantId;
use nod_store::ability::AnsweredRun;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::document::{CitationRow, Readers};

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
