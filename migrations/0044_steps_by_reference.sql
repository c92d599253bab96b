-- Prompts were most of what a turn wrote, and most of a prompt is the same in every turn: the rules, the definitions of the
-- tools, the schema of an answer. Such a text is stored once now, and the record of a model call names it by its digest. What
-- is stored together is one row. `run_steps` is a view of it, and of the rows that were there, which stay as they are.
alter table run_steps rename to old_run_steps;

-- Texts of the program, for all tenants: no person's words.
create table prompt_texts (
    -- The first 16 bytes of the body's SHA-256.
    digest        uuid primary key,
    body          text not null,
    first_used_at timestamptz not null
);

create table step_records (
    tenant_id uuid not null,
    run_id    uuid not null,
    -- Not the run's version: an effect, the memory and the search record steps too, and none of them moves the run.
    seq       bigint generated always as identity,
    only_for  uuid,
    -- In the order in which they ended.
    steps     jsonb not null,
    primary key (tenant_id, run_id, seq)
);
-- A step's number in the view is a thousand times its row's, and its place in it; so each is later than those of before.
select setval(pg_get_serial_sequence('step_records', 'seq'), coalesce(max(seq), 0) / 1000 + 1) from old_run_steps;

-- Keeps: a prompt reads as the model got it, though its record only names what it has in common with others.
create function whole_prompt(prompt jsonb) returns jsonb
language sql stable
return prompt || jsonb_build_object(
    'system', (
        select t.body || (prompt->'system'->>1) from prompt_texts t
        where t.digest = (prompt->'system'->>0)::uuid),
    'tools', coalesce((
        select jsonb_agg(definition.body::jsonb order by named.place)
        from prompt_texts list
        cross join jsonb_array_elements_text(list.body::jsonb) with ordinality as named (digest, place)
        left join prompt_texts definition on definition.digest = named.digest::uuid
        where list.digest = (prompt->>'tools')::uuid), '[]'),
    'response_schema', (
        select jsonb_build_array(prompt->'response_schema'->0, t.body::jsonb) from prompt_texts t
        where t.digest = (prompt->'response_schema'->>1)::uuid));

-- Keeps: a row for each step, numbered in the order of the commits, and no step of before is missing.
create view run_steps as
    select r.tenant_id, r.run_id, r.seq * 1000 + s.ordinality as seq, s.invocation as invocation_id, s.kind, s.name,
        s.started_at, s.duration_us, s.prompt_tokens, s.completion_tokens,
        case s.kind when 'model' then whole_prompt(s.input) else s.input end as input, s.output, s.error, r.only_for
    from step_records r
    cross join rows from (jsonb_to_recordset(r.steps) as (invocation uuid, kind text, name text, started_at timestamptz,
        duration_us bigint, prompt_tokens integer, completion_tokens integer, input jsonb, output jsonb, error text))
        with ordinality as s
    union all
    select tenant_id, run_id, seq, invocation_id, kind, name, started_at, duration_us, prompt_tokens, completion_tokens,
        input, output, error, only_for
    from old_run_steps;
