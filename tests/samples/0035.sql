insert into blobs values
    ('00000000-0000-0000-0000-000000000001', '\x00', 4, '\x74657874', '2026-03-06 09:30Z'),
    ('00000000-0000-0000-0000-000000000001', '\x01', 4, '\x74657875', '2026-03-06 09:30Z');
insert into blob_uses values
    ('00000000-0000-0000-0000-000000000001', '\x00', 'document', '00000000-0000-0000-0000-0000000000e9');
-- The same person's newer document of the same name.
insert into documents (tenant_id, id, title, only_for, added_by, platform, url, media_type, delivery_id, status, created_at,
    updated_at)
values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ed', 'Handbook.txt',
     '00000000-0000-0000-0000-0000000000a1', '00000000-0000-0000-0000-0000000000a1', 'slack', 'https://files.test/Handbook.txt',
     'text/plain', '00000000-0000-0000-0000-000000000061', 'failed', '2026-03-07 09:30Z', '2026-03-07 09:30Z');
update documents set wanted_digest = digest where id = '00000000-0000-0000-0000-0000000000e9';
