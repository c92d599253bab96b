//! Rows of effects.

use serde_json::Value;
use sqlx::PgConnection;

use crate::clock::Timestamp;
use crate::ids::{ApprovalId, ConversationId, EffectId, PersonId, RunId, TenantId, TraceId};
use crate::jobs::sql::json;
use crate::tool::{Preview, ToolResult};

pub(crate) struct NewEffect<'a> {
    pub(crate) id: EffectId,
    pub(crate) conversation: ConversationId,
    pub(crate) run: RunId,
    pub(crate) call_id: &'a str,
    pub(crate) approval: Option<ApprovalId>,
    pub(crate) person: PersonId,
    pub(crate) tool: &'a str,
    pub(crate) preview: &'a Preview,
    pub(crate) digest: &'a str,
}

/// An effect as loaded.
pub(crate) struct Effect {
    pub(crate) id: EffectId,
    pub(crate) conversation: ConversationId,
    pub(crate) run: RunId,
    pub(crate) trace: TraceId,
    pub(crate) approval: Option<ApprovalId>,
    pub(crate) person: PersonId,
    pub(crate) tool: String,
    pub(crate) payload: Value,
    pub(crate) digest: String,
    pub(crate) status: String,
    pub(crate) attempt: i32,
    pub(crate) handle: Option<Value>,
    pub(crate) looks: i32,
    pub(crate) created_at: Timestamp,
    /// When it was last started.
    pub(crate) updated_at: Timestamp,
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &NewEffect<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into effects (tenant_id, id, conversation_id, run_id, call_id, approval_id, person_id, tool,
             payload, digest, recipients, status, attempt, looks, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'planned', 0, 0, $12, $12)",
        tenant.0,
        new.id.0,
        new.conversation.0,
        new.run.0,
        new.call_id,
        new.approval.map(|a| a.0),
        new.person.0,
        new.tool,
        new.preview.payload,
        new.digest,
        &new.preview.recipients,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: EffectId,
) -> sqlx::Result<Option<Effect>> {
    let row = sqlx::query!(
        "select e.conversation_id, e.run_id, r.trace_id, e.approval_id, e.person_id, e.tool, e.payload, e.digest,
             e.status, e.attempt, e.handle, e.looks, e.created_at, e.updated_at
         from effects e join runs r on r.tenant_id = e.tenant_id and r.id = e.run_id
         where e.tenant_id = $1 and e.id = $2",
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Effect {
        id,
        conversation: ConversationId(row.conversation_id),
        run: RunId(row.run_id),
        trace: TraceId(row.trace_id),
        approval: row.approval_id.map(ApprovalId),
        person: PersonId(row.person_id),
        tool: row.tool,
        payload: row.payload,
        digest: row.digest,
        status: row.status,
        attempt: row.attempt,
        handle: row.handle,
        looks: row.looks,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }))
}

/// planned or started → started, with the handle; false where it has ended meanwhile.
pub(super) async fn started(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: EffectId,
    handle: &Value,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update effects set status = 'started', attempt = attempt + 1, handle = $3, updated_at = $4
         where tenant_id = $1 and id = $2 and status in ('planned', 'started')",
        tenant.0,
        id.0,
        handle,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// One more look that did not settle it.
pub(super) async fn looked(conn: &mut PgConnection, tenant: TenantId, id: EffectId) -> sqlx::Result<()> {
    sqlx::query!("update effects set looks = looks + 1 where tenant_id = $1 and id = $2", tenant.0, id.0)
        .execute(conn)
        .await?;
    Ok(())
}

/// planned or started → its end; false where it had one.
pub(super) async fn ended(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: EffectId,
    status: &str,
    outcome: &ToolResult,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update effects set status = $3, outcome = $4, updated_at = $5
         where tenant_id = $1 and id = $2 and status in ('planned', 'started')",
        tenant.0,
        id.0,
        status,
        json(outcome)?,
        now
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Which of these got something from Nod on this person's behalf before: what was approved and done, not a
/// draft that nobody got. Addresses are stored as they were approved, so another spelling counts as new.
pub(crate) async fn known_recipients(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    recipients: &[String],
) -> sqlx::Result<Vec<String>> {
    let lower: Vec<String> = recipients.iter().map(|r| r.to_lowercase()).collect();
    sqlx::query_scalar!(
        r#"select distinct lower(r.address) as "address!" from effects e, unnest(e.recipients) as r (address)
         where e.tenant_id = $1 and e.person_id = $2 and e.status = 'done' and e.approval_id is not null
           and e.recipients && $4 and lower(r.address) = any($3)"#,
        tenant.0,
        person.0,
        &lower,
        recipients
    )
    .fetch_all(conn)
    .await
}
