-- A new thread is a row too that a turn writes; see 0042. The consistency check counts those without their channel.
alter table conversations drop constraint conversations_tenant_id_channel_id_fkey;

-- Its condition followed from `lease_id = …`, so a plan made while the table was empty could read this whole index, which is mostly
-- dead rows, where it looked for one lane.
drop index lanes_leased;
create index lanes_leased on lanes (leased_until) where leased_until is not null;

-- Keeps: as `complete_job`, that only the holder of the lease ends the job. For a commit after which no other lane has
-- anything new to do: it looks at its own lane alone, whose next job it leases if that is due. No row: the lease was lost. A row
-- without a job: the lane is empty, or its next job is due then. `seconds` is null if nothing more may begin.
create function end_job(tenant uuid, lane uuid, lease uuid, job bigint, now timestamptz, seconds double precision)
returns table (tenant_id uuid, lane_id uuid, lease_id uuid, id bigint, payload jsonb, attempts integer, next_due_at timestamptz)
language plpgsql volatile
as $$
begin
    delete from lanes l
        where l.tenant_id = tenant and l.id = lane and l.lease_id = lease and l.job = end_job.job and l.queued = 0;
    if not found then
        perform from lanes l
            where l.tenant_id = tenant and l.id = lane and l.lease_id = lease and l.job = end_job.job for update;
        if not found then
            return;
        end if;
        perform hand_over_lane(tenant, lane);
        update lanes l set lease_id = gen_random_uuid(),
            leased_until = clock_timestamp() + make_interval(secs => seconds), attempts = l.attempts + 1
            where l.tenant_id = tenant and l.id = lane and l.due_at <= now and seconds is not null
            returning l.tenant_id, l.id, l.lease_id, l.job, l.payload, l.attempts
            into tenant_id, lane_id, lease_id, id, payload, attempts;
        if not found then
            select l.due_at into next_due_at from lanes l where l.tenant_id = tenant and l.id = lane;
        end if;
    end if;
    return next;
end
$$;

-- Keeps: what is sent is a row, with the job that posts it, in the order of its lane, and no two posts are closer than the
-- platform allows. The job of a message with a `pause` begins without a claim, in the process that sent it, if its lane was free
-- and its post has a place: it is leased, and a row says so. If only the place is missing, a row says when there is one. Where a
-- conversation goes on with one person by now, that process does not know where its message goes: its job waits for a claim.
create function send_messages(tenant uuid, messages jsonb, now timestamptz, seconds double precision)
returns table (tenant_id uuid, lane_id uuid, lease_id uuid, id bigint, payload jsonb, attempts integer, next_due_at timestamptz)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    message record;
    lane lanes;
    leases boolean;
begin
    for message in
        select * from jsonb_to_recordset(messages) as m(id uuid, lane uuid, conversation uuid, run uuid, platform text,
            target jsonb, opens_thread boolean, card jsonb, file jsonb, only_for uuid, payload jsonb, pause double precision)
    loop
        lane := null;
        leases := message.pause is not null and (message.target is not null or not exists (
            select from conversations c
            where c.tenant_id = tenant and c.id = message.conversation and c.private_with is not null));
        if not leases then
            perform enqueue(tenant, message.lane, message.payload, now, now);
        else
            select e.job, e.lease_id into lane.job, lane.lease_id
                from enqueue_leased(tenant, message.lane, message.payload, now, seconds) e;
        end if;
        insert into deliveries (tenant_id, id, conversation_id, run_id, platform, target, opens_thread, card, file, version,
            only_for, created_at)
            values (tenant, message.id, message.conversation, message.run, message.platform, message.target,
                message.opens_thread, message.card, message.file, 1, message.only_for, now);
        if not leases and message.pause is not null then
            return query values (null::uuid, null::uuid, null::uuid, null::bigint, null::jsonb, null::integer, now);
        end if;
        continue when lane.lease_id is null;
        insert into rate_limits as r (tenant_id, lane_id, next_post_at)
            values (tenant, message.lane, now + make_interval(secs => message.pause))
            on conflict (tenant_id, lane_id) do update set next_post_at = excluded.next_post_at where r.next_post_at <= now;
        if found then
            return query values (tenant, message.lane, lane.lease_id, lane.job, message.payload, 1, null::timestamptz);
        else
            update lanes l set lease_id = null, leased_until = null, attempts = 0, due_at = r.next_post_at
                from rate_limits r
                where l.tenant_id = tenant and l.id = message.lane and r.tenant_id = tenant and r.lane_id = message.lane
                returning l.due_at into lane.due_at;
            return query values (null::uuid, null::uuid, null::uuid, null::bigint, null::jsonb, null::integer, lane.due_at);
        end if;
    end loop;
end
$$;
