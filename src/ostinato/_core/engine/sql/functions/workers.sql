-- Workers: who is alive, and what becomes of the jobs of those who are not.
--
-- Alive is who beats. One row per worker process, beaten from its own thread, so that a long job or a blocked event
-- loop is never taken for death. Any worker rescues the jobs of a dead one; nobody leads.
--
-- After an outage, a failover or a jump of the clock every lease looks expired at once. The tick tells: it is renewed
-- about once a second by whoever polls or beats, so a gap means that the database was away, not that workers died.
-- Then nothing expires for the length of one expiry, in which the living beat again.

-- Renews the tick; true while nothing may be taken for expired. Workers beat at least every third of their expiry, so a
-- gap of nearly half of it is no worker's doing. Those that were overdue before the gap say nothing about it.
create function ostinato.tick() returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now     timestamptz := ostinato.now();
    v_tick    tick;
    v_expiry  record;
begin
    select * into v_tick from tick;
    select coalesce(min(w.expiry_seconds) filter (where not ostinato.is_expired(w.beat_at, w.expiry_seconds, v_tick.last)),
                    min(w.expiry_seconds), 15) as least,
           coalesce(max(w.expiry_seconds), 15) as most
    into v_expiry from worker w;
    if v_now between v_tick.last and v_tick.last + make_interval(secs => least(1, v_expiry.least / 15)) then
        return v_now < v_tick.grace_until;
    end if;
    select * into v_tick from tick for update skip locked;
    if not found then
        return true;  -- another ticks just now: whoever is dead, the next round will see
    end if;
    v_now := ostinato.now();
    if v_now < v_tick.last - interval '1 second' or v_now > v_tick.last + make_interval(secs => v_expiry.least * 7 / 15) then
        v_tick.grace_until := v_now + make_interval(secs => v_expiry.most);
    end if;
    update tick set last = v_now, grace_until = v_tick.grace_until;
    return v_now < v_tick.grace_until;
end
$$;

-- Adds a worker. Its id is new at every start, so that no process is taken for another.
create function ostinato.register_worker(
    name text, queues text[], kinds text[], expiry_seconds double precision default 15, contract integer default 1
) returns uuid language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_id constant uuid := gen_random_uuid();
    v_schema record;
begin
    select * into v_schema from ostinato.contract();
    if contract not between v_schema.oldest and v_schema.current then
        raise exception using errcode = 'OS426',
            message = format('this worker speaks contract %s, the database serves %s to %s', contract, v_schema.oldest, v_schema.current),
            detail = json_build_object('worker', contract, 'oldest', v_schema.oldest, 'current', v_schema.current),
            hint = case when contract < v_schema.oldest then 'Upgrade the worker.' else 'Run: ostinato db migrate' end;
    end if;
    if expiry_seconds is null or expiry_seconds not between 0.001 and 86400 then  -- the grace of a tick depends on it
        raise exception using errcode = 'OS400', message = format('expiry_seconds of worker %L is %s', name, coalesce(expiry_seconds::text, 'null')),
            detail = json_build_object('name', name, 'expiry_seconds', expiry_seconds::text), hint = 'Choose 0.001 to 86400 seconds.';
    end if;
    insert into worker (id, name, started_at, beat_at, expiry_seconds, contract, queues, kinds)
    values (v_id, name, ostinato.now(), ostinato.now(), expiry_seconds, contract, queues, kinds);
    return v_id;
end
$$;

-- Declares what a worker can run, so that callers in plain SQL get the right queue, and people see the policy.
create function ostinato.register_kinds(
    names text[], queues text[], priorities integer[], timeouts double precision[], retries text[], schemas text[]
) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    insert into kind (name, queue, priority, timeout_seconds, retry, args_schema, registered_at)
    select k.name, k.queue, k.priority, k.timeout, k.retry::json, k.schema::json, ostinato.now()
    from unnest(names, queues, priorities, timeouts, retries, schemas) k (name, queue, priority, timeout, retry, schema)
    order by k.name
    on conflict (name) do update set
        queue = excluded.queue, priority = excluded.priority, timeout_seconds = excluded.timeout_seconds,
        retry = excluded.retry, args_schema = excluded.args_schema, registered_at = excluded.registered_at
$$;

-- A sign of life. False: the worker was declared dead and its jobs were taken; it must start over with a new id.
create function ostinato.heartbeat_worker(worker_id uuid, draining boolean default false) returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform ostinato.tick();
    update worker w set beat_at = ostinato.now(), draining = heartbeat_worker.draining where w.id = heartbeat_worker.worker_id;
    return found;
end
$$;

-- Removes a worker that stops; whatever it still holds is rescued at once by the others.
create function ostinato.unregister_worker(worker_id uuid) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    delete from worker w where w.id = $1
$$;

-- Whether a worker's last beat is too old, or absurdly far in the future after the clock went back.
create function ostinato.is_expired(beat_at timestamptz, expiry_seconds double precision, at timestamptz) returns boolean
language sql immutable as $$
    select at - beat_at > make_interval(secs => expiry_seconds) or beat_at - at > make_interval(secs => expiry_seconds)
$$;

-- Takes the jobs of dead workers back: attempt + 1, crashes + 1. A job that was being cancelled is cancelled; one that
-- took `max_crashes` processes with it becomes a dead letter `worker_lost`. Returns how many jobs were rescued.
create function ostinato.rescue_jobs(max_crashes integer default 3, most integer default 20) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now   timestamptz;
    v_claim record;
    v_count integer := 0;
