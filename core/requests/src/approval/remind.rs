//! One reminder before a request expires, posted where its card is; and its update after the decision.

use sqlx::PgConnection;

use super::card::{closed_reminder_card, reminder};
use super::{Approval, Status, co_approval, sql};
use crate::policy::Terms;
use crate::work::RequestJob;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, TenantId};
use nod_people::context::Chat;
use nod_people::conversations::ConversationLocation;
use nod_people::delivery::{self, NewDelivery};
use nod_people::permalink;
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// Plans the reminder in the approval's own lane, and so before its expiry.
pub async fn plan(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    terms: &Terms,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(after) = terms.remind_after() else { return Ok(()) };
    let work = RequestJob::RemindApproval { approval: id };
    jobs::enqueue(conn, tenant, id.0, &work, now + after, now).await
}

/// Reminds, unless the request was decided meanwhile or has just expired. The message and the end of the job are one
/// commit, so there is one reminder even if the job runs several times.
pub async fn remind(core: &Chat, claim: &Claim, id: ApprovalId) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    let waiting = list_pending_on_card(&mut tx, tenant, id, now).await?;
    if let Some(approval) = waiting.iter().find(|one| one.id == id && one.owner_approved_at.is_some()) {
        remind_co_approvers(core, &mut tx, tenant, approval, now).await?;
    }
    let waiting: Vec<Approval> = waiting.into_iter().filter(|one| one.owner_approved_at.is_none()).collect();
    if let Some(approval) = waiting.first() {
        let stands = delivery::sql::load(&mut tx, tenant, approval.delivery).await?;
        let (card, venue) = stands.ok_or("no such card")?;
        let id = core.id();
        let new = NewDelivery {
            id,
            conversation: approval.conversation,
            run: Some(approval.run),
            platform: &venue.platform,
            target: card.target.as_ref(),
            opens_thread: false,
            card: &reminder(&waiting, permalink::of_card(core, &card, &venue)),
            only_for: card.only_for,
        };
        // The row is locked before the channel's lane, as for a click; and a click might have come in between.
        if sql::set_reminder(&mut tx, tenant, approval.delivery, id).await? {
            delivery::enqueue(&mut tx, tenant, &venue, &new, now).await?;
        }
    }
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}

/// Reminds each co-approver who was asked, in the channel of their card.
async fn remind_co_approvers(
    core: &Chat,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    now: Timestamp,
) -> Result<(), WorkError> {
    for (reader, card) in approval.asked_co_approvers() {
        let (card, venue) = delivery::sql::load(conn, tenant, card).await?.ok_or("no such card")?;
        let there = ConversationLocation {
            platform: reader.platform.clone(),
            workspace: reader.workspace.clone(),
            ..venue.clone()
        };
        let id = core.id();
        let new = NewDelivery {
            id,
            conversation: approval.conversation,
            run: Some(approval.run),
            platform: &reader.platform,
            target: card.target.as_ref(),
            opens_thread: false,
            card: &co_approval::reminder_card(approval, reader, permalink::of_card(core, &card, &venue)),
            only_for: Some(reader.person),
        };
        if co_approval::sql::lock_for_reminder(conn, tenant, approval.id).await? {
            delivery::enqueue(conn, tenant, &there, &new, now).await?;
            co_approval::sql::set_reminder(conn, tenant, approval.id, reader.person, id).await?;
        }
    }
    Ok(())
}

/// Updates the reminders of the decided requests of one card, so that they no longer say that the request is pending.
pub(super) async fn close_reminder(
    conn: &mut PgConnection,
    tenant: TenantId,
    all: &[Approval],
    now: Timestamp,
) -> sqlx::Result<()> {
    for approval in all.iter().filter(|approval| approval.status != Status::Pending) {
        for (reader, _) in approval.asked_co_approvers() {
            if let Some(reminder) = reader.reminder {
                delivery::update_card(
                    conn,
                    tenant,
                    reminder,
                    &co_approval::closed_reminder_card(reader),
                    now,
                )
                .await?;
            }
        }
    }
    let reminded = all.iter().find_map(|approval| Some((approval.reminder?, approval)));
    match reminded {
        Some((reminder, of)) if all.iter().all(|approval| approval.status != Status::Pending) => {
            delivery::update_card(conn, tenant, reminder, &closed_reminder_card(of), now).await
        }
        _ => Ok(()),
    }
}

/// Returns the pending requests on the same card without a reminder.
async fn list_pending_on_card(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    now: Timestamp,
) -> sqlx::Result<Vec<Approval>> {
    let mut all = sql::list_beside(conn, tenant, id).await?;
    all.retain(|approval| {
        approval.status == Status::Pending && approval.expires_at > now && approval.reminder.is_none()
    });
    Ok(all)
}
