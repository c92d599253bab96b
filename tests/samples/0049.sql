-- Rows merged into others: 0
-- A run as it is recorded now: a prompt that adds to its message, an answer and a result that are turns, and an answer that is
-- none.
insert into runs (tenant_id, id, conversation_id, person_id, trace_id, workflow, status, node, state, version, created_at,
    updated_at, finished_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000049e1',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000a1',
     '00000000-0000-0000-0000-0000000000f9', 'chat', 'done', 'end', '{}', 1, '2026-03-06 09:40Z', '2026-03-06 09:40Z',
     '2026-03-06 09:40Z');
insert into messages (tenant_id, id, conversation_id, run_id, turn_number, role, turn, untrusted_sources, at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000049b0', '00000000-0000-0000-0000-0000000000d1',
     '00000000-0000-0000-0000-0000000049e1', 0, 'human', '{"role": "human", "text": "look"}', '{}', '2026-03-06 09:40Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000049b1', '00000000-0000-0000-0000-0000000000d1',
     '00000000-0000-0000-0000-0000000049e1', 1, 'ai',
     '{"role": "ai", "text": "", "calls": [{"id": "c1", "name": "look", "arguments": "{}"}]}', '{}', '2026-03-06 09:40Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000049b2', '00000000-0000-0000-0000-0000000000d1',
     '00000000-0000-0000-0000-0000000049e1', 2, 'tool',
     '{"role": "tool", "call_id": "c1", "name": "look", "content": "outside 1 begins (Zoë)\n{\"seen\":\"é\"}\noutside 1 ends"}',
     '{x}', '2026-03-06 09:40Z');
insert into step_records (tenant_id, run_id, only_for, steps) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000049e1', null,
     '[{"model": "router", "at": 1772790000000000, "us": 1200, "id": "00000000-0000-0000-0000-000000004981", "tokens": [300, 10],
        "input": {"system": ["00000000-0000-0000-0000-000000004401", "Ana"], "turns": [{"own": [0, 0]}]},
        "output": {"text": "tool", "model": "small", "truncated": true}},
       {"model": "reasoner", "at": 1772790000000001, "us": 1200, "id": "00000000-0000-0000-0000-000000004982",
        "input": {"system": ["00000000-0000-0000-0000-000000004401", "Ana"], "turns": [{"own": [0, 0], "added": ", please"}]},
        "output": {"turn": 1, "model": "large"}},
       {"tool": "look", "at": 1772790000000002, "us": 5, "id": "00000000-0000-0000-0000-000000004983", "input": {},
        "in_turn": [2, 24, 12]},
       {"tool": "fail", "at": 1772790000000003, "us": 5, "id": "00000000-0000-0000-0000-000000004984", "input": {},
        "error": "no answer"},
       {"node": "act", "at": 1772790000000004, "us": 1300}]');
