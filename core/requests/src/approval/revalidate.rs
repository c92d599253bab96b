//! Checks a request against the current rules when it is approved: they might have changed since it was made.

use serde_json::json;
use sqlx::PgConnection;

use super::co_approval::{self, sql::AccountOwner};
use super::{Approval, sql};
use crate::context::Requests;
use crate::policy::{self, Ruling};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};
use nod_people::conversations;
use nod_store::audit;

/// What an approval means under the current rules.
pub(super) enum Revalidation {
    /// The same as when it was requested.
    Unchanged,
    /// A co-approver is now required; holds the request with the people who can be asked.
    NeedsCoApproval(Box<Approval>),
    /// A co-approver is now required, but there is none; holds the message.
    NoCoApprover(String),
    /// The rules now forbid it, for this reason.
    Forbidden(String),
}

/// Checks the rules again. A co-approver who was required before remains required.
pub(super) async fn revalidate(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
) -> sqlx::Result<Revalidation> {
    // Without its tool nothing is performed, and the receipt says so.
    let Some(tool) = core.tools.get(&approval.tool) else { return Ok(Revalidation::Unchanged) };
    let policy = policy::sql::load_effective(conn, tenant, &core.policy).await?;
    let terms = match policy::decide(&policy, &approval.call(&approval.preview, tool.spec().reach)) {
        Ruling::Forbid(why) => return Ok(Revalidation::Forbidden(why)),
        Ruling::Ask(terms) if approval.co_approver_list.is_none() && terms.co_approvers().is_some() => terms,
        Ruling::Ask(_) | Ruling::Allow => return Ok(Revalidation::Unchanged),
    };
    let venue = conversations::load_location(conn, tenant, approval.conversation).await?;
    let owner = AccountOwner {
        person: approval.decider,
        account: &approval.preview.account,
        platform: &venue.platform,
        workspace: &venue.workspace,
    };
    Ok(match co_approval::find_co_approvers(conn, &core.adapters, tenant, &terms, &owner).await? {
        Err(why) => Revalidation::NoCoApprover(format!("{why} Nothing was done.")),
        Ok(approvers) => {
            let second = terms.co_approvers().map(|list| list.name.clone());
            Revalidation::NeedsCoApproval(Box::new(Approval {
                co_approver_list: second,
                co_approvers: approvers,
                ..approval.clone()
            }))
        }
    })
}

/// Returns whether the rules have come to require a co-approver.
pub(super) async fn is_co_approval_required(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
) -> sqlx::Result<bool> {
    Ok(matches!(
        revalidate(core, conn, tenant, approval).await?,
        Revalidation::NeedsCoApproval(_) | Revalidation::NoCoApprover(_)
    ))
}

/// Withdraws a request that the rules now forbid; returns false if it was decided first.
pub(super) async fn close_as_forbidden(
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    why: &str,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    if !sql::mark_forbidden(conn, tenant, approval.id, why, now).await? {
        return Ok(false);
    }
    let detail = json!({ "tool": approval.tool, "revision": approval.revision, "never": why });
    let (by, digest) = (Some(by), Some(approval.digest.as_str()));
    audit::insert_entry(conn, tenant, by, "approval.forbidden", approval.id.0, digest, &detail, now).await?;
    Ok(true)
}

/// Returns the message for the user who clicked.
pub fn forbidden_text(why: &str) -> String {
    format!("The rules here don't allow this: {why}. Nothing was done.")
}
