//! Decides an approval, once: by a click, by expiry, or by a newer request.

use std::collections::BTreeMap;

use serde_json::json;
use sqlx::PgConnection;

use super::co_approval::{self, DecisionStep};
use super::edit::{self, changes};
use super::form::{self, unknown_approval};
use super::rejection::rejection_text;
use super::revalidate::{self, Revalidation, forbidden_text};
use super::{Approval, Status, card, keep_edit, remind, sql};
use crate::context::Requests;
use crate::effect::insert;
use crate::effect::sql::NewEffect;
use crate::question::vote;
use nod_contract::address::sorted_addresses;
use nod_contract::card::{Action, FieldError};
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, DeliveryId, EffectId, PersonId, TenantId};
use nod_people::{delivery, open_pages};
use nod_store::audit;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::runs::{self, RunEvent, Verdict};

/// A person's decision about the revision that they saw.
pub struct Decision<'a> {
    pub id: ApprovalId,
    pub revision: i32,
    pub by: PersonId,
    pub approve: bool,
    /// Why it was denied, in the person's own words.
    pub reason: Option<&'a str>,
}

/// Applies an approve or deny click. A user who cannot decide, is too late or saw another revision gets an explanation;
/// nothing else happens.
pub async fn handle_decision_click(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    decision: &Decision<'_>,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let &Decision { id, revision, by, reason, .. } = decision;
    let Some(approval) = sql::load(conn, tenant, id).await? else {
        return Ok(unknown_approval());
    };
    let mut answer = InteractionResponse::Ack;
    match apply_decision(core, conn, tenant, &approval, decision, now).await? {
        DecisionResult::Accepted(DecisionStep::Denied) => {
            notify_run(core, conn, tenant, &approval, denial_verdict(&approval, by, reason), now).await?;
        }
        DecisionResult::Accepted(_) => {}
        DecisionResult::NoCoApprover(why) => return Ok(InteractionResponse::ephemeral(why)),
        DecisionResult::Forbidden(why) => {
            answer = InteractionResponse::ephemeral(forbidden_text(&why));
            notify_run(core, conn, tenant, &approval, Verdict::ForbiddenByPolicy(why), now).await?;
        }
        DecisionResult::Rejected => {
            let approval = sql::load(conn, tenant, id).await?.unwrap_or(approval);
            return Ok(InteractionResponse::ephemeral(rejection_text(&approval, by, revision, now)));
        }
    }
    refresh_decided(conn, tenant, approval.delivery, now).await?;
    Ok(answer)
}

/// Handles a submitted [Deny] form.
pub async fn deny_with_reason(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    verb: &Action,
    values: &BTreeMap<String, String>,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let reason = match form::reason(values) {
        Ok(reason) => reason,
        Err(why) => {
            return Ok(InteractionResponse::FormErrors(vec![FieldError::new(form::REASON_FIELD, why)]));
        }
    };
    let decision = Decision {
        id: ApprovalId(verb.subject),
        revision: verb.revision(),
        by,
        approve: false,
        reason: reason.as_deref(),
    };
    handle_decision_click(core, conn, tenant, &decision, now).await
}

/// The result of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DecisionResult {
    /// It was applied.
    Accepted(DecisionStep),
    /// The person cannot decide, saw another revision, or came after another decision.
    Rejected,
    /// A co-approver is required, but none can be asked; holds the message. It is still pending.
    NoCoApprover(String),
    /// The rules now forbid it, for this reason. It is no longer pending.
    Forbidden(String),
}

/// Returns the verdict with which the run learns of a denial.
pub(super) fn denial_verdict(approval: &Approval, by: PersonId, reason: Option<&str>) -> Verdict {
    match reason.map(str::to_owned) {
        why if approval.decider != by => Verdict::DeniedByCoApprover { reason: why },
        None => Verdict::Denied,
        Some(why) => Verdict::DeniedWithReason(why),
    }
}

