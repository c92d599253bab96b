-- Work that a person gave to Nod and that goes on by itself. Its run has the same id and says whether it goes on, waits or has
-- ended, so that no second column can say something else.
create table tasks (
    tenant_id         uuid not null,
    id                uuid not null,
    conversation_id   uuid not null,
    person_id         uuid not null,
    title             text not null,
    -- The wish, in the person's own words.
    note              text not null,
    -- The message that shows how far it is.
    card_id           uuid not null,
    summary           text,
    result            text,
    only_for          uuid,
    untrusted_sources text[] not null default '{}',
    created_at        timestamptz not null,
    finished_at       timestamptz,
    primary key (tenant_id, id),
    foreign key (tenant_id, id) references runs (tenant_id, id) on delete cascade,
    foreign key (tenant_id, person_id) references people (tenant_id, id) on delete cascade
);
create index tasks_of_person on tasks (tenant_id, person_id, created_at desc);

-- A step of its plan. What it hands on is written once, when it ends.
create table task_steps (
    tenant_id         uuid not null,
    task_id           uuid not null,
    -- From 1, in the order of the plan.
    number            smallint not null,
    title             text not null,
    detail            text not null,
    -- The steps whose output it needs.
    after             smallint[] not null default '{}',
    status            text not null default 'planned' check (status in ('planned', 'running', 'done', 'failed', 'stopped')),
    -- The run that does it, once it has begun.
    run_id            uuid,
    waits_for         text check (waits_for in ('approval', 'answer', 'account')),
    summary           text,
    output            text,
    only_for          uuid,
    untrusted_sources text[] not null default '{}',
    started_at        timestamptz,
    finished_at       timestamptz,
    primary key (tenant_id, task_id, number),
    foreign key (tenant_id, task_id) references tasks (tenant_id, id) on delete cascade
);
