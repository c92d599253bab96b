insert into approvals (tenant_id, id, conversation_id, run_id, call_id, tool, revision, preview, digest, risks,
    decider_id, status, decided_by, decided_at, expires_at, delivery_id, created_at, reason) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000052',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000e1', 'call_3', 'gmail_send_email', 2,
     '{"payload": {}}', 'a91f3c', '{}', '00000000-0000-0000-0000-0000000000a1',
     'denied', '00000000-0000-0000-0000-0000000000a1', '2026-03-06 09:31Z', '2026-03-07 09:30Z',
     '00000000-0000-0000-0000-000000000061', '2026-03-06 09:30Z', 'not before Monday');
