-- The four roles, and the three schemas. All of it may be run again at any time, by several at once.

-- name: inspect
-- What is there: one row per role and per schema with whether it exists, and what is wrong with it.
select w.name,
       r.oid is not null as there,
       coalesce(r.rolsuper or r.rolbypassrls, false) as too_strong,
       -- Since PostgreSQL 16 a member may act as the role only with the option SET.
       case when r.oid is null then false
            -- Reported only to a role that can fix it: it matters to clients that work for tenants, and to no others.
            when w.name = 'ostinato_tenant' then not m.rolsuper
                or coalesce(pg_catalog.pg_has_role(k.oid, r.oid, 'member')
                            and pg_catalog.pg_has_role(a.oid, r.oid, 'member'), false)
            when w.name = 'ostinato_api' then not coalesce(pg_catalog.pg_has_role(r.oid, k.oid, 'member'), false)
            when pg_catalog.current_setting('server_version_num')::integer >= 160000
            then pg_catalog.pg_has_role(current_user, r.oid, 'set')
            else pg_catalog.pg_has_role(current_user, r.oid, 'member') end as fits
from pg_catalog.unnest(array['ostinato_owner', 'ostinato_worker', 'ostinato_tenant', 'ostinato_api'])
    with ordinality as w(name, n)
left join pg_catalog.pg_roles r on r.rolname = w.name
left join pg_catalog.pg_roles k on k.rolname = 'ostinato_worker'
left join pg_catalog.pg_roles a on a.rolname = 'ostinato_api'
join pg_catalog.pg_roles m on m.rolname = current_user
union all
select w.name, n.oid is not null, false, coalesce(o.rolname = 'ostinato_owner', true)
from pg_catalog.unnest(array['ostinato', 'ostinato_internal', 'ostinato_data']) as w(name)
left join pg_catalog.pg_namespace n on n.nspname = w.name
left join pg_catalog.pg_roles o on o.oid = n.nspowner;

-- name: whoami
-- Who is connected, and to what.
select current_user::text, current_database()::text, (select rolsuper from pg_catalog.pg_roles
                                                      where rolname = current_user);

-- name: login
-- Who is connected, and whether that is a worker, who sees every tenant.
select current_user::text, coalesce((select pg_catalog.pg_has_role(current_user, r.oid, 'member')
                                     from pg_catalog.pg_roles r where r.rolname = 'ostinato_worker'), false);

-- name: lock
-- One at a time in this database.
select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('ostinato' || E'\x1f' || 'migrate', 0));

-- name: create_roles
-- Makes the roles that are missing, weakens those that are too strong, and joins the owner's.
do $$
declare
    v_role name;
    v_super boolean := (select rolsuper from pg_catalog.pg_roles where rolname = current_user);
    v_acts boolean;
begin
    foreach v_role in array array['ostinato_owner', 'ostinato_worker', 'ostinato_tenant', 'ostinato_api'] loop
        if not exists (select from pg_catalog.pg_roles where rolname = v_role) then
            begin
                execute pg_catalog.format(
                    'create role %I login nosuperuser nobypassrls nocreatedb nocreaterole', v_role);
            exception when duplicate_object or unique_violation then
                null; -- another process was first
            end;
        elsif v_super and exists (
            select from pg_catalog.pg_roles where rolname = v_role and (rolsuper or rolbypassrls)
        ) then
            execute pg_catalog.format('alter role %I nosuperuser nobypassrls', v_role);
        end if;
    end loop;
    -- Timeouts sit on the roles because a pooler drops the options of a connection. Those that are
    -- set already stay.
    foreach v_role in array array['ostinato_worker', 'ostinato_tenant', 'ostinato_api'] loop
        if not exists (
            select from pg_catalog.pg_db_role_setting where setrole = v_role::regrole and setdatabase = 0
        ) then
            execute pg_catalog.format('alter role %I set idle_in_transaction_session_timeout = ''30s''', v_role);
            -- Shorter than the application's own timeout: a lock that is not to be had costs an error, not a
            -- connection.
            execute pg_catalog.format('alter role %I set lock_timeout = ''8s''', v_role);
            begin
                execute pg_catalog.format('alter role %I set client_connection_check_interval = ''5s''', v_role);
            exception when invalid_parameter_value then
                null; -- a platform on which the server cannot look
            end;
        end if;
    end loop;
    -- A client acts as a tenant for the length of a transaction: tenants need no connections of their own.
    foreach v_role in array array['ostinato_worker', 'ostinato_api'] loop
        if not pg_catalog.pg_has_role(v_role, 'ostinato_tenant', 'member') then
            execute pg_catalog.format('grant ostinato_tenant to %I', v_role);
        end if;
    end loop;
    -- Since PostgreSQL 16 the maker of a role may grant it, to itself for example, but not act as it at once.
    if pg_catalog.current_setting('server_version_num')::integer >= 160000 then
        v_acts := pg_catalog.pg_has_role(current_user, 'ostinato_owner', 'set');
    else
        v_acts := pg_catalog.pg_has_role(current_user, 'ostinato_owner', 'member');
    end if;
    if not v_acts then
        execute pg_catalog.format('grant ostinato_owner to %I', current_user);
    end if;
end
$$;

-- name: create_schemas
-- Makes the three schemas: verbs and views for everybody, helpers and tables for the engine.
create schema if not exists ostinato authorization ostinato_owner;
create schema if not exists ostinato_internal authorization ostinato_owner;
create schema if not exists ostinato_data authorization ostinato_owner;

-- name: missing_schemas
-- Which of some schemas are not there.
select w.name from pg_catalog.unnest(%(names)s::text[]) with ordinality w (name, n)
where not exists (select from pg_catalog.pg_namespace s where s.nspname = w.name) order by w.n;

-- name: create_schema
-- Makes the schema of an application. As the connected role: the owner may not make schemas.
create schema if not exists {name} authorization ostinato_owner;

-- name: by_hand
-- What to run as a superuser when the connected role may not do it.
create role ostinato_owner login nosuperuser nobypassrls nocreatedb nocreaterole;
create role ostinato_worker login nosuperuser nobypassrls nocreatedb nocreaterole;
create role ostinato_tenant login nosuperuser nobypassrls nocreatedb nocreaterole;
create role ostinato_api login nosuperuser nobypassrls nocreatedb nocreaterole;
alter role ostinato_worker set idle_in_transaction_session_timeout = '30s';
alter role ostinato_worker set lock_timeout = '8s';
alter role ostinato_tenant set idle_in_transaction_session_timeout = '30s';
alter role ostinato_tenant set lock_timeout = '8s';
alter role ostinato_api set idle_in_transaction_session_timeout = '30s';
alter role ostinato_api set lock_timeout = '8s';
create schema ostinato authorization ostinato_owner;
create schema ostinato_internal authorization ostinato_owner;
create schema ostinato_data authorization ostinato_owner;
grant ostinato_tenant to ostinato_worker, ostinato_api;
grant ostinato_owner to {admin};

-- name: may_work
-- Whether there is a role of this name, and whether it acts as a worker without asking (no row: there is none).
select pg_catalog.pg_has_role(r.oid, 'ostinato_worker', 'usage') from pg_catalog.pg_roles r where r.rolname = %(role)s;

-- name: grant_role
-- Lets the programs of a role add jobs, emit events and call the other verbs, for every tenant.
grant ostinato_worker to {role};
