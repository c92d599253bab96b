//! An edited or deleted message becomes an event of the turn that it began, while that turn is in progress. Afterwards an
//! edit is ignored: correcting the spelling of an answered question does not ask it again. A deletion then stops the work
//! that the turn itself began.

use super::InboundContext;
use nod_agent::rows;
use nod_agent::run::stop;
use nod_contract::chat::{ChannelRef, InteractionResponse};
use nod_store::runs::{self, RunEvent};
use nod_store::store;
use nod_store::workflow;

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
        rows::find_by_message(&mut conn, tenant, platform, workspace, &place.channel, message).await?;
    let Some(turn) = begun else { return Ok(InteractionResponse::Ack) };
    // A message looked up after an outage may be stored in its current form already.
    if text == Some(&turn.words) || (text.is_some() && !turn.is_open) {
        return Ok(InteractionResponse::Ack);
    }
    let mut tx = store::begin_on(conn).await?;
    if arrival.record_once(&mut tx, "message_change").await? {
        match text {
            Some(text) => {
                let event = RunEvent::MessageEdited { text: text.to_owned() };
                runs::notify(&mut tx, tenant, turn.run, event, now).await?;
            }
            None => {
                // It may be ending in this moment, and begin work with its end.
                runs::lock(&mut tx, tenant, turn.run).await?;
                if rows::is_open(&mut tx, tenant, turn.run).await? {
                    runs::notify(&mut tx, tenant, turn.run, RunEvent::MessageDeleted, now).await?;
                } else {
                    let work = workflow::run_of_turn(turn.run);
                    stop::stop_deleted(arrival.core, &mut tx, tenant, work, now).await?;
                    arrival.mark_run_stopped();
                }
            }
        }
    }
    tx.commit().await?;
    Ok(InteractionResponse::Ack)
}
