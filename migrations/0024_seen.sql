-- Since when a message reads as its version says, by the platform's clock: what was typed earlier was said to something
-- else. Null where the platform does not tell, and for what was posted before this column was there.
alter table deliveries add column version_posted_at timestamptz;
