-- A claim looks only at lanes that nobody has leased: those of running jobs are due too, and they stood in front of it.
drop index lanes_due;
create index lanes_due on lanes (due_at) where lease_id is null;
-- Those whose holder died are found by the time of their lease.
create index lanes_leased on lanes (leased_until) where lease_id is not null;

-- Keeps: one holder a lane, each with a lease of its own. Attempts rise here and where a lane is born leased, so a job that
-- was begun and never ended shows it. If less than `max_jobs` was due, a last row says when to look again.
create function claim_due_jobs(now timestamptz, seconds double precision, max_jobs bigint)
returns table (tenant_id uuid, lane_id uuid, lease_id uuid, id bigint, payload jsonb, attempts integer, next_due_at timestamptz)
language plpgsql volatile
as $$
declare
    claimed bigint;
begin
    return query
        with due as materialized (
            select l.tenant_id, l.id from lanes l where l.due_at <= now and l.lease_id is null
            order by l.due_at limit max_jobs for update skip locked)
        update lanes l set lease_id = gen_random_uuid(),
            leased_until = clock_timestamp() + make_interval(secs => seconds), attempts = l.attempts + 1
        from due where l.tenant_id = due.tenant_id and l.id = due.id
        returning l.tenant_id, l.id, l.lease_id, l.job, l.payload, l.attempts, null::timestamptz;
    get diagnostics claimed = row_count;
    if claimed < max_jobs or max_jobs = 0 then
        return query select null::uuid, null::uuid, null::uuid, null::bigint, null::jsonb, null::integer,
            (select min(l.due_at) from lanes l where l.lease_id is null);
    end if;
end
$$;

-- Keeps: a lane whose holder died is free once its lease has expired by the database's clock. A lane that is locked is left
-- alone: its holder is late, and about to commit.
create or replace function claim_jobs(now timestamptz, seconds double precision, max_jobs bigint)
returns table (tenant_id uuid, lane_id uuid, lease_id uuid, id bigint, payload jsonb, attempts integer, next_due_at timestamptz)
language plpgsql volatile
as $$
declare
    -- In a variable, because no index is searched for a function that changes with each row.
    until timestamptz := clock_timestamp();
begin
    with expired as materialized (
        select l.tenant_id, l.id from lanes l where l.lease_id is not null and l.leased_until < until
        for update skip locked)
    update lanes l set lease_id = null, leased_until = null
    from expired where l.tenant_id = expired.tenant_id and l.id = expired.id;
    return query select * from claim_due_jobs(now, seconds, max_jobs);
end
$$;

-- Keeps: only the holder of the lease ends the job, and no job that was just enqueued is lost with its lane. A caller that
-- waited for the row while a job was queued looks at it again, so the lane is deleted only if it is the last one's. No
-- row: the lease was lost. Otherwise what the holder does next, as by `claim_jobs`; leases that expired are left to the
-- poll.
create or replace function complete_job(tenant uuid, lane uuid, lease uuid, job bigint, now timestamptz,
    seconds double precision, max_jobs bigint)
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
    return query select * from claim_due_jobs(now, seconds, max_jobs);
end
$$;

-- Keeps: the first job of a lane that it inserts begins without a claim, in the process that got its lease. `seconds` is null
-- if there is no room for it. A lane that has jobs keeps them and its lease, and no lease is returned.
create function enqueue_leased(tenant uuid, lane uuid, payload jsonb, now timestamptz, seconds double precision,
    out job bigint, out lease_id uuid)
language plpgsql volatile
as $$
declare
    place integer;
begin
    job := nextval('job_ids');
    insert into lanes as l (tenant_id, id, due_at, job, payload, created_at, attempts, lease_id, leased_until)
        values (tenant, lane, now, job, payload, now, (seconds is not null)::integer,
            case when seconds is not null then gen_random_uuid() end,
            clock_timestamp() + make_interval(secs => seconds))
        on conflict (tenant_id, id) do update set queued = l.queued + 1
        returning l.queued, l.lease_id into place, lease_id;
    if place > 0 then
        lease_id := null;
        job := nextval('job_ids');
        insert into queued_jobs (tenant_id, lane_id, id, payload, run_at, created_at)
            values (tenant, lane, job, payload, now, now);
    end if;
end
$$;
