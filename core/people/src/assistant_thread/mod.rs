//! The assistant thread: a thread between one person and Nod. It greets, offers prompts for the channel that the person
//! looks at, and is titled after the first question.

mod card;
pub mod sql;

use chrono::TimeDelta;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::context::Chat;
use crate::conversations;
use crate::work::PeopleJob;
use nod_contract::chat::{AssistantThreadUpdate, ChatError};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, TenantId, named_lane_id};
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// After this many attempts the thread stays unchanged: nothing depends on it.
const MAX_ATTEMPTS: i32 = 3;

/// Enqueues an update of the thread's title or prompts.
pub async fn enqueue_update(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    title: Option<String>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let work = PeopleJob::UpdateAssistantThread { conversation, title };
    jobs::enqueue(conn, tenant, lane(conversation), &work, now, now).await
}

fn lane(conversation: ConversationId) -> Uuid {
    named_lane_id(&["pane", &conversation.to_string()])
}

/// The job: sets the title, or offers prompts.
pub async fn update(
    core: &Chat,
    claim: &Claim,
    conversation: ConversationId,
    title: Option<&str>,
) -> Result<(), WorkError> {
    let mut conn = core.pool.acquire().await?;
    let venue = conversations::load_location(&mut conn, claim.tenant, conversation).await?;
    let viewing = sql::find_viewed_channel(&mut conn, claim.tenant, conversation).await?;
    drop(conn);
    let ornament = match title {
        Some(title) => AssistantThreadUpdate::Title(title.to_owned()),
        None => AssistantThreadUpdate::SuggestedPrompts(card::prompts(viewing.is_some())),
    };
    let shown = match core.adapters.get(&venue.platform) {
        Some(adapter) => adapter.update_assistant_thread(&venue.channel_ref, &ornament).await,
        None => Ok(()),
    };
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    match shown {
        Err(ChatError::RateLimited { retry_after_secs: after_seconds }) => {
            let wait = TimeDelta::seconds(i64::try_from(after_seconds.clamp(1, 3600)).unwrap_or(60));
            jobs::reschedule(&mut tx, claim, core.now() + wait, None, true).await?;
        }
        Err(ChatError::UnknownOutcome(reason)) if claim.attempt < MAX_ATTEMPTS => return Err(reason.into()),
        ended => {
            if let Err(error) = ended {
                tracing::warn!(%conversation, %error, "could not set up the assistant thread");
            }
            jobs::complete(&mut tx, claim).await?;
        }
    }
    Ok(tx.commit().await?)
}
