insert into jobs (tenant_id, lane_id, payload, run_at, attempts, last_error, created_at)
    select '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000d1', payload, '2026-03-06 09:30Z', 0, null,
        '2026-03-06 09:30Z' from (values
        ('{"work": "deliver"}'::jsonb),
        ('{"work": "perform"}'::jsonb),
        ('{"work": "look_again"}'::jsonb),
        ('{"work": "tally"}'::jsonb),
        ('{"work": "expire_offer"}'::jsonb),
        ('{"work": "give_back"}'::jsonb),
        ('{"work": "warn_of_end"}'::jsonb),
        ('{"work": "dress_pane"}'::jsonb),
        ('{"work": "show_home"}'::jsonb),
        ('{"work": "remember"}'::jsonb),
        ('{"work": "read_directory"}'::jsonb),
        ('{"work": "forget"}'::jsonb),
        ('{"work": "advance", "run": "00000000-0000-0000-0000-0000000000e1", "news": {"news": "verdict"}}'::jsonb),
        ('{"work": "advance", "run": "00000000-0000-0000-0000-0000000000e1", "news": {"news": "revised"}}'::jsonb),
        ('{"work": "advance", "run": "00000000-0000-0000-0000-0000000000e1", "news": {"news": "outcome"}}'::jsonb),
        ('{"work": "advance", "run": "00000000-0000-0000-0000-0000000000e1", "news": {"news": "answer"}}'::jsonb),
        ('{"work": "advance", "run": "00000000-0000-0000-0000-0000000000e1", "news": {"news": "connection"}}'::jsonb),
        ('{"work": "advance", "run": "00000000-0000-0000-0000-0000000000e1", "news": {"news": "retry"}}'::jsonb),
        ('{"work": "advance", "run": "00000000-0000-0000-0000-0000000000e1", "news": {"news": "edited"}}'::jsonb),
        ('{"work": "advance", "run": "00000000-0000-0000-0000-0000000000e1", "news": {"news": "withdrawn"}}'::jsonb)) as waiting (payload);
insert into dead_jobs values
    ('00000000-0000-0000-0000-000000000001', 8, '00000000-0000-0000-0000-0000000000d1',
     '{"work": "advance", "run": "00000000-0000-0000-0000-0000000000e1", "news": {"news": "edited"}}', 32,
     'no such run', '2026-03-06 09:30Z');
