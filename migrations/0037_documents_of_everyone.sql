-- A document that is neither a channel's nor a person's is everyone's in the organisation.
alter table documents drop constraint documents_check;
alter table documents add constraint documents_check check (channel_id is null or only_for is null);
create index documents_of_everyone on documents (tenant_id) where channel_id is null and only_for is null;