/// Applies the decision with a guarded update and writes the audit entry. An approval is checked against the current
/// rules, then plans the effect or asks the co-approvers. The caller notifies the run of a denial and updates the card.
pub(super) async fn apply_decision(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    decision: &Decision<'_>,
    now: Timestamp,
) -> sqlx::Result<DecisionResult> {
    let step = approval.decision_step(decision.by, decision.approve);
    // The loaded row is what was seen; the guarded update ensures that.
    if !approval.is_pending(decision.revision, now) {
        return Ok(DecisionResult::Rejected);
    }
    let means = match step {
        DecisionStep::OwnerApproved | DecisionStep::Approved => {
            revalidate::revalidate(core, conn, tenant, approval).await?
        }
        DecisionStep::Denied | DecisionStep::Ignored => Revalidation::Unchanged,
    };
    let of_two;
    let (approval, step) = match means {
        Revalidation::Unchanged => (approval, step),
        Revalidation::NeedsCoApproval(wanted) => {
            of_two = wanted;
            (of_two.as_ref(), DecisionStep::OwnerApproved)
        }
        Revalidation::NoCoApprover(why) => return Ok(DecisionResult::NoCoApprover(why)),
        Revalidation::Forbidden(why) => {
            let first =
                revalidate::close_as_forbidden(conn, tenant, approval, &why, decision.by, now).await?;
            return Ok(if first { DecisionResult::Forbidden(why) } else { DecisionResult::Rejected });
        }
    };
    let asking = match step {
        DecisionStep::OwnerApproved => {
            match co_approval::plan_requests(core, conn, tenant, approval, now).await? {
                Ok(asking) => asking,
                Err(why) => return Ok(DecisionResult::NoCoApprover(why)),
            }
        }
        DecisionStep::Approved | DecisionStep::Denied | DecisionStep::Ignored => Vec::new(),
    };
    if step == DecisionStep::OwnerApproved {
        co_approval::sql::require_co_approvers(conn, tenant, approval).await?;
    }
    if !sql::mark_decided(conn, tenant, decision, step, now).await? {
        return Ok(DecisionResult::Rejected);
    }
    let action = match step {
        DecisionStep::OwnerApproved => "approval.owner_approved",
        DecisionStep::Approved => "approval.approved",
        DecisionStep::Denied | DecisionStep::Ignored => "approval.denied",
    };
    let detail = json!({ "tool": approval.tool, "revision": approval.revision });
    let (by, digest) = (Some(decision.by), Some(approval.digest.as_str()));
    audit::insert_entry(conn, tenant, by, action, approval.id.0, digest, &detail, now).await?;
    match step {
        DecisionStep::OwnerApproved => {
            co_approval::send_requests(core, conn, tenant, approval, asking, now).await?
        }
        DecisionStep::Approved => {
            if approval.co_approver_list.is_some() {
                co_approval::sql::mark_approved(conn, tenant, approval.id, decision.by, now).await?;
            }
            insert_planned_effect(core, conn, tenant, approval, now).await?;
        }
        DecisionStep::Denied | DecisionStep::Ignored => {}
    }
    Ok(DecisionResult::Accepted(step))
}

