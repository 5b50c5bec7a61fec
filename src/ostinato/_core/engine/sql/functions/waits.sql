-- Waits: a job leaves its worker until an event comes, or until its patience ends.
--
-- While it waits, a job stands in `scheduled` with the reason 'event'; its run_at is its deadline, or in the year 9000
-- without one. `job_wait` says what it waits for. What ends a wait is the row of its step: 'event' with the payload, or
-- 'timeout'.
-- The first to insert that row decides; everything else follows from it and can be done again: moving the job to
-- `ready` (wake_jobs), and forgetting the wait.
--
-- Each wait of a job takes the first event of that type, key and tenant that came after the job was created and that
-- none of its waits took before: also one that came before the wait. No event is missed: wait_jobs registers first and
-- looks for events then; resolve_waits is called when events have their position, and looks for waits then; and
-- wait_gate lets only one of the two happen at a time, so that one of them sees the other's commit.
--
-- Lock order: wait_gate, claim, job_wait, step, scheduled. resolve_waits holds up who calls it no longer than a
-- registration takes: it waits for no job that somebody else is moving (wake_jobs skips it, and the next poll tries
-- again).

-- Returns the name of the step that a wait is.
create function ostinato_internal.wait_name(event text, key text) returns text
language sql immutable parallel safe as $$
    select event || '/' || key
$$;

-- Returns the time of what waits for something else than a time.
create function ostinato.never() returns timestamptz language sql immutable parallel safe as $$
    select timestamptz '9000-01-01 00:00:00+00'
$$;

-- Returns a time as it was meant: the year 9000 stands for none.
create function ostinato_internal.real_time(at timestamptz) returns timestamptz
language sql immutable parallel safe as $$
    select case when at < ostinato.never() then at end
$$;

-- Lets jobs wait for an event each, for `timeouts` seconds at the most (null: as long as it takes): each leaves its
-- worker and is ready again when the event is there or the time is up. Returns the ids of those that were refused as
-- stale.
create function ostinato.wait_jobs(
    claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], events text[], keys text[],
    timeouts double precision[]
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_now    constant timestamptz := ostinato.now();
    v_delays double precision[];
    v_claims bigint[];
    v_held   bigint[];
begin
    perform ostinato_internal.check_name('event', e) from unnest(events) e
        where e is null or length(e) not between 1 and ostinato_internal.longest_name();
    perform ostinato_internal.check_name('key', k) from unnest(keys) k
        where k is null or length(k) not between 1 and ostinato_internal.longest_name();
    lock table ostinato_data.wait_gate in row exclusive mode;
    v_claims := ostinato_internal.lock_claims(claim_ids, job_ids);
    v_held := array(select h.n from ostinato_internal.held_among(v_claims, claim_ids, job_ids, attempts) h);
    perform ostinato_internal.hold_steps();
    -- A wait that was registered before (somebody let the job run early) keeps its deadline.
    insert into job_wait as w (job_id, registered_at, deadline, position, attempt, tenant_id, event, key)
    select g.job_id, v_now, v_now + make_interval(secs => g.seconds), g.position, g.attempt,
           coalesce(j.tenant_id, ostinato_internal.refuse_moved(g.job_id)), g.event, g.key
    from unnest(job_ids, attempts, positions, events, keys, timeouts)
        with ordinality g (job_id, attempt, position, event, key, seconds, n)
    left join job j on j.id = g.job_id
    where g.n = any (v_held)
    order by g.job_id
    on conflict (job_id) do update set
        registered_at = excluded.registered_at, deadline = excluded.deadline, position = excluded.position,
        attempt = excluded.attempt, event = excluded.event, key = excluded.key
    where (w.position, w.event, w.key) is distinct from (excluded.position, excluded.event, excluded.key);
    v_delays := array(
        select greatest(0, extract(epoch from coalesce(w.deadline, '9000-07-01 00:00:00+00') - v_now))
        from unnest(job_ids) with ordinality g (job_id, n) left join job_wait w on w.job_id = g.job_id order by g.n);
    return query select ostinato.snooze_jobs(claim_ids, job_ids, attempts, v_delays, 'event');
    -- Only now, behind the gate: what came before is seen here, what comes later finds the wait.
    perform ostinato_internal.take_events(job_ids);
    perform ostinato_internal.wake_jobs();
end
$$;

