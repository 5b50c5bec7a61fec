-- Tenants: whose the rest of a transaction is. Both verbs hold until its end and no longer, so that they are safe
-- behind a pooler that gives the connection to somebody else after it.
--
-- Row-level security does the rest: a policy on every table with a tenant_id compares it with app.tenant_id. It guards
-- against what an application forgets, a missing condition for example. Somebody who runs SQL of their own in the
-- session can set app.tenant_id too: tenants that are hostile need a role or a database of their own.

-- Makes the rest of the transaction that of a tenant: it acts as the role ostinato_tenant, and sees and adds rows of
-- this tenant only. What it adds belongs to `correlation_id` unless a call says otherwise. `user_id`, if there is one,
-- is whom policies of applications know as app.current_user_id, and the audit as who acts, with the id of the API key;
-- without one it is nobody, whatever the session said before.
create function ostinato.enter_tenant(
    tenant_id text, correlation_id text default null, user_id text default null, key_id bigint default null
) returns void language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_name('tenant_id', tenant_id);
    perform ostinato.enter_flow(tenant_id, correlation_id);
    perform ostinato_internal.check_here(array[tenant_id]);
    if user_id is not null then
        perform ostinato_internal.check_name('user_id', user_id);
    end if;
    perform set_config('app.current_user_id', coalesce(user_id, ''), true),
            set_config('app.key_id', coalesce(key_id::text, ''), true),
            set_config('ostinato.entered', tenant_id, true);  -- see cells.sql
    perform set_config('role', 'ostinato_tenant', true);
end
$$;

-- Says whose the rest of the transaction is, what it belongs to and whom it is about, for calls in plain SQL that do
-- not name a tenant, a correlation id or a subject; null leaves what is there. It takes no right away.
create function ostinato.enter_flow(
    tenant_id text default null, correlation_id text default null, subject text default null
) returns void language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if tenant_id is not null then
        perform ostinato_internal.check_name('tenant_id', tenant_id), set_config('app.tenant_id', tenant_id, true);
    end if;
    if correlation_id is not null then
        perform ostinato_internal.check_options(correlation_id => correlation_id),
                set_config('app.correlation_id', correlation_id, true);
    end if;
    if subject is not null then
        perform set_config('app.subject', subject, true);
    end if;
end
$$;

-- Closes a table of an application ("schema.table") as the engine's own are: row-level security, enabled and forced;
-- the owner and workers see every row, a tenant sees and adds its own. For migrations; what each role may do is a
-- matter of grants.
create function ostinato.protect_table(entity text, tenant_column text default 'tenant_id') returns void
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_whose text;
    v_owner name;
begin
    if ostinato_internal.relation_of(entity) is null then
        raise exception using errcode = 'OS404', message = format('there is no table %L', entity),
            detail = json_build_object('entity', entity), hint = 'Name it as "schema.table".';
    end if;
    perform ostinato_internal.column_type(entity, tenant_column);
    v_whose := format('%I = nullif(current_setting(''app.tenant_id'', true), '''')', tenant_column);
    select pg_get_userbyid(c.relowner) into v_owner from pg_class c where c.oid = ostinato_internal.relation_of(entity);
    execute format('alter table %s enable row level security, force row level security', entity);
    execute format('drop policy if exists engine on %s', entity);
    execute format('drop policy if exists tenant on %s', entity);
    execute format('create policy engine on %s to %I, ostinato_worker using (true) with check (true)', entity, v_owner);
    execute format('create policy tenant on %s to ostinato_tenant using (%s) with check (%s)', entity, v_whose,
                   v_whose);
end
$$;

-- Returns the tenant of the transaction; '' when nobody said, which is no tenant's name: it finds nothing where null
-- means all.
create function ostinato_internal.own_tenant() returns text language sql stable as $$
    select coalesce(pg_catalog.current_setting('app.tenant_id', true), '')
$$;

-- Returns whether the caller sees every tenant, as workers do: claims, which hold jobs of many, are closed to all
-- others.
create function ostinato_internal.sees_all() returns boolean language sql stable as $$
    select pg_catalog.has_table_privilege('ostinato_data.claim', 'select')
$$;

-- Makes every read that a policy would filter an error, until the end of the transaction: for figures of all tenants
-- that the API asks for, whose role sees no tenant. Without it a count that forgot a security definer would be 0. It
-- changes nothing for who sees all; a function that may see all says `set row_security = on`.
create function ostinato.refuse_filtered_reads() returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if not ostinato_internal.sees_all() then
        perform set_config('row_security', 'off', true);
    end if;
end
$$;

-- Returns the tenant to filter by: the one asked for (null = any), else a tenant's own. Its policy filters too, but an
-- index that begins with the tenant is found by a condition.
create function ostinato_internal.tenant_filter(asked text) returns text language sql stable as $$
    select coalesce($1, case when not ostinato_internal.sees_all() then ostinato_internal.own_tenant() end)
$$;

-- Returns a page of the tenants that have jobs in the history, keys or endpoints, by name: how many keys work, when one
-- was used last, how many endpoints there are. `after` is the last of the page before. Each costs a look into an
-- index: no table is read for it. For workers, who see all tenants.
create function ostinato.list_tenants(after text default '', most integer default 50)
returns table (tenant_id text, keys bigint, last_used_at timestamptz, endpoints bigint) language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    with recursive found (tenant_id, n) as (
        select ostinato_internal.next_tenant($1), 1
        union all
        select ostinato_internal.next_tenant(f.tenant_id), f.n + 1 from found f
        where f.tenant_id is not null and f.n < ostinato_internal.page_size($2)
    )
    select f.tenant_id, k.keys, k.last_used_at, e.endpoints from found f
    cross join (select ostinato.now() as at) n
    cross join lateral (
        select count(*) filter (where ostinato_internal.is_api_key_usable(k, n.at)) as keys,
               max(k.last_used_at) as last_used_at
        from api_key k where k.tenant_id = f.tenant_id) k
    cross join lateral (
        select count(*) as endpoints from webhook_endpoint w where w.tenant_id = f.tenant_id) e
    where f.tenant_id is not null order by f.tenant_id
$$;

-- Returns the name of the tenant that comes after a name.
create function ostinato_internal.next_tenant(after text) returns text language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select least(
        (select min(j.tenant_id) from job j where j.tenant_id > $1 and j.tenant_id <> 'default'),
        case when $1 < 'default' collate "C" then 'default' end,
        (select min(k.tenant_id) from api_key k where k.tenant_id > $1),
        (select min(w.tenant_id) from webhook_endpoint w where w.tenant_id > $1))
$$;
