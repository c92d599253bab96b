-- Accounts that people connected. Tokens are sealed; key_id says with which key.
create table connections (
    tenant_id      uuid not null,
    person_id      uuid not null,
    provider       text not null,
    account        text not null,
    -- active | revoked
    status         text not null,
    scopes         text[] not null,
    access_sealed  text not null,
    refresh_sealed text,
    key_id         text not null,
    expires_at     timestamptz not null,
    created_at     timestamptz not null,
    updated_at     timestamptz not null,
    primary key (tenant_id, person_id, provider),
    foreign key (tenant_id, person_id) references people (tenant_id, id)
);

-- Offers to connect: the link carries the offer's id and a MAC of it, so no row holds a working link.
create table offers (
    tenant_id       uuid not null,
    id              uuid not null,
    person_id       uuid not null,
    provider        text not null,
    conversation_id uuid not null,
    run_id          uuid,
    delivery_id     uuid,
    -- SHA-256 of the OAuth state; null until the link was used.
    state_hash      text,
    verifier_sealed text,
    -- open | begun | resumed | done | declined | other_account
    status          text not null,
    expires_at      timestamptz not null,
    created_at      timestamptz not null,
    primary key (tenant_id, id),
    unique (state_hash),
    foreign key (tenant_id, person_id) references people (tenant_id, id)
);

-- Accounts whose address is not the person's own: an admin decides once.
create table other_accounts (
    tenant_id    uuid not null,
    id           uuid not null,
    person_id    uuid not null,
    provider     text not null,
    address      text not null,
    -- pending | allowed | refused
    status       text not null,
    decided_by   uuid,
    decided_at   timestamptz,
    delivery_ids uuid[] not null,
    created_at   timestamptz not null,
    primary key (tenant_id, id),
    unique (tenant_id, person_id, provider, address),
    foreign key (tenant_id, person_id) references people (tenant_id, id)
);

-- Who did what. Append-only.
create table audit (
    tenant_id uuid not null references tenants (id),
    seq       bigint generated always as identity,
    at        timestamptz not null,
    person_id uuid,
    action    text not null,
    subject   uuid not null,
    digest    text,
    detail    jsonb not null,
    primary key (tenant_id, seq)
);
create index audit_of_subject on audit (tenant_id, subject, seq);

create function audit_is_append_only() returns trigger language plpgsql as $$
begin
    raise exception 'the audit is append-only';
end
$$;
create trigger audit_is_append_only before update or delete on audit
    for each row execute function audit_is_append_only();
create trigger audit_is_not_emptied before truncate on audit
    for each statement execute function audit_is_append_only();
