insert into unreadable (tenant_id, digest, reader, why, at) values
    ('00000000-0000-0000-0000-000000000001', '\x01', '0.1.0+1 pdf', 'memory', '2026-03-06 09:30Z');
