-- Why: what keeps a job from running, in sentences, most important first. Read only.
--
-- A job is in one place, and the place asks the questions: what ended it, who holds it, what it waits for. A ready job
-- may have several things in its way at once, and all are told. The same rules as in claims.sql, limits.sql and
-- workers.sql, and the same helpers where they exist, so that the answer cannot differ from what the engine does.
--
-- Every row is a stable code, a sentence with values, the values as JSON, and what to do.
-- What may go wrong: the answer is of one moment, and may be old when it is read.

-- Why a job is not running (or what became of it).
create function ostinato.why(job_id bigint) returns table (code text, message text, detail json, hint text) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_state text := ostinato.job_state(job_id);
begin
    if not exists (select from job j where j.id = why.job_id) then
        perform ostinato.refuse_unknown(why.job_id);
    end if;
    case
    when v_state in ('done', 'cancelled', 'dead') then
        return query select * from ostinato.why_ended(why.job_id);
    when v_state = 'running' then
        return query select * from ostinato.why_running(why.job_id);
    when v_state = 'scheduled' then
        return query select * from ostinato.why_scheduled(why.job_id);
    when v_state = 'ready' then
        return query select * from ostinato.why_ready(why.job_id);
    else
        return query select 'nowhere', format('Job %s stands in no place: it neither waits nor runs, and has not ended.', why.job_id),
            json_build_object('job_id', why.job_id), 'This should not happen. Check the database with: ostinato doctor';
    end case;
    return query select * from ostinato.why_unique(why.job_id);
end
$$;

