-- Who may touch what. Workers see every tenant; a tenant sees its own rows, by row-level security that is forced
-- on the owner too. Tables without a tenant are closed to tenants.

-- Closes a table: row-level security, enabled and forced. The engine sees every row; with `tenants`, a tenant sees and adds
-- its own, by the column tenant_id. What a tenant may do with them is a matter of grants.
create function ostinato_data.protect(name text, tenants boolean default false) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
    execute format('alter table ostinato_data.%I enable row level security', name);
    execute format('alter table ostinato_data.%I force row level security', name);
    execute format('create policy engine on ostinato_data.%I to ostinato_owner, ostinato_worker using (true) with check (true)', name);
    execute format('grant select, insert, update, delete on ostinato_data.%I to ostinato_worker', name);
    if tenants then
        execute format(
            'create policy tenant on ostinato_data.%I to ostinato_tenant'
            ' using (tenant_id = nullif(current_setting(''app.tenant_id'', true), ''''))'
            ' with check (tenant_id = nullif(current_setting(''app.tenant_id'', true), ''''))', name);
    end if;
end
$$;
revoke execute on function ostinato_data.protect from public;

select ostinato_data.protect(c.relname, tenants => c.relname in ('job', 'ready', 'scheduled', 'dead_letter', 'job_unique'))
from pg_class c
where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind in ('r', 'p') and c.relname <> 'migration'
order by c.relname;

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
