//! Keeps an edit that was not sent: the open draft gets what its person changed on the card, so that the next request
//! to send it shows that.

use sqlx::PgConnection;

use super::{Approval, sql};
use crate::context::Requests;
use crate::effect::{self, sql::NewEffect};
use crate::policy::{self, PolicyInput, Ruling};
use nod_contract::clock::Timestamp;
use nod_contract::digest::digest;
use nod_contract::ids::{ApprovalId, EffectId, TenantId};
use nod_contract::tool::{Preview, Tool};

/// Plans the effect that keeps the edit of a request that will not be performed; `None` if there is nothing to keep.
/// The person made the edit themselves, so it needs no approval, but the rules can forbid it.
pub(super) async fn keep_edit(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    now: Timestamp,
) -> sqlx::Result<Option<EffectId>> {
    let Some(draft) = approval.preview.draft.as_deref().filter(|_| approval.revision > 1) else {
        return Ok(None);
    };
    let Some(Tool::Act(tool)) = core.tools.get(&approval.tool) else { return Ok(None) };
    let Some((keeper, payload)) = tool.keep(&approval.preview.payload) else { return Ok(None) };
    let Some(reach) = core.tools.get(keeper).map(|keeper| keeper.spec().reach) else { return Ok(None) };
    let policy = policy::sql::load_effective(conn, tenant, &core.policy).await?;
    let call =
        PolicyInput { tool: keeper, reach, recipients: &[], ..approval.call(&approval.preview, reach) };
    if let Ruling::Forbid(_) = policy::decide(&policy, &call) {
        return Ok(None);
    }
    let id: EffectId = core.id();
    let new = NewEffect {
        id,
        conversation: approval.conversation,
        run: approval.run,
        call_id: &approval.call_id,
        approval: None,
        person: approval.decider,
        tool: keeper,
        digest: &digest(&payload).map_err(|e| sqlx::Error::Encode(Box::new(e)))?,
        payload: &payload,
        recipients: &[],
        draft: Some(draft),
        undo_window: chrono::TimeDelta::zero(),
    };
    effect::insert(conn, tenant, &new, now).await?;
    Ok(Some(id))
}

/// The same for an approved request that could not be performed.
pub(crate) async fn keep_unsent_edit(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    now: Timestamp,
) -> sqlx::Result<Option<EffectId>> {
    match sql::load(conn, tenant, id).await? {
        Some(approval) => keep_edit(core, conn, tenant, &approval, now).await,
        None => Ok(None),
    }
}

/// Gives a newer request for the same draft the edit that was made on the older one. If the draft was changed elsewhere
/// since, that text counts, and the newer request shows it.
///
/// The edit of a card that only its owner reads stays off a card that others read.
pub(super) fn carry_over(newer: &mut Approval, older: &Approval, is_widened: bool) -> bool {
    let carries = !is_widened
        && older.tool == newer.tool
        && older.preview.draft.is_some()
        && older.preview.edited_from.as_deref() == Some(newer.digest.as_str());
    if carries {
        newer.preview = Preview {
            display_limit: newer.preview.display_limit,
            audience: newer.preview.audience,
            private_risks: newer.preview.private_risks.clone(),
            never_written_to: newer.preview.never_written_to.clone(),
            unknown_recipients: newer.preview.unknown_recipients.clone(),
            asked_by: newer.preview.asked_by.clone(),
            task: newer.preview.task.clone(),
            are_recipients_named: newer.preview.are_recipients_named,
            ..older.preview.clone()
        };
        newer.revision = older.revision;
        newer.digest.clone_from(&older.digest);
        newer.untrusted_in_view |= older.untrusted_in_view;
        newer.undo_window = older.undo_window;
        newer.co_approver_list.clone_from(&older.co_approver_list);
        newer.co_approvers.clone_from(&older.co_approvers);
    }
    carries
}
