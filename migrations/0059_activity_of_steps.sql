-- What a step has looked at so far, in the neutral words of its tools; the card of its task shows it while the step is being done.
alter table task_steps add column activity text[] not null default '{}';
