-- A foreign key costs a query and a lock at each row that is written, and whatever names the tenant locks the one row in
-- which all replicas meet. These tables are written in every turn. What their keys held is held by the commits, which write
-- a row together with what it refers to; the consistency check of `nod doctor` and of the tests counts what does not hold.
alter table inbound drop constraint inbound_tenant_id_fkey;
alter table audit drop constraint audit_tenant_id_fkey;
alter table lanes drop constraint lanes_tenant_id_fkey;
alter table jobs drop constraint jobs_tenant_id_lane_id_fkey;
alter table runs drop constraint runs_tenant_id_conversation_id_fkey;
alter table runs drop constraint runs_tenant_id_person_id_fkey;
alter table messages drop constraint messages_tenant_id_run_id_fkey;
alter table run_steps drop constraint run_steps_tenant_id_run_id_fkey;
alter table deliveries drop constraint deliveries_tenant_id_conversation_id_fkey;
alter table approvals drop constraint approvals_tenant_id_run_id_fkey;
alter table effects drop constraint effects_tenant_id_run_id_fkey;
alter table effects drop constraint effects_tenant_id_approval_id_fkey;
