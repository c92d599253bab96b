-- Makes a database of migration 41 large, by copies of the rows that its samples have.
create function pg_temp.id_of(kind text, n bigint) returns uuid language sql immutable as $$
    select md5(kind || n)::uuid
$$;
-- `changes` has the columns that are not copied as they are; `n` is the number of the copy.
create function pg_temp.copy_row(source text, times integer, changes jsonb) returns void language plpgsql as $$
begin
    execute (
        select format('insert into %1$I (%2$s) select %3$s from (select * from %1$I limit 1) s, generate_series(1, %4$s) n',
            source, string_agg(quote_ident(attname), ', '),
            string_agg(coalesce(changes->>attname, 's.' || quote_ident(attname)), ', '), times)
        from pg_attribute
        where attrelid = source::regclass and attnum > 0 and not attisdropped and attidentity <> 'a');
end
$$;
select pg_temp.copy_row('runs', 20000, $${"id": "pg_temp.id_of('run', n)", "status": "'done'"}$$);
select pg_temp.copy_row('messages', 60000,
    $${"id": "pg_temp.id_of('message', n)", "run_id": "pg_temp.id_of('run', 1 + (n - 1) / 3)", "message_ref": "null"}$$);
select pg_temp.copy_row('run_steps', 100000, $${"run_id": "pg_temp.id_of('run', 1 + (n - 1) / 5)"}$$);
select pg_temp.copy_row('deliveries', 20000,
    $${"id": "pg_temp.id_of('delivery', n)", "run_id": "pg_temp.id_of('run', n)"}$$);
