-- Rows of before stay in their table; a model call, as it is recorded now, and the texts that it names.
insert into prompt_texts (digest, body, first_used_at) values
    ('00000000-0000-0000-0000-000000004401', 'Rules for: ', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000004402', '{"name": "look", "parameters": {}}', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000004403', '["00000000-0000-0000-0000-000000004402"]', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000004404', '{"type": "object"}', '2026-03-06 09:30Z');
insert into step_records (tenant_id, run_id, only_for, steps) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000e1',
     '00000000-0000-0000-0000-0000000000a1',
     '[{"invocation": "00000000-0000-0000-0000-000000000082", "kind": "model", "name": "router", "started_at": "2026-03-06T09:30:00Z",
        "duration_us": 1200, "prompt_tokens": 300, "completion_tokens": 10, "output": {},
        "input": {"tier": "router", "system": ["00000000-0000-0000-0000-000000004401", "Ana"], "turns": [],
                  "tools": "00000000-0000-0000-0000-000000004403",
                  "response_schema": ["route", "00000000-0000-0000-0000-000000004404"]}},
       {"invocation": "00000000-0000-0000-0000-000000000083", "kind": "node", "name": "route",
        "started_at": "2026-03-06T09:30:00Z", "duration_us": 1300}]');
