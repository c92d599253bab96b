insert into effects (tenant_id, id, conversation_id, run_id, call_id, approval_id, person_id, tool, payload, digest,
    recipients, status, attempt, handle, looks, outcome, created_at, updated_at, starts_at, released, draft) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000430',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000e1', 'pressed', null,
     '00000000-0000-0000-0000-0000000000a1', 'gmail_discard_draft', '{"draft": {"id": "r1"}}', 'db435d', '{}',
     'planned', 0, null, 0, null, '2026-03-06 09:31Z', '2026-03-06 09:31Z', '2026-03-06 09:31Z', true, 'r1');
