-- What a run asked for and did is looked up by the run: when it is stopped, and wherever its outcome is told.
create index approvals_of_run on approvals (tenant_id, run_id);
create index effects_of_run on effects (tenant_id, run_id);
