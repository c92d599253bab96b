-- Rows merged into others: 0
-- A step whose mail was denied.
insert into task_steps (tenant_id, task_id, number, title, detail, status, run_id, summary, output, started_at, finished_at)
    values ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ff', 3, 'Tell Cho', '', 'not_done',
     '00000000-0000-0000-0000-0000000057e2', 'You denied the mail.', 'Cho has no mail.', '2026-03-06 09:53Z', '2026-03-06 09:54Z');
