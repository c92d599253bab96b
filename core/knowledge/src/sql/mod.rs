//! Rows of documents, their chunks and their vectors.

mod access;
mod chunks;
mod citations;
mod documents;
mod points;
mod vectors;

use nod_contract::ids::{ChannelId, PersonId, TenantId};
use nod_contract::vector_store::Reader;
use sqlx::PgConnection;
use uuid::Uuid;

pub(crate) use access::*;
pub(crate) use chunks::*;
pub(crate) use citations::*;
pub(crate) use documents::*;
pub(crate) use points::*;
pub(crate) use vectors::*;

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
