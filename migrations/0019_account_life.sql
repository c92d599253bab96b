-- The life of a connected account: what a link asks for, renewing by one replica at a time, grants that end by
-- themselves, and giving them back.

-- What the consent behind a link asks for; empty where that was not written down, and means mail.
alter table offers add column scopes text[] not null default '{}';

-- Which replica renews the access token just now, and until when that counts.
alter table connections add column renewing_by uuid;
alter table connections add column renewing_until timestamptz;
-- When the person agreed last, and when the provider will end the grant by itself, where it says so.
alter table connections add column granted_at timestamptz;
alter table connections add column ends_at timestamptz;

-- Grants that were disconnected and are still to be given back; a row goes once that is done or given up.
create table revocations (
    tenant_id       uuid not null,
    id              uuid not null,
    provider        text not null,
    account         text not null,
    -- Sealed for this row alone: no tool finds it.
    token_sealed    text not null,
    -- Where it is said how that went.
    conversation_id uuid not null,
    delivery_id     uuid not null,
    created_at      timestamptz not null,
    primary key (tenant_id, id),
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id)
);
