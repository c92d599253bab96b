-- A step that failed waits for its person, who tries it again or skips it.
alter table task_steps
    -- The message that asks how to go on.
    add column notice_id uuid,
    drop constraint task_steps_status_check,
    add constraint task_steps_status_check check (status in ('planned', 'running', 'done', 'failed', 'skipped', 'stopped'));
create index task_steps_by_notice on task_steps (tenant_id, notice_id) where notice_id is not null;
