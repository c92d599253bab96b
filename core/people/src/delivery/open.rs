//! Rows of messages that are still being streamed.

use sqlx::PgConnection;

use crate::conversations::ConversationLocation;
use nod_contract::card::Card;
use nod_contract::chat::PostedMessage;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, PersonId, RunId, TenantId};
use nod_store::jobs::sql::{from_json, to_json};

/// Returns the message that a run opened and has not closed.
pub async fn open_of(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
) -> sqlx::Result<Option<StreamingMessage>> {
    let row = sqlx::query!(
        "select id, posted_message, created_at from deliveries where tenant_id = $1 and run_id = $2 and stream_status = 'open'",
        tenant.0,
        run.0
    )
    .fetch_optional(conn)
    .await?;
    row.map(|row| {
        Ok(StreamingMessage {
            id: DeliveryId(row.id),
            posted: row.posted_message.map(from_json).transpose()?,
            since: row.created_at,
            is_unconfirmed: true,
        })
    })
    .transpose()
}

/// Begins a message in the conversation's own channel, visible to everyone there. It has no job: the caller that closes
/// it creates one.
pub async fn insert_open(
    conn: &mut PgConnection,
    tenant: TenantId,
    venue: &ConversationLocation,
    run: RunId,
    id: DeliveryId,
    card: &Card,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into deliveries (tenant_id, id, conversation_id, run_id, platform, opens_thread, card, version,
             created_at, stream_status)
         values ($1, $2, $3, $4, $5, false, $6, 1, $7, 'open')",
        tenant.0,
        id.0,
        venue.conversation.0,
        run.0,
        venue.platform,
        to_json(card)? as _,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Stores the card to show if no more text comes.
pub async fn update_open_card(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
    card: &Card,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update deliveries set card = $3 where tenant_id = $1 and id = $2 and stream_status = 'open'",
        tenant.0,
        id.0,
        to_json(card)? as _
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Closes a message with the card of its row, or with `card` if there is one.
pub async fn mark_closed(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
    card: Option<&Card>,
    only_for: Option<PersonId>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update deliveries set card = coalesce($3, card), only_for = $4, version = version + 1, stream_status = 'closed'
         where tenant_id = $1 and id = $2 and stream_status = 'open'",
        tenant.0,
        id.0,
        card.map(to_json).transpose()? as _,
        only_for.map(|person| person.0)
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A message that is still being streamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamingMessage {
    /// Its row.
    pub id: DeliveryId,
    /// Where it is posted.
    pub posted: Option<PostedMessage>,
    /// When it was started.
    pub since: Timestamp,
    /// It might be posted without our knowing: look it up before opening it again.
    pub is_unconfirmed: bool,
}
