-- Whose address is that? For their working times, and for who may vote.
create index people_by_address on people (tenant_id, lower(coalesce(address, own_account)));

-- A question about a time may be put to others: {"title": …, "voters": [addresses]}; null where it may not.
alter table questions add column vote jsonb;
