-- The statements of the simulation itself. The engine is used through its functions only.

-- name: prepare
-- What the simulated handlers write in their own transactions.
create schema simulation;
create table simulation.effect (job_id bigint not null, attempt integer not null);
create table simulation.guarded (job_id bigint not null, attempt integer not null);
grant usage on schema simulation to ostinato_worker;
grant select, insert on simulation.effect, simulation.guarded to ostinato_worker;

-- name: settings
-- Nothing that runs by itself or by the real time may disturb: the same seed is the same run.
alter system set autovacuum = off;
alter system set fsync = off;
alter system set idle_in_transaction_session_timeout = 0;
alter system set deadlock_timeout = '1h';
alter system set client_connection_check_interval = 0;

-- name: reload
-- Makes the server read its settings.
select pg_reload_conf();

-- name: database_settings
-- A clock that the simulation moves, no wait for the disk, and no lock timeout: the simulation itself sees who waits.
select ostinato.use_test_clock();
alter database {name} set synchronous_commit = off;
alter role ostinato_worker in database {name} set lock_timeout = 0;
alter role ostinato_worker in database {name} set idle_in_transaction_session_timeout = 0;
alter role ostinato_worker in database {name} set client_connection_check_interval = 0;

-- name: be_quick
-- The observer waits for nobody for long: it would be a mistake of the simulation.
set statement_timeout = '20s';

-- name: renew
-- Starts over with new tables; plans have to be made anew. Now and then, because nobody vacuums here.
truncate ostinato_data.job, ostinato_data.outcome, ostinato_data.ready, ostinato_data.scheduled, ostinato_data.claim, ostinato_data.claim_hint,
    ostinato_data.dead_letter, ostinato_data.job_unique, ostinato_data.cancel_request, ostinato_data.job_progress,
    ostinato_data.rate_use, simulation.effect, simulation.guarded;

-- name: empty
-- Starts over with the same tables: cheap, and all plans stay.
delete from ostinato_data.job;
delete from ostinato_data.outcome;
delete from ostinato_data.ready;
delete from ostinato_data.scheduled;
delete from ostinato_data.claim;
delete from ostinato_data.claim_hint;
delete from ostinato_data.dead_letter;
delete from ostinato_data.job_unique;
delete from ostinato_data.cancel_request;
delete from ostinato_data.job_progress;
delete from ostinato_data.rate_use;
delete from ostinato_data.queue;
delete from ostinato_data.worker;
delete from ostinato_data.kind;
delete from ostinato_data.doorbell;
delete from ostinato_data.fault;
delete from ostinato_data.quarantine;
delete from simulation.effect;
delete from simulation.guarded;
update ostinato_data.tick set last = timestamptz '2026-06-01 12:00Z', grace_until = '-infinity';
select setval('ostinato_data.job_id_seq', 1, false), setval('ostinato_data.claim_id_seq', 1, false);

-- name: drop_weeks
-- Removes the partitions that upkeep made.
do $$
declare
    v_table text;
begin
    for v_table in
        select c.oid::regclass::text from pg_class c join pg_inherits i on i.inhrelid = c.oid
        where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind = 'r' and c.relname ~ '_\d{8}$'
    loop
        execute format('drop table %s', v_table);
    end loop;
end
$$;

-- name: set_clock
-- Moves the database's clock, in seconds since the start of the simulation.
update ostinato_data.test_clock set frozen = timestamptz '2026-06-01 12:00Z' + make_interval(secs => $1), shift = '0';

-- name: is_blocked
-- Whether a backend waits for another one's lock.
select cardinality(pg_blocking_pids($1)) > 0;

-- name: cancel
-- Ends the statement of a backend.
select pg_cancel_backend($1);

-- name: kill
-- Ends a backend.
select pg_terminate_backend($1);

-- name: note_effect
-- A handler's write in its own transaction.
insert into simulation.effect (job_id, attempt) values ($1, $2);

-- name: note_guarded
-- A handler's write under the guard of fence_job.
insert into simulation.guarded (job_id, attempt) values ($1, $2);

-- name: everything
-- All that is committed, one row per fact.
select 'job' as what, j.id, 0 as attempt, 0 as failures, 0 as crashes, null as note from ostinato_data.job j
union all select 'ready', r.job_id, r.attempt, r.failures, r.crashes, null from ostinato_data.ready r
union all select 'scheduled', s.job_id, s.attempt, s.failures, s.crashes, null from ostinato_data.scheduled s
union all select 'claim', h.job_id, h.attempt, h.failures, h.crashes,
        c.id || case when c.alone then ' alone' when h.at <= cardinality(c.job_ids) - c.waiting then ' begun' else ' waits' end
    from ostinato_data.claim c
    cross join unnest(c.job_ids, c.attempts, c.failures, c.crashes) with ordinality h (job_id, attempt, failures, crashes, at)
union all select 'dead_letter', d.job_id, d.attempt, 0, 0, d.reason from ostinato_data.dead_letter d
union all select 'outcome', o.job_id, o.attempt, 0, 0, o.outcome from ostinato_data.outcome o
union all select 'unique', u.job_id, 0, 0, 0, u.tenant_id || '/' || u.unique_key from ostinato_data.job_unique u
union all select 'cancel', r.job_id, 0, 0, 0, null from ostinato_data.cancel_request r
union all select 'progress', p.job_id, p.attempt, 0, 0, null from ostinato_data.job_progress p
union all select 'worker', 0, 0, 0, 0, w.id::text from ostinato_data.worker w
union all select 'fault', 0, 0, 0, 0, f.part || ' ' || f.state || ' ' || f.message from ostinato_data.fault f
union all select 'quarantine', q.job_id, q.attempt, 0, 0, q.damage from ostinato_data.quarantine q
union all select 'effect', e.job_id, e.attempt, 0, 0, null from simulation.effect e
union all select 'guarded', g.job_id, g.attempt, 0, 0, null from simulation.guarded g;

-- name: lost_runs
-- The runs that were taken back from dead workers.
select o.job_id, o.attempt, o.outcome, o.worker_id::text from ostinato_data.outcome o
where o.error ->> 'type' = 'worker_lost' order by o.job_id, o.attempt;

-- name: held
-- The runs that workers hold.
select h.job_id, h.attempt from ostinato_data.claim c cross join unnest(c.job_ids, c.attempts) h (job_id, attempt);

-- name: own_claims
-- The jobs that were split off their claim.
select c.job_id, c.attempts[1], c.id, c.split_from from ostinato_data.claim c where c.split_from is not null;

-- name: workers
-- The workers that are registered.
select w.id::text from ostinato_data.worker w;

-- name: dead_letters
-- The jobs that lie dead.
select d.job_id from ostinato_data.dead_letter d;

-- name: jobs
-- The jobs that there are.
select j.id from ostinato_data.job j;

-- name: unique_keys
-- The jobs that hold a unique key.
select u.job_id from ostinato_data.job_unique u;

-- name: cancel_requests
-- The jobs that somebody wants to be cancelled.
select r.job_id from ostinato_data.cancel_request r;

-- name: ready_rows
-- What waits in a queue, and what a claim took.
select false as taken, r.priority, r.tenant_id, r.position, r.crashes, r.kind, r.job_id from ostinato_data.ready r where r.queue = $1
union all
select true, j.priority, j.tenant_id, h.position, h.crashes, j.kind, j.id
from ostinato_data.claim c cross join unnest(c.job_ids, c.positions, c.crashes) h (job_id, position, crashes)
join ostinato_data.job j on j.id = h.job_id where c.id = any ($2);
