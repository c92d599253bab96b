-- Runs as they were before their turns had numbers: one that waits, with a turn that is no row yet; one that began anew, since
-- its message was edited, and failed; and one that is done.
insert into runs (tenant_id, id, conversation_id, person_id, trace_id, workflow, status, node, state, intent, routed_via,
    version, persisted_turns, created_at, updated_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000048e1', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000a1', '00000000-0000-0000-0000-0000000000f1', 'chat', 'waiting', 'gate',
     '{"principal": {"person": "00000000-0000-0000-0000-0000000000a1", "name": "Ana", "address": "ana@x.test", "zone": "UTC"}, "shared": true, "intent": "tool", "routed_via": "router", "target_tool": null, "acts": false, "pending": [], "thoughts": 1, "audience": {"kind": "channel"}, "provenance": {"kind": "ours"}, "receipts": [{"id": "m1"}, {"id": "m2"}], "notes": [], "reply": null, "history": [{"role": "human", "text": "Bo: hi"}, {"role": "ai", "text": "Hi.", "calls": []}], "context": "outside 1 begins (x)\nWe start at nine.\noutside 1 ends", "earlier": {"text": "They planned.", "outside": ["a", "b"]}, "unfolded": 2, "turns": [{"role": "human", "text": "look"}, {"role": "ai", "text": "", "calls": [{"id": "c1", "name": "look", "arguments": "{}"}]}, {"role": "tool", "call_id": "c1", "name": "look", "content": "seen"}], "working": {"current_goal": "ship", "extracted_info": {"<@U2>": "Bo"}, "facts": {"b": "2", "a": "1"}}, "waiting": ["a mail to Bo"]}',
     'tool', 'router', 3, 2, '2026-03-06 09:30Z', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000048e2', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000a1', '00000000-0000-0000-0000-0000000000f1', 'chat', 'failed', 'think',
     '{"principal": {"person": "00000000-0000-0000-0000-0000000000a1", "name": "Ana", "address": "ana@x.test", "zone": "UTC"}, "shared": true, "intent": "tool", "routed_via": "router", "target_tool": null, "acts": false, "pending": [], "thoughts": 1, "audience": {"kind": "channel"}, "provenance": {"kind": "ours"}, "receipts": [], "notes": [], "reply": null, "history": [], "context": null, "earlier": null, "turns": [{"role": "human", "text": "look again"}, {"role": "ai", "text": "No.", "calls": []}], "working": {"current_goal": null, "extracted_info": {}, "facts": {}}, "waiting": [], "overheard": true}',
     'tool', 'router', 3, 2, '2026-03-06 09:30Z', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000048e3', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000a1', '00000000-0000-0000-0000-0000000000f1', 'chat', 'done', 'remember',
     '{"principal": {"person": "00000000-0000-0000-0000-0000000000a1", "name": "Ana", "address": "ana@x.test", "zone": "UTC"}, "shared": true, "intent": "tool", "routed_via": "router", "target_tool": null, "acts": false, "pending": [], "thoughts": 1, "audience": {"kind": "channel"}, "provenance": {"kind": "ours"}, "receipts": [], "notes": [], "reply": null, "history": [{"role": "human", "text": "x"}], "context": "x", "turns": [{"role": "human", "text": "hi"}, {"role": "ai", "text": "Hello.", "calls": []}], "working": {"current_goal": null, "extracted_info": {}, "facts": {}}, "waiting": [], "thread": "t1", "overheard": false}',
     'tool', 'router', 3, 2, '2026-03-06 09:30Z', '2026-03-06 09:30Z');
insert into messages (tenant_id, id, conversation_id, run_id, role, person_id, message_ref, turn, untrusted_sources, at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000004801', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000048e1', 'human', '00000000-0000-0000-0000-0000000000a1', '48.1',
     '{"role": "human", "text": "look"}', '{}', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000004802', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000048e1', 'ai', null, null,
     '{"role": "ai", "text": "", "calls": [{"id": "c1", "name": "look", "arguments": "{}"}]}', '{}', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000004803', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000048e2', 'human', '00000000-0000-0000-0000-0000000000a1', '48.2',
     '{"role": "human", "text": "look again"}', '{}', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000004804', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000048e2', 'ai', null, null,
     '{"role": "ai", "text": "", "calls": [{"id": "c1", "name": "look", "arguments": "{}"}]}', '{}', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000004805', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000048e2', 'tool', null, null,
     '{"role": "tool", "call_id": "c1", "name": "look", "content": "seen"}', '{}', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000004806', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000048e2', 'ai', null, null,
     '{"role": "ai", "text": "No.", "calls": []}', '{}', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000004807', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000048e3', 'human', '00000000-0000-0000-0000-0000000000a1', '48.3',
     '{"role": "human", "text": "hi"}', '{}', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000004808', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000048e3', 'ai', null, null,
     '{"role": "ai", "text": "Hello.", "calls": []}', '{}', '2026-03-06 09:30Z');
