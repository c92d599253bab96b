//! What there is for which readers, and who somebody is on a platform.

use std::collections::HashMap;

use nod_contract::chat::Membership;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::document::Readers;
use crate::language::Language;

/// What there is of these readers' documents that can be found.
#[derive(Debug, Default)]
pub(crate) struct ReadableCounts {
    pub(crate) documents: i64,
    pub(crate) chunks: i64,
    /// The documents of which no version was read yet.
    pub(crate) unread: i64,
    /// The languages of most of them.
    pub(crate) languages: Vec<Language>,
}

/// The most languages in which a query is looked up.
const MAX_LANGUAGES: usize = 3;

pub(crate) async fn count_readable(
    conn: &mut PgConnection,
    tenant: TenantId,
    readers: &Readers,
    stuck_before: Timestamp,
) -> sqlx::Result<ReadableCounts> {
    let rows = sqlx::query!(
        r#"select language as "language: Language", count(*) filter (where generation > 0) as "documents!",
             coalesce(sum(chunk_count) filter (where generation > 0), 0) as "chunks!",
             count(*) filter (where generation = 0 and status = 'indexing' and updated_at > $5) as "unread!" from documents
         where tenant_id = $1 and (channel_id = any($2) or only_for = $3
             or $4 and channel_id is null and only_for is null)
         group by language order by 2 desc, language"#,
        tenant.0,
        &readers.channels,
        readers.person,
        readers.everyone,
        stuck_before
    )
    .fetch_all(conn)
    .await?;
    let mut counts = ReadableCounts::default();
    for row in rows {
        counts.unread += row.unread;
        if row.documents == 0 {
            continue;
        }
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
