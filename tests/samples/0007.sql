insert into approvals (tenant_id, id, conversation_id, run_id, call_id, tool, revision, preview, digest, risks,
    decider_id, status, decided_by, decided_at, expires_at, delivery_id, created_at, undo_seconds, outside,
    reminder_id, ticked, again_of) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000057',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000e1', 'call_7', 'gmail_send_email', 1,
     '{"payload": {}}', 'db435d', '{}', '00000000-0000-0000-0000-0000000000a1',
     'undone', '00000000-0000-0000-0000-0000000000a1', '2026-03-06 09:31Z', '2026-03-07 09:30Z',
     '00000000-0000-0000-0000-000000000061', '2026-03-06 09:30Z', 10, false,
     '00000000-0000-0000-0000-000000000061', false, '00000000-0000-0000-0000-000000000051');
insert into effects (tenant_id, id, conversation_id, run_id, call_id, approval_id, person_id, tool, payload, digest,
    recipients, status, attempt, handle, looks, outcome, created_at, updated_at, starts_at, released) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000047',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000e1', 'call_7',
     '00000000-0000-0000-0000-000000000057', '00000000-0000-0000-0000-0000000000a1', 'gmail_send_email', '{}',
     'db435d', '{bo@acme.test}', 'cancelled', 0, null, 0, null, '2026-03-06 09:31Z', '2026-03-06 09:31Z',
     '2026-03-06 09:31Z', false);
