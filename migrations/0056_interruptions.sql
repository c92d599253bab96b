-- How often the process that worked on a run died, at the version of the run that is named. Whoever goes on writes it, so a turn
-- that nothing interrupts writes none.
alter table runs
    add column interruptions       smallint not null default 0,
    add column interrupted_version integer;
