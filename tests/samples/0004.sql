insert into deliveries (tenant_id, id, conversation_id, run_id, platform, target, opens_thread, card, version,
    posted_version, posted, error, only_for, created_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000061',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000e1', 'slack', null, false,
     '{"title": null, "body": [], "buttons": []}', 2, 1, '{"channel": "C1", "message": "1.2"}', null,
     '00000000-0000-0000-0000-0000000000a1', '2026-03-06 09:30Z');
insert into approvals (tenant_id, id, conversation_id, run_id, call_id, tool, revision, preview, digest, risks,
    decider_id, status, decided_by, decided_at, expires_at, delivery_id, created_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000051',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000e1', 'call_1', 'gmail_send_email', 1,
     '{"payload": {}}', 'db435d', '{Nod''s first mail to bo@acme.test}', '00000000-0000-0000-0000-0000000000a1',
     'approved', '00000000-0000-0000-0000-0000000000a1', '2026-03-06 09:31Z', '2026-03-07 09:30Z',
     '00000000-0000-0000-0000-000000000061', '2026-03-06 09:30Z');
insert into effects (tenant_id, id, conversation_id, run_id, call_id, approval_id, person_id, tool, payload, digest,
    recipients, status, attempt, handle, looks, outcome, created_at, updated_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000041',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000e1', 'call_1',
     '00000000-0000-0000-0000-000000000051', '00000000-0000-0000-0000-0000000000a1', 'gmail_send_email', '{}',
     'db435d', '{bo@acme.test}', 'started', 1, '{"draft": "r1"}', 2, null, '2026-03-06 09:31Z', '2026-03-06 09:31Z');
insert into questions (tenant_id, id, conversation_id, run_id, call_id, person_id, about, choices, status, answer,
    expires_at, delivery_id, created_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000031',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000e1', 'call_2',
     '00000000-0000-0000-0000-0000000000a1', 'Bob', '[{"label": "Bob Stone", "value": "stone@acme.test"}]', 'pending',
     null, '2026-03-07 09:30Z', '00000000-0000-0000-0000-000000000061', '2026-03-06 09:30Z');
