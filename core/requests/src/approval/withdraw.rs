//! Withdraws what a run requested when it is stopped, or when the message that started it was changed or deleted.

use serde_json::json;
use sqlx::PgConnection;

use super::decide::refresh_decided;
use super::{Status, sql};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, PersonId, RunId, TenantId};
use nod_store::audit;

/// Withdraws the pending requests of a run and updates their cards, because this person stopped it or, without one, because
/// its message was changed or deleted. The run is not notified, because it is the caller.
pub async fn withdraw(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    stopped_by: Option<PersonId>,
    now: Timestamp,
) -> sqlx::Result<Vec<ApprovalId>> {
    let mut withdrawn = Vec::new();
    for id in sql::list_by_run(conn, tenant, run, Status::Pending).await? {
        // A click at the same moment can win.
        if !sql::resolve(conn, tenant, id, Status::Withdrawn, stopped_by, now).await? {
            continue;
        }
        withdrawn.push(id);
        let Some(approval) = sql::load(conn, tenant, id).await? else { continue };
        let detail = json!({ "tool": approval.tool, "revision": approval.revision });
        let digest = Some(approval.digest.as_str());
        audit::insert_entry(conn, tenant, stopped_by, "approval.withdrawn", id.0, digest, &detail, now)
            .await?;
        refresh_decided(conn, tenant, approval.delivery, now).await?;
    }
    Ok(withdrawn)
}
