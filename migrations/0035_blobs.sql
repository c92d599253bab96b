-- The bytes of files, each once for an organisation, and who still needs them.

create table blobs (
    tenant_id uuid not null references tenants (id),
    -- SHA-256 of the bytes.
    digest bytea not null,
    size bigint not null,
    bytes bytea not null,
    created_at timestamptz not null,
    primary key (tenant_id, digest)
);
-- Most files are packed already.
alter table blobs alter column bytes set storage external;

create table blob_uses (
    tenant_id uuid not null,
    digest bytea not null,
    -- The kind of what needs them, such as "document", and its id.
    owner text not null,
    owner_id uuid not null,
    primary key (tenant_id, digest, owner, owner_id),
    foreign key (tenant_id, digest) references blobs (tenant_id, digest)
);
create index blob_uses_of_owner on blob_uses (tenant_id, owner, owner_id);

-- The bytes of the version that is read, or was read last; null until they were fetched.
alter table documents add column wanted_digest bytea;
