-- A German document.
insert into documents (tenant_id, id, title, platform, url, media_type, generation, status, language, created_at, updated_at,
    published_at)
values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000f6', 'vertrag.md', 'file', '',
     'text/markdown', 1, 'indexed', 'de', '2026-03-08 11:00Z', '2026-03-08 11:00Z', '2026-03-08 11:00Z');
