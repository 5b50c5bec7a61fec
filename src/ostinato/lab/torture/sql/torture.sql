-- What `ostinato torture` writes beside the engine, and how it looks for broken promises.

-- name: create_tables
-- The effects of tortured jobs: in the job's own transaction, and outside of it.
create schema torture;
create table torture.effect (job_id bigint not null, attempt integer not null);
create table torture.outside (key text primary key, job_id bigint not null);
create table torture.outside_call (job_id bigint not null, attempt integer not null);
grant usage on schema torture to ostinato_worker;
grant select, insert on all tables in schema torture to ostinato_worker;

-- name: write_effect
-- An effect in the transaction that ends the job.
insert into torture.effect (job_id, attempt) values (%s, %s);

-- name: call_outside
-- A call of another system, which knows the key of what it has done already.
with called as (insert into torture.outside_call (job_id, attempt) values (%(job_id)s, %(attempt)s))
insert into torture.outside (key, job_id) values (%(key)s, %(job_id)s) on conflict do nothing;

-- name: worker_of
-- The id of a worker by its name, and the time.
select (select w.id from ostinato_data.worker w where w.name = %s), clock_timestamp();

-- name: end_connections
-- Ends some connections of workers and clients, chosen by chance from a seed.
with chosen as (
    select a.pid from pg_stat_activity a
    where a.application_name like 'ostinato/%%' and a.pid <> pg_backend_pid() and a.datname = current_database()
    order by md5(a.pid::text || %(seed)s::text) limit %(most)s)
select count(pg_terminate_backend(c.pid)) from chosen c;

-- name: left
-- How many jobs wait or run, by place.
select (select count(*) from ostinato_data.ready), (select count(*) from ostinato_data.scheduled),
       (select coalesce(sum(cardinality(c.job_ids)), 0) from ostinato_data.claim c),
       (select count(*) from ostinato_data.dead_letter), (select count(distinct o.job_id) from ostinato_data.outcome o);

-- name: in_two_places
-- Jobs that are in two places at once, or wait or run although they are done, or share a unique key with a living one.
with place as (
    select r.job_id from ostinato_data.ready r
    union all select s.job_id from ostinato_data.scheduled s
    union all select h from ostinato_data.claim c cross join unnest(c.job_ids) h
    union all select d.job_id from ostinato_data.dead_letter d
)
select count(*) from (
    select p.job_id from place p group by p.job_id having count(*) > 1
    union
    select p.job_id from place p
    where exists (select from ostinato_data.outcome o where o.job_id = p.job_id and o.outcome = 'done')
    union
    select max(p.job_id) from place p join ostinato_data.job j on j.id = p.job_id
    where j.unique_key is not null and not exists (select from ostinato_data.dead_letter d where d.job_id = p.job_id)
    group by j.tenant_id, j.unique_key having count(distinct p.job_id) > 1
) broken;

-- name: lost
-- Jobs that were acknowledged and are nowhere: neither waiting nor running, without an end.
select count(*) from unnest(%s::bigint[]) a (id)
where not exists (select from ostinato_data.job j where j.id = a.id)
   or not (exists (select from ostinato_data.outcome o where o.job_id = a.id and o.outcome in ('done', 'cancelled'))
           or exists (select from ostinato_data.dead_letter d where d.job_id = a.id)
           or exists (select from ostinato_data.ready r where r.job_id = a.id)
           or exists (select from ostinato_data.scheduled s where s.job_id = a.id)
           or exists (select from ostinato_data.claim c where a.id = any (c.job_ids)));

-- name: ended
-- Of the acknowledged jobs: how many are done, cancelled, dead.
select count(*) filter (where o.outcome = 'done'), count(*) filter (where o.outcome = 'cancelled'), count(*)
filter (where o.outcome = 'dead')
from (select distinct on (o.job_id) o.job_id, o.outcome from ostinato_data.outcome o
      where o.job_id = any (%s::bigint[]) order by o.job_id, o.attempt desc) o;

