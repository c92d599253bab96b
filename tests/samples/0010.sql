insert into hearings values
    ('00000000-0000-0000-0000-000000000001', 'slack', 'T1', '2026-03-06 09:30Z');
