//! Checks a request against the current rules when it is approved: they might have changed since it was made.

use serde_json::json;
use sqlx::PgConnection;

use super::second::{self, sql::Owner};
use super::{Approval, sql};
use crate::context::Requests;
use crate::policy::{self, Ruling};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};
use nod_people::delivery;
use nod_store::audit;

/// What an approval means under the current rules.
pub(super) enum Anew {
    /// The same as when it was requested.
    Stands,
    /// A co-approver is now required; holds the request with the people who can be asked.
    Two(Box<Approval>),
    /// A co-approver is now required, but there is none; holds the message.
    Nobody(String),
    /// The rules now forbid it, for this reason.
    Never(String),
}

/// Checks the rules again. A co-approver who was required before remains required.
pub(super) async fn look(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
) -> sqlx::Result<Anew> {
    // Without its tool nothing is performed, and the receipt says so.
    let Some(tool) = core.tools.get(&approval.tool) else { return Ok(Anew::Stands) };
    let policy = policy::sql::in_force(conn, tenant, &core.policy).await?;
    let terms = match policy::decide(&policy, &approval.call(&approval.preview, tool.spec().reach)) {
        Ruling::Never(why) => return Ok(Anew::Never(why)),
        Ruling::Ask(terms) if approval.second.is_none() && terms.second().is_some() => terms,
        Ruling::Ask(_) | Ruling::Run => return Ok(Anew::Stands),
    };
    let venue = delivery::sql::venue(conn, tenant, approval.conversation).await?;
    let owner = Owner {
        person: approval.decider,
        account: &approval.preview.account,
        platform: &venue.platform,
        workspace: &venue.workspace,
    };
    Ok(match second::wanted(conn, &core.adapters, tenant, &terms, &owner).await? {
        Err(why) => Anew::Nobody(format!("{why} Nothing was done.")),
        Ok(approvers) => {
            let second = terms.second().map(|list| list.name.clone());
            Anew::Two(Box::new(Approval { second, approvers, ..approval.clone() }))
        }
    })
}

/// Returns whether the rules have come to require a co-approver.
pub(super) async fn wants_two(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
) -> sqlx::Result<bool> {
    Ok(matches!(look(core, conn, tenant, approval).await?, Anew::Two(_) | Anew::Nobody(_)))
}

/// Withdraws a request that the rules now forbid; returns false if it was decided first.
pub(super) async fn forbid(
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    why: &str,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    if !sql::forbid(conn, tenant, approval.id, why, now).await? {
        return Ok(false);
    }
    let detail = json!({ "tool": approval.tool, "revision": approval.revision, "never": why });
    let (by, digest) = (Some(by), Some(approval.digest.as_str()));
    audit::insert_entry(conn, tenant, by, "approval.forbidden", approval.id.0, digest, &detail, now).await?;
    Ok(true)
}

/// Returns the message for the user who clicked.
pub fn forbidden(why: &str) -> String {
    format!("The rules here never allow this: {why}. Nothing was done.")
}