begin
    if ostinato.tick() then
        return 0;
    end if;
    v_now := ostinato.now();
    -- A locked claim is being finished right now: leave it to the next round.
    for v_claim in
        select c.* from claim c left join worker w on w.id = c.worker_id
        where w.id is null or ostinato.is_expired(w.beat_at, w.expiry_seconds, v_now)
        order by c.id limit most for update of c skip locked
    loop
        v_count := v_count + ostinato.rescue_claim(v_claim.id, max_crashes);
    end loop;
    delete from worker w
    where ostinato.is_expired(w.beat_at, w.expiry_seconds, v_now) and not exists (select from claim c where c.worker_id = w.id);
    return v_count;
end
$$;

-- Takes back what one claim still holds. The caller holds the claim's row lock.
create function ostinato.rescue_claim(claim_id bigint, max_crashes integer) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_now   constant timestamptz := ostinato.now();
    v_error constant json := json_build_object('type', 'worker_lost', 'message', 'the worker process died or was cut off while it held this job');
    v_claim claim;
    v_count integer;
    v_ended bigint[];
begin
    delete from claim c where c.id = rescue_claim.claim_id returning * into v_claim;
    with lost as materialized (
        select h.*, j.priority, coalesce(j.queue, ostinato.refuse_moved(h.job_id)) as queue, j.tenant_id, j.kind, j.limit_key,
               j.unique_key is not null as keyed,
               case when r.job_id is not null then 'cancelled' when h.crashes + 1 >= max_crashes then 'dead' else 'lost' end as outcome
        from unnest(v_claim.job_ids, v_claim.attempts, v_claim.failures, v_claim.crashes) with ordinality h (job_id, attempt, failures, crashes, n)
        left join job j on j.id = h.job_id left join cancel_request r on r.job_id = h.job_id
    ), written as (
        insert into outcome (job_id, finished_at, attempt, worker_id, outcome, error)
        select l.job_id, v_now, l.attempt, v_claim.worker_id, l.outcome, v_error from lost l
    ), buried as (
        insert into dead_letter (job_id, attempt, died_at, kind, queue, tenant_id, reason, signature, error)
        select l.job_id, l.attempt, v_now, l.kind, l.queue, l.tenant_id, 'worker_lost', 'worker_lost', v_error from lost l where l.outcome = 'dead'
    ), returned as (
        insert into ready (position, job_id, attempt, priority, failures, crashes, keyed, queue, tenant_id, kind, limit_key)
        select ostinato.new_id(), l.job_id, l.attempt + 1, l.priority, l.failures, l.crashes + 1, l.keyed, l.queue, l.tenant_id, l.kind, l.limit_key
        from (select * from lost order by n) l where l.outcome = 'lost'
    ), freed as (
        delete from job_unique u using lost l where u.job_id = l.job_id and l.outcome <> 'lost' and not l.outcome = any (u.states)
    )
    select count(*), array_agg(l.job_id) filter (where l.outcome = 'cancelled') into v_count, v_ended from lost l;
    perform ostinato.forget_run(v_claim.job_ids, v_ended);
    return v_count;
end
$$;

-- Gives back what a living worker was given and never heard of: the answer to a claim may get lost on the way. `held` are
-- the jobs that it knows; claims younger than `seconds` may still be on their way. Returns how many were given back.
create function ostinato.reconcile_worker(worker_id uuid, held bigint[], seconds double precision) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
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
end
$$;

-- Moves jobs whose time has come from scheduled to ready, oldest first. Returns how many.
create function ostinato.promote_jobs(most integer default 5000) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_now   constant timestamptz := ostinato.now();
    v_base  constant bigint := ostinato.first_id(v_now);
    v_count integer;
begin
    with due as (
        delete from scheduled s where s.ctid = any (array(
            select d.ctid from scheduled d where d.run_at <= v_now order by d.run_at limit most for update skip locked))
        returning s.*
    )
    insert into ready (position, job_id, attempt, priority, failures, crashes, keyed, queue, tenant_id, kind, limit_key)
    select v_base + nextval('job_id_seq'), d.job_id, d.attempt, d.priority, d.failures, d.crashes, d.keyed, d.queue, d.tenant_id, d.kind, d.limit_key
    from (select * from due order by run_at, job_id) d;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;

-- What a worker asks about once a second: it rescues, promotes, and learns which of its queues hold work, in how many
-- seconds the next job is due or the next silent worker expires, which of its running jobs are to be cancelled, and which of
-- the background services have something to do.
create function ostinato.poll_jobs(
    worker_id uuid, queues text[], max_crashes integer default 3,
    out rescued integer, out promoted integer, out ready_queues text[], out next_due double precision, out cancels bigint[],
    out chores text[]
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
    v_due double precision;
begin
    rescued := ostinato.rescue_jobs(max_crashes);
    promoted := ostinato.promote_jobs();
    if exists (select from cancel_request) then
        perform ostinato.settle_cancels();
    end if;
    if exists (select from job_wake) then
        perform ostinato.wake_jobs();
    end if;
    ready_queues := array(
        select q from unnest(queues) q
        -- A probe for each: an `exists` may become a join that reads the whole backlog first.
        where (select true from ready r where r.queue = q limit 1) and not exists (select from queue p where p.name = q and p.paused));
    cancels := array(
        select r.job_id from cancel_request r
        where exists (select from claim c where c.worker_id = poll_jobs.worker_id and r.job_id = any (c.job_ids)));
    select extract(epoch from least(
        (select min(s.run_at) from scheduled s),
        (select min(greatest(w.beat_at + make_interval(secs => w.expiry_seconds), t.grace_until))
         from worker w cross join tick t where w.id <> poll_jobs.worker_id)) - v_now)
    into next_due;
    select coalesce(array_agg(c.name order by c.name) filter (where c.due <= 0), '{}'), min(c.due) filter (where c.due > 0) into chores, v_due
    from ostinato.chores() c;
    next_due := least(next_due, v_due);
end
$$;
