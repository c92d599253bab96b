//! Rows of tasks and of their steps.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::about::About;
use crate::card::Phase;
use crate::list::OpenTask;
use crate::{DELETED, FINALISE, PLAN, QUEUED, StepAnswer, StepStatus, Task, TaskStep};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, PersonId, RunId, TenantId};
use nod_contract::privacy::{Audience, Provenance};
use nod_store::hooks::{StepMoved, WaitsFor};
use nod_store::steps::audience_person_id;

/// What a transition writes of its task.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "write", rename_all = "snake_case")]
pub(crate) enum Rows {
    /// Nothing.
    Nothing,
    /// Nothing but that its run has left the queue.
    LeftQueue,
    /// The plan, and that its first step began.
    Planned { steps: Vec<TaskStep>, begun: RunId },
    /// What a step handed on, and which one began.
    StepEnded { number: i16, step: Box<TaskStep>, begun: Option<(i16, RunId)> },
    /// A step began.
    StepBegun { number: i16, run: RunId },
    /// The step failed, and its person is asked how to go on.
    StepFailed { number: i16, reason: String, notice: DeliveryId, audience: Audience, provenance: Provenance },
    /// The result.
    Finished { summary: String, result: String, audience: Audience, provenance: Provenance },
    /// It ended without a result.
    GaveUp,
}

