-- What the migrator says to the database. Everything here is run as the owner, with nothing but pg_catalog on the path.

-- name: bootstrap
-- The record of what was applied. Version 0 of a component is its code: functions, views and grants.
create table if not exists ostinato_data.migration (
    component   text        collate "C" not null,
    version     integer     not null,
    name        text        not null,
    checksum    text        not null,
    applied_at  timestamptz not null default clock_timestamp(),
    objects     text[]      not null default '{}',
    primary key (component, version)
);
alter table ostinato_data.migration enable row level security;
alter table ostinato_data.migration force row level security;
do $$
begin
    if not exists (select from pg_catalog.pg_policy where polrelid = 'ostinato_data.migration'::regclass) then
        create policy migrate on ostinato_data.migration to ostinato_owner using (true) with check (true);
        create policy look on ostinato_data.migration for select to ostinato_worker using (true);
    end if;
end
$$;
grant usage on schema ostinato to ostinato_worker, ostinato_tenant;
grant usage on schema ostinato_data to ostinato_worker;
grant select on ostinato_data.migration to ostinato_worker;

-- name: is_bootstrapped
-- Whether the record is there.
select pg_catalog.to_regclass('ostinato_data.migration') is not null;

-- name: settle
-- Opens a migration's transaction: as the owner, on a safe path, one migrator at a time.
set local role ostinato_owner;
set local search_path = pg_catalog, pg_temp;
set local statement_timeout = 0;
set local idle_in_transaction_session_timeout = '5min';
set local check_function_bodies = off;
set local client_min_messages = warning;
set local lock_timeout = '60s';
select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('ostinato' || E'\x1f' || 'migrate', 0));
set local lock_timeout = '300ms';

-- name: applied
-- What was applied, oldest first.
select component, version, name, checksum, applied_at, objects
from ostinato_data.migration
order by component, version;

-- name: record
-- Notes that a migration, or the code, is in place.
insert into ostinato_data.migration (component, version, name, checksum, objects)
values (%(component)s, %(version)s, %(name)s, %(checksum)s, %(objects)s)
on conflict (component, version) do update
set name = excluded.name, checksum = excluded.checksum, objects = excluded.objects, applied_at = excluded.applied_at;

-- name: routines
-- The functions and procedures of some schemas; `written` changes when one is replaced.
select p.oid::regprocedure::text as identity, p.oid::text || '/' || p.xmin::text as written
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where n.nspname = any(%(schemas)s)
order by 1;

-- name: views
-- The views of some schemas.
select c.oid::regclass::text
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = any(%(schemas)s) and c.relkind = 'v'
order by 1;

-- name: drop_routine
-- Removes a function that the new code no longer has. Refused when a table still depends on it.
drop routine {identity};

-- name: drop_views
-- Removes views, so that functions they read from may change.
drop view {identities};

-- name: check_bodies
-- From here on bodies are checked.
set local check_function_bodies = on;

-- name: in_the_way
-- The oldest transaction of this database but our own: whom to blame for a lock that is not to be had.
select pid, coalesce(application_name, ''), coalesce(usename::text, ''), coalesce(state, ''),
       extract(epoch from clock_timestamp() - xact_start)::double precision
from pg_catalog.pg_stat_activity
where datname = current_database() and pid <> pg_catalog.pg_backend_pid() and xact_start is not null
  and backend_type = 'client backend'
order by xact_start
limit 1;

-- name: script_begin
-- Opens one part of the script for installing by hand.
begin;
set local role ostinato_owner;
set local search_path = pg_catalog, pg_temp;
set local check_function_bodies = off;

-- name: script_end
-- Closes it, with the note that it is in place.
insert into ostinato_data.migration (component, version, name, checksum, objects)
values ({component}, {version}, {name}, {checksum}, {objects});
commit;

-- name: script_objects
-- All functions and views of the component's schemas that no other component made.
(
    select coalesce(array_agg(o.identity order by o.identity), '{{}}')
    from (
        select 'function ' || p.oid::regprocedure::text
        from pg_catalog.pg_proc p where p.pronamespace::regnamespace::text = any({schemas})
        union all
        select 'view ' || c.oid::regclass::text
        from pg_catalog.pg_class c where c.relkind = 'v' and c.relnamespace::regnamespace::text = any({schemas})
    ) o(identity)
    where o.identity <> all (select unnest(m.objects) from ostinato_data.migration m)
)
