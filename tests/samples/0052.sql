-- Rows merged into others: 0
-- A task of the run of 0051, with the step that was done in it.
insert into tasks (tenant_id, id, conversation_id, person_id, title, note, card_id, summary, result, created_at, finished_at)
    values ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ff',
     '00000000-0000-0000-0000-0000000000d1', '00000000-0000-0000-0000-0000000000a1', 'Compare', 'compare them',
     '00000000-0000-0000-0000-0000000052d1', 'Compared.', 'Both cost the same.', '2026-03-06 09:51Z', '2026-03-06 09:52Z');
insert into task_steps (tenant_id, task_id, number, title, detail, status, run_id, summary, output, untrusted_sources,
    started_at, finished_at) values
    ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ff', 1, 'Read the offers', '', 'done',
     '00000000-0000-0000-0000-0000000051e2', 'Two found.', 'Fig and Olive.', '{a mail}', '2026-03-06 09:51Z',
     '2026-03-06 09:52Z');
