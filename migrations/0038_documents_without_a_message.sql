-- `nod ingest` keeps documents that nobody dropped in a chat: they have no message, and nobody of the chat added them.
alter table documents alter column delivery_id drop not null;
alter table documents alter column added_by drop not null;
