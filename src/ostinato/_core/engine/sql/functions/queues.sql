-- Queues: pause, resume, limits, and the doorbell that wakes idle workers.

-- Sets the limits of a queue; null takes a limit away. A queue without a row has none.
create function ostinato.configure_queue(
    name text, concurrency integer default null, rate_count integer default null,
    rate_seconds double precision default null, key_concurrency integer default null,
    key_rate_count integer default null, key_rate_seconds double precision default null
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
begin
    perform ostinato_internal.check_name('queue', name);
    if greatest(rate_seconds, key_rate_seconds) > ostinato_internal.year_seconds() then  -- infinity and NaN are more
        raise check_violation;
    end if;
    insert into queue as q (name, concurrency, rate_count, rate_seconds, key_concurrency, key_rate_count,
                            key_rate_seconds)
    values (name, concurrency, rate_count, rate_seconds, key_concurrency, key_rate_count, key_rate_seconds)
    on conflict on constraint queue_pkey do update set
        concurrency = excluded.concurrency, rate_count = excluded.rate_count, rate_seconds = excluded.rate_seconds,
        key_concurrency = excluded.key_concurrency, key_rate_count = excluded.key_rate_count,
        key_rate_seconds = excluded.key_rate_seconds;
    perform ostinato_internal.record('limit', 'queue', name, detail => json_build_object(
        'concurrency', concurrency, 'rate_count', rate_count, 'rate_seconds', rate_seconds,
        'key_concurrency', key_concurrency, 'key_rate_count', key_rate_count, 'key_rate_seconds', key_rate_seconds));
exception when check_violation then
    raise exception using errcode = 'OS400', message = format('the limits of queue %L do not fit together', name),
        detail = json_build_object('queue', name, 'concurrency', concurrency, 'rate_count', rate_count,
                                   'rate_seconds', rate_seconds,
            'key_concurrency', key_concurrency, 'key_rate_count', key_rate_count, 'key_rate_seconds', key_rate_seconds),
        hint = 'Limits are positive, and a rate is a count with its seconds, a year at the most.';
end
$$;

-- Stops claims from a queue; jobs that run go on.
create function ostinato.pause_queue(name text) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato_internal.check_name('queue', $1);
    insert into queue (name, paused) values ($1, true) on conflict (name) do update set paused = true;
    select ostinato_internal.record('pause', 'queue', $1)
$$;

-- Lets claims from a queue go on.
create function ostinato.resume_queue(name text) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    update queue q set paused = false where q.name = $1;
    select ostinato_internal.record('resume', 'queue', $1)
$$;

-- Returns those of the queues that have a limit: a job that ends there may let another one start.
create function ostinato.limited_queues(queues text[]) returns setof text language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select q.name from queue q
    where q.name = any ($1) and coalesce(q.concurrency, q.rate_count, q.key_concurrency, q.key_rate_count) is not null
$$;

-- Wakes idle workers, at most 200 times a second and queue. Call it after the commit, in a transaction of its own: a
-- NOTIFY inside a business transaction makes all commits of the database wait for each other. `softly` lets that
-- transaction commit without waiting for the disk: a lost ring is only a late poll.
-- No ring is dropped: a worker that was woken a moment ago may have looked before the caller's commit and rest by now.
-- A call within 5 ms of a ring waits for the rest of them. False: the ring of another, after this call began, woke them
-- as well.
-- Runs as the owner, because the role of the API has no doorbells of its own; a ring says nothing but a queue's name.
create function ostinato.ring_doorbell(queue text, softly boolean default false) returns boolean language plpgsql
security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_asked constant timestamptz := ostinato.now();
    v_rest  interval;
begin
    select d.rung_at + interval '5 milliseconds' - v_asked into v_rest
    from doorbell d where d.queue = ring_doorbell.queue;
    if v_rest between interval '0' and interval '5 milliseconds' then
        perform pg_sleep(extract(epoch from v_rest));
    end if;
    insert into doorbell as d (queue, rung_at) values (ring_doorbell.queue, ostinato.now())
    on conflict (queue) do update set rung_at = excluded.rung_at
        where d.rung_at <= v_asked or d.rung_at > ostinato.now();
    if not found then
        return false;
    end if;
    if softly then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    perform pg_notify('ostinato', ring_doorbell.queue);
    return true;
end
$$;

-- Wakes idle workers when the caller's transaction commits, and not before. For transactions of other libraries: it
-- keeps no row locked, but commits that ring wait for each other, so callers do not ring for each of many.
create function ostinato.ring_at_commit(queue text) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select pg_notify('ostinato', queue);
$$;
