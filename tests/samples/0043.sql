-- Rows merged into others: 2
-- The first job of each lane stands in the lane's row now, with its attempts and its time.
select 1;
