-- Rows merged into others: 0
-- A task that was made of a message.
insert into runs (tenant_id, id, conversation_id, lane_id, person_id, trace_id, workflow, status, node, state, version,
    created_at, updated_at, finished_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000054e1',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000054e1',
     '00000000-0000-0000-0000-0000000000a1', '00000000-0000-0000-0000-0000000054f9', 'task', 'done', 'finalise', '{}', 1,
     '2026-03-06 09:54Z', '2026-03-06 09:54Z', '2026-03-06 09:54Z');
insert into tasks (tenant_id, id, conversation_id, person_id, title, note, card_id, summary, result, created_at, finished_at,
    about, about_sources) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000054e1',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000a1', 'Bo: tell Cho', 'do it',
     '00000000-0000-0000-0000-0000000054d1', 'Cho knows.', 'Cho was told.', '2026-03-06 09:54Z', '2026-03-06 09:54Z',
     'tell Cho', '{a chat message from Bo}');
