-- Rows merged into others: 0
-- A step of a workflow's run, with a turn that belongs to no conversation.
insert into runs (tenant_id, id, conversation_id, lane_id, person_id, trace_id, workflow, status, node, state, version,
    created_at, updated_at, finished_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ff',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000ff',
     '00000000-0000-0000-0000-0000000000a1', '00000000-0000-0000-0000-0000000051f9', 'task', 'done', 'finalise', '{}', 1,
     '2026-03-06 09:51Z', '2026-03-06 09:51Z', '2026-03-06 09:51Z');
insert into runs (tenant_id, id, parent_id, conversation_id, lane_id, person_id, trace_id, workflow, status, node, state,
    version, created_at, updated_at, finished_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000051e2',
     '00000000-0000-0000-0000-0000000000ff', '00000000-0000-0000-0000-0000000000d1',
     '00000000-0000-0000-0000-0000000051e2', '00000000-0000-0000-0000-0000000000a1',
     '00000000-0000-0000-0000-0000000051f9', 'step', 'done', 'reply', '{}', 1, '2026-03-06 09:51Z', '2026-03-06 09:51Z',
     '2026-03-06 09:51Z');
insert into messages (tenant_id, id, conversation_id, run_id, turn_number, role, turn, untrusted_sources, at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000051b0', null,
     '00000000-0000-0000-0000-0000000051e2', 0, 'human', '{"role": "human", "text": "compare"}', '{}',
     '2026-03-06 09:51Z');
