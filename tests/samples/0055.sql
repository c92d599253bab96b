-- Rows merged into others: 0
-- A step that waits for a decision.
insert into task_steps (tenant_id, task_id, number, title, detail, status, run_id, summary, notice_id, started_at, finished_at)
    values ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ff', 2, 'Tell Bo', '', 'failed',
     '00000000-0000-0000-0000-0000000055e2', 'The model did not answer.', '00000000-0000-0000-0000-0000000055d1',
     '2026-03-06 09:51Z', '2026-03-06 09:52Z');
insert into effects (tenant_id, id, conversation_id, run_id, call_id, approval_id, person_id, tool, payload, digest, recipients,
    status, attempt, lookup_count, created_at, updated_at)
    select tenant_id, '00000000-0000-0000-0000-0000000055f0', conversation_id, '00000000-0000-0000-0000-0000000051e2', 'call_1',
        null, person_id, tool, payload, digest, recipients, 'done', 1, 0, created_at, updated_at
    from effects where id = '00000000-0000-0000-0000-000000000041';
