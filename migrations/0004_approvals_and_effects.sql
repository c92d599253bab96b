-- What goes out to people, before it goes out.
create table deliveries (
    tenant_id       uuid not null,
    id              uuid not null,
    conversation_id uuid not null,
    run_id          uuid,
    platform        text not null,
    -- Where to; null for the conversation's own place.
    target          jsonb,
    -- Opens the thread of its conversation.
    opens_thread    boolean not null,
    card            jsonb not null,
    -- Of the card as it should be, and of the card as it stands on the platform.
    version         integer not null,
    posted_version  integer,
    posted          jsonb,
    error           text,
    only_for        uuid,
    created_at      timestamptz not null,
    primary key (tenant_id, id),
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id)
);
create index deliveries_of_conversation on deliveries (tenant_id, conversation_id, created_at);

create table approvals (
    tenant_id       uuid not null,
    id              uuid not null,
    conversation_id uuid not null,
    run_id          uuid not null,
    call_id         text not null,
    tool            text not null,
    revision        integer not null,
    preview         jsonb not null,
    -- SHA-256 over the RFC 8785 form of preview's payload, in hex.
    digest          text not null,
    risks           text[] not null,
    -- Who may decide.
    decider_id      uuid not null,
    -- pending | approved | denied | expired | superseded
    status          text not null,
    decided_by      uuid,
    decided_at      timestamptz,
    expires_at      timestamptz not null,
    delivery_id     uuid not null,
    created_at      timestamptz not null,
    primary key (tenant_id, id),
    foreign key (tenant_id, run_id) references runs (tenant_id, id),
    foreign key (tenant_id, delivery_id) references deliveries (tenant_id, id)
);
create index approvals_pending on approvals (tenant_id, decider_id, created_at) where status = 'pending';
create index approvals_of_conversation on approvals (tenant_id, conversation_id) where status = 'pending';

create table effects (
    tenant_id       uuid not null,
    id              uuid not null,
    conversation_id uuid not null,
    run_id          uuid not null,
    call_id         text not null,
    approval_id     uuid,
    person_id       uuid not null,
    tool            text not null,
    payload         jsonb not null,
    digest          text not null,
    recipients      text[] not null,
    -- planned | started | done | failed | unknown
    status          text not null,
    attempt         integer not null,
    -- What `prepare` made, committed before `perform`.
    handle          jsonb,
    looks           integer not null,
    outcome         jsonb,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    primary key (tenant_id, id),
    unique (tenant_id, approval_id),
    foreign key (tenant_id, run_id) references runs (tenant_id, id),
    foreign key (tenant_id, approval_id) references approvals (tenant_id, id)
);
create index effects_by_recipient on effects using gin (recipients) where status = 'done';

create table questions (
    tenant_id       uuid not null,
    id              uuid not null,
    conversation_id uuid not null,
    run_id          uuid not null,
    call_id         text not null,
    person_id       uuid not null,
    about           text not null,
    choices         jsonb not null,
    -- pending | answered | expired
    status          text not null,
    answer          jsonb,
    expires_at      timestamptz not null,
    delivery_id     uuid not null,
    created_at      timestamptz not null,
    primary key (tenant_id, id),
    foreign key (tenant_id, run_id) references runs (tenant_id, id),
    foreign key (tenant_id, delivery_id) references deliveries (tenant_id, id)
);
