-- Work to do. A lane is a line of jobs done one after another (a conversation, a channel's outgoing
-- messages, one effect); its row is order and lease in one. Leases run by the clock of this database.
create table lanes (
    tenant_id    uuid not null references tenants (id),
    id           uuid not null,
    due_at       timestamptz not null,
    leased_until timestamptz,
    lease        uuid,
    primary key (tenant_id, id)
);
create index lanes_due on lanes (due_at);

create table jobs (
    tenant_id  uuid not null,
    id         bigint generated always as identity,
    lane_id    uuid not null,
    work       jsonb not null,
    run_at     timestamptz not null,
    attempts   integer not null default 0,
    last_error text,
    created_at timestamptz not null,
    primary key (tenant_id, id),
    foreign key (tenant_id, lane_id) references lanes (tenant_id, id)
);
-- Jobs that were given up after many tries, with what stopped them. Nothing reads them but people.
create table dead_jobs (
    tenant_id uuid not null references tenants (id),
    id        bigint not null,
    lane_id   uuid not null,
    work      jsonb not null,
    attempts  integer not null,
    error     text not null,
    died_at   timestamptz not null,
    primary key (tenant_id, id)
);

create index jobs_in_lane on jobs (tenant_id, lane_id, id);
