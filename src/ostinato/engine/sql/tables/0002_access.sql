-- Who may touch what. Workers see every tenant; a tenant sees its own rows, by row-level security that is forced
-- on the owner too. Tables without a tenant are closed to tenants.

do $$
declare
    v_table text;
begin
    for v_table in
        select c.oid::regclass::text
        from pg_class c
        where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind in ('r', 'p') and c.relname <> 'migration'
    loop
        execute format('alter table %s enable row level security', v_table);
        execute format('alter table %s force row level security', v_table);
        execute format('create policy engine on %s to ostinato_owner, ostinato_worker using (true) with check (true)', v_table);
        execute format('grant select, insert, update, delete on %s to ostinato_worker', v_table);
    end loop;
    foreach v_table in array array['job', 'ready', 'scheduled', 'dead_letter', 'job_unique'] loop
        execute format(
            'create policy tenant on ostinato_data.%I to ostinato_tenant'
            ' using (tenant_id = nullif(current_setting(''app.tenant_id'', true), ''''))'
            ' with check (tenant_id = nullif(current_setting(''app.tenant_id'', true), ''''))', v_table);
    end loop;
end
$$;

grant usage on schema ostinato_data to ostinato_worker, ostinato_tenant;
grant usage on all sequences in schema ostinato_data to ostinato_worker;
grant usage on sequence ostinato_data.job_id_seq to ostinato_tenant;
-- What enqueueing needs, and no more: a tenant adds its own jobs and reads them.
grant select, insert on ostinato_data.job, ostinato_data.job_unique to ostinato_tenant;
grant select, insert on ostinato_data.ready, ostinato_data.scheduled to ostinato_tenant;
grant select on ostinato_data.dead_letter to ostinato_tenant;
create policy kinds on ostinato_data.kind for select to ostinato_tenant using (true);
grant select on ostinato_data.kind to ostinato_tenant;
create policy clock on ostinato_data.test_clock for select to ostinato_tenant using (true);
grant select on ostinato_data.test_clock to ostinato_tenant;
