-- What only one replica may do at a time, such as keeping one connection: whoever holds the seat, for as long as
-- it takes it anew before its time is over, by the clock of this database.
create table seats (
    tenant_id  uuid not null references tenants (id),
    name       text not null,
    holder     uuid not null,
    held_until timestamptz not null,
    primary key (tenant_id, name)
);
