//! What the rows of runs and jobs promise each other. The tables that every turn writes have no foreign keys, because each
//! costs a query and a lock a row; their commits write rows together instead, and this counts what does not hold.

use std::fmt;

use sqlx::PgConnection;

use nod_contract::ids::TenantId;

/// Rows that break a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inconsistency {
    /// The rows, in words: "runs without a conversation".
    pub rule: String,
    /// How many there are.
    pub rows: i64,
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.rows)
    }
}

/// Returns what does not hold in a tenant's rows, in one snapshot of them.
///
/// # Errors
/// If the rows cannot be read.
pub async fn find_inconsistencies(
    conn: &mut PgConnection,
    tenant: TenantId,
) -> sqlx::Result<Vec<Inconsistency>> {
    let counts = sqlx::query_as!(
        Inconsistency,
        r#"select 'lanes with another number of queued jobs' as "rule!", count(*) as "rows!" from lanes l
             where l.tenant_id = $1 and l.queued <> (
                 select count(*) from queued_jobs q where q.tenant_id = $1 and q.lane_id = l.id)
         union all
         select 'jobs without a lane', count(*) from queued_jobs q
             where q.tenant_id = $1
               and not exists (select 1 from lanes l where l.tenant_id = $1 and l.id = q.lane_id)
         union all
         select 'jobs in front of an earlier one', count(*) from queued_jobs q
             join lanes l on l.tenant_id = q.tenant_id and l.id = q.lane_id
             where q.tenant_id = $1 and q.id <= l.job
         union all
         select 'runs to advance without a job in their lane', count(*) from runs r
             where r.tenant_id = $1 and r.status in ('queued', 'running')
               and not exists (select 1 from jobs j where j.tenant_id = $1 and j.lane_id = r.lane_id
                   and j.payload->>'run' = r.id::text)
               and not exists (select 1 from dead_jobs d where d.tenant_id = $1 and d.lane_id = r.lane_id
                   and d.payload->>'run' = r.id::text)
         union all
         select 'tasks that wait for no step', count(*) from runs r
             where r.tenant_id = $1 and r.status = 'waiting' and r.workflow = 'task'
               and not exists (select 1 from task_steps f where f.tenant_id = $1 and f.task_id = r.id
                   and f.status = 'failed')
               and not exists (select 1 from runs s where s.tenant_id = $1 and s.parent_id = r.id
                   and s.status in ('queued', 'running', 'waiting'))
               and not exists (select 1 from jobs j where j.tenant_id = $1 and j.lane_id = r.lane_id
                   and j.payload->>'run' = r.id::text)
               and not (r.node = 'queued' and (
                   exists (select 1 from runs o where o.tenant_id = $1 and o.person_id = r.person_id and o.workflow = 'task'
                       and o.status in ('queued', 'running', 'waiting') and o.node <> 'queued')
                   or exists (select 1 from jobs j where j.tenant_id = $1 and j.payload->>'work' = 'begin_queued'
                       and j.payload->>'person' = r.person_id::text)))
         union all
         select 'effects to perform without a job in their lane', count(*) from effects e
             where e.tenant_id = $1 and e.status in ('planned', 'started')
               and not exists (select 1 from jobs j where j.tenant_id = $1 and j.lane_id = e.id
                   and j.payload->>'effect' = e.id::text)
         union all
         select 'approvals to decide without a job that ends them', count(*) from approvals a
             where a.tenant_id = $1 and a.status = 'pending'
               and not exists (select 1 from jobs j where j.tenant_id = $1 and j.payload->>'approval' = a.id::text)
         union all
         select 'runs without a conversation', count(*) from runs r
             where r.tenant_id = $1 and not exists (
                 select 1 from conversations c where c.tenant_id = $1 and c.id = r.conversation_id)
         union all
         select 'conversations without a channel', count(*) from conversations c
             where c.tenant_id = $1
               and not exists (select 1 from channels h where h.tenant_id = $1 and h.id = c.channel_id)
         union all
         select 'runs without a person', count(*) from runs r
             where r.tenant_id = $1
               and not exists (select 1 from people p where p.tenant_id = $1 and p.id = r.person_id)
         union all
         select 'messages without a run', count(*) from messages m
             where m.tenant_id = $1
               and not exists (select 1 from runs r where r.tenant_id = $1 and r.id = m.run_id)
         union all
         select 'steps without a run', count(*) from step_records s
             where s.tenant_id = $1
               and not exists (select 1 from runs r where r.tenant_id = $1 and r.id = s.run_id)
         union all
         select 'what was recalled without a run', count(*) from recalled_contexts c
             where c.tenant_id = $1
               and not exists (select 1 from runs r where r.tenant_id = $1 and r.id = c.run_id)
         union all
         select 'runs without their first turn', count(*) from runs r
             where r.tenant_id = $1 and r.workflow in ('chat', 'step') and not exists (
                 select 1 from messages m where m.tenant_id = $1 and m.run_id = r.id and m.turn_number = r.first_turn)
         union all
         select 'outgoing messages without a conversation', count(*) from deliveries d
             where d.tenant_id = $1 and not exists (
                 select 1 from conversations c where c.tenant_id = $1 and c.id = d.conversation_id)
         union all
         select 'approvals without a run', count(*) from approvals a
             where a.tenant_id = $1
               and not exists (select 1 from runs r where r.tenant_id = $1 and r.id = a.run_id)
         union all
         select 'effects without a run', count(*) from effects e
             where e.tenant_id = $1
               and not exists (select 1 from runs r where r.tenant_id = $1 and r.id = e.run_id)
         union all
         select 'effects without their approval', count(*) from effects e
             where e.tenant_id = $1 and e.approval_id is not null and not exists (
                 select 1 from approvals a where a.tenant_id = $1 and a.id = e.approval_id)"#,
        tenant.0
    )
    .fetch_all(conn)
    .await?;
    Ok(counts.into_iter().filter(|count| count.rows > 0).collect())
}
