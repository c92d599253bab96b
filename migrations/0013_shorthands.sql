-- Shorthands that several queries share.

-- Puts a job at the end of a lane. A function, so that whoever inserts the rows that the job is about can do
-- both in one statement: `insert into … select … from enqueue(…)` locks the lane before it writes the rows.
-- (PL/pgSQL, because it keeps its plans; SQL functions of version 17 and before plan anew at each call.)
create function enqueue(tenant uuid, lane uuid, work jsonb, run_at timestamptz, now timestamptz) returns bigint
language plpgsql volatile
as $$
declare
    job bigint;
begin
    -- The lane's row is locked first: whoever finishes the lane's last job at the same moment waits, and then
    -- sees this one.
    insert into lanes (tenant_id, id, due_at) values (tenant, lane, run_at)
        on conflict (tenant_id, id) do update set due_at = lanes.due_at;
    insert into jobs (tenant_id, lane_id, work, run_at, created_at) values (tenant, lane, work, run_at, now)
        returning id into job;
    return job;
end
$$;

-- Ends a job and frees its lane: due with its next job, gone without one. False, and nothing is changed, where
-- the lease passed on. Each of its statements sees what was committed until then: the next job is looked up after
-- the lane was locked.
create function finish(tenant uuid, lane uuid, shown uuid, job bigint) returns boolean
language plpgsql volatile
as $$
declare
    next timestamptz;
begin
    perform from lanes l where l.tenant_id = tenant and l.id = lane and l.lease = shown for update;
    if not found then
        return false;
    end if;
    delete from jobs j where j.tenant_id = tenant and j.id = job;
    select j.run_at into next from jobs j where j.tenant_id = tenant and j.lane_id = lane order by j.id limit 1;
    if found then
        update lanes l set lease = null, leased_until = null, due_at = next where l.tenant_id = tenant and l.id = lane;
    else
        delete from lanes l where l.tenant_id = tenant and l.id = lane;
    end if;
    return true;
end
$$;

-- Where a conversation takes place. A thread that Nod opened itself is known by the message that opened it.
create view venues as
select c.tenant_id, c.id as conversation, c.alone_with, ch.id as channel, ch.platform, ch.workspace, ch.channel_ref,
    ch.direct, ch.user_ref, coalesce(c.thread_ref, (
        select d.posted->>'message' from deliveries d
        where d.tenant_id = c.tenant_id and d.conversation_id = c.id and d.opens_thread limit 1)) as thread_ref
from conversations c join channels ch on ch.tenant_id = c.tenant_id and ch.id = c.channel_id;
