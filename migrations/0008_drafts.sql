-- Drafts that stay open for edits in a conversation until they are sent or discarded. The text itself is the
-- provider's; what stands here is how Nod saw it last.
create table drafts (
    tenant_id       uuid not null,
    id              uuid not null,
    conversation_id uuid not null,
    person_id       uuid not null,
    -- The run that wrote it last.
    run_id          uuid not null,
    -- The provider's id of it, the same through all edits.
    draft_ref       text not null,
    draft           jsonb not null,
    -- The one person who may read it; null where it holds only what was said in the channel.
    only_for        uuid,
    -- Named sources of outside text in it.
    outside         text[] not null,
    -- open | discarding | sent | discarded | gone
    status          text not null,
    -- The newest card that shows it.
    delivery_id     uuid not null,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    closed_at       timestamptz,
    primary key (tenant_id, id),
    unique (tenant_id, person_id, draft_ref),
    foreign key (tenant_id, run_id) references runs (tenant_id, id),
    foreign key (tenant_id, delivery_id) references deliveries (tenant_id, id)
);
create index drafts_open on drafts (tenant_id, person_id) where status = 'open';
