-- Workers: who is alive, and what becomes of the jobs of those who are not.
--
-- Alive is who beats. One row per worker process, beaten from its own thread, and from a process of its own while the
-- GIL is held, so that a long job or a blocked event loop is never taken for death. Any worker rescues the jobs of a
-- dead one; nobody leads. A process that dies alone is unregistered by its warden at once; only what dies with its
-- machine has to expire.
--
-- After an outage, a failover or a jump of the clock every lease looks expired at once. The tick shows which: it is
-- renewed about once a second by every poll and beat, so a gap means that the database was away, not that workers died.
-- Then nothing expires for the length of one expiry, in which the living beat again.

-- Renews the tick; true while nothing may be taken for expired. Workers beat at least every third of their expiry, so a
-- gap of nearly half of it is no worker's doing. Those that were overdue before the gap say nothing about it.
create function ostinato_internal.tick() returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now     timestamptz := ostinato.now();
    v_tick    tick;
    v_expiry  record;
begin
    select * into v_tick from tick;
    select coalesce(min(w.expiry_seconds) filter (where not ostinato_internal.is_expired(w.beat_at, w.expiry_seconds,
        v_tick.last)),
                    min(w.expiry_seconds), ostinato_internal.usual_expiry()) as least,
           coalesce(max(w.expiry_seconds), ostinato_internal.usual_expiry()) as most
    into v_expiry from worker w;
    if v_now between v_tick.last and v_tick.last + make_interval(secs => least(1, v_expiry.least / 15)) then
        return v_now < v_tick.grace_until;
    end if;
    select * into v_tick from tick for update skip locked;
    if not found then
        return true;  -- another transaction ticks just now: the next round finds who is dead
    end if;
    v_now := ostinato.now();
    if v_now < v_tick.last - interval '1 second'
       or v_now > v_tick.last + make_interval(secs => ostinato_internal.gap_seconds(v_expiry.least)) then
        v_tick.grace_until := v_now + make_interval(secs => v_expiry.most);
    end if;
    update tick set last = v_now, grace_until = v_tick.grace_until;
    return v_now < v_tick.grace_until;
end
$$;

-- Adds a worker. Its id is new at every start, so that no process is taken for another.
create function ostinato.register_worker(
    name text, queues text[], kinds text[], expiry_seconds double precision default 15, contract integer default 2,
    release text default null, places integer default null
) returns uuid language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_id constant uuid := gen_random_uuid();
    v_schema record;
begin
    select * into v_schema from ostinato.contract();
    if contract not between v_schema.oldest and v_schema.current then
        raise exception using errcode = 'OS426',
            message = format('this worker speaks contract %s, the database serves %s to %s', contract, v_schema.oldest,
                             v_schema.current),
            detail = json_build_object('worker', contract, 'oldest', v_schema.oldest, 'current', v_schema.current),
            hint = case when contract < v_schema.oldest then 'Upgrade the worker.' else 'Run: ostinato db migrate' end;
    end if;
    if expiry_seconds is null or expiry_seconds not between 0.001 and 86400 then  -- the grace of a tick depends on it
        raise exception using errcode = 'OS400',
            message = format('expiry_seconds of worker %L is %s', name, coalesce(expiry_seconds::text, 'null')),
            detail = json_build_object('name', name, 'expiry_seconds', expiry_seconds::text),
            hint = 'Choose 0.001 to 86400 seconds.';
    end if;
    insert into worker (id, name, started_at, beat_at, expiry_seconds, contract, queues, kinds, release, places)
    values (v_id, name, ostinato.now(), ostinato.now(), expiry_seconds, contract, queues, kinds, release, places);
    return v_id;
end
$$;

-- Returns how many connections the server has for everybody but superusers.
create function ostinato.server_connections() returns integer language sql stable as $$
    select current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
           - coalesce(current_setting('reserved_connections', true)::integer, 0)
$$;

