-- What a person thought of an answer: one row each, which a change of mind replaces. It goes with the person.
create table feedback (
    tenant_id uuid not null,
    run_id    uuid not null,
    person_id uuid not null,
    is_up     boolean not null,
    -- What was wrong, in the person's words; for them and the admins alone.
    why       text check (why is null or not is_up and char_length(why) <= 1000),
    rated_at  timestamptz not null,
    primary key (tenant_id, run_id, person_id),
    foreign key (tenant_id, run_id) references runs (tenant_id, id) on delete cascade,
    foreign key (tenant_id, person_id) references people (tenant_id, id) on delete cascade
);
create index feedback_by_person on feedback (tenant_id, person_id, rated_at);
create index feedback_by_time on feedback (tenant_id, rated_at);
