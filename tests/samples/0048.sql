-- Rows merged into others: -3
-- What each run that somebody waits for recalled is a row of its own now.
select 1;