-- Declares what a worker can run, so that callers in plain SQL get the right queue, and people see the policy.
-- `secrets` lists the names of each kind's secret arguments, between commas. `opens` says which of the kinds a tenant
-- may start (doors.sql); null, as a worker of an older release leaves it: not said.
create function ostinato.register_kinds(
    names text[], queues text[], priorities integer[], timeouts double precision[], retries text[], schemas text[],
    secrets text[] default null, opens boolean[] default null
) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    insert into kind (name, queue, priority, timeout_seconds, retry, args_schema, registered_at, secret_args, open)
    select k.name, k.queue, k.priority, k.timeout, k.retry::json, k.schema::json, ostinato.now(),
           coalesce(string_to_array(nullif(k.secrets, ''), ','), '{}'), k.open
    from unnest(names, queues, priorities, timeouts, retries, schemas, secrets, opens)
        k (name, queue, priority, timeout, retry, schema, secrets, open)
    order by k.name
    on conflict (name) do update set
        queue = excluded.queue, priority = excluded.priority, timeout_seconds = excluded.timeout_seconds,
        retry = excluded.retry, args_schema = excluded.args_schema, registered_at = excluded.registered_at,
        secret_args = excluded.secret_args, open = coalesce(excluded.open, kind.open)
$$;

-- Returns the JSON schema of a kind's arguments, as the worker that registered last declared it; null: no worker has.
create function ostinato.kind_schema(kind text) returns json language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select k.args_schema from kind k where k.name = kind_schema.kind
$$;

-- Beats for a worker. False: it was declared dead and its jobs were taken; it must start over with a new id.
-- `blocked_by` is the kind whose handler blocks the worker's event loop just now: nothing else in that process moves;
-- `why` and the metrics say so.
create function ostinato.heartbeat_worker(worker_id uuid, draining boolean default false, blocked_by text default null)
returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform ostinato_internal.tick();
    update worker w set beat_at = ostinato.now(), draining = heartbeat_worker.draining,
        blocked_by = heartbeat_worker.blocked_by
    where w.id = heartbeat_worker.worker_id;
    return found;
end
$$;

-- Asks a worker to end: it takes no new jobs, finishes those that it has, and stops; it hears of it with its next poll.
create function ostinato.drain_worker(worker_id uuid) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    update worker w set drain_asked_at = coalesce(w.drain_asked_at, ostinato.now()) where w.id = drain_worker.worker_id;
    if not found then
        raise exception using errcode = 'OS404', message = format('there is no worker %s', worker_id),
            detail = json_build_object('worker_id', worker_id), hint = 'See `ostinato workers`; it may have ended.';
    end if;
    perform ostinato_internal.record('drain', 'worker', drain_worker.worker_id::text);
end
$$;

-- Removes a worker that stops; whatever it still holds is rescued at once by the others.
create function ostinato.unregister_worker(worker_id uuid) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    delete from worker w where w.id = $1
$$;

-- Returns whether a worker's last beat is too old, or absurdly far in the future after the clock went back.
create function ostinato_internal.is_expired(beat_at timestamptz, expiry_seconds double precision, at timestamptz)
returns boolean
language sql immutable as $$
    select at - beat_at > make_interval(secs => expiry_seconds) or beat_at - at > make_interval(secs => expiry_seconds)
$$;

-- Takes the jobs of dead workers back, attempt + 1. Those that had not begun go back to their place in line. Those that
-- had may have killed the process: a crash is noted, two at the most, and with two a job is a suspect, which runs
-- alone. Only a death of a process that ran nothing else counts beyond that: after `max_crashes` of them the job is a
-- dead letter `worker_lost`, and after three times as many if processes died within the hour that had nothing to do
-- with it. One that was being cancelled is cancelled. Returns how many jobs were rescued; about `most` at a time. The
-- grace of a tick is for workers that could not beat: one that was unregistered is gone for certain, and its jobs need
-- not wait.
create function ostinato.rescue_jobs(max_crashes integer default 3, most integer default 5000) returns integer
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_grace  constant boolean := ostinato_internal.tick();
    v_now    constant timestamptz := ostinato.now();
    v_claims bigint[];
    v_count  integer := 0;
