-- The transaction that ends a job also claims what is due, so that nobody has to ask for it after the commit.
drop function claim_jobs(uuid, timestamptz, double precision, bigint);
drop function complete_job(uuid, uuid, uuid, bigint);

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