/// A task as its card shows it.
pub(crate) struct ShownTask {
    pub(crate) task: Task,
    pub(crate) owner: String,
    pub(crate) phase: Phase,
    /// Whether others read its card too.
    pub(crate) is_shared: bool,
    /// Whether Nod died while it worked on it, and went on with it afterwards.
    pub(crate) was_interrupted: bool,
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RunId,
    (conversation, person): (ConversationId, PersonId),
    task: &Task,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into tasks (tenant_id, id, conversation_id, person_id, title, note, card_id, created_at, about, about_sources)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        tenant.0,
        id.0,
        conversation.0,
        person.0,
        task.title.replace('\0', "\u{FFFD}"),
        task.note.replace('\0', "\u{FFFD}"),
        task.card,
        task.created_at,
        task.about.as_ref().map(|about| about.text.replace('\0', "\u{FFFD}")),
        &task.provenance().sources()
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn load(conn: &mut PgConnection, tenant: TenantId, id: RunId) -> sqlx::Result<Task> {
    let row = sqlx::query!(
        "select title, note, about, about_sources, card_id, created_at, finished_at
         from tasks where tenant_id = $1 and id = $2",
        tenant.0,
        id.0
    )
    .fetch_one(&mut *conn)
    .await?;
    let steps = sqlx::query!(
        r#"select s.number, s.title, s.detail, s.after, s.status, s.run_id, s.waits_for, s.notice_id, s.summary, s.output,
             s.only_for, s.untrusted_sources, s.activity, (
             select jsonb_agg(jsonb_build_object('question', q.topic, 'is_typed', q.answer ? 'words',
                     'answer', coalesce(q.answer->>'words', q.choices->(q.answer->>'choice')::int->>'label')) order by q.created_at)
             from questions q
             where q.tenant_id = t.tenant_id and q.person_id = t.person_id and q.run_id = s.run_id and q.takes_words
               and q.status = 'answered') as "answers: Json<Vec<StepAnswer>>"
         from tasks t
         join task_steps s on s.tenant_id = t.tenant_id and s.task_id = t.id
         where t.tenant_id = $1 and t.id = $2 order by s.number"#,
        tenant.0,
        id.0
    )
    .fetch_all(conn)
    .await?;
    let steps = steps.into_iter().map(|row| TaskStep {
        number: row.number,
        title: row.title,
        detail: row.detail,
        after: row.after,
        status: match row.status.as_str() {
            "running" => StepStatus::Running,
            "done" => StepStatus::Done,
            "incomplete" => StepStatus::Incomplete,
            "not_done" => StepStatus::NotDone,
            "failed" => StepStatus::Failed,
            "skipped" => StepStatus::Skipped,
            "stopped" => StepStatus::Stopped,
            _ => StepStatus::Planned,
        },
        run: row.run_id,
        waits_for: row.waits_for,
        notice: row.notice_id,
        activity: row.activity,
        answers: row.answers.map(|answers| answers.0).unwrap_or_default(),
        summary: row.summary,
        output: row.output,
        audience: row.only_for.map_or(Audience::Channel, |person| Audience::Person(PersonId(person))),
        provenance: Provenance::from_sources(row.untrusted_sources),
    });
    let provenance = Provenance::from_sources(row.about_sources);
    Ok(Task {
        title: row.title,
        note: row.note,
        about: row.about.map(|text| About { text, provenance }),
        card: row.card_id,
        created_at: row.created_at,
        finished_at: row.finished_at,
        steps: steps.collect(),
    })
}

/// Loads what its person calls a task.
pub(crate) async fn load_title(
    conn: &mut PgConnection,
    tenant: TenantId,
    task: RunId,
) -> sqlx::Result<String> {
    sqlx::query_scalar!("select title from tasks where tenant_id = $1 and id = $2", tenant.0, task.0)
        .fetch_one(conn)
        .await
}

/// Loads a task for its card; `None` if it was deleted.
pub(crate) async fn load_shown(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RunId,
) -> sqlx::Result<Option<ShownTask>> {
    let row = sqlx::query!(
        r#"select r.status, r.node, exists (select 1 from runs i where i.tenant_id = t.tenant_id
                 and (i.id = t.id or i.parent_id = t.id) and i.version > i.interrupted_version
                 and (i.status <> 'failed' or i.version > i.interrupted_version + 1)) as "was_interrupted!",
             coalesce(nullif(p.full_name, ''), nullif(p.name, ''), 'Somebody') as "owner!",
             not v.is_dm and v.private_with is null as "is_shared!"
         from tasks t
         join conversation_locations v on v.tenant_id = t.tenant_id and v.conversation = t.conversation_id
         join runs r on r.tenant_id = t.tenant_id and r.id = t.id
         join people p on p.tenant_id = t.tenant_id and p.id = t.person_id
         where t.tenant_id = $1 and t.id = $2"#,
        tenant.0,
        id.0
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let phase = match (row.status.as_str(), row.node.as_str()) {
        ("done", _) => Phase::Done,
        ("failed", _) => Phase::Failed,
        ("stopped", _) => Phase::Stopped,
        (_, QUEUED) => Phase::Queued,
        (_, PLAN) => Phase::Planning,
        (_, FINALISE) => Phase::WritingResult,
        _ => Phase::Working,
    };
    Ok(Some(ShownTask {
        task: load(conn, tenant, id).await?,
        owner: row.owner,
        phase,
        is_shared: row.is_shared,
        was_interrupted: row.was_interrupted,
    }))
}

/// Returns a person's tasks that have not ended, oldest first.
pub(crate) async fn list_open(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Vec<OpenTask>> {
    sqlx::query_as!(
        OpenTask,
        r#"select t.id, t.title, t.about_sources, r.node, s.number as "step?", s.waits_for as "waits_for?",
             coalesce(s.status = 'failed', false) as "has_failed!",
             case when s.status = 'failed' then s.notice_id else (
             select q.delivery_id from questions q
             where q.tenant_id = t.tenant_id and q.person_id = r.person_id and q.run_id = s.run_id and q.status = 'pending'
             limit 1) end as asks, (
             select count(*) from task_steps p where p.tenant_id = t.tenant_id and p.task_id = t.id) as "steps!"
         from tasks t
         join runs r on r.tenant_id = t.tenant_id and r.id = t.id
         left join task_steps s on s.tenant_id = t.tenant_id and s.task_id = t.id and s.status in ('running', 'failed')
         where r.tenant_id = $1 and r.person_id = $2 and r.workflow = 'task'
           and r.status in ('queued', 'running', 'waiting')
         order by t.created_at"#,
        tenant.0,
        person.0
    )
    .fetch_all(conn)
    .await
}

/// Writes what a transition decided; returns whether it wrote anything.
pub(crate) async fn write(
    conn: &mut PgConnection,
    tenant: TenantId,
    task: RunId,
    rows: &Rows,
    now: Timestamp,
) -> sqlx::Result<bool> {
    match rows {
        Rows::Nothing => return Ok(false),
        Rows::LeftQueue => {}
        Rows::Planned { steps, begun } => insert_steps(conn, tenant, task, steps, *begun, now).await?,
        Rows::StepEnded { number, step, begun } => {
            sqlx::query!(
                "update task_steps set status = $9, waits_for = null, summary = $4, output = $5, only_for = $6,
                     untrusted_sources = $7, finished_at = $8
                 where tenant_id = $1 and task_id = $2 and number = $3",
                tenant.0,
                task.0,
                number,
                step.summary.as_deref().map(|text| text.replace('\0', "\u{FFFD}")),
                step.output.as_deref().map(|text| text.replace('\0', "\u{FFFD}")),
                audience_person_id(step.audience),
                &step.provenance.sources(),
                now,
                step.status.as_str()
            )
            .execute(&mut *conn)
            .await?;
            if let Some((next, run)) = begun {
                begin_step(conn, tenant, task, (*next, *run), now).await?;
            }
        }
        Rows::StepBegun { number, run } => begin_step(conn, tenant, task, (*number, *run), now).await?,
        Rows::StepFailed { number, reason, notice, audience, provenance } => {
            sqlx::query!(
                "update task_steps set status = 'failed', waits_for = null, summary = $4, notice_id = $5, finished_at = $6,
                     only_for = $7, untrusted_sources = $8
                 where tenant_id = $1 and task_id = $2 and number = $3",
                tenant.0,
                task.0,
                number,
                reason,
                notice.0,
                now,
                audience_person_id(*audience),
                &provenance.sources()
            )
            .execute(conn)
            .await?;
        }
        Rows::Finished { summary, result, audience, provenance } => {
            sqlx::query!(
                "update tasks set summary = $3, result = $4, only_for = $5, untrusted_sources = $6, finished_at = $7
                 where tenant_id = $1 and id = $2",
                tenant.0,
                task.0,
                summary.replace('\0', "\u{FFFD}"),
                result.replace('\0', "\u{FFFD}"),
                audience_person_id(*audience),
                &provenance.sources(),
                now
            )
            .execute(conn)
            .await?;
        }
        Rows::GaveUp => {
            sqlx::query!(
                "with steps as (
                     update task_steps set status = 'failed', waits_for = null, finished_at = $3
                     where tenant_id = $1 and task_id = $2 and status = 'running')
                 update tasks set finished_at = $3 where tenant_id = $1 and id = $2",
                tenant.0,
                task.0,
                now
            )
            .execute(conn)
            .await?;
        }
    }
    Ok(true)
}

async fn begin_step(
    conn: &mut PgConnection,
    tenant: TenantId,
    task: RunId,
    (number, run): (i16, RunId),
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update task_steps set status = 'running', run_id = $4, started_at = $5
         where tenant_id = $1 and task_id = $2 and number = $3",
        tenant.0,
        task.0,
        number,
        run.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

async fn insert_steps(
    conn: &mut PgConnection,
    tenant: TenantId,
    task: RunId,
    steps: &[TaskStep],
    begun: RunId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let after = |step: &TaskStep| step.after.iter().map(i16::to_string).collect::<Vec<_>>().join(",");
    let column = |of: fn(&TaskStep) -> &str| -> Vec<String> {
        steps.iter().map(|step| of(step).replace('\0', "\u{FFFD}")).collect()
    };
    sqlx::query!(
        "insert into task_steps (tenant_id, task_id, number, title, detail, after, status, run_id, started_at)
         select $1, $2, s.number, s.title, s.detail, string_to_array(s.after, ',')::smallint[],
             case when s.number = 1 then 'running' else 'planned' end, case when s.number = 1 then $3::uuid end,
             case when s.number = 1 then $4::timestamptz end
         from unnest($5::smallint[], $6::text[], $7::text[], $8::text[]) as s (number, title, detail, after)",
        tenant.0,
        task.0,
        begun.0,
        now,
        &steps.iter().map(|step| step.number).collect::<Vec<_>>(),
        &column(|step| &step.title),
        &column(|step| &step.detail),
        &steps.iter().map(after).collect::<Vec<_>>()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Notes what a step waits for and what it does now; returns whether that is new and the step is still being done.
pub(crate) async fn update_moved(conn: &mut PgConnection, moved: &StepMoved) -> sqlx::Result<bool> {
    let mut activity: Vec<String> = moved.activity.iter().map(|words| (*words).to_owned()).collect();
    // Several calls of one kind are one activity.
    activity.dedup();
    let done = sqlx::query!(
        "with step as (
             select number, waits_for, case when activity[cardinality(activity)] = ($5::text[])[1] then ($5::text[])[2:]
                 else $5::text[] end as further
             from task_steps where tenant_id = $1 and task_id = $2 and run_id = $3 and status = 'running' for update)
         update task_steps s set waits_for = $4, activity = s.activity || step.further from step
         where s.tenant_id = $1 and s.task_id = $2 and s.number = step.number
           and (step.waits_for is distinct from $4 or step.further <> '{}')",
        moved.tenant.0,
        moved.run.0,
        moved.step.0,
        moved.waits_for.map(WaitsFor::as_str),
        &activity
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Notes that what a step had asked for was done after it had ended. `words` are added to what it handed on.
pub(crate) async fn update_done_since(
    conn: &mut PgConnection,
    (tenant, task): (TenantId, RunId),
    (number, status): (i16, StepStatus),
    (summary, words): (&str, &str),
) -> sqlx::Result<()> {
    sqlx::query!(
        "update task_steps set status = $4, summary = $5, output = output || E'\\n\\n' || $6
         where tenant_id = $1 and task_id = $2 and number = $3",
        tenant.0,
        task.0,
        number,
        status.as_str(),
        summary,
        words
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Ends a task that was stopped; returns false if the run is that of no task. If it is deleted, its words go.
pub(crate) async fn stop(
    conn: &mut PgConnection,
    tenant: TenantId,
    task: RunId,
    is_deleted: bool,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "with steps as (
             update task_steps set status = case status when 'running' then 'stopped' else status end, waits_for = null,
                 finished_at = case status when 'running' then $3 else finished_at end,
                 title = case when $4 then $5 else title end, detail = case when $4 then '' else detail end,
                 summary = case when not $4 then summary end, output = case when not $4 then output end
             where tenant_id = $1 and task_id = $2 and (status = 'running' or $4))
         update tasks set finished_at = coalesce(finished_at, $3), title = case when $4 then $5 else title end,
             note = case when $4 then $5 else note end, summary = case when not $4 then summary end,
             result = case when not $4 then result end
         where tenant_id = $1 and id = $2",
        tenant.0,
        task.0,
        now,
        is_deleted,
        DELETED
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// The step that asks something.
pub(crate) struct Asker {
    /// Whether a reply to its message can be told from other talk: not where others write or where all stands in a thread.
    pub(crate) takes_replies: bool,
    /// How many questions the task has asked.
    pub(crate) questions: i64,
}

/// Returns the step that a run does.
pub(crate) async fn find_asker(
    conn: &mut PgConnection,
    tenant: TenantId,
    step: RunId,
) -> sqlx::Result<Option<Asker>> {
    sqlx::query_as!(
        Asker,
        r#"select v.is_dm and coalesce(v.thread_ref, '') = '' as "takes_replies!", (
             select count(*) from runs o join questions q on q.tenant_id = o.tenant_id and q.run_id = o.id
             where o.tenant_id = s.tenant_id and o.parent_id = s.task_id and q.takes_words) as "questions!"
         from task_steps s
         join runs r on r.tenant_id = s.tenant_id and r.id = s.run_id and r.parent_id = s.task_id
         join tasks t on t.tenant_id = s.tenant_id and t.id = s.task_id
         join conversation_locations v on v.tenant_id = t.tenant_id and v.conversation = t.conversation_id
         where s.tenant_id = $1 and s.run_id = $2"#,
        tenant.0,
        step.0
    )
    .fetch_optional(conn)
    .await
}

/// Whose a task is, whether it can be run again, and what came of it.
pub(crate) struct TaskOwner {
    pub(crate) person: PersonId,
    pub(crate) conversation: ConversationId,
    pub(crate) has_ended: bool,
    pub(crate) result: Option<String>,
}

pub(crate) async fn find_owner(
    conn: &mut PgConnection,
    tenant: TenantId,
    task: RunId,
) -> sqlx::Result<Option<TaskOwner>> {
    let row = sqlx::query!(
        r#"select t.person_id, t.conversation_id, t.result, r.status in ('done', 'failed', 'stopped') as "has_ended!"
         from tasks t join runs r on r.tenant_id = t.tenant_id and r.id = t.id
         where t.tenant_id = $1 and t.id = $2"#,
        tenant.0,
        task.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| TaskOwner {
        person: PersonId(row.person_id),
        conversation: ConversationId(row.conversation_id),
        has_ended: row.has_ended,
        result: row.result,
    }))
}

/// Whether there is such a task.
pub(crate) async fn exists(conn: &mut PgConnection, tenant: TenantId, task: RunId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select 1 from tasks where tenant_id = $1 and id = $2) as "exists!""#,
        tenant.0,
        task.0
    )
    .fetch_one(conn)
    .await
}
