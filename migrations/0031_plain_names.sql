-- Tables and columns get the names of what is in them. Nothing else changes: rows stay, and what SQL reads inside JSON
-- keeps its keys. Replicas of an earlier version have to be stopped before this is applied.

alter table people rename column address to email;
alter table people rename column standing to membership;
alter table people rename column profile_at to profile_synced_at;
alter table people rename column own_account to connected_email;
alter table identities rename column standing to membership;
alter table identities rename column told_at to profile_synced_at;
alter table channels rename column direct to is_dm;
alter table channels rename column follow to follow_mode;
alter table channels rename column user_ref to dm_user_ref;
alter table conversations rename column alone_with to private_with;
alter table runs rename column kept to persisted_turns;
alter table messages rename column outside to untrusted_sources;
alter table jobs rename column work to payload;
alter table dead_jobs rename column work to payload;
alter table dead_jobs rename column died_at to dead_lettered_at;
alter table lanes rename column lease to lease_id;
alter table deliveries rename column posted to posted_message;
alter table deliveries rename column streamed to stream_status;
alter table effects rename column looks to lookup_count;
alter table effects rename column waits_for to rate_limited_by;
alter table effects rename column waits_until to retry_at;
alter table questions rename column about to topic;
alter table questions rename column opened_at to vote_opened_at;
alter table questions rename column vote to vote_proposal;
alter table approvals rename column outside to untrusted_in_view;
alter table approvals rename column ticked to selected;
alter table approvals rename column again_of to retry_of;
alter table approvals rename column undo_seconds to undo_window_seconds;
alter table approvals rename column second to co_approver_list;
alter table approvals rename column first_at to owner_approved_at;
alter index approvals_again rename to approvals_retry_of;
alter table drafts rename column outside to untrusted_sources;
alter table summaries rename column outside to untrusted_sources;
alter table facts rename column outside to untrusted_sources;
alter table facts rename column noted_at to recorded_at;
alter table connections rename column ends_at to grant_expires_at;
alter table connections rename column renewing_by to refresh_lease_holder;
alter table connections rename column renewing_until to refresh_lease_until;

alter table offers rename column signed_in to platform_verified;
alter table offers rename to connect_requests;
alter table other_accounts rename column address to email;
alter table other_accounts rename to account_reviews;
alter table hearings rename column heard_until to received_until;
alter table hearings rename to ingest_watermarks;
alter table paces rename column free_at to next_post_at;
alter table paces rename to rate_limits;
alter table panes rename column viewing to viewed_channel_ref;
alter table panes rename column titled to has_title;
alter table panes rename to assistant_threads;
alter table files rename column kind to media_type;
alter table files rename column address to url;
alter table files rename to attachments;
alter table seats rename column held_until to expires_at;
alter table seats rename to leader_leases;
alter table joinings rename to link_codes;
alter table approvers rename column room to display_limit;
alter table approvers rename column agreed_at to approved_at;
alter table approvers rename to co_approvers;

alter view venues rename column alone_with to private_with;
alter view venues rename column direct to is_dm;
alter view venues rename column user_ref to dm_user_ref;
alter view venues rename to conversation_locations;

alter trigger audit_is_not_emptied on audit rename to audit_is_not_truncated;

-- The bodies of functions are text, so they are written again. `claim` returns rows of jobs and reads no renamed column
-- but the lane's lease.
drop function enqueue(uuid, uuid, jsonb, timestamptz, timestamptz);
create function enqueue(tenant uuid, lane uuid, payload jsonb, run_at timestamptz, now timestamptz) returns bigint
language plpgsql volatile
as $$
declare
    job bigint;
begin
    insert into lanes (tenant_id, id, due_at) values (tenant, lane, run_at)
        on conflict (tenant_id, id) do update set due_at = lanes.due_at;
    insert into jobs (tenant_id, lane_id, payload, run_at, created_at) values (tenant, lane, payload, run_at, now)
        returning id into job;
    return job;
end
$$;

drop function finish(uuid, uuid, uuid, bigint);
create function complete_job(tenant uuid, lane uuid, lease uuid, job bigint) returns boolean
language plpgsql volatile
as $$
declare
    next timestamptz;
begin
    perform from lanes l where l.tenant_id = tenant and l.id = lane and l.lease_id = lease for update;
    if not found then
        return false;
    end if;
    delete from jobs j where j.tenant_id = tenant and j.id = job;
    select j.run_at into next from jobs j where j.tenant_id = tenant and j.lane_id = lane order by j.id limit 1;
    if found then
        update lanes l set lease_id = null, leased_until = null, due_at = next where l.tenant_id = tenant and l.id = lane;
    else
        delete from lanes l where l.tenant_id = tenant and l.id = lane;
    end if;
    return true;
end
$$;

drop function claim(uuid, timestamptz, double precision, bigint);
create function claim_jobs(lease uuid, now timestamptz, seconds double precision, max_jobs bigint) returns setof jobs
language plpgsql volatile
as $$
declare
    lane record;
begin
    for lane in
        select l.tenant_id, l.id from lanes l
        where l.due_at <= now and (l.leased_until is null or l.leased_until < clock_timestamp())
        order by l.due_at limit max_jobs for update skip locked
    loop
        update lanes l set lease_id = lease, leased_until = clock_timestamp() + make_interval(secs => seconds)
        where l.tenant_id = lane.tenant_id and l.id = lane.id;
        return query update jobs j set attempts = j.attempts + 1
            where j.tenant_id = lane.tenant_id and j.id = (
                select first.id from jobs first
                where first.tenant_id = lane.tenant_id and first.lane_id = lane.id order by first.id limit 1)
            returning j.*;
    end loop;
end
$$;

drop function approvers_of(uuid, uuid);
create function co_approvers_of(tenant uuid, approval uuid) returns jsonb language sql stable as $$
    select coalesce(jsonb_agg(jsonb_build_object(
        'person', a.person_id, 'name', coalesce(nullif(p.full_name, ''), p.name), 'zone', coalesce(p.zone, 'UTC'),
        'platform', a.platform, 'workspace', a.workspace, 'display_limit', a.display_limit, 'delivery', a.delivery_id,
        'reminder', a.reminder_id, 'approved_at', a.approved_at) order by p.full_name, p.id), '[]')
    from co_approvers a join people p on p.tenant_id = a.tenant_id and p.id = a.person_id
    where a.tenant_id = tenant and a.approval_id = approval
$$;

