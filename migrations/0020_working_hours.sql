-- When somebody works, which no calendar's interface tells. Theirs alone to see: others learn free, busy or out of
-- hours. Who has no row works Monday to Friday, 09:00 to 17:00, where their platform says they are.
create table working_hours (
    tenant_id      uuid not null,
    person_id      uuid not null,
    -- IANA's name, in place of what the platform tells; null: as the platform tells.
    zone           text,
    -- 1 is Monday, 7 Sunday.
    days           smallint[] not null,
    -- Minutes since midnight by their clocks; an end that is not later is on the day after.
    from_minute    smallint not null check (from_minute between 0 and 1439),
    to_minute      smallint not null check (to_minute between 0 and 1439),
    -- What they want free around everything they have.
    buffer_minutes integer not null check (buffer_minutes between 0 and 240),
    -- How long before it they want to know.
    notice_minutes integer not null check (notice_minutes between 0 and 20160),
    changed_at     timestamptz not null,
    primary key (tenant_id, person_id),
    foreign key (tenant_id, person_id) references people (tenant_id, id)
);
