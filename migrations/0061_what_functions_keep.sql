-- Keeps: what is in the audit stays there as it was written.
create or replace function audit_is_append_only() returns trigger language plpgsql as $$
begin
    raise exception 'the audit is append-only';
end
$$;

-- Keeps: who else must approve a request is read in one statement with it, so that no decision falls between the two.
create or replace function co_approvers_of(tenant uuid, approval uuid) returns jsonb language sql stable as $$
    select coalesce(jsonb_agg(jsonb_build_object(
        'person', a.person_id, 'name', coalesce(nullif(p.full_name, ''), p.name), 'zone', coalesce(p.zone, 'UTC'),
        'platform', a.platform, 'workspace', a.workspace, 'display_limit', a.display_limit, 'delivery', a.delivery_id,
        'reminder', a.reminder_id, 'approved_at', a.approved_at) order by p.full_name, p.id), '[]')
    from co_approvers a join people p on p.tenant_id = a.tenant_id and p.id = a.person_id
    where a.tenant_id = tenant and a.approval_id = approval
$$;

-- Keeps: what is sent is a row, with the job that posts it, in the order of its lane, and no two posts are closer than the
-- platform allows. The job of a message with a `pause` begins without a claim, in the process that sent it, if its lane was free
-- and its post has a place: it is leased, and a row says so. If only the place is missing, a row says when there is one. Where a
-- conversation goes on with one person by now, that process does not know where its message goes: its job waits for a claim.
create or replace function send_messages(tenant uuid, messages jsonb, now timestamptz, seconds double precision)
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
            target jsonb, opens_thread boolean, card jsonb, only_for uuid, payload jsonb, pause double precision)
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
        insert into deliveries (tenant_id, id, conversation_id, run_id, platform, target, opens_thread, card, version, only_for,
            created_at)
            values (tenant, message.id, message.conversation, message.run, message.platform, message.target,
                message.opens_thread, message.card, 1, message.only_for, now);
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
