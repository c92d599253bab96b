-- Rows merged into others: 0
-- A step of which one of two mails was denied.
insert into task_steps (tenant_id, task_id, number, title, detail, status, run_id, summary, output, started_at, finished_at)
    values ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ff', 4, 'Tell Dana and Eve', '', 'incomplete',
     '00000000-0000-0000-0000-0000000058e2', 'Dana has the mail, Eve has none.', 'You denied the mail to Eve.', '2026-03-06 09:53Z', '2026-03-06 09:54Z');
