-- A page whose title is longer than an index takes.
insert into documents (tenant_id, id, title, platform, url, media_type, generation, status, created_at, updated_at, published_at)
values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000f7', repeat('wiki.acme.test/', 300), 'web',
     'https://wiki.acme.test/', 'text/html', 1, 'indexed', '2026-03-08 11:30Z', '2026-03-08 11:30Z', '2026-03-08 11:30Z');
