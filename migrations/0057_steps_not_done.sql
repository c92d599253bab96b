-- A step can end without having done what it was for: its person denied it, it expired, or it failed outside.
alter table task_steps
    drop constraint task_steps_status_check,
    add constraint task_steps_status_check
        check (status in ('planned', 'running', 'done', 'not_done', 'failed', 'skipped', 'stopped'));
