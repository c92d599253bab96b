-- Keys go, and no row does.
select 1;
