-- Who and where. Keys lead with the tenant, so that the same schema shards by it.
create table tenants (
    id         uuid primary key,
    name       text not null,
    created_at timestamptz not null
);

create table people (
    tenant_id  uuid not null references tenants (id),
    id         uuid not null,
    name       text not null,
    full_name  text not null,
    title      text,
    address    text,
    zone       text,
    -- unknown | member | guest | external | bot | gone
    standing   text not null,
    -- When the platform last told; null until it has.
    profile_at timestamptz,
    created_at timestamptz not null,
    primary key (tenant_id, id)
);

-- "Bo" finds everybody one of whose names is Bo.
create index people_by_name on people using gin (string_to_array(lower(full_name || ' ' || name), ' '))
    where standing = 'member';

create table identities (
    tenant_id uuid not null,
    platform  text not null,
    workspace text not null,
    user_ref  text not null,
    person_id uuid not null,
    primary key (tenant_id, platform, workspace, user_ref),
    foreign key (tenant_id, person_id) references people (tenant_id, id)
);
create index identities_of_person on identities (tenant_id, person_id);

-- When the people of a workspace were last read from the platform.
create table directories (
    tenant_id uuid not null references tenants (id),
    platform  text not null,
    workspace text not null,
    name      text not null,
    synced_at timestamptz,
    primary key (tenant_id, platform, workspace)
);

create table channels (
    tenant_id   uuid not null references tenants (id),
    id          uuid not null,
    platform    text not null,
    workspace   text not null,
    channel_ref text not null,
    direct      boolean not null,
    created_at  timestamptz not null,
    primary key (tenant_id, id),
    unique (tenant_id, platform, workspace, channel_ref)
);

create table conversations (
    tenant_id  uuid not null,
    id         uuid not null,
    channel_id uuid not null,
    -- '' is the top of a direct line; null until the message that opens the thread is posted.
    thread_ref text,
    -- Where Nod may not post in the channel, the conversation goes on with this person alone.
    alone_with uuid,
    created_at timestamptz not null,
    primary key (tenant_id, id),
    unique (tenant_id, channel_id, thread_ref),
    foreign key (tenant_id, channel_id) references channels (tenant_id, id),
    foreign key (tenant_id, alone_with) references people (tenant_id, id)
);
