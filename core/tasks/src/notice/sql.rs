//! What the message that asks about a step that failed reads and writes.

use sqlx::PgConnection;

use crate::StepStatus;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, PersonId, RunId, TenantId};

/// A step that failed, as its message finds it.
pub(crate) struct FailedStep {
    pub(crate) task: RunId,
    pub(crate) number: i16,
    pub(crate) run: RunId,
    pub(crate) conversation: ConversationId,
    pub(crate) person: PersonId,
    pub(crate) failed_at: Timestamp,
}

/// Finds the step whose failure a message tells of; `None` if it was decided how to go on.
pub(crate) async fn find_failed_step(
    conn: &mut PgConnection,
    tenant: TenantId,
    notice: DeliveryId,
) -> sqlx::Result<Option<FailedStep>> {
    let row = sqlx::query!(
        r#"select s.task_id, s.number, s.run_id as "run_id!", t.conversation_id, t.person_id, s.finished_at as "failed_at!"
         from task_steps s
         join tasks t on t.tenant_id = s.tenant_id and t.id = s.task_id
         where s.tenant_id = $1 and s.notice_id = $2 and s.status = 'failed' and s.run_id is not null"#,
        tenant.0,
        notice.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| FailedStep {
        task: RunId(row.task_id),
        number: row.number,
        run: RunId(row.run_id),
        conversation: ConversationId(row.conversation_id),
        person: PersonId(row.person_id),
        failed_at: row.failed_at,
    }))
}

/// Locks the run of a task that waits; returns false if it does not.
pub(crate) async fn lock_waiting(
    conn: &mut PgConnection,
    tenant: TenantId,
    task: RunId,
) -> sqlx::Result<bool> {
    let waits = sqlx::query_scalar!(
        r#"select 1 as "waits!" from runs where tenant_id = $1 and id = $2 and status = 'waiting' for update"#,
        tenant.0,
        task.0
    );
    Ok(waits.fetch_optional(conn).await?.is_some())
}

/// Writes how a step that failed goes on. `and_rest` are the steps behind it, which are skipped with it.
pub(crate) async fn update_failed_step(
    conn: &mut PgConnection,
    tenant: TenantId,
    step: &FailedStep,
    (status, and_rest): (StepStatus, bool),
) -> sqlx::Result<()> {
    sqlx::query!(
        "update task_steps set status = $4, notice_id = null,
             finished_at = case when $4 = 'running' then null else finished_at end,
             summary = case when $4 = 'running' then null else summary end
         where tenant_id = $1 and task_id = $2
             and (number = $3 and status = 'failed' or number > $3 and status = 'planned' and $5)",
        tenant.0,
        step.task.0,
        step.number,
        status.as_str(),
        and_rest
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes the message that asked how to go on with a step, once its task has ended.
pub(crate) async fn take_notice(
    conn: &mut PgConnection,
    tenant: TenantId,
    task: RunId,
    number: i16,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update task_steps set notice_id = null where tenant_id = $1 and task_id = $2 and number = $3",
        tenant.0,
        task.0,
        number
    )
    .execute(conn)
    .await?;
    Ok(())
}
