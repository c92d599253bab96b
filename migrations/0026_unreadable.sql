-- What ended its reader, by its digest, so that it is not opened again: `reader` names the reader and its version.
create table unreadable (
    tenant_id uuid not null references tenants (id),
    digest bytea not null,
    reader text not null,
    why text not null check (why in ('memory', 'time')),
    at timestamptz not null,
    primary key (tenant_id, digest, reader)
);
