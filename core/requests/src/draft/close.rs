//! The end of a draft: sent, discarded or deleted elsewhere. Its card says which.

use serde_json::json;
use sqlx::PgConnection;

use super::{card, sql};
use crate::context::Requests;
use crate::effect::{self, sql::NewEffect};
use crate::policy::{self, Ruling};
use nod_contract::clock::Timestamp;
use nod_contract::digest::digest;
use nod_contract::ids::{EffectId, PersonId, TenantId};
use nod_contract::privacy::Audience;
use nod_contract::tool::draft::CloseReason;
use nod_contract::tool::{FollowUp, ToolError, ToolResult};
use nod_people::delivery;
use nod_store::audit;

/// The result of a click on [Discard].
pub enum DiscardResult {
    /// It is being discarded.
    Started,
    /// It is not open.
    NotOpen,
    /// The rules forbid it, for this reason.
    Forbidden(String),
}

/// Handles a click on [Discard]: plans the effect. If the rules require an approval, the click is the approval.
pub async fn discard(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    row: &sql::StoredDraft,
    now: Timestamp,
) -> sqlx::Result<DiscardResult> {
    if let Some(tool) = core.tools.get(&row.draft.tools.discard) {
        let call = policy::PolicyInput {
            tool: &row.draft.tools.discard,
            reach: tool.spec().reach,
            account: "",
            recipients: &[],
            has_untrusted_content: row.outside,
            overwrites_user_draft: true,
        };
        let policy = policy::sql::load_effective(conn, tenant, &core.policy).await?;
        if let Ruling::Forbid(why) = policy::decide(&policy, &call) {
            return Ok(DiscardResult::Forbidden(why));
        }
    }
    let payload = row.draft.payload();
    let digest = digest(&payload).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
    let new = NewEffect {
        id: EffectId(core.ids.next()),
        conversation: row.conversation,
        run: row.run,
        call_id: "pressed",
        approval: None,
        person: row.person,
        tool: &row.draft.tools.discard,
        payload: &payload,
        digest: &digest,
        recipients: &[],
        draft: Some(&row.draft.id),
        undo_window: chrono::TimeDelta::zero(),
    };
    if !sql::mark_discarding(conn, tenant, row.id, now).await? {
        return Ok(DiscardResult::NotOpen);
    }
    effect::insert(conn, tenant, &new, now).await?;
    let detail = json!({ "tool": row.draft.tools.discard });
    audit::insert_entry(
        conn,
        tenant,
        Some(row.person),
        "draft.discard_requested",
        row.id.0,
        Some(&digest),
        &detail,
        now,
    )
    .await?;
    delivery::update_card(conn, tenant, row.delivery, &card::discarding_card(), now).await?;
    Ok(DiscardResult::Started)
}

/// Applies the end of an effect to the draft it worked on, in the commit of that end.
pub async fn close_after_effect(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    worked_on: Option<&str>,
    outcome: &ToolResult,
    now: Timestamp,
) -> sqlx::Result<()> {
    match outcome {
        Ok(output) => match &output.follow_up {
            FollowUp::DraftClosed { draft, reason: how } => {
                close(conn, tenant, person, draft, *how, now).await
            }
            FollowUp::Nothing
            | FollowUp::Draft(_)
            | FollowUp::MailThread(_)
            | FollowUp::CheckPart { .. }
            | FollowUp::File { .. }
            | FollowUp::Work { .. }
            | FollowUp::Outcome(_) => Ok(()),
        },
        Err(fault) => match worked_on {
            Some(draft) => reopen_after_failed_discard(conn, tenant, person, draft, fault, now).await,
            None => Ok(()),
        },
    }
}

/// Closes the draft and shows the reason on its card.
pub async fn close(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    draft: &str,
    how: CloseReason,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(row) = sql::find_by_provider_id(conn, tenant, person, draft).await? else { return Ok(()) };
    if !sql::mark_closed(conn, tenant, row.id, how, now).await? {
        return Ok(());
    }
    let action = format!("draft.{}", how.as_str());
    audit::insert_entry(conn, tenant, Some(person), &action, row.id.0, None, &json!({}), now).await?;
    delivery::update_card(conn, tenant, row.delivery, &card::closed_draft_card(&row.draft, how), now).await
}

/// Reopens a draft that could not be discarded, in the state in which it was found.
async fn reopen_after_failed_discard(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    draft: &str,
    fault: &ToolError,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(row) = sql::find_by_provider_id(conn, tenant, person, draft).await? else { return Ok(()) };
    let (found, only_for) = match fault {
        ToolError::Conflict { current: found } => match (&found.follow_up, found.audience) {
            (FollowUp::Draft(draft), Audience::Person(person)) => (draft.as_ref(), Some(person)),
            (FollowUp::Draft(draft), Audience::Channel) => (draft.as_ref(), None),
            _ => (&row.draft, None),
        },
        _ => (&row.draft, None),
    };
    if sql::mark_open(conn, tenant, row.id, found, only_for, now).await? {
        delivery::update_card(
            conn,
            tenant,
            row.delivery,
            &card::discard_failed_card(row.id, &row.draft, fault),
            now,
        )
        .await?;
    }
    Ok(())
}
