-- Rows merged into others: 0
-- A step that has read something.
insert into task_steps (tenant_id, task_id, number, title, detail, status, run_id, started_at, activity)
    values ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ff', 5, 'Read the answers', '', 'running',
     '00000000-0000-0000-0000-0000000059e2', '2026-03-06 09:55Z', '{"Checking mail","Reading mail"}');
-- A task that is queued.
insert into runs (tenant_id, id, conversation_id, lane_id, person_id, trace_id, workflow, status, node, state, version,
    created_at, updated_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000059f0',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000059f0',
     '00000000-0000-0000-0000-0000000000a1', '00000000-0000-0000-0000-0000000059f9', 'task', 'waiting', 'queued', '{}', 0,
     '2026-03-06 09:56Z', '2026-03-06 09:56Z');
insert into tasks (tenant_id, id, conversation_id, person_id, title, note, card_id, created_at)
    values ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000059f0',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000a1', 'Wait', 'wait',
     '00000000-0000-0000-0000-0000000059d1', '2026-03-06 09:56Z');
