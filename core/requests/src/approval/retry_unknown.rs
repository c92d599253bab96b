//! Repeats for unknown outcomes: another lookup, or another request. What was denied, undone or left to expire can be
//! requested again too.

use chrono::TimeDelta;
use serde_json::json;
use sqlx::PgConnection;

use super::batch::enqueue_next_to;
use super::card::clock;
use super::co_approval::{self, sql::AccountOwner};
use super::decide::{close, refresh_delivery};
use super::edit;
use super::rejection::rejection_text;
use super::revalidate::forbidden_text;
use super::{Approval, EffectState, Status, remind, sql};
use crate::context::Requests;
use crate::policy::{self, Ruling};
use crate::work::RequestJob;
use crate::{draft, effect};
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, DraftId, EffectId, PersonId, TenantId};
use nod_contract::tool::{Reach, ToolError};
use nod_people::conversations;
use nod_store::audit;
use nod_store::jobs::sql as jobs;
use nod_store::runs::Verdict;

impl Approval {
    /// Returns whether it was not performed and its owner can request it again. A co-approver's no stands. Of a request
    /// that might happen twice, the first might turn out to have been performed.
    pub(super) fn can_be_asked_again(&self) -> bool {
        let ended = match self.status {
            Status::Expired | Status::Undone => true,
            Status::Denied => self.owner_approved_at.is_none(),
            Status::Pending | Status::Approved | Status::Superseded | Status::Withdrawn => false,
        };
        // A draft is asked for in its newest version; this is about sending, not about discarding it.
        let is_draft_to_send = self.preview.draft.is_none() || !self.preview.recipients.is_empty();
        ended && is_draft_to_send && duplicate_risk(self).is_none()
    }
}

/// Returns the effect with an unknown outcome, and the time since which it is unknown.
fn unknown_effect(approval: &Approval) -> Option<(EffectId, Timestamp)> {
    match &approval.effect {
        Some(EffectState { id, at, outcome: Some(Err(ToolError::UnknownOutcome { .. })), .. }) => {
            Some((*id, *at))
        }
        _ => None,
    }
}

/// Handles a click on [Check again]: enqueues a lookup whose result the card will show.
pub async fn request_recheck(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let Some(approval) = sql::load(conn, tenant, id).await? else {
        return Ok(InteractionResponse::ephemeral("I can't find that request any more. Nothing was done."));
    };
    let Some((effect, _)) = unknown_effect(&approval).filter(|_| approval.decider == by) else {
        return Ok(InteractionResponse::ephemeral(rejection_text(&approval, by, approval.revision, now)));
    };
    if !jobs::is_lane_idle(conn, tenant, effect.0).await? {
        return Ok(InteractionResponse::ephemeral(
            "I'm already checking. The card will tell you what I find.",
        ));
    }
    jobs::enqueue(conn, tenant, effect.0, &RequestJob::RecheckEffect { effect }, now, now).await?;
    Ok(InteractionResponse::Ack)
}

/// The reply to another click on [Ask again].
const ASKED_ALREADY: &str = "I've already asked you again. Look for the newer card.";
/// The beginning of the first risk line of a request that might happen twice.
const TWICE: &str = "This may go out twice";
/// A request that ended longer ago is not repeated unchanged.
const MAX_RETRY_AGE: TimeDelta = TimeDelta::days(7);

/// Returns the line that this might happen twice, if it has one.
pub(super) fn duplicate_risk(approval: &Approval) -> Option<&String> {
    approval.retry_of.and(approval.risks.first()).filter(|risk| risk.starts_with(TWICE))
}

/// Returns the open draft that a click on [Ask again] means, if the request was to send a draft: then the draft is sent
/// as by its own button, in its newest version.
pub async fn find_draft_to_send(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    by: PersonId,
) -> sqlx::Result<Option<Result<DraftId, InteractionResponse>>> {
    let Some(old) = sql::load(conn, tenant, id).await? else { return Ok(None) };
    let Some(draft) = old.preview.draft.as_deref().filter(|_| old.decider == by && old.can_be_asked_again())
    else {
        return Ok(None);
    };
    let said = |words: &str| Ok(Some(Err(InteractionResponse::ephemeral(words))));
    match draft::sql::find_by_provider_id(conn, tenant, by, draft).await? {
        None => said(draft::card::DRAFT_NOT_FOUND),
        Some(row) if row.draft.tools.send != old.tool => said("Please tell me again what you want."),
        Some(row) => {
            for waiting in sql::list_pending_on_account(conn, tenant, by).await? {
                let waiting = sql::load(conn, tenant, waiting).await?;
                if waiting.is_some_and(|waiting| waiting.preview.draft == old.preview.draft) {
                    return said(ASKED_ALREADY);
                }
            }
            Ok(Some(Ok(row.id)))
        }
    }
}