-- Ends the waits of jobs whose event is already there.
create function ostinato_internal.take_events(job_ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
    insert into step (job_id, finished_at, event_id, position, attempt, duration_ms, type, name, result)
    select w.job_id, ostinato.now(), e.id, w.position, w.attempt, 0, 'event',
           ostinato_internal.wait_name(w.event, w.key), e.payload
    from job_wait w join job j on j.id = w.job_id
    cross join lateral (
        select e.id, e.payload from event_log l join event e on e.id = l.event_id
        where l.ordering_key = w.key and l.type = w.event and l.tenant_id = w.tenant_id
          and l.event_id >= ostinato_internal.first_id(j.created_at) and e.emitted_at >= j.created_at
          and not exists (select from step s where s.job_id = w.job_id and s.event_id = e.id)
        order by l.position limit 1) e
    where w.job_id = any (job_ids) and w.event <> ostinato_internal.children_event()
      and not exists (select from step s where s.job_id = w.job_id and s.position = w.position)
    on conflict (job_id, position) do nothing;
    -- Also those whose wait was over before: a step is there already.
    insert into job_wake (job_id)
    select w.job_id from job_wait w join step s on s.job_id = w.job_id and s.position = w.position
    where w.job_id = any (job_ids)
    on conflict do nothing;
end
$$;

-- Hands events to the jobs that wait for them. The sequencer of the outbox, which gives events their position, calls
-- it for them in the same transaction. Returns the queues that have jobs to run now, to be rung after the commit.
create function ostinato_internal.resolve_waits(event_ids bigint[]) returns setof text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
    perform ostinato_internal.hold_steps();
    -- Waits for registrations that are under way, and lets none begin: a later one sees our events.
    lock table ostinato_data.wait_gate in share row exclusive mode;
    if not exists (select from job_wait) then
        return;
    end if;
    with given as (
        -- One event for a wait: the first.
        select distinct on (w.job_id) w.*, e.id as event_id, e.payload
        from event_log l join event e on e.id = l.event_id
        join job_wait w on (w.tenant_id, w.event, w.key) = (l.tenant_id, l.type, l.ordering_key)
        join job j on j.id = w.job_id
        where l.event_id = any (event_ids) and e.emitted_at >= j.created_at
          and w.event <> ostinato_internal.children_event()
          and not exists (select from step s
                          where s.job_id = w.job_id and (s.event_id = e.id or s.position = w.position))
        order by w.job_id, l.position
    ), ended as (
        insert into step (job_id, finished_at, event_id, position, attempt, type, name, result)
        select g.job_id, ostinato.now(), g.event_id, g.position, g.attempt, 'event',
               ostinato_internal.wait_name(g.event, g.key), g.payload from given g
        on conflict (job_id, position) do nothing returning job_id
    )
    insert into job_wake (job_id) select e.job_id from ended e on conflict do nothing;
    return query select ostinato_internal.wake_jobs();
end
$$;

-- Ends the wait of one job by hand, with a payload, as if its event had come. Returns the queue to ring.
create function ostinato.signal_job(job_id bigint, payload anycompatible default null::json) returns text
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_queue text;
begin
    perform ostinato_internal.hold_steps();
    insert into step (job_id, finished_at, position, attempt, type, name, result)
    select w.job_id, ostinato.now(), w.position, w.attempt, 'event', ostinato_internal.wait_name(w.event, w.key),
           payload::json
    from job_wait w join scheduled s on s.job_id = w.job_id and s.reason = 'event'
    where w.job_id = signal_job.job_id and w.event <> ostinato_internal.children_event()
    on conflict (job_id, position) do nothing;
    if not found then
        if not exists (select from job j where j.id = signal_job.job_id) then
            perform ostinato_internal.refuse_unknown(signal_job.job_id);
        end if;
        raise exception using errcode = 'OS412',
            message = format('job %s does not wait for an event', signal_job.job_id),
            detail = json_build_object('job_id', signal_job.job_id, 'state', ostinato.job_state(signal_job.job_id)),
            hint = format('See where it stands with: ostinato why %s', signal_job.job_id);
    end if;
    insert into job_wake (job_id) values (signal_job.job_id) on conflict do nothing;
    select j.queue into v_queue from job j where j.id = signal_job.job_id;
    perform ostinato_internal.wake_jobs();
    return v_queue;
end
$$;

-- Makes jobs ready whose wait is over, at most `most`. Waits for nobody: a job that somebody else is moving stays for
-- the next call, and polls call it as long as one is left. Returns their queues.
create function ostinato_internal.wake_jobs(most integer default 5000) returns setof text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    with called as materialized (
        select k.job_id from job_wake k order by k.job_id limit most for update skip locked
    ), waiting as materialized (
        select s.job_id from scheduled s join called c on c.job_id = s.job_id where s.reason = 'event'
    ), taken as materialized (
        select s.job_id from scheduled s where s.job_id in (select w.job_id from waiting w) for update skip locked
    ), gone as (
        delete from scheduled s using taken t where s.job_id = t.job_id
        returning s as was
    ), woken as (
        insert into ready select r.*
        from (select o.was, ostinato.new_id() as at from (select g.was from gone g order by (g.was).job_id) o) g
        cross join lateral ostinato_internal.ready_row(g.was, g.at) r
        returning queue
    ), forgotten as (
        delete from job_wait w using taken t where w.job_id = t.job_id
    ), answered as (
        -- Woken just now, or not waiting any more: it runs, or has ended.
        delete from job_wake k using called c
        where k.job_id = c.job_id
          and (c.job_id in (select t.job_id from taken t) or c.job_id not in (select w.job_id from waiting w))
    )
    select distinct w.queue from woken w;
end
$$;

-- Ends the waits of jobs in their holders' hands: with a timeout where the time is up, and forgets those that are over.
create function ostinato_internal.expire_waits(job_ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
begin
    insert into step (job_id, finished_at, until, position, attempt, type, name)
    select w.job_id, v_now, w.deadline, w.position, w.attempt, 'timeout', ostinato_internal.wait_name(w.event, w.key)
    from job_wait w where w.job_id = any (job_ids) and w.deadline <= v_now
    on conflict (job_id, position) do nothing;
    delete from job_wait w using step s where w.job_id = any (job_ids) and s.job_id = w.job_id
      and s.position = w.position;
end
$$;

-- Ends the wait of a job of the tenant, as signal_job does, which a tenant has no rights for. Returns its queue.
create function ostinato.own_signal_job(job_id bigint, payload anycompatible default null::json) returns text
language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_job(job_id, ostinato.acting_tenant());
    return ostinato.signal_job(job_id, payload::json);
end
$$;
