-- When the people of a workspace were last asked for anew, before the daily reading: at most once in some minutes.
alter table directories add column asked_at timestamptz;
