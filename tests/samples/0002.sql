insert into inbound values
    ('00000000-0000-0000-0000-000000000001', 'slack', 'message:T1:C1:1.1', 'said', null, '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', 'slack', 'unreadable:T1:0', 'unreadable', '{"what": 1}',
     '2026-03-06 09:30Z');
insert into runs (tenant_id, id, conversation_id, person_id, trace_id, workflow, status, node, state, version, kept,
    created_at, updated_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000e1',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000a1',
     '00000000-0000-0000-0000-0000000000f1', 'chat', 'waiting', 'gate', '{"pending": []}', 3, 2,
     '2026-03-06 09:30Z', '2026-03-06 09:30Z');
insert into messages (tenant_id, id, conversation_id, run_id, role, person_id, message_ref, turn, only_for, outside, at)
    values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000091',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000e1', 'human',
     '00000000-0000-0000-0000-0000000000a1', '1.1', '{"role": "human", "text": "hello"}', null, '{}',
     '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000092',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000e1', 'ai', null, null,
     '{"role": "ai", "text": "hello", "calls": []}', '00000000-0000-0000-0000-0000000000a1', '{mail from x@y.test}',
     '2026-03-06 09:30Z');
insert into run_steps (tenant_id, run_id, invocation_id, kind, name, started_at, duration_us, prompt_tokens,
    completion_tokens, input, output, error, only_for) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000e1',
     '00000000-0000-0000-0000-000000000081', 'model', 'router', '2026-03-06 09:30Z', 1200, 300, 10, '{}', '{}', null,
     null);
