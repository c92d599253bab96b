//! Forgetting: deletes facts and clears every summary that might mention them. The conversations that they come from
//! are not brought into view again. Messages and the audit stay.

use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use super::sql;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ChannelId, PersonId, TenantId};
use nod_store::audit;

/// Deletes these facts and returns how many existed.
pub(super) async fn delete_facts(
    conn: &mut PgConnection,
    tenant: TenantId,
    facts: &[Uuid],
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<usize> {
    let said = sql::list_source_conversations(conn, tenant, facts).await?;
    let mut conversations: Vec<Uuid> = said.iter().map(|(conversation, ..)| *conversation).collect();
    conversations.sort_unstable();
    conversations.dedup();
    let channels: Vec<Uuid> = said.iter().map(|(_, channel, _)| *channel).collect();
    // Summaries before facts, in the same order as the job that writes both.
    if let Some(first) = said.iter().map(|(.., seq)| *seq).min() {
        sql::clear_summaries(conn, tenant, &channels, first, now).await?;
        sql::reset_conversations(conn, tenant, &conversations, now).await?;
    }
    let gone = sql::delete_facts(conn, tenant, facts).await?;
    for fact in &gone {
        audit::insert_entry(conn, tenant, Some(by), "memory.fact_deleted", *fact, None, &json!({}), now)
            .await?;
    }
    Ok(gone.len())
}

/// Restarts every conversation of a channel.
pub(super) async fn reset_conversations(
    conn: &mut PgConnection,
    tenant: TenantId,
    channel: ChannelId,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let mut conversations = sql::list_conversations(conn, tenant, channel).await?;
    conversations.sort_unstable();
    sql::reset_conversations(conn, tenant, &conversations, now).await?;
    audit::insert_entry(conn, tenant, Some(by), "memory.cleared", channel.0, None, &json!({}), now).await
}
