insert into jobs (tenant_id, lane_id, payload, run_at, attempts, last_error, created_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000d1',
     '{"work": "advance_run", "run": "00000000-0000-0000-0000-0000000000e1", "event": null}', '2026-03-06 09:30Z', 0, null,
     '2026-03-06 09:30Z');
