-- A step can end with one of its actions outside done, and another one denied, expired, failed or of unknown outcome.
alter table task_steps
    drop constraint task_steps_status_check,
    add constraint task_steps_status_check
        check (status in ('planned', 'running', 'done', 'incomplete', 'not_done', 'failed', 'skipped', 'stopped'));
