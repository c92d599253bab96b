-- Every roll that somebody asked for.
create table dice_rolls (
    tenant_id uuid not null references tenants (id),
    id uuid not null,
    person_id uuid not null,
    conversation_id uuid not null,
    sides integer not null check (sides between 2 and 1000),
    rolled integer not null check (rolled between 1 and sides),
    rolled_at timestamptz not null,
    primary key (tenant_id, id)
);