/// Expires a pending approval, notifies the run and updates the card.
pub async fn expire(core: &Requests, claim: &Claim, id: ApprovalId) -> Result<(), WorkError> {
    let now = core.now();
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    if sql::resolve(&mut tx, claim.tenant, id, Status::Expired, None, now).await? {
        close(core, &mut tx, claim.tenant, id, "approval.expired", Verdict::Expired, now).await?;
    }
    jobs::complete(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}

/// Supersedes pending requests for the same tool and topic, or for the same draft, that earlier runs made in this
/// conversation. What was edited on the old card stands on the new one. `is_private` says that only the owner reads the
/// new card. A task and what is said meanwhile do not replace each other's. Returns whether another run's request waits
/// on.
pub async fn supersede(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    newer: &mut Approval,
    is_private: bool,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let mut waits = false;
    let (all, open) = (
        sql::PendingFilter::Conversation(newer.conversation),
        sql::PendingFilter::OpenlyIn(newer.conversation),
    );
    for old in sql::list_pending(conn, tenant, newer.decider, all).await? {
        // Calls of one run do not replace each other: the user asked for both.
        if old.id == newer.id || old.run == newer.run {
            continue;
        }
        if !replaces(newer, &old) || !runs::have_same_workflow(conn, tenant, (newer.run, old.run)).await? {
            waits = true;
            continue;
        }
        let is_widened = old.revision > 1
            && !is_private
            && !sql::list_pending(conn, tenant, newer.decider, open)
                .await?
                .iter()
                .any(|one| one.id == old.id);
        if !sql::resolve(conn, tenant, old.id, Status::Superseded, None, now).await? {
            continue;
        }
        let unedited = newer.preview.payload.clone();
        if keep_edit::carry_over(newer, &old, is_widened) {
            let mut preview = newer.preview.clone();
            if let Some(risks) = edit::compute_risks(conn, tenant, newer, &mut preview).await? {
                (newer.risks, newer.preview) = (risks, preview);
            }
            edit::notify_run(conn, tenant, newer, changes(&unedited, &newer.preview.payload), now).await?;
        }
        close(core, conn, tenant, old.id, "approval.superseded", Verdict::Superseded, now).await?;
    }
    Ok(waits)
}

/// Supersedes the pending requests to send a draft that was changed since.
pub async fn supersede_draft(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    decider: PersonId,
    draft: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    for id in sql::list_pending_on_account(conn, tenant, decider).await? {
        let Some(old) = sql::load(conn, tenant, id).await? else { continue };
        if old.preview.draft.as_deref() == Some(draft)
            && sql::resolve(conn, tenant, old.id, Status::Superseded, None, now).await?
        {
            close(core, conn, tenant, old.id, "approval.superseded", Verdict::Superseded, now).await?;
        }
    }
    Ok(())
}

pub(super) async fn close(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    action: &str,
    verdict: Verdict,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(approval) = sql::load(conn, tenant, id).await? else { return Ok(()) };
    let detail = json!({ "tool": approval.tool, "revision": approval.revision });
    audit::insert_entry(conn, tenant, None, action, id.0, Some(&approval.digest), &detail, now).await?;
    notify_run(core, conn, tenant, &approval, verdict, now).await?;
    refresh_decided(conn, tenant, approval.delivery, now).await
}

/// Sends the verdict to the waiting run, which waits on while an edit is being kept. Called before the card is
/// refreshed: lanes of runs are locked before those of channels, everywhere.
pub(super) async fn notify_run(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    verdict: Verdict,
    now: Timestamp,
) -> sqlx::Result<()> {
    let edit_kept_by = match verdict {
        // The request that took its place has the edit.
        Verdict::Superseded => None,
        _ => keep_edit::keep_edit(core, conn, tenant, approval, now).await?,
    };
    let about = Some(card::redacted_summary(approval));
    let event = RunEvent::ApprovalClosed { approval: approval.id, verdict, about, edit_kept_by };
    runs::notify(conn, tenant, approval.run, event, now).await
}

/// Updates the approval's card to its current state.
pub async fn refresh(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let all = sql::list_beside(conn, tenant, id).await?;
    show(conn, tenant, &all, now).await
}

/// Updates a card, with all requests on it, and the cards of their co-approvers.
pub(super) async fn refresh_delivery(
    conn: &mut PgConnection,
    tenant: TenantId,
    at: DeliveryId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let all = sql::list_on_card(conn, tenant, at).await?;
    show(conn, tenant, &all, now).await
}

/// Updates a card of which a request was decided, and its reminder.
pub(super) async fn refresh_decided(
    conn: &mut PgConnection,
    tenant: TenantId,
    at: DeliveryId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let all = sql::list_on_card(conn, tenant, at).await?;
    show(conn, tenant, &all, now).await?;
    remind::close_reminder(conn, tenant, &all, now).await
}

/// Shows what became of all requests of one card.
async fn show(
    conn: &mut PgConnection,
    tenant: TenantId,
    all: &[Approval],
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(first) = all.first() else { return Ok(()) };
    delivery::update_card(conn, tenant, first.delivery, &card(all), now).await?;
    let mut readers = vec![first.decider];
    for approval in all {
        for (reader, theirs) in approval.asked_co_approvers() {
            delivery::update_card(conn, tenant, theirs, &co_approval::card(approval, reader), now).await?;
            readers.push(reader.person);
        }
    }
    if let Some(one) = all.iter().find(|one| one.preview.event_details.is_some()) {
        vote::notify_voters(conn, tenant, one.run, now).await?;
    }
    for reader in readers {
        open_pages::enqueue_refresh(conn, tenant, reader, now).await?;
    }
    Ok(())
}

/// Returns whether both are about the same thing. Two drafts are two things, also with the same words in them.
fn replaces(newer: &Approval, old: &Approval) -> bool {
    match (&newer.preview.draft, &old.preview.draft) {
        (Some(newer), Some(old)) => newer == old,
        _ => {
            newer.tool == old.tool
                && newer.preview.topic.is_some()
                && newer.preview.topic == old.preview.topic
                && sorted_addresses(&newer.preview.recipients) == sorted_addresses(&old.preview.recipients)
        }
    }
}

/// Plans the effect of an approved request, in the transaction of the approval.
pub async fn insert_planned_effect(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    now: Timestamp,
) -> sqlx::Result<()> {
    let id: EffectId = core.id();
    let new = NewEffect {
        id,
        conversation: approval.conversation,
        run: approval.run,
        call_id: &approval.call_id,
        approval: Some(approval.id),
        person: approval.decider,
        tool: &approval.tool,
        payload: &approval.preview.payload,
        digest: &approval.digest,
        recipients: &approval.preview.recipients,
        draft: approval.preview.draft.as_deref(),
        undo_window: approval.undo_window,
    };
    insert(conn, tenant, &new, now).await
}