-- A time as people read it.
create function ostinato.say_time(at timestamptz) returns text language sql stable as $$
    select to_char($1 at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')
$$;

-- A length of time as people read it: its two largest units.
create function ostinato.say_span(span interval) returns text language sql immutable as $$
    select case
        when s < 60 then format('%s s', round(s, case when s < 10 then 1 else 0 end))
        when s < 3600 then format('%s min %s s', div(s, 60), div(mod(s, 60), 1))
        when s < 86400 then format('%s h %s min', div(s, 3600), div(mod(s, 3600), 60))
        else format('%s d %s h', div(s, 86400), div(mod(s, 86400), 3600)) end
    from (select greatest(0, extract(epoch from $1)) as s) t
$$;

-- Workers that may claim from a queue now: alive and not draining. A null kind means any.
create function ostinato.able_workers(queue text, kind text) returns bigint language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select count(*) from worker w
    where $1 = any (w.queues) and ($2 is null or $2 = any (w.kinds)) and not w.draining
      and not ostinato.is_expired(w.beat_at, w.expiry_seconds, ostinato.now())
$$;

-- Which event a job waits for.
create function ostinato.why_waiting(job_id bigint) returns table (code text, message text, detail json, hint text) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'waiting', format('Job %s waits for the event %s with the key %L since %s, %s.', $1, w.event, w.key, ostinato.say_time(w.registered_at),
                             coalesce('at the latest until ' || ostinato.say_time(w.deadline), 'without a deadline')),
        json_strip_nulls(json_build_object('event', w.event, 'key', w.key, 'tenant_id', w.tenant_id, 'since', w.registered_at,
                                           'deadline', w.deadline, 'step', w.position)),
        format('Emit the event for tenant %s; or let the job go on without it: select ostinato.signal_job(%s, ''{}'')', w.tenant_id, $1)
    from job_wait w where w.job_id = $1
$$;

-- What became of a job that ended: done, cancelled, dead.
create function ostinato.why_ended(job_id bigint) returns table (code text, message text, detail json, hint text) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with last as (
        select o.*, substring(o.error ->> 'reason' from '^replaced by job (\d+)$') as heir
        from outcome o where o.job_id = $1 order by o.attempt desc limit 1
    )
    select 'dead', format('Job %s gave up after attempt %s at %s (%s): %s', $1, d.attempt, ostinato.say_time(d.died_at), d.reason,
                          coalesce(ostinato.error_summary(d.error), 'no error was recorded')),
        json_build_object('reason', d.reason, 'signature', d.signature, 'attempt', d.attempt, 'died_at', d.died_at, 'error', d.error),
        case d.reason when 'worker_lost' then 'Each time it ran, its process died: look for a crash or too little memory. Then: '
                      else 'Mend the cause. Then: ' end
        || format('ostinato jobs retry %s; all dead letters like it: ostinato jobs redrive --signature %s', $1, quote_literal(d.signature))
    from dead_letter d where d.job_id = $1
    union all
    select o.outcome, case
        when o.outcome = 'done' then format('Job %s is done: attempt %s finished at %s.', $1, o.attempt, ostinato.say_time(o.finished_at))
        when o.heir is not null then format('Job %s was replaced by job %s at %s.', $1, o.heir, ostinato.say_time(o.finished_at))
        else format('Job %s was cancelled at %s: %s', $1, ostinato.say_time(o.finished_at),
                    coalesce(ostinato.error_summary(o.error), 'no reason was given')) end,
        json_strip_nulls(json_build_object('attempt', o.attempt, 'finished_at', o.finished_at, 'duration_ms', o.duration_ms,
            'worker_id', o.worker_id, 'reason', o.error ->> 'reason', 'replaced_by', o.heir::bigint)),
        case when o.outcome = 'done' then format('See its result with: ostinato jobs show %s', $1)
             when o.heir is not null then format('Ask about its replacement: ostinato why %s', o.heir)
             else format('Run it again with: ostinato jobs retry %s', $1) end
    from last o where not exists (select from dead_letter d where d.job_id = $1)
$$;

-- What is to be known about a job that a worker holds.
create function ostinato.why_running(job_id bigint) returns table (code text, message text, detail json, hint text) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now  constant timestamptz := ostinato.now();
    v_run  record;
begin
    select c.worker_id, c.claimed_at, coalesce(w.name, c.worker_id::text) as worker, w.beat_at, w.id is null as gone,
           w.beat_at + make_interval(secs => w.expiry_seconds) as lease_until, p.done, p.total, p.note,
           ostinato.is_expired(w.beat_at, w.expiry_seconds, v_now) as expired,
           v_now - w.beat_at > make_interval(secs => w.expiry_seconds / 2) as late,
           (select h.attempt from unnest(c.job_ids, c.attempts) h (job_id, attempt) where h.job_id = why_running.job_id) as attempt
    into v_run
    from claim c left join worker w on w.id = c.worker_id left join job_progress p on p.job_id = why_running.job_id
    where why_running.job_id = any (c.job_ids);
    if v_run.gone or v_run.expired or v_run.late then
        return query select * from ostinato.why_silent(v_run.worker_id, v_run.worker, v_run.beat_at, v_run.lease_until);
    end if;
    return query select * from ostinato.why_cancelling(why_running.job_id);
    return query select 'running',
        format('Job %s is held by worker %s: attempt %s, since %s (%s ago), lease until %s.', why_running.job_id, v_run.worker, v_run.attempt,
               ostinato.say_time(v_run.claimed_at), ostinato.say_span(v_now - v_run.claimed_at), coalesce(ostinato.say_time(v_run.lease_until), 'never'))
        || case when v_run.done is null then ''
                else format(' Progress: %s of %s%s.', v_run.done, coalesce(v_run.total::text, 'an unknown total'), ', ' || v_run.note) end,
        json_build_object('worker_id', v_run.worker_id, 'worker', v_run.worker, 'attempt', v_run.attempt, 'since', v_run.claimed_at,
                          'lease_until', v_run.lease_until, 'done', v_run.done, 'total', v_run.total, 'note', v_run.note),
        format('Nothing to do. To stop it: ostinato jobs cancel %s', why_running.job_id);
end
$$;

-- A worker that has not beaten for half its expiry or longer: when its jobs will be rescued, and by whom.
create function ostinato.why_silent(worker_id uuid, worker text, beat_at timestamptz, lease_until timestamptz)
returns table (code text, message text, detail json, hint text) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'worker_silent', case
            when $3 is null then format('Worker %s is gone; the next poll of any worker takes its jobs back', $2)
            when $4 > n.now then format('Worker %s was last heard of %s ago; if it stays silent, its jobs are taken back after %s', $2,
                                        ostinato.say_span(n.now - $3), ostinato.say_time(greatest($4, t.grace_until)))
            else format('Worker %s was last heard of %s ago, and its lease ended at %s; the next poll of any worker takes its jobs back', $2,
                        ostinato.say_span(n.now - $3), ostinato.say_time($4)) end
        || case when t.grace_until > n.now
                then format(', but not before %s: the database or its clock was away, and the living get time to beat again.', ostinato.say_time(t.grace_until))
                when n.now > t.last + n.gap or n.now < t.last - interval '1 second'
                then ', after a grace of one expiry, because nobody has polled lately.' else '.' end,
        json_build_object('worker_id', $1, 'worker', $2, 'beat_at', $3, 'lease_until', $4,
                          'rescued_after', greatest($4, nullif(t.grace_until, '-infinity')), 'other_workers', a.alive),
        case when a.alive = 0 then 'No other worker is alive to take them. Start one with: ostinato worker --app package.module:app'
             else 'Nothing to do; if this worker is stuck, end its process. See: ostinato workers' end
    from tick t cross join (select ostinato.now() as now, make_interval(secs => coalesce(min(w.expiry_seconds), 15) * 7 / 15) as gap from worker w) n
    cross join lateral (select count(*) as alive from worker w
                        where w.id <> $1 and not ostinato.is_expired(w.beat_at, w.expiry_seconds, n.now)) a
$$;

-- A wish to cancel that is not fulfilled yet.
create function ostinato.why_cancelling(job_id bigint) returns table (code text, message text, detail json, hint text) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'cancel_requested', format('Cancelling was asked for at %s (%s). The worker learns of it with its next poll, and ends the job after its grace.',
                                      ostinato.say_time(r.requested_at), r.reason),
        json_build_object('requested_at', r.requested_at, 'reason', r.reason),
        'Nothing to do; a handler that checks ctx.cancelled ends sooner.'
    from cancel_request r where r.job_id = $1
$$;

-- What a scheduled job waits for. While its time lies ahead that comes first; afterwards, what else is in its way.
create function ostinato.why_scheduled(job_id bigint) returns table (code text, message text, detail json, hint text) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
    v_job scheduled;
begin
    select * into v_job from scheduled s where s.job_id = why_scheduled.job_id;
    return query select * from ostinato.why_cancelling(why_scheduled.job_id);
    if v_job.run_at <= v_now then
        return query select * from ostinato.why_blocked(v_job.queue, v_job.kind);
        return query select 'due', format('The time of job %s came %s ago; the next poll of any worker makes it ready.', why_scheduled.job_id,
                                          ostinato.say_span(v_now - v_job.run_at)),
            json_build_object('run_at', v_job.run_at, 'reason', v_job.reason), 'Nothing to do, as long as a worker is alive: ostinato workers';
        return;
    end if;
    if v_job.reason = 'event' then
        return query select * from ostinato.why_waiting(why_scheduled.job_id);
        return query select * from ostinato.why_blocked(v_job.queue, v_job.kind);
        return;
    end if;
    return query
    select case v_job.reason when 'retry' then 'retrying' when 'snooze' then 'snoozed' when 'sleep' then 'sleeping' else 'later' end,
        format(case v_job.reason
               when 'retry' then 'Job %1$s failed %4$s and is tried again at %2$s, in %3$s. Last error: %5$s'
               when 'snooze' then 'Job %1$s asked to be run again at %2$s, in %3$s; that counts as no failure.'
               when 'sleep' then 'Job %1$s sleeps between two steps and goes on at %2$s, in %3$s.'
               else 'Job %1$s is to run at %2$s, in %3$s.' end,
               why_scheduled.job_id, ostinato.say_time(v_job.run_at), ostinato.say_span(v_job.run_at - v_now),
               case when v_job.failures = 1 then 'once' else v_job.failures || ' times' end,
               coalesce(ostinato.error_summary(o.error), 'none was recorded')),
        json_strip_nulls(json_build_object('run_at', v_job.run_at, 'attempt', v_job.attempt, 'failures', v_job.failures,
            'max_attempts', j.max_attempts, 'error', case when v_job.reason = 'retry' then o.error end)),
        case when v_job.reason = 'sleep' then format('Nothing to do. To see its steps: ostinato jobs show %s', why_scheduled.job_id)
             else format('To run it now: ostinato jobs retry %s', why_scheduled.job_id) end
    from job j left join lateral (select l.error from outcome l where l.job_id = j.id order by l.attempt desc limit 1) o on true
    where j.id = why_scheduled.job_id;
    return query select * from ostinato.why_blocked(v_job.queue, v_job.kind);
end
$$;

-- What keeps every job of this queue and kind: a paused queue, no worker.
create function ostinato.why_blocked(queue text, kind text) returns table (code text, message text, detail json, hint text) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_on_queue constant bigint := ostinato.able_workers(why_blocked.queue, null);
begin
    return query select 'queue_paused', format('Queue %L is paused: nothing is claimed from it.', q.name), json_build_object('queue', q.name),
        format('Let it go on with: ostinato queues resume %s', q.name)
    from queue q where q.name = why_blocked.queue and q.paused;
    if v_on_queue = 0 then
        return query select 'no_worker_for_queue',
            format('No living worker serves queue %L (%s draining, %s silent).', why_blocked.queue,
                   count(*) filter (where w.draining and not e.expired), count(*) filter (where e.expired)),
            json_build_object('queue', why_blocked.queue, 'draining', count(*) filter (where w.draining and not e.expired),
                              'silent', count(*) filter (where e.expired)),
            'Start one with: ostinato worker --app package.module:app'
        from worker w cross join lateral (select ostinato.is_expired(w.beat_at, w.expiry_seconds, ostinato.now()) as expired) e
        where why_blocked.queue = any (w.queues);
    elsif ostinato.able_workers(why_blocked.queue, why_blocked.kind) = 0 then
        return query select 'no_worker_for_kind',
            format('No living worker on queue %L knows the kind %L (%s there, none with it).', why_blocked.queue, why_blocked.kind, v_on_queue),
            json_build_object('queue', why_blocked.queue, 'kind', why_blocked.kind, 'workers', v_on_queue),
            'Start a worker whose app declares this kind, or check its spelling with: ostinato workers';
    end if;
end
$$;

-- What a ready job waits for: everything that stops its queue or kind, then limits, then its turn.
create function ostinato.why_ready(job_id bigint) returns table (code text, message text, detail json, hint text) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_job   job;
    v_row   ready;
    v_found bigint;
begin
    select * into v_job from job j where j.id = why_ready.job_id;
    select * into v_row from (
        select * from ready r where r.job_id = v_job.id and r.position <> r.job_id
        union all
        select * from ready r where (r.queue, r.priority, r.tenant_id, r.position) = (v_job.queue, v_job.priority, v_job.tenant_id, v_job.id)
    ) f where f.job_id = v_job.id;
    return query
    with reason as materialized (
        select 1 as n, b.* from ostinato.why_cancelling(why_ready.job_id) b
        union all select 2, b.* from ostinato.why_blocked(v_row.queue, v_row.kind) b
        union all select 3, b.* from ostinato.why_limited(v_row.queue, v_row.limit_key) b
    )
    select r.code, r.message, r.detail, r.hint from reason r order by r.n;
    get diagnostics v_found = row_count;
    if v_row.crashes >= 2 then
        return query select 'suspect',
            format('Job %s took %s worker processes with it: it waits for a worker that runs no other suspect (%s suspects ahead of it).',
                   why_ready.job_id, v_row.crashes, count(*)),
            json_build_object('crashes', v_row.crashes, 'ahead', count(*)),
            format('Look for a crash or too little memory: ostinato jobs show %s. To give it up: ostinato jobs cancel %1$s', why_ready.job_id)
        from (select from ready r where r.queue = v_row.queue and r.crashes >= 2 and r.position < v_row.position limit 1000) s;
    else
        return query select * from ostinato.why_turn(v_row, v_found > 0);
    end if;
end
$$;

-- The place of a ready job in its line.
create function ostinato.why_turn(place ostinato_data.ready, blocked boolean) returns table (code text, message text, detail json, hint text)
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select 'waiting_turn',
        format('Job %s is ready, with %s jobs of tenant %L ahead of it at priority %s and %s more urgent ones in queue %L. ', ($1).job_id,
               a.n || case when a.n = 1000 then ' or more' else '' end, ($1).tenant_id, ($1).priority,
               u.n || case when u.n = 1000 then ' or more' else '' end, ($1).queue)
        || case when $2 then 'It will run once nothing of the above is in its way.' else 'Nothing is in its way: it runs when a worker has room.' end,
        json_build_object('ahead', a.n, 'more_urgent', u.n, 'capped', a.n = 1000 or u.n = 1000, 'workers', w.n,
                          'running', ostinato.queue_running(($1).queue)),
        case when $2 then 'See above.' else 'Nothing to do; more workers make it sooner.' end
    from (select count(*) as n from (
              select from ready r where r.queue = ($1).queue and r.priority = ($1).priority and r.tenant_id = ($1).tenant_id
              and r.position < ($1).position limit 1000) l) a
    cross join (select count(*) as n from (select from ready r where r.queue = ($1).queue and r.priority < ($1).priority limit 1000) l) u
    cross join (select ostinato.able_workers(($1).queue, ($1).kind) as n) w
$$;

-- The limits that a queue, or one key in it, has reached.
create function ostinato.why_limited(queue text, limit_key text) returns table (code text, message text, detail json, hint text)
language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_queue   queue;
    v_running integer;
    v_frees   timestamptz;
begin
    select * into v_queue from queue q where q.name = why_limited.queue;
    if v_queue.concurrency <= ostinato.queue_running(why_limited.queue) then
        return query select 'queue_concurrency',
            format('Queue %L runs %s jobs at once at the most, and %s run. The slots are held by %s.', v_queue.name, v_queue.concurrency,
                   ostinato.queue_running(v_queue.name), h.who),
            json_build_object('queue', v_queue.name, 'limit', v_queue.concurrency, 'holders', h.holders),
            ostinato.limit_hint(v_queue.name)
        from ostinato.slot_holders(v_queue.name, null) h;
    end if;
    v_running := (select count(*) from ostinato.running_keys(v_queue.name) k where k.limit_key = why_limited.limit_key);
    if v_queue.key_concurrency <= v_running then
        return query select 'key_concurrency',
            format('Queue %L runs %s jobs of the key %L at once at the most, and %s run. The slots are held by %s.', v_queue.name,
                   v_queue.key_concurrency, why_limited.limit_key, v_running, h.who),
            json_build_object('queue', v_queue.name, 'limit_key', why_limited.limit_key, 'limit', v_queue.key_concurrency, 'holders', h.holders),
            ostinato.limit_hint(v_queue.name)
        from ostinato.slot_holders(v_queue.name, why_limited.limit_key) h;
    end if;
    v_frees := ostinato.rate_frees_at(v_queue.name, '', v_queue.rate_count, v_queue.rate_seconds);
    if v_frees is not null then
        return query select 'queue_rate',
            format('Queue %L starts %s jobs every %s at the most; the next may start at %s.', v_queue.name, v_queue.rate_count,
                   ostinato.say_span(make_interval(secs => v_queue.rate_seconds)), ostinato.say_time(v_frees)),
            json_build_object('queue', v_queue.name, 'limit', v_queue.rate_count, 'seconds', v_queue.rate_seconds, 'frees_at', v_frees),
            ostinato.limit_hint(v_queue.name);
    end if;
    v_frees := ostinato.rate_frees_at(v_queue.name, why_limited.limit_key, v_queue.key_rate_count, v_queue.key_rate_seconds);
    if v_frees is not null then
        return query select 'key_rate',
            format('Queue %L starts %s jobs of the key %L every %s at the most; the next may start at %s.', v_queue.name, v_queue.key_rate_count,
                   why_limited.limit_key, ostinato.say_span(make_interval(secs => v_queue.key_rate_seconds)), ostinato.say_time(v_frees)),
            json_build_object('queue', v_queue.name, 'limit_key', why_limited.limit_key, 'limit', v_queue.key_rate_count,
                              'seconds', v_queue.key_rate_seconds, 'frees_at', v_frees),
            ostinato.limit_hint(v_queue.name);
    end if;
end
$$;

-- What to do about a limit.
create function ostinato.limit_hint(queue text) returns text language sql immutable as $$
    select format('Wait, or raise the limit: ostinato queues limit %s --help. See: ostinato queues list', $1)
$$;

-- Who holds the slots of a queue, or of one key in it: up to ten, oldest first, as a sentence and as JSON.
create function ostinato.slot_holders(queue text, limit_key text, out who text, out holders json) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select coalesce(string_agg(format('job %s (worker %s)', h.job_id, h.worker), ', ' order by h.n), 'nobody')
           || case when count(*) = 10 then ', …' else '' end,
           coalesce(json_agg(json_build_object('job_id', h.job_id, 'attempt', h.attempt, 'worker', h.worker, 'since', h.claimed_at) order by h.n), '[]')
    from (
        select s.job_id, s.attempt, coalesce(w.name, c.worker_id::text) as worker, c.claimed_at,
               row_number() over (order by c.claimed_at, c.id, s.job_id) as n
        from claim c cross join unnest(c.job_ids, c.attempts) s (job_id, attempt) left join worker w on w.id = c.worker_id
        where c.queue = $1 and ($2 is null or s.job_id in (select k.job_id from ostinato.running_keys($1) k where k.limit_key = $2))
        order by n limit 10
    ) h
$$;

-- When a rate limit lets the next job start; null when it does so now, or there is none.
create function ostinato.rate_frees_at(queue text, limit_key text, most integer, seconds double precision) returns timestamptz language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    -- The start that has to leave the window: from the newest back, the one that makes the count full.
    select max(s.started_at) + make_interval(secs => $4) from (
        select u.started_at, sum(u.started) over (order by u.started_at desc rows unbounded preceding) as newer from rate_use u
        where u.queue = $1 and u.limit_key = $2
          and u.started_at > ostinato.now() - make_interval(secs => $4) and u.started_at <= ostinato.now() + make_interval(secs => $4)
    ) s where s.newer >= $3
$$;

-- A unique key between jobs: the one that keeps this job from being run again, or those that this job keeps out.
create function ostinato.why_unique(job_id bigint) returns table (code text, message text, detail json, hint text) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'unique_conflict',
        format('Its unique key %L is held by job %s (%s): job %s cannot be run again until that one leaves the states %s.', u.unique_key, u.job_id,
               ostinato.job_state(u.job_id), j.id, array_to_string(u.states, ', ')),
        json_build_object('unique_key', u.unique_key, 'held_by', u.job_id, 'states', u.states),
        format('Wait for it, or end it with: ostinato jobs cancel %s', u.job_id)
    from job j join job_unique u on (u.tenant_id, u.unique_key) = (j.tenant_id, j.unique_key)
    where j.id = $1 and u.job_id <> j.id
    union all
    select 'holds_unique_key',
        format('It holds the unique key %L as long as it is %s: another job with that key is not added meanwhile.', u.unique_key,
               array_to_string(u.states, ', '))
        || case when cardinality(k.ids) > 0 then format(' Kept from running again by it: job %s.', array_to_string(k.ids, ', ')) else '' end,
        json_build_object('unique_key', u.unique_key, 'states', u.states, 'keeps_out', k.ids),
        format('Nothing to do. To free the key: ostinato jobs cancel %s', u.job_id)
    from job_unique u cross join lateral (
        select array(select d.job_id from (select l.job_id from dead_letter l where l.tenant_id = u.tenant_id order by l.job_id desc limit 1000) d
                     join job j on j.id = d.job_id where j.unique_key = u.unique_key and d.job_id <> u.job_id limit 10) as ids) k
    where u.job_id = $1
$$;
