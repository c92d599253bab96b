-- A message that a task is about. Anybody may have written it, so it has a source.
alter table tasks
    add column about text,
    add column about_sources text[] not null default '{}',
    add check (about is null or cardinality(about_sources) > 0);
