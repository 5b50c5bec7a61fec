-- Everything that a test left behind: rows of the engine's tables, and tables of its own.
do $$
declare
    v_table text;
begin
    for v_table in select t.tablename from pg_tables t where t.schemaname = 'public' loop
        execute format('drop table public.%I', v_table);
    end loop;
    for v_table in
        select c.relname from pg_class c
        where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
          and c.relname not in ('migration', 'tick', 'test_clock')
    loop
        execute format('delete from ostinato_data.%I', v_table);
    end loop;
    update ostinato_data.tick set last = clock_timestamp(), grace_until = '-infinity';
end
$$
