//! Undoes an approval before its effect has begun.

use serde_json::json;
use sqlx::PgConnection;

use super::co_approval::Role;
use super::decide::{notify_run, refresh};
use super::{rejection, sql};
use crate::context::Requests;
use crate::effect;
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, PersonId, TenantId};
use nod_store::audit;
use nod_store::runs::Verdict;

/// Handles a click on [Undo]. The effect's row decides, once, between undo and start; a late click gets an explanation.
pub async fn handle_undo_click(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let Some(approval) = sql::load(conn, tenant, id).await? else {
        return Ok(InteractionResponse::ephemeral("I can't find that request any more. Nothing was done."));
    };
    if approval.role(by) == Role::Other || !effect::sql::cancel(conn, tenant, id, now).await? {
        // The row might have changed while the update waited for it.
        let approval = sql::load(conn, tenant, id).await?.unwrap_or(approval);
        return Ok(InteractionResponse::ephemeral(rejection::undo_too_late_text(&approval, by)));
    }
    sql::mark_undone(conn, tenant, id, by, now).await?;
    let detail = json!({ "tool": approval.tool, "revision": approval.revision });
    audit::insert_entry(
        conn,
        tenant,
        Some(by),
        "approval.undone",
        id.0,
        Some(&approval.digest),
        &detail,
        now,
    )
    .await?;
    notify_run(core, conn, tenant, &approval, Verdict::Undone, now).await?;
    refresh(conn, tenant, id, now).await?;
    Ok(InteractionResponse::Ack)
}
