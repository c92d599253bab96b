-- A document that the operator keeps.
insert into documents (tenant_id, id, title, platform, url, media_type, generation, status, created_at, updated_at, published_at)
values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000f5', 'policies.md', 'file', '',
     'text/markdown', 1, 'indexed', '2026-03-08 10:00Z', '2026-03-08 10:00Z', '2026-03-08 10:00Z');
