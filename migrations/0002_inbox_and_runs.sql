-- What arrived, once each: a message by its own identity, a press or command by its own key.
create table inbound (
    tenant_id   uuid not null references tenants (id),
    platform    text not null,
    key         text not null,
    -- said | command | pressed | unreadable
    kind        text not null,
    -- Kept for what could not be read; everything else has rows of its own.
    raw         jsonb,
    received_at timestamptz not null,
    primary key (tenant_id, platform, key)
);

create table runs (
    tenant_id       uuid not null,
    id              uuid not null,
    conversation_id uuid not null,
    person_id       uuid not null,
    trace_id        uuid not null,
    workflow        text not null,
    -- queued | running | waiting | done | failed
    status          text not null,
    node            text not null,
    state           jsonb not null,
    version         integer not null,
    -- Turns of the state that are rows in messages.
    kept            integer not null,
    intent          text,
    routed_via      text,
    error           text,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    finished_at     timestamptz,
    primary key (tenant_id, id),
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id),
    foreign key (tenant_id, person_id) references people (tenant_id, id)
);
create index runs_open on runs (tenant_id, person_id) where status in ('queued', 'running', 'waiting');
create index runs_of_conversation on runs (tenant_id, conversation_id, created_at);

-- Everything said in a conversation, append-only.
create table messages (
    tenant_id       uuid not null,
    id              uuid not null,
    conversation_id uuid not null,
    run_id          uuid not null,
    seq             bigint generated always as identity,
    -- human | ai | tool | system
    role            text not null,
    person_id       uuid,
    message_ref     text,
    turn            jsonb not null,
    -- The one person who may read it; null where the whole channel may.
    only_for        uuid,
    -- Named sources of outside text in it.
    outside         text[] not null,
    at              timestamptz not null,
    primary key (tenant_id, id),
    foreign key (tenant_id, run_id) references runs (tenant_id, id)
);
create index messages_recent on messages (tenant_id, conversation_id, seq desc);
create index messages_of_run on messages (tenant_id, run_id, seq);

-- What a run did: each node, tool and model call with its time and tokens.
create table run_steps (
    tenant_id         uuid not null,
    run_id            uuid not null,
    seq               bigint generated always as identity,
    invocation_id     uuid not null,
    -- node | tool | model
    kind              text not null,
    name              text not null,
    started_at        timestamptz not null,
    duration_us       bigint not null,
    prompt_tokens     integer,
    completion_tokens integer,
    input             jsonb,
    output            jsonb,
    error             text,
    only_for          uuid,
    primary key (tenant_id, run_id, seq),
    foreign key (tenant_id, run_id) references runs (tenant_id, id)
);
