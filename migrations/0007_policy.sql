-- Terms of a request: how long its nod can be taken back, whether text from outside was in view when it was made.
alter table approvals
    add column undo_seconds integer not null default 0,
    -- Of requests that were made before this was kept, nobody knows.
    add column outside      boolean not null default true,
    -- The message that reminded its person.
    add column reminder_id  uuid,
    -- Several requests of one turn share a card (its delivery); chosen for [Approve selected].
    add column ticked       boolean not null default true,
    -- The request whose outcome nobody knows, and which is asked for once more.
    add column again_of     uuid;
comment on column approvals.status is 'pending | approved | denied | expired | superseded | undone';
create index approvals_of_card on approvals (tenant_id, delivery_id);
create unique index approvals_again on approvals (tenant_id, again_of) where again_of is not null;

-- An effect may start when it is released, from starts_at on; until then it can be taken back (cancelled).
alter table effects
    add column starts_at timestamptz not null default 'epoch',
    add column released  boolean not null default true;
update effects set starts_at = created_at;
comment on column effects.status is 'planned | started | done | failed | unknown | cancelled';
