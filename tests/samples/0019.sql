update offers set scopes = '{https://www.googleapis.com/auth/calendar.events}'
    where id = '00000000-0000-0000-0000-000000000021';
update connections set granted_at = '2026-03-06 09:30Z', ends_at = '2026-03-13 09:30Z';
insert into revocations values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000091', 'google', 'ana@acme.test',
     'v1.0.0.0', '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-000000000061',
     '2026-03-06 09:45Z');
