-- The statements of the coordination play.

-- name: prepare
-- What those who use the concepts write in their own transactions.
create table simulation.lease_write (tenant_id text not null, name text not null, token bigint not null);
create table simulation.key_effect (tenant_id text not null, key text not null, token bigint not null);
create table simulation.step_effect (job_id bigint not null, position integer not null);
grant select, insert on simulation.lease_write, simulation.key_effect, simulation.step_effect to ostinato_worker;

-- name: empty
-- Starts over.
delete from ostinato_data.lease;
delete from simulation.lease_write;
delete from ostinato_data.idempotency;
delete from simulation.key_effect;
delete from ostinato_data.step;
delete from ostinato_data.job_wait;
delete from ostinato_data.job_wake;
delete from ostinato_data.child_tick;
delete from ostinato_data.job_group;
delete from simulation.step_effect;
delete from ostinato_data.schedule_due;
delete from ostinato_data.schedule_fire;
delete from ostinato_data.schedule;
select setval('ostinato_data.schedule_id_seq', 1, false);
delete from ostinato_data.delivery;
delete from ostinato_data.subscription;
delete from ostinato_data.event_log;
delete from ostinato_data.event_unsequenced;
delete from ostinato_data.event;
delete from ostinato_data.event_sequencer;
select setval('ostinato_data.event_seq', 1, false);
select setval('ostinato_data.lease_token_seq', 1, false), setval('ostinato_data.idempotency_token_seq', 1, false);

-- name: leases
-- All leases.
select l.tenant_id, l.name, l.token, l.attempt, l.holder, l.lifetime from ostinato_data.lease l;

-- name: lease
-- One lease.
select l.token, l.attempt, l.holder from ostinato_data.lease l where (l.tenant_id, l.name) = ($1, $2);

-- name: lease_writes
-- What was written under the guard of leases.
select w.tenant_id, w.name, w.token from simulation.lease_write w;

-- name: write_lease
-- A write under the guard of a lease.
insert into simulation.lease_write (tenant_id, name, token) values ($1, $2, $3);

-- name: keys
-- All keys of requests.
select i.tenant_id, i.key, i.token, i.attempt, i.state from ostinato_data.idempotency i;

-- name: key_effects
-- What was done under them.
select e.tenant_id, e.key, e.token from simulation.key_effect e;

-- name: key_effect
-- An effect that must take place once.
insert into simulation.key_effect (tenant_id, key, token) values ($1, $2, $3);

-- name: log
-- The events behind a position, in order.
select l.position, l.event_id from ostinato_data.event_log l where l.position > $1 order by l.position;

-- name: log_size
-- How many events have a position, and how many positions there are.
select count(*), count(distinct l.position) from ostinato_data.event_log l;

-- name: fires
-- The slots that were served.
select f.schedule_id, f.slot_at, f.job_id from ostinato_data.schedule_fire f;

-- name: dues
-- The next slots of schedules.
select d.schedule_id, d.slot_at from ostinato_data.schedule_due d;

-- name: steps
-- The steps that are stored.
select s.job_id, s.position, s.type, s.name, s.attempt, s.event_id from ostinato_data.step s order by s.job_id, s.position;

-- name: missed_waits
-- Jobs that wait for an event that is there.
select w.job_id, l.event_id from ostinato_data.job_wait w join ostinato_data.job j on j.id = w.job_id
join ostinato_data.event_log l on (l.tenant_id, l.type, l.ordering_key) = (w.tenant_id, w.event, w.key)
join ostinato_data.event e on e.id = l.event_id
where e.emitted_at >= j.created_at
  and not exists (select from ostinato_data.step s where s.job_id = w.job_id and (s.position = w.position or s.event_id = l.event_id));

-- name: step_effects
-- What steps wrote in their own transactions.
select e.job_id, e.position from simulation.step_effect e;

-- name: step_effect
-- A write that commits with its step.
insert into simulation.step_effect (job_id, position) values ($1, $2);

-- name: run_at
-- When a job is to run again.
select s.run_at from ostinato_data.scheduled s where s.job_id = $1;

-- name: counts_of_children
-- Groups whose counts are not those of their children.
select g.id, c.total, c.done, c.failed, c.cancelled from ostinato_data.job_group g
cross join lateral ostinato.job_groups(g.parent_id) c
cross join lateral (
    select count(*) as total, count(*) filter (where s = 'done') as done, count(*) filter (where s = 'dead') as failed,
           count(*) filter (where s = 'cancelled') as cancelled
    from (select ostinato.job_state(j.id) as s from ostinato_data.job j where j.group_id = g.id) x) r
where c.group_id = g.id
  and (c.total, c.done, c.failed, c.cancelled) is distinct from (r.total, r.done, r.failed, r.cancelled);

-- name: joins_that_nobody_ends
-- Parents that wait although all is counted, and nothing is left that would make a poll look.
select g.parent_id, g.id from ostinato_data.job_group g
join ostinato_data.job_wait w on w.job_id = g.parent_id and w.position = g.join_step
where g.total = g.done + g.failed + g.cancelled
  and not exists (select from ostinato_data.child_tick t where t.group_id = g.id)
  and not exists (select from ostinato_data.step s where s.job_id = w.job_id and s.position = w.position);

-- name: groups_without_a_step
-- Groups whose spawn was not committed with its step.
select g.id from ostinato_data.job_group g
where not exists (select from ostinato_data.step s where s.job_id = g.parent_id and s.position = g.position);