begin
    v_claims := array(
        select d.id from (
            select c.id, sum(cardinality(c.job_ids)) over (order by c.id) - cardinality(c.job_ids) as before
            from claim c left join worker w on w.id = c.worker_id
            where w.id is null or not v_grace and ostinato_internal.is_expired(w.beat_at, w.expiry_seconds, v_now)) d
        where d.before < most);
    if v_claims <> '{}' then
        -- A locked claim is being finished right now: leave it to the next round.
        v_claims := array(
            select c.id from claim c left join worker w on w.id = c.worker_id
            where c.id = any (v_claims)
              and (w.id is null or not v_grace and ostinato_internal.is_expired(w.beat_at, w.expiry_seconds, v_now))
            order by c.id for update of c skip locked);
        -- The subscriptions of all of them before the first: several are locked in one order, by everybody.
        perform ostinato_internal.lock_lanes(array(
            select h from claim c cross join unnest(c.job_ids) h where c.id = any (v_claims)));
        perform ostinato_internal.note_deaths(v_claims);
        begin
            v_count := ostinato_internal.rescue_claims(v_claims, max_crashes);
        exception when others then
            v_count := ostinato_internal.rescue_apart(v_claims, max_crashes);
        end;
    end if;
    delete from worker w
    where not v_grace and ostinato_internal.is_expired(w.beat_at, w.expiry_seconds, v_now)
      and not exists (select from claim c where c.worker_id = w.id);
    return v_count;
end
$$;

-- Takes back what claims hold, each by itself: one that cannot be rescued must not keep the others. What is damaged
-- leaves it for the quarantine, and the rest comes with the next round.
create function ostinato_internal.rescue_apart(claim_ids bigint[], max_crashes integer) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_claim bigint;
    v_count integer := 0;
begin
    foreach v_claim in array claim_ids loop
        begin
            v_count := v_count + ostinato_internal.rescue_claims(array[v_claim], max_crashes);
        exception when others then
            perform ostinato_internal.note_fault('rescue', sqlstate, sqlerrm),
                    ostinato_internal.set_aside_claim(v_claim);
        end;
    end loop;
    return v_count;
end
$$;

-- Notes the deaths of the workers whose claims are about to be taken back, and forgets the old ones.
create function ostinato_internal.note_deaths(claim_ids bigint[]) returns void
language sql set search_path = ostinato_data, pg_catalog, pg_temp as $$
    delete from death d where d.died_at < ostinato.now() - make_interval(secs => ostinato_internal.death_seconds());
    insert into death (worker_id, died_at, begun, alone)
    select g.worker_id, ostinato.now(), coalesce(array_agg(h.job_id) filter (where h.job_id is not null), '{}'),
           bool_or(g.alone)
    from (
        select c.worker_id, c.alone, c.job_ids[:cardinality(c.job_ids) - c.waiting] as begun
        from claim c where c.id = any (claim_ids) offset 0  -- an array is unpacked once per claim, not once per job
    ) g left join lateral unnest(g.begun) h (job_id) on true group by g.worker_id;
$$;

-- Returns whether processes died within the hour that had nothing to do with a job. One that ran another job alone may
-- have been ended by that one, so it says nothing.
create function ostinato_internal.others_die(job_id bigint) returns boolean
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select exists (
        select from death d
        where d.died_at >= ostinato.now() - make_interval(secs => ostinato_internal.death_seconds()) and not d.alone
          and not exists (select from death e where e.worker_id = d.worker_id and others_die.job_id = any (e.begun)))
$$;

-- Returns whether a job that ran alone in a process that died is held to be the cause.
create function ostinato_internal.is_guilty(job_id bigint, counted integer, max_crashes integer) returns boolean
language sql stable as $$
    select counted >= ostinato_internal.suspect_crashes() + max_crashes
       and (counted >= ostinato_internal.suspect_crashes() + ostinato_internal.doubt_factor() * max_crashes
            or not ostinato_internal.others_die(job_id))
$$;

-- Returns the crashes of a job after the death of its process: one that had not begun is no cause of it, one that ran
-- alone is, and those that ran beside others become suspects at the most.
create function ostinato_internal.crashes_after(crashes smallint, begun boolean, alone boolean) returns integer
language sql immutable as $$
    select case when not begun then crashes when alone then crashes + 1
           else greatest(crashes, least(crashes + 1, ostinato_internal.suspect_crashes())) end
$$;

-- Takes back what some claims still hold. The caller holds their row locks.
create function ostinato_internal.rescue_claims(claim_ids bigint[], max_crashes integer) returns integer
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_now   constant timestamptz := ostinato.now();
    v_error constant json := json_build_object('type', 'worker_lost',
                                               'message', 'the worker process died or was cut off while it held this '
                                                          'job');
    v_count integer;
    v_gone  bigint[];
    v_ended bigint[];
    v_dead  bigint[];
