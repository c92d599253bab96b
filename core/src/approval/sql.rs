//! Rows of approvals.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{Approval, EffectEnd, Status};
use crate::clock::Timestamp;
use crate::ids::{ApprovalId, ConversationId, DeliveryId, PersonId, RunId, TenantId};
use crate::jobs::sql::{json, parsed};

pub(crate) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into approvals (tenant_id, id, conversation_id, run_id, call_id, tool, revision, preview, digest,
             risks, decider_id, status, expires_at, delivery_id, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending', $12, $13, $14)",
        tenant.0,
        approval.id.0,
        approval.conversation.0,
        approval.run.0,
        approval.call_id,
        approval.tool,
        approval.revision,
        json(&approval.preview)?,
        approval.digest,
        &approval.risks,
        approval.decider.0,
        approval.expires_at,
        approval.delivery.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
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
    decider_id: Uuid,
    decider_name: String,
    zone: Option<String>,
    status: String,
    decided_at: Option<Timestamp>,
    expires_at: Timestamp,
    delivery_id: Uuid,
    outcome: Option<serde_json::Value>,
    effect_at: Option<Timestamp>,
}

impl Row {
    fn into_approval(self) -> sqlx::Result<Approval> {
        let status: Status = parsed(serde_json::Value::String(self.status))?;
        let outcome = self.outcome.map(parsed).transpose()?;
        Ok(Approval {
            id: ApprovalId(self.id),
            conversation: ConversationId(self.conversation_id),
            run: RunId(self.run_id),
            call_id: self.call_id,
            tool: self.tool,
            revision: self.revision,
            preview: parsed(self.preview)?,
            digest: self.digest,
            risks: self.risks,
            decider: PersonId(self.decider_id),
            decider_name: self.decider_name,
            zone: self.zone.unwrap_or_else(|| "UTC".to_owned()),
            status,
            decided_at: self.decided_at,
            expires_at: self.expires_at,
            delivery: DeliveryId(self.delivery_id),
            effect: self.effect_at.map(|at| EffectEnd { at, outcome }),
        })
    }
}

pub(crate) async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
) -> sqlx::Result<Option<Approval>> {
    let row = sqlx::query_as!(
        Row,
        r#"select a.id, a.conversation_id, a.run_id, a.call_id, a.tool, a.revision, a.preview, a.digest, a.risks,
             a.decider_id, coalesce(nullif(p.full_name, ''), p.name) as "decider_name!", p.zone, a.status,
             a.decided_at, a.expires_at, a.delivery_id, e.outcome as "outcome?", e.updated_at as "effect_at?"
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

/// Where to look for what waits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Within {
    /// In every conversation.
    Everywhere,
    /// In this one.
    Conversation(ConversationId),
    /// In this one, where everybody there sees the card.
    OpenlyIn(ConversationId),
}

/// What waits for a person's nod, oldest first, at most 20.
pub(crate) async fn pending(
    conn: &mut PgConnection,
    tenant: TenantId,
    decider: PersonId,
    within: Within,
) -> sqlx::Result<Vec<Approval>> {
    let (conversation, openly) = match within {
        Within::Everywhere => (None, false),
        Within::Conversation(id) => (Some(id), false),
        Within::OpenlyIn(id) => (Some(id), true),
    };
    let rows = sqlx::query_as!(
        Row,
        r#"select a.id, a.conversation_id, a.run_id, a.call_id, a.tool, a.revision, a.preview, a.digest, a.risks,
             a.decider_id, coalesce(nullif(p.full_name, ''), p.name) as "decider_name!", p.zone, a.status,
             a.decided_at, a.expires_at, a.delivery_id, null::jsonb as "outcome?",
             null::timestamptz as "effect_at?"
         from approvals a
         join people p on p.tenant_id = a.tenant_id and p.id = a.decider_id
         join deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
         where a.tenant_id = $1 and a.decider_id = $2 and a.status = 'pending'
           and ($3::uuid is null or a.conversation_id = $3) and (not $4 or d.only_for is null)
         order by a.created_at limit 20"#,
        tenant.0,
        decider.0,
        conversation.map(|c| c.0),
        openly
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Row::into_approval).collect()
}

/// The one update from *pending*: true for whoever wins.
pub(crate) async fn settle(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    to: Status,
    by: Option<PersonId>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let settled = sqlx::query!(
        "update approvals set status = $3, decided_by = $4, decided_at = $5
         where tenant_id = $1 and id = $2 and status = 'pending'
           and ($4::uuid is null or decider_id = $4)
           and ($3 not in ('approved', 'denied') or expires_at > $5)",
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
