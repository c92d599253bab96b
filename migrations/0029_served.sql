-- Which parts of a workspace (servers of Discord) are served, all where there are none: who belongs depends on it.
alter table directories add column served text[] not null default '{}';
