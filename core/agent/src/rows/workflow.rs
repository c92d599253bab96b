//! Runs of workflows.

use sqlx::PgConnection;
use sqlx::types::Json;

use super::NewMessage;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, PersonId, RunId, TenantId, TraceId};
use nod_people::people::{Person, sql::PersonRow};
use nod_store::jobs::{Claim, sql::to_json};
use nod_store::workflow::{Acted, WorkflowRun};

/// A run of a workflow as loaded.
pub(crate) struct LoadedWorkflowRun {
    pub(crate) run: WorkflowRun,
    /// Its name; also a turn has one.
    pub(crate) workflow: String,
    /// The run of the workflow whose step it is.
    pub(crate) parent: Option<RunId>,
    /// The person for whom it works, with their membership in the workspace where it was begun.
    pub(crate) person: Person,
    pub(crate) platform: String,
    pub(crate) workspace: String,
    /// Whether others read the conversation too.
    pub(crate) is_shared: bool,
    pub(crate) version: i32,
    /// Whether it has not ended.
    pub(crate) is_active: bool,
}

/// Loads a run of a workflow, with its person.
pub(crate) async fn load_workflow_run(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RunId,
) -> sqlx::Result<Option<LoadedWorkflowRun>> {
    let row = sqlx::query!(
        r#"select r.workflow, r.parent_id, r.node, r.version, v.platform as "platform!", v.workspace as "workspace!",
             not v.is_dm and v.private_with is null as "is_shared!", r.status in ('queued', 'running', 'waiting') as "is_active!",
             r.conversation_id, r.trace_id, to_jsonb(p) || jsonb_build_object('membership', coalesce(i.membership, 'unknown'),
                 'zone', coalesce(h.zone, p.zone)) as "person!: Json<PersonRow>"
         from runs r
         join conversation_locations v on v.tenant_id = r.tenant_id and v.conversation = r.conversation_id
         join people p on p.tenant_id = r.tenant_id and p.id = r.person_id
         left join identities i on i.tenant_id = p.tenant_id and i.person_id = p.id and i.platform = v.platform
             and i.workspace = v.workspace
         left join working_hours h on h.tenant_id = p.tenant_id and h.person_id = p.id
         where r.tenant_id = $1 and r.id = $2"#,
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let person = Person::from(row.person.0);
        LoadedWorkflowRun {
            workflow: row.workflow,
            parent: row.parent_id.map(RunId),
            platform: row.platform,
            workspace: row.workspace,
            is_shared: row.is_shared,
            version: row.version,
            is_active: row.is_active,
            run: WorkflowRun {
                tenant,
                id,
                conversation: ConversationId(row.conversation_id),
                trace: TraceId(row.trace_id),
                node: row.node,
                principal: person.principal(),
            },
            person,
        }
    }))
}

/// Returns the open runs of workflows that a person has in a conversation.
pub(crate) async fn list_open_workflow_runs(
    conn: &mut PgConnection,
    tenant: TenantId,
    conversation: ConversationId,
    person: PersonId,
) -> sqlx::Result<Vec<RunId>> {
    let runs = sqlx::query_scalar!(
        "select id from runs where tenant_id = $1 and conversation_id = $2 and person_id = $3
             and workflow not in ('chat', 'step') and status in ('queued', 'running', 'waiting') order by created_at",
        tenant.0,
        conversation.0,
        person.0
    )
    .fetch_all(conn)
    .await?;
    Ok(runs.into_iter().map(RunId).collect())
}

/// Returns the steps of a workflow's run that have not ended, those that failed, which can be tried again, and those of whose
/// actions one waits still, since somebody had it asked for again.
pub(crate) async fn list_open_steps(
    conn: &mut PgConnection,
    tenant: TenantId,
    workflow: RunId,
) -> sqlx::Result<Vec<RunId>> {
    let steps = sqlx::query_scalar!(
        "select id from runs r where tenant_id = $1 and parent_id = $2
             and (status in ('queued', 'running', 'waiting', 'failed')
                 or exists (select 1 from approvals a where a.tenant_id = r.tenant_id and a.run_id = r.id and a.status = 'pending')
                 or exists (select 1 from effects e where e.tenant_id = r.tenant_id and e.run_id = r.id and e.status = 'planned'))
         order by id",
        tenant.0,
        workflow.0
    )
    .fetch_all(conn)
    .await?;
    Ok(steps.into_iter().map(RunId).collect())
}

