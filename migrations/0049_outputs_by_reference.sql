-- What a model said and what a tool returned stood twice: as a turn of the run, and as the output in the record of its step. The
-- record names the turn now, as prompts do, and its fields are short; records of before stay as they are, and `run_steps` reads
-- both.

-- Keeps: an output reads as it was, though its record only names the turn in which it stands.
create function whole_output(tenant uuid, run uuid, step jsonb) returns jsonb
language plpgsql stable
as $$
declare
    answer jsonb := step->'output';
    said jsonb := answer;
begin
    if step ? 'in_turn' then
        begin
            return (
                select substr(m.turn->>'content', (step->'in_turn'->>1)::integer, (step->'in_turn'->>2)::integer)::jsonb
                from messages m
                where m.tenant_id = tenant and m.run_id = run and m.turn_number = (step->'in_turn'->>0)::integer);
        exception when invalid_text_representation then
            -- A turn whose words are no longer kept.
            return null;
        end;
    end if;
    -- Results are any JSON.
    if answer is null or not step ? 'model' then
        return answer;
    end if;
    if answer ? 'turn' then
        said := (
            select m.turn from messages m
            where m.tenant_id = tenant and m.run_id = run and m.turn_number = (answer->>'turn')::integer);
    end if;
    return jsonb_build_object('text', said->'text', 'calls', coalesce(said->'calls', '[]'),
        'usage', case when step ? 'tokens' then
            jsonb_build_object('prompt', step->'tokens'->0, 'completion', step->'tokens'->1) end,
        'model', answer->'model', 'truncated', coalesce(answer->'truncated', 'false'),
        'from_fallback', coalesce(answer->'from_fallback', 'false'));
end $$;

-- Keeps: a prompt reads as the model got it, though its record only names what others have too, and what is a row.
create or replace function whole_prompt(tenant uuid, run uuid, prompt jsonb) returns jsonb
language sql stable
return prompt || jsonb_build_object(
    'system', (
        select t.body || (prompt->'system'->>1) || coalesce((
            select c.body->>'remembered' from recalled_contexts c
            where c.tenant_id = tenant and c.run_id = run and c.first_turn = (prompt->'system'->>2)::integer), '')
        from prompt_texts t
        where t.digest = (prompt->'system'->>0)::uuid),
    'turns', coalesce((
        select jsonb_agg(of_item.turn order by item.place, of_item.n)
        from jsonb_array_elements(prompt->'turns') with ordinality as item (named, place)
        cross join lateral (
            select 0::bigint as n, item.named as turn where item.named ? 'role'
            union all
            select m.turn_number, case when item.named ? 'added'
                then jsonb_set(m.turn, '{text}', to_jsonb((m.turn->>'text') || (item.named->>'added'))) else m.turn end
            from messages m
            where m.tenant_id = tenant and m.run_id = run
              and m.turn_number between (item.named->'own'->>0)::integer and (item.named->'own'->>1)::integer
            union all
            select r.place, r.turn from recalled_contexts c
            cross join jsonb_array_elements(c.body->'turns') with ordinality as r (turn, place)
            where c.tenant_id = tenant and c.run_id = run and c.first_turn = (item.named->'recalled'->>0)::integer
              and r.place - 1 between (item.named->'recalled'->>1)::integer and (item.named->'recalled'->>2)::integer
        ) of_item), '[]'),
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
create or replace view run_steps as
    select r.tenant_id, r.run_id, r.seq * 1000 + s.place as seq,
        coalesce(s.step->>'id', s.step->>'invocation')::uuid as invocation_id, named.kind, named.name,
        coalesce((s.step->>'started_at')::timestamptz,
            timestamptz 'epoch' + (s.step->>'at')::bigint * interval '1 microsecond') as started_at,
        coalesce(s.step->>'us', s.step->>'duration_us')::bigint as duration_us,
        coalesce(s.step->'tokens'->>0, s.step->>'prompt_tokens')::integer as prompt_tokens,
        coalesce(s.step->'tokens'->>1, s.step->>'completion_tokens')::integer as completion_tokens,
        case named.kind when 'model' then
            jsonb_build_object('tier', named.name) || whole_prompt(r.tenant_id, r.run_id, s.step->'input')
        else s.step->'input' end as input,
        whole_output(r.tenant_id, r.run_id, s.step) as output, s.step->>'error' as error, r.only_for
    from step_records r
    cross join jsonb_array_elements(r.steps) with ordinality as s (step, place)
    cross join lateral (
        select s.step->>'kind' as kind, s.step->>'name' as name where s.step ? 'kind'
        union all
        select k.kind, s.step->>k.kind from unnest(array['node', 'tool', 'model']) as k (kind)
        where not s.step ? 'kind' and s.step ? k.kind) named
    union all
    select tenant_id, run_id, seq, invocation_id, kind, name, started_at, duration_us, prompt_tokens, completion_tokens,
        input, output, error, only_for
    from old_run_steps;

-- An update of a column that an index names, in its condition too, writes into every index of the table. Two of those conditions
-- were a status, which each turn changes. The few who look for the open runs of a person find them among all of theirs, and the
-- people to whom somebody had Nod write are looked up by address first.
drop index runs_open;
drop index effects_by_recipient;
create index effects_by_recipient on effects using gin (recipients);
