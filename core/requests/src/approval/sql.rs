//! Rows of approvals.

use chrono::TimeDelta;
use sqlx::PgConnection;
use uuid::Uuid;

use super::co_approval::{self, DecisionStep};
use super::typed_yes::ReferencedCard;
use super::{Approval, Decision, EffectState, Status};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, ConversationId, DeliveryId, EffectId, PersonId, RunId, TenantId};
use nod_contract::privacy::Provenance;
use nod_contract::provider::Provider;
use nod_contract::tool::Preview;
use nod_store::jobs::sql::{from_json, to_json};

pub async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into approvals (tenant_id, id, conversation_id, run_id, call_id, tool, revision, preview, digest,
             risks, decider_id, status, expires_at, delivery_id, created_at, undo_window_seconds, untrusted_in_view, retry_of, co_approver_list,
             sources)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending', $12, $13, $14, $15, $16, $17, $18, $19)",
        tenant.0,
        approval.id.0,
        approval.conversation.0,
        approval.run.0,
        approval.call_id,
        approval.tool,
        approval.revision,
        to_json(&approval.preview)? as _,
        approval.digest,
        &approval.risks,
        approval.decider.0,
        approval.expires_at,
        approval.delivery.0,
        now,
        seconds(approval.undo_window),
        approval.untrusted_in_view,
        approval.retry_of.map(|a| a.0),
        approval.co_approver_list,
        &approval.sources
    )
    .execute(&mut *conn)
    .await?;
    if approval.co_approver_list.is_some() {
        co_approval::sql::replace_co_approvers(conn, tenant, approval.id, &approval.co_approvers).await?;
    }
    Ok(())
}

fn seconds(undo: TimeDelta) -> i32 {
    i32::try_from(undo.num_seconds()).unwrap_or(i32::MAX)
}

struct Row {
    id: Uuid,
    conversation_id: Uuid,
    run_id: Uuid,
    call_id: String,
    tool: String,
    revision: i32,
    preview: serde_json::Value,
    digest: String,
    risks: Vec<String>,
    sources: Vec<String>,
    decider_id: Uuid,
    decider_name: String,
    zone: Option<String>,
    status: String,
    decided_at: Option<Timestamp>,
    decided_by: Option<String>,
    co_approver_list: Option<String>,
    co_approvers: serde_json::Value,
    owner_approved_at: Option<Timestamp>,
    reason: Option<String>,
    expires_at: Timestamp,
    delivery_id: Uuid,
    undo_window_seconds: i32,
    untrusted_in_view: bool,
    reminder_id: Option<Uuid>,
    selected: bool,
    retry_of: Option<Uuid>,
    asked_again: bool,
    first_done: bool,
    effect_id: Option<Uuid>,
    outcome: Option<serde_json::Value>,
    effect_at: Option<Timestamp>,
    starts_at: Option<Timestamp>,
    released: Option<bool>,
    rate_limited_by: Option<String>,
    retry_at: Option<Timestamp>,
}

