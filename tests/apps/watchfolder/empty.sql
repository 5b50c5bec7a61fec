-- Everything that a test left behind, but the machine, which is made by the migration.
do $$
declare
    v_table text;
begin
    delete from watchfolder.duplicate;
    delete from watchfolder.job;
    delete from watchfolder.folder;
    for v_table in
        select c.relname from pg_class c
        where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
          and c.relname not in ('migration', 'tick', 'test_clock', 'machine', 'machine_table', 'machine_transition')
    loop
        execute format('delete from ostinato_data.%I', v_table);
    end loop;
    update ostinato_data.tick set last = clock_timestamp(), grace_until = '-infinity';
end
$$
