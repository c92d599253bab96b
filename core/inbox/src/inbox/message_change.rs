//! An edited or deleted message becomes an event of the run that it began, while that run is in progress. Otherwise it
//! is ignored: correcting the spelling of an answered question does not ask it again.

use super::InboundContext;
use nod_agent::rows;
use nod_contract::chat::{ChannelRef, InteractionResponse};
use nod_store::runs::{self, RunEvent};
use nod_store::store;

pub(super) async fn accept(
    arrival: &InboundContext<'_>,
    place: &ChannelRef,
    message: &str,
    text: Option<&str>,
) -> sqlx::Result<InteractionResponse> {
    let (tenant, now) = (arrival.tenant, arrival.now);
    let (platform, workspace) = (&arrival.inbound.platform, &arrival.inbound.workspace);
    let mut conn = arrival.core.door.acquire().await?;
    let begun =
        rows::find_open_by_message(&mut conn, tenant, platform, workspace, &place.channel, message).await?;
    let Some((run, words)) = begun else { return Ok(InteractionResponse::Ack) };
    // A message looked up after an outage may be stored in its current form already.
    if text == Some(&words) {
        return Ok(InteractionResponse::Ack);
    }
    let mut tx = store::begin_on(conn).await?;
    if arrival.record_once(&mut tx, "message_change").await? {
        let event = match text {
            Some(text) => RunEvent::MessageEdited { text: text.to_owned() },
            None => RunEvent::MessageDeleted,
        };
        runs::notify(&mut tx, tenant, run, event, now).await?;
    }
    tx.commit().await?;
    Ok(InteractionResponse::Ack)
}
