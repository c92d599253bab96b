-- A lane's first job stands in the lane's own row: most lanes never hold a second one, and what is claimed, retried and
-- ended is then one row and not two. Only jobs that wait behind another one are rows of their own. The transaction that ends
-- a job also claims what is due, so that nobody has to ask for it after the commit.
create sequence job_ids;
select setval('job_ids', greatest((select max(id) from jobs), (select max(id) from dead_jobs), 1));

alter table lanes
    add column job        bigint,
    add column payload    jsonb,
    add column attempts   integer not null default 0,
    add column last_error text,
    add column created_at timestamptz,
    -- How many jobs wait behind the first.
    add column queued     integer not null default 0;

create table queued_jobs (
    tenant_id  uuid not null,
    lane_id    uuid not null,
    -- Drawn under the lane's lock, so that numbers are in the order of the commits.
    id         bigint not null,
    payload    jsonb not null,
    run_at     timestamptz not null,
    created_at timestamptz not null,
    primary key (tenant_id, lane_id, id)
);

update lanes l set job = j.id, payload = j.payload, due_at = j.run_at, attempts = j.attempts, last_error = j.last_error,
    created_at = j.created_at, queued = j.all_jobs - 1
from (select distinct on (tenant_id, lane_id) j.*, count(*) over (partition by tenant_id, lane_id) as all_jobs from jobs j
      order by tenant_id, lane_id, id) j
where j.tenant_id = l.tenant_id and j.lane_id = l.id;
insert into queued_jobs (tenant_id, lane_id, id, payload, run_at, created_at)
    select j.tenant_id, j.lane_id, j.id, j.payload, j.run_at, j.created_at from jobs j
    join lanes l on l.tenant_id = j.tenant_id and l.id = j.lane_id where j.id > l.job;
delete from lanes where job is null;
alter table lanes
    alter column job set not null,
    alter column payload set not null,
    alter column created_at set not null;
-- A row lives for one job and is claimed in between: room for that update on its page, and dead rows swept early.
alter table lanes set (fillfactor = 70, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_cost_delay = 0);

drop function claim_jobs(uuid, timestamptz, double precision, bigint);
drop function complete_job(uuid, uuid, uuid, bigint);
drop table jobs;
-- All jobs, for whoever looks into the database.
create view jobs as
    select tenant_id, id as lane_id, job as id, payload, due_at as run_at, attempts, last_error, created_at from lanes
    union all
    select tenant_id, lane_id, id, payload, run_at, 0, null, created_at from queued_jobs;

-- Keeps: jobs of one lane are numbered in the order of their commits, because the lane's row is locked first.
create or replace function enqueue(tenant uuid, lane uuid, payload jsonb, run_at timestamptz, now timestamptz) returns bigint
language plpgsql volatile
as $$
declare
    job bigint := nextval('job_ids');
    place integer;
begin
    insert into lanes as l (tenant_id, id, due_at, job, payload, created_at)
        values (tenant, lane, run_at, job, payload, now)
        on conflict (tenant_id, id) do update set queued = l.queued + 1
        returning l.queued into place;
    if place > 0 then
        job := nextval('job_ids');
        insert into queued_jobs (tenant_id, lane_id, id, payload, run_at, created_at)
            values (tenant, lane, job, payload, run_at, now);
    end if;
    return job;
end
$$;

-- Keeps: of the same work, one job that has not begun. False if the lane has one; it is locked, so that none begins.
create function enqueue_once(tenant uuid, lane uuid, payload jsonb, now timestamptz) returns boolean
language plpgsql volatile
as $$
declare
    place integer;
begin
    insert into lanes as l (tenant_id, id, due_at, job, payload, created_at)
        values (tenant, lane, now, nextval('job_ids'), payload, now)
        on conflict (tenant_id, id) do update set queued = 1 where l.queued = 0 and l.attempts > 0
        returning l.queued into place;
    if place > 0 then
        insert into queued_jobs (tenant_id, lane_id, id, payload, run_at, created_at)
            values (tenant, lane, nextval('job_ids'), payload, now, now);
    end if;
    return found;
end
$$;

-- Keeps: jobs of a lane run in their order. The caller holds the lane's lock, and at least one job is queued.
create function hand_over_lane(tenant uuid, lane uuid) returns void
language plpgsql volatile
as $$
declare
    next queued_jobs;
begin
    delete from queued_jobs q where q.tenant_id = tenant and q.lane_id = lane and q.id = (
        select min(first.id) from queued_jobs first where first.tenant_id = tenant and first.lane_id = lane)
        returning q.* into strict next;
    update lanes l set job = next.id, payload = next.payload, due_at = next.run_at, attempts = 0, last_error = null,
        created_at = next.created_at, queued = l.queued - 1, lease_id = null, leased_until = null
        where l.tenant_id = tenant and l.id = lane;
end
$$;

-- Keeps: one holder a lane, each with a lease of its own. Attempts rise here and nowhere else, so a job that was begun and
-- never ended shows it. If less than `max_jobs` was due, a last row says when to look again.
create function claim_jobs(now timestamptz, seconds double precision, max_jobs bigint)
returns table (tenant_id uuid, lane_id uuid, lease_id uuid, id bigint, payload jsonb, attempts integer, next_due_at timestamptz)
language plpgsql volatile
as $$
declare
    claimed bigint;
begin
    return query
        with due as materialized (
            select l.tenant_id, l.id from lanes l
            where l.due_at <= now and (l.leased_until is null or l.leased_until < clock_timestamp())
            order by l.due_at limit max_jobs for update skip locked)
        update lanes l set lease_id = gen_random_uuid(),
            leased_until = clock_timestamp() + make_interval(secs => seconds), attempts = l.attempts + 1
        from due where l.tenant_id = due.tenant_id and l.id = due.id
        returning l.tenant_id, l.id, l.lease_id, l.job, l.payload, l.attempts, null::timestamptz;
    get diagnostics claimed = row_count;
    if claimed < max_jobs or max_jobs = 0 then
        return query select null::uuid, null::uuid, null::uuid, null::bigint, null::jsonb, null::integer,
            (select min(l.due_at) from lanes l where l.leased_until is null);
    end if;
end
$$;

-- Keeps: only the holder of the lease ends the job, and no job that was just enqueued is lost with its lane. A caller that
-- waited for the row while a job was queued looks at it again, so the lane is deleted only if it is the last one's. No
-- row: the lease was lost. Otherwise what the holder does next, as by `claim_jobs`.
create function complete_job(tenant uuid, lane uuid, lease uuid, job bigint, now timestamptz, seconds double precision,
    max_jobs bigint)
returns table (tenant_id uuid, lane_id uuid, lease_id uuid, id bigint, payload jsonb, attempts integer, next_due_at timestamptz)
language plpgsql volatile
as $$
begin
    delete from lanes l
        where l.tenant_id = tenant and l.id = lane and l.lease_id = lease and l.job = complete_job.job and l.queued = 0;
    if not found then
        perform from lanes l
            where l.tenant_id = tenant and l.id = lane and l.lease_id = lease and l.job = complete_job.job for update;
        if not found then
            return;
        end if;
        perform hand_over_lane(tenant, lane);
    end if;
    return query select * from claim_jobs(now, seconds, max_jobs);
end
$$;
