//! Rows of the possible co-approvers of a request.

use sqlx::PgConnection;

use super::CoApprover;
use crate::approval::Approval;
use crate::policy::ApproverList;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, DeliveryId, PersonId, TenantId};

/// The owner for whom co-approvers are searched, and where the request was made.
pub struct AccountOwner<'a> {
    pub person: PersonId,
    /// The account that would be used: a person with that address is the owner.
    pub account: &'a str,
    pub platform: &'a str,
    pub workspace: &'a str,
}

/// Returns the members on the list. An address counts if a platform reports it. A person with an address or account of
/// the owner's is the owner, whatever their name. If the list names the owner too, a person with neither might also be
/// the owner, unless both are known in one workspace.
pub(super) async fn list_candidates(
    conn: &mut PgConnection,
    tenant: TenantId,
    list: &ApproverList,
    owner: &AccountOwner<'_>,
) -> sqlx::Result<Vec<CoApprover>> {
    let (addresses, users) = list.to_lookup_keys();
    let rows = sqlx::query!(
        r#"with own as (
             select lower($3) as email
             union select lower(email) from people where tenant_id = $1 and id = $2
             union select lower(connected_email) from people where tenant_id = $1 and id = $2),
         listed as (
             select exists (select 1 from own where email = any($4)) or exists (
                 select 1 from identities o where o.tenant_id = $1 and o.person_id = $2
                   and o.platform || ':' || o.user_ref = any($5)) as owner)
         select distinct on (p.id) p.id, coalesce(nullif(p.full_name, ''), p.name) as "name!",
             coalesce((select h.zone from working_hours h where h.tenant_id = p.tenant_id and h.person_id = p.id),
                 p.zone, 'UTC') as "zone!", i.platform, i.workspace
         from people p
         join identities i on i.tenant_id = p.tenant_id and i.person_id = p.id and i.membership = 'member'
         join directories d on d.tenant_id = i.tenant_id and d.platform = i.platform and d.workspace = i.workspace
         where p.tenant_id = $1 and p.id <> $2
           and not exists (select 1 from own where email in (lower(p.email), lower(p.connected_email)))
           and (coalesce(p.email, p.connected_email) is not null or not (select owner from listed) or exists (
               select 1 from identities t
               join identities o on o.tenant_id = t.tenant_id and o.platform = t.platform
                   and o.workspace = t.workspace and o.person_id = $2
               where t.tenant_id = $1 and t.person_id = p.id))
           and (lower(p.email) = any($4) or exists (
               select 1 from identities u where u.tenant_id = $1 and u.person_id = p.id and u.membership = 'member'
                 and u.platform || ':' || u.user_ref = any($5)))
         order by p.id, (i.platform = $6 and i.workspace = $7) desc, i.platform, i.workspace"#,
        tenant.0,
        owner.person.0,
        owner.account,
        &addresses,
        &users,
        owner.platform,
        owner.workspace
    )
    .fetch_all(conn)
    .await?;
    let approver = |row: (uuid::Uuid, String, String, String, String)| CoApprover {
        person: PersonId(row.0),
        name: row.1,
        zone: row.2,
        platform: row.3,
        workspace: row.4,
        display_limit: 0,
        delivery: None,
        reminder: None,
        approved_at: None,
    };
    Ok(rows.into_iter().map(|r| approver((r.id, r.name, r.zone, r.platform, r.workspace))).collect())
}

/// Adds these co-approvers to a request that only its owner had to approve; changes nothing if it required one already.
pub async fn require_co_approvers(
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
) -> sqlx::Result<()> {
    let Approval { id, revision, co_approver_list: second, co_approvers: approvers, .. } = approval;
    let Some(list) = second else { return Ok(()) };
    if super::super::sql::set_co_approver_list(conn, tenant, *id, *revision, list).await? {
        replace_co_approvers(conn, tenant, *id, approvers).await?;
    }
    Ok(())
}

/// Sets the possible co-approvers of a request, replacing all others.
pub async fn replace_co_approvers(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    all: &[CoApprover],
) -> sqlx::Result<()> {
    let people: Vec<_> = all.iter().map(|one| one.person.0).collect();
    let platforms: Vec<_> = all.iter().map(|one| one.platform.clone()).collect();
    let workspaces: Vec<_> = all.iter().map(|one| one.workspace.clone()).collect();
    let rooms: Vec<i64> =
        all.iter().map(|one| i64::try_from(one.display_limit).unwrap_or(i64::MAX)).collect();
    sqlx::query!("delete from co_approvers where tenant_id = $1 and approval_id = $2", tenant.0, id.0)
        .execute(&mut *conn)
        .await?;
    sqlx::query!(
        "insert into co_approvers (tenant_id, approval_id, person_id, platform, workspace, display_limit)
         select $1, $2, * from unnest($3::uuid[], $4::text[], $5::text[], $6::bigint[])",
        tenant.0,
        id.0,
        &people,
        &platforms,
        &workspaces,
        &rooms
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns whether they are still a member where they would be asked.
pub(super) async fn is_still_member(
    conn: &mut PgConnection,
    tenant: TenantId,
    one: &CoApprover,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (
             select 1 from identities where tenant_id = $1 and person_id = $2 and platform = $3 and workspace = $4
               and membership = 'member') as "belongs!""#,
        tenant.0,
        one.person.0,
        one.platform,
        one.workspace
    )
    .fetch_one(conn)
    .await
}

/// Stores the card by which they were asked about the current revision.
pub(super) async fn mark_asked(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    person: PersonId,
    card: DeliveryId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update co_approvers set delivery_id = $4, reminder_id = null
         where tenant_id = $1 and approval_id = $2 and person_id = $3",
        tenant.0,
        id.0,
        person.0,
        card.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Stores their approval, which completes the request.
pub async fn mark_approved(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    person: PersonId,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update co_approvers set approved_at = $4 where tenant_id = $1 and approval_id = $2 and person_id = $3",
        tenant.0,
        id.0,
        person.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns whether a request still waits for a co-approver; if so, locks it until the transaction ends.
pub(crate) async fn lock_for_reminder(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
) -> sqlx::Result<bool> {
    let waits = sqlx::query_scalar!(
        "select id from approvals where tenant_id = $1 and id = $2 and status = 'pending' and owner_approved_at is not null
         for update",
        tenant.0,
        id.0
    );
    Ok(waits.fetch_optional(conn).await?.is_some())
}

/// Stores the message that reminds one of them.
pub async fn set_reminder(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    person: PersonId,
    reminder: DeliveryId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update co_approvers set reminder_id = $4 where tenant_id = $1 and approval_id = $2 and person_id = $3",
        tenant.0,
        id.0,
        person.0,
        reminder.0
    )
    .execute(conn)
    .await?;
    Ok(())
}
