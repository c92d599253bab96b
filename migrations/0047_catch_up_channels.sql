-- A catch-up keeps what is left to read in rows and not in its job's payload, which was written again after every channel:
-- what it writes after a channel no longer depends on how many there are. No words of people.
create table catch_up_channels (
    tenant_id   uuid not null,
    platform    text not null,
    workspace   text not null,
    -- The lowest is read first.
    place       integer not null,
    channel_ref text not null,
    since       timestamptz not null,
    -- The threads with posts, as the platform listed them.
    threads     jsonb not null,
    -- Where the next batch begins, in the platform's own format; null before the first one.
    cursor      text,
    primary key (tenant_id, platform, workspace, place)
);
