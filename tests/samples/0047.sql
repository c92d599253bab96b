-- A channel that is still to be read, and a run that is over, with its record.
insert into catch_up_channels values
    ('00000000-0000-0000-0000-000000000001', 'slack', 'T1', 0, 'C1', '2026-03-06 09:30Z', '["1.1"]', null);
insert into runs (tenant_id, id, conversation_id, person_id, trace_id, workflow, status, node, state, version,
    persisted_turns, created_at, updated_at, finished_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000e9',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000a1',
     '00000000-0000-0000-0000-0000000000f9', 'chat', 'done', 'end', '{}', 1, 0, '2026-03-06 09:20Z', '2026-03-06 09:20Z',
     '2026-03-06 09:20Z');
insert into step_records (tenant_id, run_id, only_for, steps) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000e9', null, '[]');
insert into old_run_steps (tenant_id, run_id, invocation_id, kind, name, started_at, duration_us) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000e9',
     '00000000-0000-0000-0000-0000000000fa', 'node', 'think', '2026-03-06 09:20Z', 1200);