begin
    perform ostinato_internal.release_followers(claim_ids);
    with gone as materialized (
        delete from claim c where c.id = any (claim_ids) returning c.*, cardinality(c.job_ids) - c.waiting as first
    ), held as materialized (
        select g.worker_id, g.alone, g.id as claim_id, h.*, h.at <= g.first as begun,
               ostinato_internal.crashes_after(h.crashes, h.at <= g.first, g.alone) as counted
        from gone g cross join lateral unnest(g.job_ids, g.positions, g.attempts, g.failures, g.crashes)
            with ordinality h (job_id, position, attempt, failures, crashes, at)
    ), lost as materialized (
        select h.*, coalesce(j.queue, ostinato_internal.refuse_moved(h.job_id)) as queue, j.tenant_id, j.kind,
               ostinato_internal.place_of(j, h.position, h.attempt + 1, h.failures, h.counted) as place,
               case when r.job_id is not null then 'cancelled' when not h.begun then 'waits'
                    when h.alone and ostinato_internal.is_guilty(h.job_id, h.counted, max_crashes) then 'dead'
                    else 'lost' end as outcome
        from held h left join job j on j.id = h.job_id left join cancel_request r on r.job_id = h.job_id
    ), written as (
        insert into outcome (job_id, finished_at, attempt, worker_id, outcome, error)
        select l.job_id, v_now, l.attempt, l.worker_id, l.outcome, v_error from lost l where l.outcome <> 'waits'
    ), buried as (
        insert into dead_letter (job_id, attempt, died_at, kind, queue, tenant_id, reason, signature, error)
        select l.job_id, l.attempt, v_now, l.kind, l.queue, l.tenant_id, 'worker_lost', 'worker_lost', v_error
        from lost l where l.outcome = 'dead'
    ), returned as (
        insert into ready select r.*
        from (select o.place, case when o.begun then ostinato.new_id() else o.position end as at
              from (select l.* from lost l where l.outcome in ('lost', 'waits') order by l.claim_id, l.at) o) l
        cross join lateral ostinato_internal.place_at(l.place, l.at) r
    ), freed as (
        delete from job_unique u using lost l where u.job_id = l.job_id and l.outcome in ('cancelled', 'dead')
          and not l.outcome = any (u.states)
    )
    select count(*), array_agg(l.job_id), array_agg(l.job_id) filter (where l.outcome = 'cancelled'),
           array_agg(l.job_id) filter (where l.outcome = 'dead')
    into v_count, v_gone, v_ended, v_dead from lost l;
    perform ostinato_internal.forget_run(v_gone, v_ended), ostinato_internal.end_deliveries(v_ended, v_dead),
            ostinato_internal.ring_ends(v_dead), ostinato_internal.keep_order(v_gone),
            ostinato_internal.count_children(v_dead, 'dead'), ostinato_internal.count_children(v_ended, 'cancelled');
    return v_count;
end
$$;

-- Gives back what a living worker was given and never heard of: the answer to a claim may get lost on the way. `held`
-- are the jobs that it knows; claims younger than `seconds` may still be on their way. Returns how many were given
-- back.
create function ostinato.reconcile_worker(worker_id uuid, held bigint[], seconds double precision) returns integer
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_claims   bigint[];
    v_jobs     bigint[];
    v_attempts integer[];
begin
    select array_agg(c.id), array_agg(h.job_id), array_agg(h.attempt) into v_claims, v_jobs, v_attempts
    from claim c cross join unnest(c.job_ids, c.attempts) h (job_id, attempt)
    where c.worker_id = reconcile_worker.worker_id and c.claimed_at < ostinato.now() - make_interval(secs => seconds)
      and not h.job_id = any (held);
    if v_jobs is null then
        return 0;
    end if;
    return cardinality(v_jobs) - (select count(*) from ostinato.release_jobs(v_claims, v_jobs, v_attempts));
exception when serialization_failure then  -- a job of them is missing, or was moved just now
    return (select count(*) from ostinato.set_aside_held(v_claims, v_jobs, v_attempts));
end
$$;

