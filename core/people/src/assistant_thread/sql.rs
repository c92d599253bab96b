//! Rows of assistant threads.

use sqlx::PgConnection;

use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, PersonId, TenantId};

/// Records that a thread was opened, or that its person looks at another channel; returns true if it is new.
pub async fn upsert(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    person: PersonId,
    viewing: Option<&str>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"insert into assistant_threads (tenant_id, conversation_id, person_id, viewed_channel_ref, has_title, created_at)
         values ($1, $2, $3, $4, false, $5)
         on conflict (tenant_id, conversation_id) do update set viewed_channel_ref = excluded.viewed_channel_ref
         returning (xmax = 0) as "fresh!""#,
        tenant.0,
        conversation.0,
        person.0,
        viewing,
        now
    )
    .fetch_one(conn)
    .await
}

/// Returns the channel that the thread's person looks at.
pub async fn find_viewed_channel(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
) -> sqlx::Result<Option<String>> {
    let viewing = sqlx::query_scalar!(
        "select viewed_channel_ref from assistant_threads where tenant_id = $1 and conversation_id = $2",
        tenant.0,
        conversation.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(viewing.flatten())
}

/// Records that a thread has its title; true only for the first caller, false if it is no assistant thread.
pub async fn mark_titled(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update assistant_threads set has_title = true where tenant_id = $1 and conversation_id = $2 and not has_title",
        tenant.0,
        conversation.0
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}
