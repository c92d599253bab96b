-- A step can end with perhaps not all done of what it was to do outside Nod: one of two mails was denied, or nobody knows whether
-- one was sent.
alter table task_steps
    drop constraint task_steps_status_check,
    add constraint task_steps_status_check
        check (status in ('planned', 'running', 'done', 'incomplete', 'not_done', 'failed', 'skipped', 'stopped'));
