-- The meaning of each chunk as vectors, one for each of its windows.

create table chunk_vectors (
    tenant_id uuid not null,
    chunk_id uuid not null,
    -- The model and its version: vectors of two models cannot be compared.
    model text not null,
    -- One window after another, a byte for each number; and what to multiply each window by.
    codes bytea not null,
    scales real[] not null,
    primary key (tenant_id, chunk_id, model),
    foreign key (tenant_id, chunk_id) references document_chunks (tenant_id, id) on delete cascade
);
-- Numbers do not get smaller when compressed.
alter table chunk_vectors alter column codes set storage external;
