-- Rows merged into others: 0
-- A step that has read something.
insert into task_steps (tenant_id, task_id, number, title, detail, status, run_id, started_at, activity)
    values ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ff', 5, 'Read the answers', '', 'running',
     '00000000-0000-0000-0000-0000000059e2', '2026-03-06 09:55Z', '{"Checking mail","Reading mail"}');
