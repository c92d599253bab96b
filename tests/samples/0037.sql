-- A document of everyone.
insert into documents (tenant_id, id, title, added_by, platform, url, media_type, delivery_id, generation, status,
    created_at, updated_at, published_at)
values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000f2', 'house rules.md',
     '00000000-0000-0000-0000-0000000000a1', 'slack', 'https://files.test/house-rules.md', 'text/markdown',
     '00000000-0000-0000-0000-000000000061', 1, 'indexed', '2026-03-08 09:40Z', '2026-03-08 09:40Z', '2026-03-08 09:40Z');
insert into document_chunks values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000f3', '00000000-0000-0000-0000-0000000000f2',
     null, 1, 0, null, 'House rules', 'Shoes stay at the door.', '{4}', '{1000}');
-- A document of a channel.
insert into documents (tenant_id, id, title, channel_id, added_by, platform, url, media_type, delivery_id, generation, status,
    created_at, updated_at, published_at)
values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000f4', 'launch.md',
     '00000000-0000-0000-0000-0000000000c1', '00000000-0000-0000-0000-0000000000a1', 'slack',
     'https://files.test/launch.md', 'text/markdown', '00000000-0000-0000-0000-000000000061', 1, 'indexed',
     '2026-03-08 09:50Z', '2026-03-08 09:50Z', '2026-03-08 09:50Z');
