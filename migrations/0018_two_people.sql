-- A request that the account's owner and one more person must agree to.
alter table approvals
    -- What the list of the others is called; null where the owner alone decides.
    add column second   text,
    -- The owner's yes to this revision; it waits for one of the others since.
    add column first_at timestamptz;

-- Who may be that other person, and where they are asked.
create table approvers (
    tenant_id   uuid not null,
    approval_id uuid not null,
    person_id   uuid not null,
    platform    text not null,
    workspace   text not null,
    -- How much of a request a card shows there.
    room        bigint not null,
    -- Their card; null as long as they were not asked about this revision.
    delivery_id uuid,
    -- The message that reminded them.
    reminder_id uuid,
    -- Their yes.
    agreed_at   timestamptz,
    primary key (tenant_id, approval_id, person_id),
    foreign key (tenant_id, approval_id) references approvals (tenant_id, id),
    foreign key (tenant_id, person_id) references people (tenant_id, id),
    foreign key (tenant_id, delivery_id) references deliveries (tenant_id, id),
    foreign key (tenant_id, reminder_id) references deliveries (tenant_id, id)
);
create index approvers_of_person on approvers (tenant_id, person_id);
create index approvers_of_card on approvers (tenant_id, delivery_id) where delivery_id is not null;

-- All of a request's, as its card names them.
create function approvers_of(tenant uuid, approval uuid) returns jsonb language sql stable as $$
    select coalesce(jsonb_agg(jsonb_build_object(
        'person', a.person_id, 'name', coalesce(nullif(p.full_name, ''), p.name), 'zone', coalesce(p.zone, 'UTC'),
        'platform', a.platform, 'workspace', a.workspace, 'room', a.room, 'delivery', a.delivery_id, 'reminder', a.reminder_id,
        'agreed_at', a.agreed_at) order by p.full_name, p.id), '[]')
    from approvers a join people p on p.tenant_id = a.tenant_id and p.id = a.person_id
    where a.tenant_id = tenant and a.approval_id = approval
$$;

-- A tenant's own rules about asking for a nod, laid after those of the installation.
create table policies (
    tenant_id uuid primary key,
    -- As its admin wrote them, the same as read, and SHA-256 of the text in hex.
    text      text not null,
    rules     jsonb not null,
    digest    text not null,
    set_by    text not null,
    set_at    timestamptz not null
);