impl Row {
    fn into_approval(self) -> sqlx::Result<Approval> {
        let status: Status = from_json(serde_json::Value::String(self.status))?;
        let outcome = self.outcome.map(from_json).transpose()?;
        Ok(Approval {
            id: ApprovalId(self.id),
            conversation: ConversationId(self.conversation_id),
            run: RunId(self.run_id),
            call_id: self.call_id,
            tool: self.tool,
            revision: self.revision,
            preview: from_json(self.preview)?,
            digest: self.digest,
            risks: self.risks,
            sources: self.sources,
            decider: PersonId(self.decider_id),
            decider_name: self.decider_name,
            zone: self.zone.unwrap_or_else(|| "UTC".to_owned()),
            status,
            decided_at: self.decided_at,
            decided_by: self.decided_by,
            co_approver_list: self.co_approver_list,
            co_approvers: from_json(self.co_approvers)?,
            owner_approved_at: self.owner_approved_at,
            reason: self.reason,
            expires_at: self.expires_at,
            delivery: DeliveryId(self.delivery_id),
            undo_window: TimeDelta::seconds(self.undo_window_seconds.into()),
            untrusted_in_view: self.untrusted_in_view,
            reminder: self.reminder_id.map(DeliveryId),
            selected: self.selected,
            retry_of: self.retry_of.map(ApprovalId),
            was_retried: self.asked_again,
            original_done: self.first_done,
            effect: self.effect_id.zip(self.effect_at).map(|(id, at)| EffectState {
                id: EffectId(id),
                at,
                starts_at: self.starts_at.unwrap_or(at),
                released: self.released.unwrap_or(true),
                outcome,
                rate_limited_until: self
                    .rate_limited_by
                    .as_deref()
                    .and_then(Provider::from_name)
                    .zip(self.retry_at),
            }),
        })
    }
}

