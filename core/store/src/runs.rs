//! The mailbox of a run. A sender needs only the run's id; which lane its jobs stand in is known here.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::jobs::Job;
use crate::jobs::sql::to_json;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, EffectId, QuestionId, RunId, TenantId};
use nod_contract::provider::Provider;
use nod_contract::tool::ToolResult;

/// Advances a run, in the run's lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum RunJob {
    /// The commit that applies the event also removes it from the job.
    AdvanceRun { run: RunId, event: Option<RunEvent> },
}

impl Job for RunJob {
    const KINDS: &'static [&'static str] = &["advance_run"];
}

/// Sends an event to a run. A run that was deleted hears nothing.
pub async fn notify(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    event: RunEvent,
    now: Timestamp,
) -> sqlx::Result<()> {
    enqueue(conn, tenant, run, &RunJob::AdvanceRun { run, event: Some(event) }, now).await
}

/// Enqueues a job in a run's lane; nothing if the run was deleted.
pub(crate) async fn enqueue<J: Job>(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    work: &J,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "select enqueue($1, r.lane_id, $3, $4, $4) from runs r where r.tenant_id = $1 and r.id = $2",
        tenant.0,
        run.0,
        to_json(work)? as _,
        now
    )
    .fetch_optional(conn)
    .await?;
    Ok(())
}

/// Returns whether a run is a step of a workflow, and not part of the conversation in which it asks.
pub async fn is_step(conn: &mut PgConnection, tenant: TenantId, run: RunId) -> sqlx::Result<bool> {
    let is_step = sqlx::query_scalar!(
        r#"select parent_id is not null as "is_step!" from runs where tenant_id = $1 and id = $2"#,
        tenant.0,
        run.0
    );
    Ok(is_step.fetch_optional(conn).await?.unwrap_or_default())
}

/// Returns whether two runs are steps of one workflow, or neither is a step.
pub async fn have_same_workflow(
    conn: &mut PgConnection,
    tenant: TenantId,
    (one, other): (RunId, RunId),
) -> sqlx::Result<bool> {
    let is_same = sqlx::query_scalar!(
        r#"select a.parent_id is not distinct from b.parent_id as "is_same!"
         from runs a join runs b on b.tenant_id = a.tenant_id and b.id = $3
         where a.tenant_id = $1 and a.id = $2"#,
        tenant.0,
        one.0,
        other.0
    );
    Ok(is_same.fetch_optional(conn).await?.unwrap_or_default())
}

/// Locks the lane of a run if it has jobs. Call it before a transaction changes rows of the run.
pub async fn lock(conn: &mut PgConnection, tenant: TenantId, run: RunId) -> sqlx::Result<()> {
    sqlx::query!(
        "select 1 as held from lanes where tenant_id = $1
             and id = (select r.lane_id from runs r where r.tenant_id = $1 and r.id = $2) for update",
        tenant.0,
        run.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(())
}

/// An event for a waiting run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// An approval ended without an effect; `about` describes the approval in one line.
    ApprovalClosed {
        approval: ApprovalId,
        verdict: Verdict,
        #[serde(default)]
        about: Option<String>,
        /// The effect that keeps what the person had edited.
        #[serde(default)]
        edit_kept_by: Option<EffectId>,
    },
    /// The person edited a pending approval; `changes` has the payload's new values by name.
    ApprovalEdited { approval: ApprovalId, changes: Value },
    /// An effect ended; `awaited_id` is its approval's id, or the effect's own id if it needed no approval.
    EffectFinished {
        #[serde(alias = "ticket")]
        awaited_id: Uuid,
        result: ToolResult,
        /// The effect that keeps what the person had changed, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edit_kept_by: Option<EffectId>,
        /// Whether the person decided it a moment ago, so that they see how the card becomes its receipt.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_receipt_seen: bool,
    },
    /// A question was answered, or expired (`None`).
    QuestionClosed {
        question: QuestionId,
        answer: Option<String>,
        /// Whether the person typed it, and did not press a button that says it.
        #[serde(default)]
        is_typed: bool,
    },
    /// An attempt to connect an account ended.
    ConnectFinished {
        provider: Provider,
        #[serde(alias = "ended")]
        outcome: ConnectOutcome,
    },
    /// The person asks for a retry of a failed run.
    RetryRequested,
    /// The message that began the run was edited.
    MessageEdited { text: String },
    /// The message that began the run was deleted.
    MessageDeleted,
}

/// The outcome of an attempt to connect an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectOutcome {
    /// The account is connected.
    Connected,
    /// No user followed the link in time.
    #[serde(alias = "late")]
    Expired,
    /// The person declined on the provider's page.
    Declined,
    /// The person did not grant all scopes that the tools need.
    #[serde(alias = "too_little")]
    InsufficientScopes,
    /// An admin did not allow the account.
    #[serde(alias = "not_allowed")]
    DeniedByAdmin,
    /// The provider did not complete the sign-in.
    Failed,
}

/// How an approval ended without an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The person denied it.
    Denied,
    /// The person denied it, with a reason in their own words.
    #[serde(alias = "denied_because")]
    DeniedWithReason(String),
    /// The co-approver whom the policy requires denied it, perhaps with a reason.
    #[serde(alias = "second_denied")]
    DeniedByCoApprover {
        /// The reason in the co-approver's own words.
        #[serde(alias = "why")]
        reason: Option<String>,
    },
    /// No decision was made in time.
    Expired,
    /// A newer request of the same kind replaced it.
    Superseded,
    /// The person approved it and undid that in time.
    Undone,
    /// The person approved it, but by then the policy forbade it, for this reason.
    #[serde(alias = "never")]
    ForbiddenByPolicy(String),
}