/// Handles a click on [Send again] or [Ask again]: requests the same again from the same person, with a warning if it
/// might happen twice. Nothing is done before that is approved; several clicks make one request.
pub async fn request_retry(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    sql::lock_row(conn, tenant, id).await?;
    let Some(old) = sql::load(conn, tenant, id).await? else {
        return Ok(InteractionResponse::ephemeral("I can't find that request any more. Nothing was done."));
    };
    let lapsed = old.can_be_asked_again();
    let settled = unknown_effect(&old);
    if old.decider != by || (settled.is_none() && !lapsed) {
        return Ok(InteractionResponse::ephemeral(rejection_text(&old, by, old.revision, now)));
    }
    if lapsed && now - old.decided_at.unwrap_or(old.expires_at) > MAX_RETRY_AGE {
        return Ok(InteractionResponse::ephemeral(
            "That's too old to ask again. Please tell me again what you want.",
        ));
    }
    if old.was_retried {
        return Ok(InteractionResponse::ephemeral(ASKED_ALREADY));
    }
    if lapsed && sql::was_requested_since(conn, tenant, &old).await? {
        return Ok(InteractionResponse::ephemeral(
            "You've asked me for exactly this again since. Look for the newer card.",
        ));
    }
    let policy = policy::sql::load_effective(conn, tenant, &core.policy).await?;
    let reach = core.tools.get(&old.tool).map_or(Reach::Others, |tool| tool.spec().reach);
    let terms = match policy::decide(&policy, &old.call(&old.preview, reach)) {
        Ruling::Ask(terms) => terms,
        Ruling::Allow => policy.default_terms,
        Ruling::Forbid(why) => {
            return Ok(InteractionResponse::ephemeral(forbidden_text(&why)));
        }
    };
    let venue = conversations::load_location(conn, tenant, old.conversation).await?;
    let (platform, workspace) = (venue.platform.as_str(), venue.workspace.as_str());
    let owner = AccountOwner { person: by, account: &old.preview.account, platform, workspace };
    let approvers = match co_approval::find_co_approvers(conn, &core.adapters, tenant, &terms, &owner).await?
    {
        Ok(approvers) => approvers,
        Err(why) => return Ok(InteractionResponse::ephemeral(format!("{why} Nothing was done."))),
    };
    let twice = settled
        .map(|(_, at)| format!("{TWICE}: I don't know whether it went out at {}", clock(at, &old.zone)));
    let mut preview = old.preview.clone();
    let others = match edit::compute_risks(conn, tenant, &old, &mut preview).await? {
        Some(risks) => risks,
        None => old.risks.iter().filter(|risk| !risk.starts_with(TWICE)).cloned().collect(),
    };
    let risks = twice.into_iter().chain(others).collect();
    let new = Approval {
        id: core.id(),
        preview,
        status: Status::Pending,
        decided_at: None,
        decided_by: None,
        co_approver_list: terms.co_approvers().map(|list| list.name.clone()),
        co_approvers: approvers,
        owner_approved_at: None,
        reason: None,
        expires_at: now + terms.expire_after,
        delivery: core.id(),
        undo_window: terms.undo_window,
        reminder: None,
        selected: true,
        retry_of: Some(id),
        original_done: false,
        effect: None,
        risks,
        ..old.clone()
    };
    post_retry_card(conn, tenant, &old, &new, now).await?;
    remind::plan(conn, tenant, new.id, &terms, now).await?;
    let work = RequestJob::ExpireApproval { approval: new.id };
    jobs::enqueue(conn, tenant, new.id.0, &work, new.expires_at, now).await?;
    let detail = json!({ "tool": new.tool, "revision": new.revision, "again_of": id });
    audit::insert_entry(
        conn,
        tenant,
        Some(by),
        "approval.requested",
        new.id.0,
        Some(&new.digest),
        &detail,
        now,
    )
    .await?;
    Ok(InteractionResponse::Ack)
}

/// Posts the new card where the old one is, which no longer offers the repeat.
async fn post_retry_card(
    conn: &mut PgConnection,
    tenant: TenantId,
    old: &Approval,
    new: &Approval,
    now: Timestamp,
) -> sqlx::Result<()> {
    enqueue_next_to(conn, tenant, old, new, now).await?;
    sql::insert(conn, tenant, new, now).await?;
    refresh_delivery(conn, tenant, old.delivery, now).await
}

/// Supersedes the repeat of a request that turned out to have been performed.
pub(crate) async fn supersede_retry_request(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(again) = sql::find_pending_retry(conn, tenant, id).await? else { return Ok(()) };
    let ended = if sql::resolve(conn, tenant, again, Status::Superseded, None, now).await? {
        true
    } else {
        // Approved already, but its effect can still be cancelled before it starts.
        let called_off = effect::sql::cancel(conn, tenant, again, now).await?;
        if called_off {
            sql::mark_cancelled(conn, tenant, again).await?;
        }
        called_off
    };
    if ended {
        close(core, conn, tenant, again, "approval.superseded", Verdict::Superseded, now).await?;
    }
    Ok(())
}
