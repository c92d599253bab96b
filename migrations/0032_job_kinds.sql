-- Waiting jobs, and those that were given up, get the names that kinds of job and of event have now. Replicas of an earlier version have
-- to be stopped before this is applied: they know only the earlier names.

with kinds (earlier, current) as (values
    ('advance', 'advance_run'),
    ('deliver', 'deliver_message'),
    ('perform', 'perform_effect'),
    ('look_again', 'recheck_effect'),
    ('tally', 'refresh_vote'),
    ('expire_offer', 'expire_connect_request'),
    ('give_back', 'revoke_grant'),
    ('warn_of_end', 'warn_grant_expiry'),
    ('dress_pane', 'update_assistant_thread'),
    ('show_home', 'publish_home'),
    ('remember', 'update_memory'),
    ('read_directory', 'sync_directory'),
    ('forget', 'purge_run_history')),
waiting as (
    update jobs j set payload = jsonb_set(j.payload, '{work}', to_jsonb(k.current))
    from kinds k where j.payload->>'work' = k.earlier)
update dead_jobs j set payload = jsonb_set(j.payload, '{work}', to_jsonb(k.current))
from kinds k where j.payload->>'work' = k.earlier;

with events (earlier, current) as (values
    ('verdict', 'approval_closed'),
    ('revised', 'approval_edited'),
    ('outcome', 'effect_finished'),
    ('answer', 'question_closed'),
    ('connection', 'connect_finished'),
    ('retry', 'retry_requested'),
    ('edited', 'message_edited'),
    ('withdrawn', 'message_deleted')),
renamed as (
    select r.job, jsonb_build_object('event', case when jsonb_typeof(r.news) = 'object'
        then r.news - 'news' || jsonb_build_object('event', e.current) end) as event
    from (select id as job, payload->'news' as news from jobs where payload->>'work' = 'advance_run'
          union all select id, payload->'news' from dead_jobs where payload->>'work' = 'advance_run') r
    left join events e on e.earlier = r.news->>'news'),
waiting as (update jobs j set payload = j.payload - 'news' || r.event from renamed r where j.id = r.job)
update dead_jobs j set payload = j.payload - 'news' || r.event from renamed r where j.id = r.job;
