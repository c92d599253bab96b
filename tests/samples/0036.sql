-- The second document has a version that is found, and one that is being embedded and says the same.
insert into document_chunks values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ee', '00000000-0000-0000-0000-0000000000eb',
     '00000000-0000-0000-0000-0000000000a1', 1, 0, null, 'Leave', 'Leave ends in March.', '{1}', '{1000}'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ef', '00000000-0000-0000-0000-0000000000eb',
     '00000000-0000-0000-0000-0000000000a1', 2, 0, null, 'Leave', 'Leave ends in March.', '{1}', '{1000}');
insert into chunk_vectors values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ea', 'all-MiniLM-L6-v2@53aa51172d14', '\x7f00', '{0.0078}'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ea', 'another@example.test', '\x7f00', '{0.0078}'),
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ee', 'all-MiniLM-L6-v2@53aa51172d14', '\x7f00', '{0.0078}');
-- A document whose text a model refuses.
insert into documents (tenant_id, id, title, only_for, added_by, platform, url, media_type, delivery_id, generation, status,
    created_at, updated_at, published_at)
values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000f0', 'table.csv',
     '00000000-0000-0000-0000-0000000000a1', '00000000-0000-0000-0000-0000000000a1', 'slack', 'https://files.test/table.csv',
     'text/csv', '00000000-0000-0000-0000-000000000061', 1, 'indexed', '2026-03-08 09:30Z', '2026-03-08 09:30Z',
     '2026-03-08 09:30Z');
insert into document_chunks values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000f1', '00000000-0000-0000-0000-0000000000f0',
     '00000000-0000-0000-0000-0000000000a1', 1, 0, null, '', 'Month: May; Sum: 120', '{3}', '{1000}');