/// The first statement of a commit of a workflow's run: asserts the lease and moves the run, which is guarded by its
/// version. A caller that lost the lease, or whose run was stopped, writes nothing and gets `RowNotFound`.
pub(crate) async fn write_workflow_run(
    conn: &mut PgConnection,
    claim: &Claim,
    (run, version): (RunId, i32),
    (status, node, error): (&str, &str, Option<&str>),
    now: Timestamp,
) -> sqlx::Result<()> {
    let moved = sqlx::query!(
        "with held as (select tenant_id from lanes where tenant_id = $1 and id = $8 and lease_id = $9 for update)
         update runs r set status = $4, node = $5, version = version + 1, error = $6, updated_at = $7,
             finished_at = case when $4 in ('done', 'failed') then $7::timestamptz end
         from held where r.tenant_id = held.tenant_id and r.id = $2 and r.version = $3",
        claim.tenant.0,
        run.0,
        version,
        status,
        node,
        error,
        now,
        claim.lane,
        claim.lease
    );
    if moved.execute(conn).await?.rows_affected() == 1 { Ok(()) } else { Err(sqlx::Error::RowNotFound) }
}

/// Stores what a run of a workflow says to its person.
pub(crate) async fn insert_message(
    conn: &mut PgConnection,
    tenant: TenantId,
    (run, conversation): (RunId, ConversationId),
    message: &NewMessage<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let row = message.row();
    sqlx::query!(
        "insert into messages (tenant_id, id, conversation_id, run_id, turn_number, role, turn, only_for, untrusted_sources, at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        tenant.0,
        row.id,
        conversation.0,
        run.0,
        row.turn_number,
        row.role,
        to_json(row.turn)? as _,
        row.only_for,
        &row.untrusted_sources,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What a run and the steps below it did outside Nod.
pub(crate) struct Actions {
    /// Whether one was asked for or begun.
    pub(crate) were_wanted: bool,
    /// Whether one was done, or might have been.
    pub(crate) have_receipt: bool,
    /// Whether one was not done, as far as is known, and no other did it in its place: the one that repeats it, or a later one
    /// of the same tool for all its recipients, for the same thing if it has none, or after a denial that said why.
    pub(crate) are_missing: bool,
}

impl Actions {
    /// Returns how much of what was wanted was done. `was_called` if an action was called, which leaves no row if it was
    /// refused before anybody was asked.
    pub(crate) fn acted(&self, was_called: bool) -> Acted {
        match (self.are_missing, self.have_receipt) {
            (false, _) if was_called && !self.were_wanted => Acted::Partly,
            (false, true) => Acted::Fully,
            (false, false) => Acted::NoneAsked,
            (true, true) => Acted::Partly,
            (true, false) => Acted::NotAtAll,
        }
    }
}

pub(crate) async fn load_actions(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
) -> sqlx::Result<Actions> {
    sqlx::query_as!(
        Actions,
        r#"with acting as (select id from runs where tenant_id = $1 and (id = $2 or parent_id = $2)),
             begun as (select e.* from effects e join acting r on e.run_id = r.id where e.tenant_id = $1),
             asked as (select a.* from approvals a join acting r on a.run_id = r.id where a.tenant_id = $1),
             wanted as (
                 select a.id, a.retry_of, coalesce(a.tool, e.tool) as tool, coalesce(e.status, a.status) as status,
                     e.id is null and a.status = 'denied' and a.reason is not null as was_corrected,
                     coalesce(a.preview->>'topic', (a.preview->'payload')::text, e.payload::text) as topic,
                     coalesce(a.created_at, e.created_at) as asked_at,
                     coalesce(e.updated_at, a.decided_at, a.expires_at) as ended_at, coalesce(e.recipients, array(
                         select jsonb_array_elements_text(a.preview->'recipients'))) as recipients
                 from asked a full join begun e on e.approval_id = a.id)
         select exists (select 1 from wanted) as "were_wanted!",
             exists (select 1 from wanted where status in ('started', 'done', 'unknown')) as "have_receipt!",
             exists (
                 select 1 from wanted w where w.status <> 'done' and not exists (
                     select 1 from wanted later
                     where later.tool = w.tool and later.status = 'done'
                       and (later.retry_of = w.id or later.asked_at >= w.ended_at and (
                           w.was_corrected or later.recipients @> w.recipients
                               and (w.recipients <> '{}' or later.topic = w.topic))))) as "are_missing!""#,
        tenant.0,
        run.0
    )
    .fetch_one(conn)
    .await
}
