-- A message whose words are shown while they are still being written. It is opened before its first word and
-- closed by the whole answer; null for every other message.
alter table deliveries add column streamed text check (streamed in ('open', 'closed'));
create index deliveries_open on deliveries (tenant_id, run_id) where streamed = 'open';
