-- Rows merged into others: 0
-- A run whose lane is not that of its conversation.
insert into runs (tenant_id, id, conversation_id, lane_id, person_id, trace_id, workflow, status, node, state, version,
    created_at, updated_at, finished_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000050e1',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000050e1',
     '00000000-0000-0000-0000-0000000000a1', '00000000-0000-0000-0000-0000000050f9', 'chat', 'done', 'end', '{}', 1,
     '2026-03-06 09:50Z', '2026-03-06 09:50Z', '2026-03-06 09:50Z');
insert into messages (tenant_id, id, conversation_id, run_id, turn_number, role, turn, untrusted_sources, at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000050b0', '00000000-0000-0000-0000-0000000000d1',
     '00000000-0000-0000-0000-0000000050e1', 0, 'human', '{"role": "human", "text": "compare"}', '{}',
     '2026-03-06 09:50Z');
