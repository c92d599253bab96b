insert into drafts (tenant_id, id, conversation_id, person_id, run_id, draft_ref, draft, only_for, outside, status,
    delivery_id, created_at, updated_at, closed_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000b1',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000a1',
     '00000000-0000-0000-0000-0000000000e1', 'r-1', '{"id": "r-1"}', null, '{}', 'open',
     '00000000-0000-0000-0000-000000000061', '2026-03-06 09:30Z', '2026-03-06 09:30Z', null);
