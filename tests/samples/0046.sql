-- Functions alone.
select 1;