pub async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
) -> sqlx::Result<Option<Approval>> {
    let row = sqlx::query_as!(
        Row,
        r#"select a.id, a.conversation_id, a.run_id, a.call_id, a.tool, a.revision, a.preview, a.digest, a.risks, a.sources,
             a.decider_id, coalesce(nullif(p.full_name, ''), p.name) as "decider_name!",
             coalesce((select h.zone from working_hours h where h.tenant_id = p.tenant_id and h.person_id = p.id),
                 p.zone) as zone, a.status,
             a.decided_at, (select coalesce(nullif(o.full_name, ''), o.name) from people o
                 where o.tenant_id = a.tenant_id and o.id = a.decided_by) as decided_by,
             a.co_approver_list, case when a.co_approver_list is null then '[]' else co_approvers_of(a.tenant_id, a.id) end as "co_approvers!", a.owner_approved_at, a.reason, a.expires_at, a.delivery_id, a.undo_window_seconds, a.untrusted_in_view, a.reminder_id, a.selected, a.retry_of,
             exists (select 1 from approvals o where o.tenant_id = a.tenant_id and o.retry_of = a.id)
                 as "asked_again!",
             exists (select 1 from effects f where f.tenant_id = a.tenant_id and f.approval_id = a.retry_of
                 and f.status = 'done') as "first_done!",
             e.id as "effect_id?", e.outcome as "outcome?", e.updated_at as "effect_at?", e.starts_at as "starts_at?",
             e.released as "released?", e.rate_limited_by as "rate_limited_by?", e.retry_at as "retry_at?"
         from approvals a
         join people p on p.tenant_id = a.tenant_id and p.id = a.decider_id
         left join effects e on e.tenant_id = a.tenant_id and e.approval_id = a.id
         where a.tenant_id = $1 and a.id = $2"#,
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    row.map(Row::into_approval).transpose()
}

/// Loads all requests on a card, in the order in which they were made.
pub(crate) async fn list_on_card(
    conn: &mut PgConnection,
    tenant: TenantId,
    card: DeliveryId,
) -> sqlx::Result<Vec<Approval>> {
    list_together(conn, tenant, CardRef::Delivery(card)).await
}

/// Loads all requests on the card of this one.
pub(crate) async fn list_beside(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
) -> sqlx::Result<Vec<Approval>> {
    list_together(conn, tenant, CardRef::WithRequest(id)).await
}

/// How a card with requests is known.
enum CardRef {
    Delivery(DeliveryId),
    /// By one of its requests.
    WithRequest(ApprovalId),
}

async fn list_together(
    conn: &mut PgConnection,
    tenant: TenantId,
    card: CardRef,
) -> sqlx::Result<Vec<Approval>> {
    let (delivery, request) = match card {
        CardRef::Delivery(id) => (Some(id.0), None),
        CardRef::WithRequest(id) => (None, Some(id.0)),
    };
    let rows = sqlx::query_as!(
        Row,
        r#"select a.id, a.conversation_id, a.run_id, a.call_id, a.tool, a.revision, a.preview, a.digest, a.risks, a.sources,
             a.decider_id, coalesce(nullif(p.full_name, ''), p.name) as "decider_name!",
             coalesce((select h.zone from working_hours h where h.tenant_id = p.tenant_id and h.person_id = p.id),
                 p.zone) as zone, a.status,
             a.decided_at, (select coalesce(nullif(o.full_name, ''), o.name) from people o
                 where o.tenant_id = a.tenant_id and o.id = a.decided_by) as decided_by,
             a.co_approver_list, case when a.co_approver_list is null then '[]' else co_approvers_of(a.tenant_id, a.id) end as "co_approvers!", a.owner_approved_at, a.reason, a.expires_at, a.delivery_id, a.undo_window_seconds, a.untrusted_in_view, a.reminder_id, a.selected, a.retry_of,
             exists (select 1 from approvals o where o.tenant_id = a.tenant_id and o.retry_of = a.id)
                 as "asked_again!",
             exists (select 1 from effects f where f.tenant_id = a.tenant_id and f.approval_id = a.retry_of
                 and f.status = 'done') as "first_done!",
             e.id as "effect_id?", e.outcome as "outcome?", e.updated_at as "effect_at?", e.starts_at as "starts_at?",
             e.released as "released?", e.rate_limited_by as "rate_limited_by?", e.retry_at as "retry_at?"
         from approvals a
         join people p on p.tenant_id = a.tenant_id and p.id = a.decider_id
         left join effects e on e.tenant_id = a.tenant_id and e.approval_id = a.id
         where a.tenant_id = $1 and a.delivery_id = coalesce($2, (
             select o.delivery_id from approvals o where o.tenant_id = $1 and o.id = $3))
         order by a.created_at, a.id"#,
        tenant.0,
        delivery,
        request
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Row::into_approval).collect()
}

/// Returns the card on which this person decides, as [`Approval::card_for_person`] does for one that is loaded.
pub async fn find_card_for_person(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    person: PersonId,
) -> sqlx::Result<Option<DeliveryId>> {
    let card = sqlx::query_scalar!(
        r#"select coalesce(s.delivery_id, a.delivery_id) as "card!" from approvals a
         left join co_approvers s on s.tenant_id = a.tenant_id and s.approval_id = a.id and s.person_id = $3
             and a.decider_id <> $3
         where a.tenant_id = $1 and a.id = $2"#,
        tenant.0,
        id.0,
        person.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(card.map(DeliveryId))
}

/// Where to search for pending requests.
#[derive(Debug, Clone, Copy)]
pub enum PendingFilter {
    /// In all conversations.
    Everywhere,
    /// In this conversation.
    Conversation(ConversationId),
    /// In this conversation, if everybody there sees the card.
    OpenlyIn(ConversationId),
}

/// Returns whether the same act was requested again after this one, and waits or was approved.
pub async fn was_requested_since(
    conn: &mut PgConnection,
    tenant: TenantId,
    old: &Approval,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (
             select 1 from approvals n join approvals o on o.tenant_id = n.tenant_id and o.id = $2
             where n.tenant_id = $1 and n.decider_id = o.decider_id and n.id <> o.id and n.tool = o.tool
               and n.digest = o.digest and n.created_at > o.created_at
               and n.status in ('pending', 'approved')) as "is!""#,
        tenant.0,
        old.id.0
    )
    .fetch_one(conn)
    .await
}

/// Loads the pending requests that a person decides, also those that wait for a co-approver; the oldest first, at most
/// 20. Requests on which the person is a co-approver are found only with `Everywhere`, so they are in no prompt.
pub async fn list_pending(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    within: PendingFilter,
) -> sqlx::Result<Vec<Approval>> {
    let (conversation, openly) = match within {
        PendingFilter::Everywhere => (None, false),
        PendingFilter::Conversation(id) => (Some(id), false),
        PendingFilter::OpenlyIn(id) => (Some(id), true),
    };
    let rows = sqlx::query_as!(
        Row,
        r#"select a.id, a.conversation_id, a.run_id, a.call_id, a.tool, a.revision, a.preview, a.digest, a.risks, a.sources,
             a.decider_id, coalesce(nullif(p.full_name, ''), p.name) as "decider_name!",
             coalesce((select h.zone from working_hours h where h.tenant_id = p.tenant_id and h.person_id = p.id),
                 p.zone) as zone, a.status,
             a.decided_at, (select coalesce(nullif(o.full_name, ''), o.name) from people o
                 where o.tenant_id = a.tenant_id and o.id = a.decided_by) as decided_by,
             a.co_approver_list, case when a.co_approver_list is null then '[]' else co_approvers_of(a.tenant_id, a.id) end as "co_approvers!", a.owner_approved_at, a.reason, a.expires_at, a.delivery_id, a.undo_window_seconds, a.untrusted_in_view, a.reminder_id, a.selected, a.retry_of,
             false as "asked_again!", false as "first_done!", null::uuid as "effect_id?", null::jsonb as "outcome?",
             null::timestamptz as "effect_at?", null::timestamptz as "starts_at?", null::boolean as "released?",
             null::text as "rate_limited_by?", null::timestamptz as "retry_at?"
         from approvals a
         join people p on p.tenant_id = a.tenant_id and p.id = a.decider_id
         join deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
         where a.tenant_id = $1 and a.status = 'pending'
           and (a.decider_id = $2 or $3::uuid is null and a.owner_approved_at is not null and exists (
               select 1 from co_approvers s where s.tenant_id = $1 and s.approval_id = a.id and s.person_id = $2
                 and s.delivery_id is not null))
           and ($3::uuid is null or a.conversation_id = $3) and (not $4 or d.only_for is null)
         order by a.created_at limit 20"#,
        tenant.0,
        person.0,
        conversation.map(|c| c.0),
        openly
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Row::into_approval).collect()
}

/// Returns all pending requests on this person's accounts.
pub(crate) async fn list_pending_on_account(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Vec<ApprovalId>> {
    let ids = sqlx::query_scalar!(
        "select id from approvals where tenant_id = $1 and decider_id = $2 and status = 'pending'
         order by created_at, id",
        tenant.0,
        person.0
    )
    .fetch_all(conn)
    .await?;
    Ok(ids.into_iter().map(ApprovalId).collect())
}

/// Returns the requests of a run with that status.
pub async fn list_by_run(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    status: Status,
) -> sqlx::Result<Vec<ApprovalId>> {
    let ids = sqlx::query_scalar!(
        "select id from approvals where tenant_id = $1 and run_id = $2 and status = $3",
        tenant.0,
        run.0,
        status.as_str()
    )
    .fetch_all(conn)
    .await?;
    Ok(ids.into_iter().map(ApprovalId).collect())
}

/// Ends a pending request without a decision; returns true for the one caller that wins.
pub async fn resolve(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    to: Status,
    by: Option<PersonId>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let settled = sqlx::query!(
        "update approvals set status = $3, decided_by = $4, decided_at = $5
         where tenant_id = $1 and id = $2 and status = 'pending'",
        tenant.0,
        id.0,
        to.as_str(),
        by.map(|p| p.0),
        now
    )
    .execute(conn)
    .await?;
    Ok(settled.rows_affected() == 1)
}

/// Applies a person's decision about the revision that they saw: the owner's, or after the owner's approval that of a
/// co-approver who was asked and is still a member. Returns true for the one caller that wins.
pub async fn mark_decided(
    conn: &mut PgConnection,
    tenant: TenantId,
    decision: &Decision<'_>,
    step: DecisionStep,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let to = match step {
        DecisionStep::Ignored => return Ok(false),
        DecisionStep::OwnerApproved => Status::Pending,
        DecisionStep::Approved => Status::Approved,
        DecisionStep::Denied => Status::Denied,
    };
    let first = step == DecisionStep::OwnerApproved;
    let decided = sqlx::query!(
        "update approvals set status = $3,
             decided_by = case when $8 then decided_by else $4 end,
             decided_at = case when $8 then decided_at else $5 end,
             owner_approved_at = case when $8 then $5 else owner_approved_at end, reason = $7
         where tenant_id = $1 and id = $2 and status = 'pending' and expires_at > $5 and revision = $6
           and case
               when decider_id = $4 then case $3
                   when 'pending' then co_approver_list is not null and owner_approved_at is null
                   when 'approved' then co_approver_list is null
                   else true end
               else co_approver_list is not null and owner_approved_at is not null and not $8 and exists (
                   select 1 from co_approvers s
                   join identities i on i.tenant_id = s.tenant_id and i.person_id = s.person_id
                       and i.platform = s.platform and i.workspace = s.workspace and i.membership = 'member'
                   where s.tenant_id = $1 and s.approval_id = $2 and s.person_id = $4
                     and s.delivery_id is not null) end",
        tenant.0,
        decision.id.0,
        to.as_str(),
        decision.by.0,
        now,
        decision.revision,
        decision.reason,
        first
    )
    .execute(conn)
    .await?;
    Ok(decided.rows_affected() == 1)
}

/// Stores that the rules now require a co-approver for a pending revision; returns true if they did not before.
pub(super) async fn set_co_approver_list(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    revision: i32,
    second: &str,
) -> sqlx::Result<bool> {
    let wanted = sqlx::query!(
        "update approvals set co_approver_list = $3
         where tenant_id = $1 and id = $2 and status = 'pending' and revision = $4 and co_approver_list is null",
        tenant.0,
        id.0,
        second,
        revision
    )
    .execute(conn)
    .await?;
    Ok(wanted.rows_affected() == 1)
}

/// Withdraws a request that the rules have come to forbid, with the reason; returns true for the one caller that wins.
pub(super) async fn mark_forbidden(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    why: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let forbidden = sqlx::query!(
        "update approvals set status = 'withdrawn', reason = $3, decided_at = $4
         where tenant_id = $1 and id = $2 and status = 'pending'",
        tenant.0,
        id.0,
        why,
        now
    )
    .execute(conn)
    .await?;
    Ok(forbidden.rows_affected() == 1)
}

/// The next revision of an approval that its owner edited.
pub struct Revision<'a> {
    pub number: i32,
    pub preview: &'a Preview,
    pub digest: &'a str,
    pub risks: &'a [String],
    /// How long an approval of it can be undone.
    pub undo_window: TimeDelta,
    /// The name of the list of which one more person must approve it.
    pub co_approver_list: Option<&'a str>,
}

/// Stores the next revision, which nobody has approved yet; returns true for the one caller that wins.
pub async fn update_revision(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    by: PersonId,
    next: &Revision<'_>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let revised = sqlx::query!(
        "update approvals set revision = $3, preview = $4, digest = $5, risks = $6, undo_window_seconds = $9,
             co_approver_list = $10, owner_approved_at = null
         where tenant_id = $1 and id = $2 and status = 'pending' and decider_id = $7 and expires_at > $8
           and revision = $3 - 1",
        tenant.0,
        id.0,
        next.number,
        to_json(next.preview)? as _,
        next.digest,
        next.risks,
        by.0,
        now,
        seconds(next.undo_window),
        next.co_approver_list
    )
    .execute(conn)
    .await?;
    Ok(revised.rows_affected() == 1)
}

