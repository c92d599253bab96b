-- What is said where Nod listens: how far it was heard, and how a channel wants its follow-ups.

-- Up to when everything that was said in a workspace is known to have arrived. What is later is looked up
-- after an absence.
create table hearings (
    tenant_id   uuid not null references tenants (id),
    platform    text not null,
    workspace   text not null,
    heard_until timestamptz not null,
    primary key (tenant_id, platform, workspace)
);

-- Which follow-ups count in a thread that Nod follows: thread (all) | mention (those that name it).
alter table channels add column follow text not null default 'thread';

-- An edited or deleted message finds the run that it began.
create index messages_by_ref on messages (tenant_id, message_ref) where message_ref is not null;
create index runs_of_person on runs (tenant_id, person_id, created_at desc);
