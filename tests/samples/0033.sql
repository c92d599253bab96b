insert into inbound values
    ('00000000-0000-0000-0000-000000000001', 'slack', 'button:T1:1', 'button_click', null, '2026-03-06 09:30Z');
