-- What `ostinato doctor` asks the database. Read only.

-- name: server
-- Version, durability, who and where we are, and the server's own time.
select current_setting('server_version_num')::integer as version_num,
       current_setting('server_version') as version,
       current_setting('fsync') as fsync,
       current_setting('full_page_writes') as full_page_writes,
       current_setting('synchronous_commit') as synchronous_commit,
       pg_catalog.pg_is_in_recovery() as standby,
       current_user::text as role,
       current_database()::text as database,
       pg_catalog.pg_backend_pid() as backend_pid,
       extract(epoch from clock_timestamp())::double precision as clock;

-- name: timeline
-- The timeline of the log: a restore or a failover begins another.
select ('x' || substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::integer as timeline
where not pg_catalog.pg_is_in_recovery();

-- name: roles
-- The four roles and the one that workers connect as, with what they may not be.
select rolname::text as name, rolsuper as superuser, rolbypassrls as bypasses_rls
from pg_catalog.pg_roles
where rolname in ('ostinato_owner', 'ostinato_worker', 'ostinato_tenant', 'ostinato_api') or rolname = current_user
order by 1;

-- name: open_tables
-- Tables of the engine whose row-level security is not forced.
select c.relname::text as name
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'ostinato_data' and c.relkind in ('r', 'p') and not (c.relrowsecurity and c.relforcerowsecurity)
order by 1;

-- name: zones
-- How many of these time zones the server does not know.
select count(*) filter (where z.name is null) as missing
from pg_catalog.unnest(array['Europe/Paris', 'America/New_York', 'Asia/Tokyo']) w (name)
left join pg_catalog.pg_timezone_names z on z.name = w.name;

-- name: connections
-- How many connections are used, and how many there may be.
select count(*) as used,
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer as most
from pg_catalog.pg_stat_activity
where backend_type = 'client backend';

-- name: replication
-- Who copies this server, for whom commits wait, and how much of the log the slots of absent readers hold. The commits
-- that wait are those of this role, and of the roles that it belongs to.
select current_setting('synchronous_standby_names') as waits_for,
       (select count(*) from pg_catalog.pg_stat_replication) as standbys,
       (select count(*) from pg_catalog.pg_stat_activity
        where wait_event = 'SyncRep' and clock_timestamp() - state_change > interval '2 seconds') as waiting,
       current_setting('max_slot_wal_keep_size') as cap,
       coalesce((
           select json_agg(json_build_object('slot', s.slot_name, 'status', s.wal_status, 'bytes',
                           pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), s.restart_lsn)::bigint)
                           order by s.restart_lsn)
           from pg_catalog.pg_replication_slots s where not s.active and s.restart_lsn is not null
              or s.wal_status = 'lost'), '[]') as slots
where not pg_catalog.pg_is_in_recovery();

-- name: oldest_transaction
-- The transaction that has been open for longest, of those that this role may see.
select a.pid, coalesce(a.application_name, '') as application, coalesce(a.usename::text, '') as role,
       coalesce(a.state, '') as state, extract(epoch from clock_timestamp() - a.xact_start)::double precision as seconds
from pg_catalog.pg_stat_activity a
where a.xact_start is not null and a.pid <> pg_catalog.pg_backend_pid() and a.backend_type = 'client backend'
order by a.xact_start
limit 1;

-- name: weeks
-- How many of the coming weeks, this one included, have their partitions without a gap.
select count(*) filter (where not g.gap) as ahead
from (
    select bool_or(e.week is null) over (order by w.week) as gap
    from pg_catalog.generate_series(ostinato.week_of(ostinato.now()), ostinato.week_of(ostinato.now()) + 8) w (week)
    left join ostinato.existing_weeks() e (week) on e.week = w.week
) g;

-- name: quarantine
-- The places that were set aside.
select q.job_id, q.damage from ostinato.list_quarantine() q limit 1000;

-- name: faults
-- The parts of polls that failed lately.
select f.part, f.state, f.message from ostinato.list_faults() f;

-- name: unrun_kinds
-- The kinds that wait and that no living worker runs.
select k.queue, k.kind, k.jobs from ostinato.unrun_kinds() k;
