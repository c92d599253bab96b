-- A workflow's run has runs below it, one for each step of its work. What people begin has no parent.
alter table runs add column parent_id uuid;
create index runs_of_parent on runs (tenant_id, parent_id) where parent_id is not null;

-- What is said in a step belongs to no conversation: no history, summary or fact is made of it, and whoever looks for the
-- messages of a conversation need not know that there are steps.
alter table messages alter column conversation_id drop not null;