/// approved → undone; its effect was cancelled in the same transaction.
pub(super) async fn mark_undone(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update approvals set status = 'undone', decided_at = $3, decided_by = $4
         where tenant_id = $1 and id = $2 and status = 'approved'",
        tenant.0,
        id.0,
        now,
        by.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Stores the message that reminds of the pending requests on a card; returns false if none is pending there.
pub(super) async fn set_reminder(
    conn: &mut PgConnection,
    tenant: TenantId,
    card: DeliveryId,
    reminder: DeliveryId,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update approvals set reminder_id = $3 where tenant_id = $1 and delivery_id = $2
             and status = 'pending' and owner_approved_at is null and reminder_id is null",
        tenant.0,
        card.0,
        reminder.0
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Ticks or unticks one of several; returns false if it is not pending or this person does not decide it.
pub(super) async fn set_selected(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    by: PersonId,
    selected: bool,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update approvals set selected = $4
         where tenant_id = $1 and id = $2 and decider_id = $3 and status = 'pending'",
        tenant.0,
        id.0,
        by.0,
        selected
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Locks a request, so that of several clicks on [Send again] one comes first.
pub async fn lock_row(conn: &mut PgConnection, tenant: TenantId, id: ApprovalId) -> sqlx::Result<()> {
    sqlx::query!(
        "select 1 as held from approvals where tenant_id = $1 and id = $2 for update",
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(())
}

/// Returns the request that repeats this one, if it is pending or approved.
pub(super) async fn find_pending_retry(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
) -> sqlx::Result<Option<ApprovalId>> {
    let again = sqlx::query_scalar!(
        "select id from approvals
         where tenant_id = $1 and retry_of = $2 and status in ('pending', 'approved')",
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(again.map(ApprovalId))
}

/// approved → superseded, if its effect has not begun.
pub(super) async fn mark_cancelled(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update approvals set status = 'superseded' where tenant_id = $1 and id = $2 and status = 'approved'",
        tenant.0,
        id.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Loads what a typed approval could refer to: the card, if its current version was posted before `then`, both by the
/// platform's clock. If the platform reports no time for that version, no message can refer to it.
pub(super) async fn load_referenced_card(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    by: PersonId,
    then: Timestamp,
) -> sqlx::Result<Option<ReferencedCard>> {
    sqlx::query_as!(
        ReferencedCard,
        r#"select d.posted_message->>'message' as "card!", (c.strangers_at >= d.version_posted_at) is true or exists (
             select 1 from messages m
             where m.tenant_id = a.tenant_id and m.conversation_id = a.conversation_id and m.role = 'human'
               and m.person_id is distinct from $3 and coalesce(m.said_at, m.at) >= d.version_posted_at) as "others!"
         from approvals a
         join deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
         join conversations c on c.tenant_id = a.tenant_id and c.id = a.conversation_id
         where a.tenant_id = $1 and a.id = $2 and d.posted_version = d.version and d.version_posted_at <= $4"#,
        tenant.0,
        id.0,
        by.0,
        then
    )
    .fetch_optional(conn)
    .await
}

/// Locks the requests on a card, so that the decision is about what was read.
pub(super) async fn lock_card(
    conn: &mut PgConnection,
    tenant: TenantId,
    card: DeliveryId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "select 1 as held from approvals where tenant_id = $1 and delivery_id = $2 order by id for update",
        tenant.0,
        card.0
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}

/// Moves a request to its own card.
pub(super) async fn set_delivery(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    card: DeliveryId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update approvals set delivery_id = $3 where tenant_id = $1 and id = $2",
        tenant.0,
        id.0,
        card.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Loads the provenance of the run that asked; `None` if there is no such run.
pub(super) async fn provenance(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
) -> sqlx::Result<Option<Provenance>> {
    let row = sqlx::query!(
        r#"select state->'provenance' as "provenance!" from runs where tenant_id = $1 and id = $2"#,
        tenant.0,
        run.0
    )
    .fetch_optional(conn)
    .await?;
    row.map(|row| from_json(row.provenance)).transpose()
}
