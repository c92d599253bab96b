//! Draws the card of a task from its rows, in the commit that has changed them.

use sqlx::PgConnection;

use crate::{Task, card, notice, sql};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, RunId, TenantId};
use nod_people::delivery;

/// Shows how far a task is. The lane of its card is locked after everything else; who changes a task holds the lane of its run
/// or of its step, so no earlier drawing follows a later one.
pub(crate) async fn show(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RunId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(shown) = sql::load_shown(conn, tenant, id).await? else { return Ok(()) };
    if !shown.phase.is_open() {
        close_notice(conn, tenant, id, &shown.task, now).await?;
    }
    let mut card = card::progress(id, &shown.task, (&shown.owner, shown.is_shared), shown.phase);
    if shown.was_interrupted {
        card.body.push(card::interruption());
    }
    delivery::update_card(conn, tenant, DeliveryId(shown.task.card), &card, now).await
}

/// Takes the buttons from the message of a step that failed.
async fn close_notice(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RunId,
    task: &Task,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(step) = task.failed_step() else { return Ok(()) };
    let Some(message) = step.notice else { return Ok(()) };
    notice::close(conn, tenant, (DeliveryId(message), step.number), "stopped", now).await?;
    notice::sql::take_notice(conn, tenant, id, step.number).await
}
