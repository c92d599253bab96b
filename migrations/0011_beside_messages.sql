-- When a place may next be posted to: one message a second. Losing it in a crash harms nobody, so it is not
-- logged and costs a post no write to disk.
create unlogged table paces (
    tenant_id uuid not null,
    lane_id   uuid not null,
    free_at   timestamptz not null,
    primary key (tenant_id, lane_id)
);

-- Whose a direct line is, as the platform knows them: what is posted there by person and what by place stands in
-- one lane, and so in order.
alter table channels add column user_ref text;

-- Who has opened their own page, where and when.
create table homes (
    tenant_id uuid not null,
    person_id uuid not null,
    platform  text not null,
    workspace text not null,
    user_ref  text not null,
    opened_at timestamptz not null,
    primary key (tenant_id, person_id, platform, workspace),
    foreign key (tenant_id, person_id) references people (tenant_id, id)
);

-- Conversations in the assistant's pane.
create table panes (
    tenant_id       uuid not null,
    conversation_id uuid not null,
    person_id       uuid not null,
    -- The platform's id of the channel that the person is looking at.
    viewing         text,
    -- Named after its first question.
    titled          boolean not null,
    created_at      timestamptz not null,
    primary key (tenant_id, conversation_id),
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id),
    foreign key (tenant_id, person_id) references people (tenant_id, id)
);

-- Files that came with a message, and what was read in them.
create table files (
    tenant_id       uuid not null,
    id              uuid not null,
    conversation_id uuid not null,
    run_id          uuid not null,
    name            text not null,
    kind            text not null,
    size            bigint not null,
    -- Where the platform gives it to us; null where it does not.
    address         text,
    -- waiting | read | unread
    status          text not null,
    -- Its words, or why there are none.
    content         text,
    created_at      timestamptz not null,
    primary key (tenant_id, id),
    foreign key (tenant_id, run_id) references runs (tenant_id, id)
);
create index files_of_conversation on files (tenant_id, conversation_id, created_at);
