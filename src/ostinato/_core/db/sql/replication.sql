-- What copies of a whole server need to know of it, and to set in it.

-- name: identity
-- Which server this is, what it can do, and its time.
select (pg_catalog.pg_control_system()).system_identifier::text as system,
       current_setting('server_version_num')::integer / 10000 as major,
       pg_catalog.pg_size_bytes(current_setting('wal_segment_size')) as segment_bytes,
       pg_catalog.pg_is_in_recovery() as standby,
       current_setting('wal_level') as wal_level,
       current_setting('max_wal_senders')::integer as senders,
       current_setting('synchronous_standby_names') as waits_for,
       (select r.rolsuper or r.rolreplication from pg_catalog.pg_roles r where r.rolname = current_user) as may_copy,
       current_user::text as role,
       case when not pg_catalog.pg_is_in_recovery()
            then substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) end as timeline,
       clock_timestamp() as now;

-- name: slot
-- The state of a replication slot, if it exists.
select s.active, s.wal_status, s.restart_lsn::text from pg_catalog.pg_replication_slots s where s.slot_name = %(name)s;

-- name: create_slot
-- Keeps the log from now on until its reader has it.
select pg_catalog.pg_create_physical_replication_slot(%(name)s, true);

-- name: drop_slot
-- Keeps the log no longer.
select pg_catalog.pg_drop_replication_slot(s.slot_name)
from pg_catalog.pg_replication_slots s where s.slot_name = %(name)s and not s.active;

-- name: end_left_reader
-- Ends the reader of a slot that is on the machine of this session, and waits until it is gone.
select pg_catalog.pg_terminate_backend(r.pid, 10000)
from pg_catalog.pg_replication_slots s join pg_catalog.pg_stat_replication r on r.pid = s.active_pid
where s.slot_name = %(name)s and r.client_addr is not distinct from pg_catalog.inet_client_addr();

-- name: reader
-- Whether a reader is there, and whether commits wait for it.
select r.state, r.sync_state from pg_catalog.pg_stat_replication r where r.application_name = %(name)s;

-- name: act_alone
-- What this session writes waits for nobody; it reads text, whatever the encoding of the database: in the locale C
-- initdb makes one without any.
select pg_catalog.set_config('synchronous_commit', 'local', false),
       pg_catalog.set_config('client_encoding', 'UTF8', false);

-- name: wait_for
-- Lets commits wait for a reader.
alter system set synchronous_standby_names = {names};

-- name: wait_for_nobody
-- Lets commits wait for nobody.
alter system reset synchronous_standby_names;

-- name: reload
-- Makes the server read its settings.
select pg_catalog.pg_reload_conf();

-- name: checkpoint
-- Writes everything out. The checkpointer, which alone decides whether commits wait, reads its settings before it.
checkpoint;
