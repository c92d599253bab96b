//! Tasks that have ended, and what they came to.

use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Uuid;

use crate::DELETED;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};

/// A task that has ended.
pub(crate) struct EndedTask {
    pub(crate) id: Uuid,
    pub(crate) title: String,
    /// The status of its run.
    pub(crate) status: String,
    /// How many of its steps were done, may not be complete, and are there.
    pub(crate) done: i64,
    pub(crate) incomplete: i64,
    pub(crate) steps: i64,
    pub(crate) summary: Option<String>,
    /// Where its title and what it came to are from.
    pub(crate) sources: Vec<String>,
    pub(crate) finished_at: Timestamp,
}

/// Returns the tasks of a person that ended after this, the newest first.
pub(crate) async fn list_ended(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    since: Timestamp,
) -> sqlx::Result<Vec<EndedTask>> {
    sqlx::query_as!(
        EndedTask,
        r#"select t.id, t.title, r.status, t.summary, t.about_sources || t.untrusted_sources as "sources!",
             t.finished_at as "finished_at!", count(*) filter (where s.status = 'done') as "done!",
             count(*) filter (where s.status = 'incomplete') as "incomplete!", count(s.number) as "steps!"
         from tasks t
         join runs r on r.tenant_id = t.tenant_id and r.id = t.id
         left join task_steps s on s.tenant_id = t.tenant_id and s.task_id = t.id
         where t.tenant_id = $1 and t.person_id = $2 and t.finished_at > $3 and t.note <> $4
         group by t.tenant_id, t.id, r.status
         order by t.finished_at desc"#,
        tenant.0,
        person.0,
        since,
        DELETED
    )
    .fetch_all(conn)
    .await
}

/// What a task came to.
pub(crate) struct FoundResult {
    pub(crate) title: String,
    pub(crate) conversation_id: Uuid,
    /// Its steps: title, status and summary.
    pub(crate) steps: Option<Value>,
    pub(crate) summary: Option<String>,
    pub(crate) result: Option<String>,
    pub(crate) only_for: Option<Uuid>,
    pub(crate) sources: Vec<String>,
}

/// Returns the result of a person's task by the end of its id or by words of its title; the newest if several have them.
pub(crate) async fn find_result(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    name: &str,
) -> sqlx::Result<Option<FoundResult>> {
    sqlx::query_as!(
        FoundResult,
        r#"select title, conversation_id, summary, result, only_for, about_sources || untrusted_sources as "sources!", (
             select jsonb_agg(jsonb_build_object('step', s.title, 'is', s.status, 'summary', s.summary) order by s.number)
             from task_steps s where s.tenant_id = tasks.tenant_id and s.task_id = tasks.id) as steps
         from tasks
         where tenant_id = $1 and person_id = $2 and result is not null
           and (right(replace(id::text, '-', ''), 8) = $3 or coalesce((
             select bool_and(strpos(lower(title), word) > 0) from unnest(string_to_array(lower($3), ' ')) word), true))
         order by title = $3 desc, finished_at desc limit 1"#,
        tenant.0,
        person.0,
        name
    )
    .fetch_optional(conn)
    .await
}
