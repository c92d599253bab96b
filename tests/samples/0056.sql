-- Rows merged into others: 0
-- A step that went on after an interruption.
update runs set interruptions = 1, interrupted_version = 0
    where tenant_id = '00000000-0000-0000-0000-000000000001' and id = '00000000-0000-0000-0000-0000000051e2';
