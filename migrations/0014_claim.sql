-- Leases the lanes that have waited longest, at most so many, and gives the first job of each. Statement after
-- statement, so that a lane's jobs are read after it was locked: read together, a job that another replica
-- ended in between would leave the lane leased with nothing to do.
create function claim(shown uuid, now timestamptz, seconds double precision, most bigint) returns setof jobs
language plpgsql volatile
as $$
declare
    lane record;
begin
    for lane in
        select l.tenant_id, l.id from lanes l
        where l.due_at <= now and (l.leased_until is null or l.leased_until < clock_timestamp())
        order by l.due_at limit most for update skip locked
    loop
        update lanes l set lease = shown, leased_until = clock_timestamp() + make_interval(secs => seconds)
        where l.tenant_id = lane.tenant_id and l.id = lane.id;
        return query update jobs j set attempts = j.attempts + 1
            where j.tenant_id = lane.tenant_id and j.id = (
                select first.id from jobs first
                where first.tenant_id = lane.tenant_id and first.lane_id = lane.id order by first.id limit 1)
            returning j.*;
    end loop;
end
$$;
