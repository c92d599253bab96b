-- What a thread was about, as far as it no longer stands in prompts word for word. A row guards itself: whoever
-- writes shows how far it reached when they looked.
create table summaries (
    tenant_id       uuid not null,
    conversation_id uuid not null,
    -- Empty where nothing was folded in yet, or what was is forgotten.
    text            text not null,
    -- Messages up to this one are in the text, or out of view for good.
    covered_seq     bigint not null,
    -- Messages up to this one have been read for facts.
    read_seq        bigint not null,
    -- The one person who may read it; null where the whole channel may.
    only_for        uuid,
    -- Named sources of outside text in it.
    outside         text[] not null,
    updated_at      timestamptz not null,
    primary key (tenant_id, conversation_id),
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id)
);

-- What people said that is worth keeping in mind, each with the message that says it.
create table facts (
    tenant_id  uuid not null,
    id         uuid not null,
    -- Whose knowledge it is: a channel's, or a person's who said it to Nod alone. (A tenant's would have the
    -- tenant here.) It is used there and nowhere else.
    owner      uuid not null,
    -- The person whom it is about; null where it is about what the channel does.
    person_id  uuid,
    -- goal | fact
    kind       text not null,
    name       text not null,
    value      text not null,
    message_id uuid not null,
    -- Named sources of outside text in that message.
    outside    text[] not null,
    noted_at   timestamptz not null,
    primary key (tenant_id, id),
    foreign key (tenant_id, message_id) references messages (tenant_id, id),
    foreign key (tenant_id, person_id) references people (tenant_id, id)
);
create unique index facts_once on facts (tenant_id, owner, coalesce(person_id, owner), kind, lower(name));
create index facts_of_person on facts (tenant_id, person_id);

-- A file to send, until it is sent: {"name": …, "text": …}.
alter table deliveries add column file jsonb;
