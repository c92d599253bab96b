-- When the others were asked which of its times suit them; null: they were not.
alter table questions add column opened_at timestamptz;

-- Who is asked along with whoever it was asked first. Where their card stands is known once they were asked.
create table voters (
    tenant_id   uuid not null,
    question_id uuid not null,
    person_id   uuid not null,
    primary key (tenant_id, question_id, person_id),
    foreign key (tenant_id, question_id) references questions (tenant_id, id),
    foreign key (tenant_id, person_id) references people (tenant_id, id)
);
create index voters_by_person on voters (tenant_id, person_id);

-- What suits whom: a place among the question's choices, or the one after the last for none of them.
create table votes (
    tenant_id   uuid not null,
    question_id uuid not null,
    person_id   uuid not null,
    choice      smallint not null check (choice >= 0),
    primary key (tenant_id, question_id, person_id, choice),
    foreign key (tenant_id, question_id, person_id) references voters (tenant_id, question_id, person_id)
        on update cascade on delete cascade
);

-- Where they vote: in the thread, and for whoever is not there in their direct line.
create table vote_cards (
    tenant_id   uuid not null,
    question_id uuid not null,
    delivery_id uuid not null,
    primary key (tenant_id, question_id, delivery_id),
    foreign key (tenant_id, question_id) references questions (tenant_id, id),
    foreign key (tenant_id, delivery_id) references deliveries (tenant_id, id)
);
