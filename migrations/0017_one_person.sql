-- One human in several places: what each place tells of them, and how they become one person.

-- An account that somebody connected is how they are written to where no platform tells their address. It is no
-- address that a platform vouches for, so it has a column of its own.
alter table people add column own_account text;
update people p set own_account = address, address = null
where exists (
    select 1 from identities i where i.tenant_id = p.tenant_id and i.person_id = p.id and i.platform = 'discord')
  and not exists (
    select 1 from identities i where i.tenant_id = p.tenant_id and i.person_id = p.id and i.platform = 'slack');

update people p set own_account = c.account
from connections c
where c.tenant_id = p.tenant_id and c.person_id = p.id and c.status = 'active' and p.own_account is null;

-- Somebody may belong in one place and be a stranger in another. The same words as in people.standing, which is
-- 'member' where they belong anywhere.
alter table identities add column standing text not null default 'unknown';
-- When that place last told of them.
alter table identities add column told_at timestamptz;
update identities i set standing = p.standing, told_at = p.profile_at
from people p where p.tenant_id = i.tenant_id and p.id = i.person_id;

-- Whoever followed the link has signed in with the platform itself, as the person whose link it is.
alter table offers add column signed_in boolean not null default false;

-- A code that somebody shows in one place and enters in another. A row holds only what a code is checked by.
create table joinings (
    tenant_id       uuid not null,
    id              uuid not null,
    -- Who shows it, and where they asked for it.
    person_id       uuid not null,
    conversation_id uuid not null,
    code_mac        text not null,
    -- Who entered it, and is asked whether they are both.
    entered_by      uuid,
    expires_at      timestamptz not null,
    primary key (tenant_id, id),
    unique (tenant_id, person_id),
    unique (tenant_id, code_mac),
    foreign key (tenant_id, person_id) references people (tenant_id, id),
    foreign key (tenant_id, entered_by) references people (tenant_id, id),
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id)
);

-- What is somebody's is found when they turn out to be somebody else.
create index deliveries_for_one on deliveries (tenant_id, only_for) where only_for is not null;
create index conversations_with_one on conversations (tenant_id, alone_with) where alone_with is not null;
create index summaries_for_one on summaries (tenant_id, only_for) where only_for is not null;
create index approvals_of_person on approvals (tenant_id, decider_id);
create index effects_of_person on effects (tenant_id, person_id);
create index questions_of_person on questions (tenant_id, person_id);
create index offers_of_person on offers (tenant_id, person_id);
create index panes_of_person on panes (tenant_id, person_id);
