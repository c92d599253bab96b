-- Documents that people keep, and the pieces of their text that are searched.

create table documents (
    tenant_id uuid not null references tenants (id),
    id uuid not null,
    title text not null,
    -- Who may read it: those in a channel, or one person.
    channel_id uuid,
    only_for uuid,
    added_by uuid not null,
    platform text not null,
    url text not null,
    media_type text not null,
    -- The message that shows how far it is.
    delivery_id uuid not null,
    -- The version whose text can be found; 0 if none can yet. A version that is being read has the next number.
    generation int not null default 0,
    wanted_generation int not null default 1,
    digest bytea,
    pages int,
    chunk_count int not null default 0,
    -- indexing, indexed or failed
    status text not null,
    reason text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- When the version that can be found was read.
    published_at timestamptz,
    primary key (tenant_id, id),
    foreign key (tenant_id, channel_id) references channels (tenant_id, id),
    foreign key (tenant_id, only_for) references people (tenant_id, id),
    foreign key (tenant_id, added_by) references people (tenant_id, id),
    check ((channel_id is null) <> (only_for is null))
);
create index documents_of_channel on documents (tenant_id, channel_id) where channel_id is not null;
create index documents_of_person on documents (tenant_id, only_for) where only_for is not null;

create table document_chunks (
    tenant_id uuid not null,
    id uuid not null,
    document_id uuid not null,
    -- The one person who may read it, as in its document.
    only_for uuid,
    generation int not null,
    position int not null,
    page int,
    heading text not null,
    text text not null,
    -- Hashes of the words, and the weight of each in this chunk.
    terms int[] not null,
    weights smallint[] not null,
    primary key (tenant_id, id),
    unique (tenant_id, document_id, generation, position),
    foreign key (tenant_id, document_id) references documents (tenant_id, id) on delete cascade,
    foreign key (tenant_id, only_for) references people (tenant_id, id)
);

-- Changes whenever the text that can be found changes, so that a replica knows when its index is old.
create table knowledge_revisions (
    tenant_id uuid primary key references tenants (id),
    revision bigint not null
);

-- The passages that an answer cites, as they were then: the proof behind its buttons.
create table rag_context (
    tenant_id uuid not null references tenants (id),
    id uuid not null,
    run_id uuid not null,
    document_id uuid not null,
    chunk_id uuid not null,
    generation int not null,
    -- The one person who may read it, or those in a channel.
    only_for uuid,
    channel_id uuid,
    title text not null,
    place text not null,
    quote text not null,
    cited_at timestamptz not null,
    primary key (tenant_id, id),
    foreign key (tenant_id, document_id) references documents (tenant_id, id) on delete cascade,
    foreign key (tenant_id, only_for) references people (tenant_id, id)
);
create index rag_context_of_document on rag_context (tenant_id, document_id);
create index rag_context_of_run on rag_context (tenant_id, run_id);