-- name: effects
-- Effects of the jobs of some kinds: all, of jobs that have more than one, missing for jobs that are done, and stale:
-- of an attempt that is not the one that completed the job. Then jobs that were completed twice.
select (select count(*) from torture.effect),
       (select count(*) from (select e.job_id from torture.effect e group by e.job_id having count(*) > 1) d),
       (select count(*) from ostinato_data.outcome o join ostinato_data.job j on j.id = o.job_id
        where o.outcome = 'done' and j.kind = any (%s::text[]) and not exists (select from torture.effect e
            where e.job_id = o.job_id)),
       (select count(*) from torture.effect e where not exists (
            select from ostinato_data.outcome o
            where (o.job_id, o.attempt, o.outcome) = (e.job_id, e.attempt, 'done'))),
       (select count(*) from (select o.job_id from ostinato_data.outcome o where o.outcome = 'done' group by o.job_id
                              having count(*) > 1) t);

-- name: outside
-- Calls of the other system, those that it had to recognise as repeated, and jobs that are done without one.
select (select count(*) from torture.outside_call),
       (select count(*) from torture.outside_call) - (select count(*) from torture.outside),
       (select count(*) from ostinato_data.outcome o join ostinato_data.job j on j.id = o.job_id
        where o.outcome = 'done' and j.kind = %s
          and not exists (select from torture.outside x where x.job_id = o.job_id));

-- name: crashes
-- Attempts that were taken from dead workers, and dead letters by why they are there.
select (select count(*) from ostinato_data.outcome o where o.outcome = 'lost'),
       (select count(*) from ostinato_data.dead_letter d where d.kind = %(poison)s),
       (select count(*) from ostinato_data.dead_letter d where d.reason = 'worker_lost' and d.kind <> %(poison)s),
       (select count(*) from ostinato_data.dead_letter d where d.reason <> 'worker_lost'),
       (select count(*) from ostinato_data.outcome o join ostinato_data.job j on j.id = o.job_id
        where j.kind = %(poison)s and o.outcome in ('done', 'failed', 'cancelled'));

-- name: rescues
-- The times at which the jobs of a worker were taken from it.
select o.finished_at from ostinato_data.outcome o where o.worker_id = %s and o.outcome in ('lost', 'dead') order by 1;

-- name: redrive_innocent
-- Runs the jobs again that were in the way of too many crashes of others.
select r.redriven from ostinato.redrive_jobs(
    ids => array(select d.job_id from ostinato_data.dead_letter d where d.reason = 'worker_lost' and d.kind <> %s)) r;

-- name: evidence
-- The stories of some jobs that are lost, stuck, or whose effects are not exact: where they are and what happened to
-- them.
with odd as (
    select a.id, 'acknowledged and nowhere' as what from unnest(%(ids)s::bigint[]) a (id)
    where coalesce(ostinato.job_state(a.id), 'nowhere') not in ('done', 'cancelled', 'dead', 'ready', 'scheduled',
                                                                'running')
    union all
    select o.job_id, 'done without an effect' from ostinato_data.outcome o join ostinato_data.job j on j.id = o.job_id
    where o.outcome = 'done' and j.kind = any (%(kinds)s::text[]) and not exists (select from torture.effect e
        where e.job_id = o.job_id)
    union all
    select e.job_id, 'an effect of an attempt that did not complete' from torture.effect e
    where not exists (select from ostinato_data.outcome o
                      where (o.job_id, o.attempt, o.outcome) = (e.job_id, e.attempt, 'done'))
    union all
    select h, 'still held' from ostinato_data.claim c cross join unnest(c.job_ids) h
    union all
    select r.job_id, 'still ready' from ostinato_data.ready r
    union all
    select s.job_id, 'still scheduled' from ostinato_data.scheduled s
)
select format('job %%s (%%s) is %%s: %%s; effects of attempts %%s; outcomes %%s', odd.id,
              coalesce(j.kind, 'no such job'), odd.what,
    coalesce(ostinato.job_state(odd.id), 'no state'),
    coalesce((select string_agg(e.attempt::text, ', ') from torture.effect e where e.job_id = odd.id), 'none'),
    coalesce((select string_agg(format('%%s %%s at %%s by %%s', o.attempt, o.outcome, o.finished_at, o.worker_id), '; '
                                order by o.attempt)
              from ostinato_data.outcome o where o.job_id = odd.id), 'none'))
from odd left join ostinato_data.job j on j.id = odd.id limit 20;