-- Moves jobs whose time has come from scheduled to ready, oldest first. Returns how many.
create function ostinato.promote_jobs(most integer default 5000) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_now   constant timestamptz := ostinato.now();
    v_base  constant bigint := ostinato_internal.first_id(v_now);
    v_count integer;
begin
    with due as (
        delete from scheduled s where s.ctid = any (array(
            select d.ctid from scheduled d where d.run_at <= v_now order by d.run_at limit most for update skip locked))
        returning s as was
    )
    insert into ready select r.*
    from (select o.was, v_base + nextval('job_id_seq') as at
          from (select d.was from due d order by (d.was).run_at, (d.was).job_id) o) d
    cross join lateral ostinato_internal.ready_row(d.was, d.at) r;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;

-- Does the first part of a poll: rescues, promotes, settles requests to cancel, wakes those whose event came. They fail
-- apart: what one of them meets (a damaged row, say) must not keep the others from their work.
create function ostinato_internal.move_jobs(max_crashes integer, out rescued integer, out promoted integer)
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    rescued := 0;
    promoted := 0;
    begin
        rescued := ostinato.rescue_jobs(max_crashes);
    exception when others then
        perform ostinato_internal.note_fault('rescue', sqlstate, sqlerrm);
    end;
    begin
        promoted := ostinato.promote_jobs();
    exception when others then
        perform ostinato_internal.note_fault('promote', sqlstate, sqlerrm);
    end;
    if exists (select from cancel_request) then
        begin
            perform ostinato_internal.settle_cancels();
        exception when others then
            perform ostinato_internal.note_fault('cancel', sqlstate, sqlerrm);
        end;
    end if;
    if exists (select from child_tick) or exists (select from job_group g where g.state = 'cancelling') then
        begin
            perform ostinato_internal.settle_groups();
        exception when others then
            perform ostinato_internal.note_fault('children', sqlstate, sqlerrm);
        end;
    end if;
    if exists (select from job_wake) then
        begin
            perform ostinato_internal.wake_jobs();
        exception when others then
            perform ostinato_internal.note_fault('wake', sqlstate, sqlerrm);
        end;
    end if;
end
$$;

-- Returns the services that have something to do, and in how many seconds the next one will.
create function ostinato_internal.due_chores(out chores text[], out next_due double precision) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    select coalesce(array_agg(c.name order by c.name) filter (where c.due <= 0), '{}'),
           min(c.due) filter (where c.due > 0) into chores, next_due
    from ostinato_internal.chores() c;
exception when others then
    chores := '{}';
    perform ostinato_internal.note_fault('chores', sqlstate, sqlerrm);
end
$$;

-- Polls for a worker: rescues, promotes, and returns which of its queues hold work, in how many
-- seconds the next job is due or the next silent worker expires, which of its running jobs are to be cancelled, and
-- which of the background services have something to do.
create function ostinato.poll_jobs(
    worker_id uuid, queues text[], max_crashes integer default 3,
    out rescued integer, out promoted integer, out ready_queues text[], out next_due double precision,
    out cancels bigint[], out chores text[]
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
    v_due double precision;
begin
    select m.rescued, m.promoted into rescued, promoted from ostinato_internal.move_jobs(max_crashes) m;
    promoted := promoted + ostinato_internal.tidy_shelf(worker_id, queues);
    ready_queues := array(
        select q from unnest(queues) q
        -- A probe for each: an `exists` may become a join that reads the whole backlog first.
        where (select true from ready r where r.queue = q limit 1) and not exists (select from queue p
            where p.name = q and p.paused));
    cancels := array(
        select r.job_id from cancel_request r
        where exists (select from claim c where c.worker_id = poll_jobs.worker_id and r.job_id = any (c.job_ids)));
    select extract(epoch from least(
        (select min(s.run_at) from scheduled s where s.run_at < ostinato.never()),
        (select min(greatest(w.beat_at + make_interval(secs => w.expiry_seconds), t.grace_until))
         from worker w cross join tick t where w.id <> poll_jobs.worker_id)) - v_now)
    into next_due;
    select c.chores, c.next_due into chores, v_due from ostinato_internal.due_chores() c;
    next_due := least(next_due, v_due);
    if exists (select from worker w where w.id = poll_jobs.worker_id and w.drain_asked_at is not null) then
        chores := chores || 'drain'::text;
    end if;
end
$$;
