-- Indexes and functions change, and no row does.
select 1;
