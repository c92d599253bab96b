-- A run's jobs stand in the lane that its row names, and no longer in the one that has its conversation's id: a run that works
-- for hours must not keep its conversation waiting. The runs that people begin still share their conversation's lane.
alter table runs add column lane_id uuid;
update runs set lane_id = conversation_id;
alter table runs alter column lane_id set not null;
