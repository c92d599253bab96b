-- An index comes, and no row does.
select 1;
