-- Why: what keeps a job from running, in sentences, most important first. Read only.
--
-- A job is in one place, and the place asks the questions: what ended it, who holds it, what it waits for. A ready job
-- may have several things in its way at once, and all are listed. The same rules as in claims.sql, limits.sql and
-- workers.sql, and the same helpers where they exist, so that the answer cannot differ from what the engine does.
--
-- Every row is a stable code, a sentence with values, the values as JSON, and what to do. A tenant learns that a limit
-- is reached, and its own place in line; not how many jobs of others there are, nor which (see inspect.sql).
-- What may go wrong: the answer is of one moment, and may be old when it is read.

-- Returns why a job is not running (or what became of it).
create function ostinato.why(job_id bigint) returns table (code text, message text, detail json, hint text)
language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_state text := ostinato.job_state(job_id);
begin
    perform ostinato_internal.check_job(why.job_id);
    case
    when v_state in ('done', 'cancelled', 'dead') then
        return query select * from ostinato_internal.why_erased(why.job_id);
        return query select * from ostinato_internal.why_ended(why.job_id);
    when v_state = 'running' then
        return query select * from ostinato_internal.why_running(why.job_id);
    when v_state = 'scheduled' then
        return query select * from ostinato_internal.why_scheduled(why.job_id);
    when v_state = 'ready' then
        return query select * from ostinato_internal.why_ready(why.job_id);
    else
        return query select * from ostinato_internal.why_quarantined(why.job_id);
        return query select 'nowhere',
            format('Job %s stands in no place: it neither waits nor runs, and has not ended.', why.job_id),
            json_build_object('job_id', why.job_id),
            'The tables contradict each other: a row was deleted by hand, or is damaged. Run: ostinato doctor'
        where not exists (select from ostinato_internal.why_quarantined(why.job_id));
    end case;
    return query select * from ostinato_internal.why_unique(why.job_id);
end
$$;

-- Returns a time as people read it.
create function ostinato_internal.say_time(at timestamptz) returns text language sql stable as $$
    select to_char($1 at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')
$$;

-- Returns a length of time as people read it: its two largest units.
create function ostinato_internal.say_span(span interval) returns text language sql immutable as $$
    select case
        when s < 60 then format('%s s', round(s, case when s < 10 then 1 else 0 end))
        when s < 3600 then format('%s min %s s', div(s, 60), div(mod(s, 60), 1))
        when s < 86400 then format('%s h %s min', div(s, 3600), div(mod(s, 3600), 60))
        else format('%s d %s h', div(s, 86400), div(mod(s, 86400), 3600)) end
    from (select greatest(0, extract(epoch from $1)) as s) t
$$;

-- Returns a count as people read it: at the cap there may be more.
create function ostinato_internal.say_count(n bigint) returns text language sql immutable as $$
    select $1 || case when $1 = ostinato_internal.line_cap() then ' or more' else '' end
$$;

-- Workers that may claim from a queue now: alive and not draining. A null kind means any.
create function ostinato_internal.able_workers(queue text, kind text) returns bigint language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select count(*) from worker w
    where $1 = any (w.queues) and ($2 is null or $2 = any (w.kinds)) and not w.draining
      and not ostinato_internal.is_expired(w.beat_at, w.expiry_seconds, ostinato.now())
$$;

-- Returns which event a job waits for.
create function ostinato_internal.why_waiting(job_id bigint) returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'waiting',
        format('Job %s waits for the event %s with the key %L since %s, %s.', $1, w.event, w.key,
               ostinato_internal.say_time(w.registered_at),
               coalesce('at the latest until ' || ostinato_internal.say_time(w.deadline), 'without a deadline')),
        json_strip_nulls(json_build_object('event', w.event, 'key', w.key, 'tenant_id', w.tenant_id,
                                           'since', w.registered_at, 'deadline', w.deadline, 'step', w.position)),
        format('Emit the event for tenant %s; or let the job go on without it: select ostinato.signal_job(%s, ''{}'')',
               w.tenant_id, $1)
    from job_wait w where w.job_id = $1 and w.event <> ostinato_internal.children_event()
    union all select * from ostinato_internal.why_joining($1)
$$;

-- Returns what became of a job that ended: done, cancelled, dead.
create function ostinato_internal.why_ended(job_id bigint) returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with last as (
        select o.*, substring(o.error ->> 'reason' from '^replaced by job (\d+)$') as heir
        from outcome o where o.job_id = $1 order by o.attempt desc limit 1
    )
    select 'dead',
        format('Job %s gave up after attempt %s at %s (%s): %s', $1, d.attempt, ostinato_internal.say_time(d.died_at),
               d.reason, coalesce(ostinato_internal.error_summary(d.error), 'no error was recorded')),
        json_build_object('reason', d.reason, 'signature', d.signature, 'attempt', d.attempt, 'died_at', d.died_at,
                          'error', d.error),
        case d.reason
            when 'worker_lost' then 'Each time it ran, its process died: look for a crash or too little memory. Then: '
            else 'Fix the cause. Then: ' end
        || format('ostinato jobs retry %s; all dead letters like it: ostinato jobs redrive --signature %s', $1,
                  quote_literal(d.signature))
    from dead_letter d where d.job_id = $1
    union all
    select o.outcome, case
        when o.outcome = 'done'
            then format('Job %s is done: attempt %s finished at %s.', $1, o.attempt,
                        ostinato_internal.say_time(o.finished_at))
        when o.heir is not null
            then format('Job %s was replaced by job %s at %s.', $1, o.heir, ostinato_internal.say_time(o.finished_at))
        else format('Job %s was cancelled at %s: %s', $1, ostinato_internal.say_time(o.finished_at),
                    coalesce(ostinato_internal.error_summary(o.error), 'no reason was given')) end,
        json_strip_nulls(json_build_object('attempt', o.attempt, 'finished_at', o.finished_at,
            'duration_ms', o.duration_ms, 'worker_id', o.worker_id, 'reason', o.error ->> 'reason',
            'replaced_by', o.heir::bigint)),
        case when o.outcome = 'done' then format('See its result with: ostinato jobs show %s', $1)
             when o.heir is not null then format('Ask about its replacement: ostinato why %s', o.heir)
             else format('Run it again with: ostinato jobs retry %s', $1) end
    from last o where not exists (select from dead_letter d where d.job_id = $1)
$$;

-- Returns what is to be known about a job that a worker holds.
create function ostinato_internal.why_running(job_id bigint) returns setof ostinato_data.reason language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
    v_run record;
begin
    select h.worker_id, h.attempt, h.claimed_at, coalesce(w.name, h.worker_id::text) as worker, w.beat_at,
           w.id is null as gone, w.beat_at + make_interval(secs => w.expiry_seconds) as lease_until,
           p.done, p.total, p.note, ostinato_internal.is_expired(w.beat_at, w.expiry_seconds, v_now) as expired,
           v_now - w.beat_at > make_interval(secs => w.expiry_seconds / 2) as late
    into v_run
    from ostinato_internal.held_jobs(array[why_running.job_id]) h left join worker w on w.id = h.worker_id
    left join job_progress p on p.job_id = h.job_id;
    if v_run.gone or v_run.expired or v_run.late then
        return query select *
            from ostinato_internal.why_silent(v_run.worker_id, v_run.worker, v_run.beat_at, v_run.lease_until);
    end if;
    return query select * from ostinato_internal.why_cancelling(why_running.job_id);
    return query select * from ostinato_internal.why_loop_blocked(v_run.worker_id);
    return query select 'running',
        format('Job %s is held by worker %s: attempt %s, since %s (%s ago), lease until %s.', why_running.job_id,
               v_run.worker, v_run.attempt, ostinato_internal.say_time(v_run.claimed_at),
               ostinato_internal.say_span(v_now - v_run.claimed_at),
               coalesce(ostinato_internal.say_time(v_run.lease_until), 'never'))
        || case when v_run.done is null then ''
                else format(' Progress: %s of %s%s.', v_run.done, coalesce(v_run.total::text, 'an unknown total'),
                            ', ' || v_run.note) end,
        json_build_object('worker_id', v_run.worker_id, 'worker', v_run.worker, 'attempt', v_run.attempt,
                          'since', v_run.claimed_at, 'lease_until', v_run.lease_until, 'done', v_run.done,
                          'total', v_run.total, 'note', v_run.note),
        format('Nothing to do. To stop it: ostinato jobs cancel %s', why_running.job_id);
end
$$;

-- Names a worker in whose process nothing moves, because one handler blocks its event loop.
create function ostinato_internal.why_loop_blocked(worker_id uuid) returns setof ostinato_data.reason
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'loop_blocked',
        format('A handler of %s blocks the event loop of worker %s: no other job of that process moves.',
               w.blocked_by, w.name)
        || case when k.timeout_seconds is null then ' It has no timeout, so nothing ends it.'
                else format(' Its process is ended when it exceeds its timeout of %s s and the grace.',
                            k.timeout_seconds) end,
        json_build_object('worker_id', w.id, 'worker', w.name, 'kind', w.blocked_by,
                          'timeout_seconds', k.timeout_seconds),
        'Make the handler a plain function (it runs in a thread), or await asyncio.to_thread(…); to stop it now, '
        'cancel its job.'
    from worker w left join kind k on k.name = w.blocked_by where w.id = $1 and w.blocked_by is not null
$$;

-- Names a worker that has not beaten for half its expiry or longer: when its jobs will be rescued, and by whom.
create function ostinato_internal.why_silent(worker_id uuid, worker text, beat_at timestamptz, lease_until timestamptz)
returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'worker_silent', case
            when $3 is null then format('Worker %s is gone; the next poll of any worker takes its jobs back', $2)
            when $4 > n.now then
                format('Worker %s was last heard of %s ago; if it stays silent, its jobs are taken back after %s', $2,
                       ostinato_internal.say_span(n.now - $3), ostinato_internal.say_time(greatest($4, t.grace_until)))
            else format('Worker %s was last heard of %s ago, and its lease ended at %s; the next poll of any worker'
                        ' takes its jobs back', $2, ostinato_internal.say_span(n.now - $3),
                        ostinato_internal.say_time($4)) end
        || case when t.grace_until > n.now
                then format(', but not before %s: the database or its clock was away, and the living get time to beat'
                            ' again.', ostinato_internal.say_time(t.grace_until))
                when n.now > t.last + n.gap or n.now < t.last - interval '1 second'
                then ', after a grace of one expiry, because nobody has polled lately.' else '.' end,
        json_build_object('worker_id', $1, 'worker', $2, 'beat_at', $3, 'lease_until', $4,
                          'rescued_after', greatest($4, nullif(t.grace_until, '-infinity')), 'other_workers', a.alive),
        case when a.alive = 0
             then 'No other worker is alive to take them. Start one with: ostinato worker --app package.module:app'
             else 'Nothing to do; if this worker is stuck, end its process. See: ostinato workers' end
    from tick t
    cross join (select ostinato.now() as now, make_interval(secs => ostinato_internal.gap_seconds(
                    coalesce(min(w.expiry_seconds), ostinato_internal.usual_expiry()))) as gap
                from worker w) n
    cross join lateral (select count(*) as alive from worker w
                        where w.id <> $1 and not ostinato_internal.is_expired(w.beat_at, w.expiry_seconds, n.now)) a
$$;

-- Returns a wish to cancel that is not fulfilled yet.
create function ostinato_internal.why_cancelling(job_id bigint) returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'cancel_requested',
        format('Cancelling was asked for at %s (%s). The worker learns of it with its next poll, and ends the job after'
               ' its grace.', ostinato_internal.say_time(r.requested_at), r.reason),
        json_build_object('requested_at', r.requested_at, 'reason', r.reason),
        'Nothing to do; a handler that checks ctx.cancelled ends sooner.'
    from cancel_request r where r.job_id = $1
$$;

-- Returns what a scheduled job waits for. While its time lies ahead that comes first; afterwards, what else is in its
-- way.
create function ostinato_internal.why_scheduled(job_id bigint) returns setof ostinato_data.reason
language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
    v_job scheduled;
begin
    select * into v_job from scheduled s where s.job_id = why_scheduled.job_id;
    return query select * from ostinato_internal.why_cancelling(why_scheduled.job_id);
    if v_job.run_at <= v_now then
        return query select * from ostinato_internal.why_blocked(v_job.queue, v_job.kind);
        return query select 'due',
            format('The time of job %s came %s ago; the next poll of any worker makes it ready.', why_scheduled.job_id,
                   ostinato_internal.say_span(v_now - v_job.run_at)),
            json_build_object('run_at', v_job.run_at, 'reason', v_job.reason),
            'Nothing to do, as long as a worker is alive: ostinato workers';
        return;
    end if;
    if v_job.reason in ('event', 'behind') then
        return query select * from ostinato_internal.why_waiting(why_scheduled.job_id)
        union all select * from ostinato_internal.why_behind(why_scheduled.job_id) where v_job.reason = 'behind';
        return query select * from ostinato_internal.why_blocked(v_job.queue, v_job.kind);
        return;
    end if;
    return query select * from ostinato_internal.why_deferred(why_scheduled.job_id);
    if not found then
        return query select * from ostinato_internal.why_shelved(why_scheduled.job_id);
    end if;
    if found then
        return query select * from ostinato_internal.why_blocked(v_job.queue, v_job.kind);
        return;
    end if;
    return query
    select case v_job.reason when 'retry' then 'retrying' when 'snooze' then 'snoozed' when 'sleep' then 'sleeping'
                             else 'later' end,
        format(case v_job.reason
               when 'retry' then 'Job %1$s failed %4$s and is tried again at %2$s, in %3$s. Last error: %5$s'
               when 'snooze' then 'Job %1$s asked to be run again at %2$s, in %3$s; that counts as no failure.'
               when 'sleep' then 'Job %1$s sleeps between two steps and goes on at %2$s, in %3$s.'
               else 'Job %1$s is to run at %2$s, in %3$s.' end,
               why_scheduled.job_id, ostinato_internal.say_time(v_job.run_at),
               ostinato_internal.say_span(v_job.run_at - v_now), case when v_job.failures = 1 then 'once'
                   else v_job.failures || ' times' end,
               coalesce(ostinato_internal.error_summary(o.error), 'none was recorded')),
        json_strip_nulls(json_build_object('run_at', v_job.run_at, 'attempt', v_job.attempt,
            'failures', v_job.failures, 'max_attempts', j.max_attempts,
            'error', case when v_job.reason = 'retry' then o.error end)),
        case when v_job.reason = 'sleep'
             then format('Nothing to do. To see its steps: ostinato jobs show %s', why_scheduled.job_id)
             else format('To run it now: ostinato jobs retry %s', why_scheduled.job_id) end
    from job j
    left join lateral (select l.error from outcome l where l.job_id = j.id order by l.attempt desc limit 1) o on true
    where j.id = why_scheduled.job_id;
    return query select * from ostinato_internal.why_blocked(v_job.queue, v_job.kind);
end
$$;

-- Returns what keeps every job of this queue and kind: a paused queue, no worker.
create function ostinato_internal.why_blocked(queue text, kind text) returns setof ostinato_data.reason
language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_on_queue constant bigint := ostinato_internal.able_workers(why_blocked.queue, null);
begin
    return query
    select 'queue_paused', format('Queue %L is paused: nothing is claimed from it.', q.name),
        json_build_object('queue', q.name), format('Let it go on with: ostinato queues resume %s', q.name)
    from queue q where q.name = why_blocked.queue and q.paused;
    if v_on_queue = 0 then
        return query
        select 'no_worker_for_queue',
            format('No living worker serves queue %L (%s draining, %s silent).', why_blocked.queue,
                   count(*) filter (where w.draining and not e.expired), count(*) filter (where e.expired)),
            json_build_object('queue', why_blocked.queue,
                              'draining', count(*) filter (where w.draining and not e.expired),
                              'silent', count(*) filter (where e.expired)),
            'Start one with: ostinato worker --app package.module:app'
        from worker w
        cross join lateral (select ostinato_internal.is_expired(w.beat_at, w.expiry_seconds,
                                                                ostinato.now()) as expired) e
        where why_blocked.queue = any (w.queues);
    elsif ostinato_internal.able_workers(why_blocked.queue, why_blocked.kind) = 0 then
        return query
        select 'no_worker_for_kind',
            format('No living worker on queue %L knows the kind %L (%s there, none with it).', why_blocked.queue,
                   why_blocked.kind, v_on_queue),
            json_build_object('queue', why_blocked.queue, 'kind', why_blocked.kind, 'workers', v_on_queue),
            'Start a worker whose app declares this kind, or check its spelling with: ostinato workers';
    end if;
end
$$;

-- Returns the errors that keep workers from claiming from a queue. They may name jobs of others, so a tenant does not
-- see them.
create function ostinato_internal.why_claims_fail(queue text) returns setof ostinato_data.reason language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if ostinato_internal.sees_all() then
        return query
        select 'claims_fail',
            format('Claims from queue %L fail since %s, %s times so far, last at %s: %s (%s).', f.queue,
                   ostinato_internal.say_time(f.first_at), f.times, ostinato_internal.say_time(f.last_at), f.message,
                   f.state),
            json_strip_nulls(json_build_object('queue', f.queue, 'job_id', f.job_id, 'since', f.first_at,
                'last_at', f.last_at, 'times', f.times, 'state', f.state, 'message', f.message)),
            'A row that they need is damaged, or upkeep does not end. Run: ostinato doctor; and see the log of the '
            'server.'
        from ostinato.list_faults() f where f.queue = why_claims_fail.queue;
    end if;
end
$$;

-- Returns what a ready job waits for: everything that stops its queue or kind, then limits, then its turn.
create function ostinato_internal.why_ready(job_id bigint) returns setof ostinato_data.reason language plpgsql stable
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
        select * from ready r
        where (r.queue, r.priority, r.tenant_id, r.position) = (v_job.queue, v_job.priority, v_job.tenant_id, v_job.id)
    ) f where f.job_id = v_job.id;
    return query
    with reason as materialized (
        select 1 as n, b.* from ostinato_internal.why_cancelling(why_ready.job_id) b
        union all select 2, b.* from ostinato_internal.why_blocked(v_row.queue, v_row.kind) b
        union all select 3, b.* from ostinato_internal.why_claims_fail(v_row.queue) b
        union all select 4, b.* from ostinato_internal.why_limited(why_ready.job_id) b
    )
    select r.code, r.message, r.detail, r.hint from reason r order by r.n;
    get diagnostics v_found = row_count;
    if v_row.crashes >= ostinato_internal.suspect_crashes() then
        return query select * from ostinato_internal.why_suspect(v_row);
    else
        return query select * from ostinato_internal.why_turn(v_row, v_found > 0);
    end if;
end
$$;

-- Says that a job waits apart, because its worker died with it more than once. How many wait before it is for workers
-- only.
create function ostinato_internal.why_suspect(place ostinato_data.ready) returns setof ostinato_data.reason
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select 'suspect',
        format('Job %s took %s worker processes with it: it waits for a worker that runs no other suspect%s.',
               ($1).job_id, ($1).crashes, case when a.seen then format(' (%s suspects ahead of it)', s.n) else '' end),
        json_strip_nulls(json_build_object('crashes', ($1).crashes, 'ahead', case when a.seen then s.n end)),
        format('Look for a crash or too little memory: ostinato jobs show %1$s.'
               ' To give it up: ostinato jobs cancel %1$s', ($1).job_id)
    from (select ostinato_internal.sees_all() as seen) a
    cross join (select count(*) as n from (
        select from ready r where r.queue = ($1).queue and r.crashes >= ostinato_internal.suspect_crashes()
          and r.position < ($1).position
        limit ostinato_internal.line_cap()) l) s
$$;

-- Returns the place of a ready job in its line. What others have in the queue is for workers only.
create function ostinato_internal.why_turn(place ostinato_data.ready, blocked boolean)
returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select 'waiting_turn',
        case when s.seen
             then format('Job %s is ready, with %s jobs of tenant %L ahead of it at priority %s and %s more urgent ones'
                         ' in queue %L. %s', ($1).job_id, ostinato_internal.say_count(a.n), ($1).tenant_id,
                         ($1).priority, ostinato_internal.say_count(u.n), ($1).queue,
                         case when $2 then 'It will run once nothing of the above is in its way.'
                              else 'Nothing is in its way: it runs when a worker has room.' end)
             else format('Job %s is ready, with %s jobs of this tenant ahead of it at its priority. It runs in its'
                         ' turn, when a worker has room.', ($1).job_id, ostinato_internal.say_count(a.n)) end,
        json_strip_nulls(json_build_object('ahead', a.n, 'more_urgent', case when s.seen then u.n end,
            'capped', a.n = ostinato_internal.line_cap() or u.n = ostinato_internal.line_cap(),
            'workers', ostinato_internal.able_workers(($1).queue, ($1).kind),
            'running', case when s.seen then ostinato_internal.queue_running(($1).queue) end)),
        case when $2 then 'See above.' else 'Nothing to do; more workers make it sooner.' end
    from (select ostinato_internal.sees_all() as seen) s
    cross join (select count(*) as n from (
        select from ready r where r.queue = ($1).queue and r.priority = ($1).priority and r.tenant_id = ($1).tenant_id
          and r.position < ($1).position limit ostinato_internal.line_cap()) l) a
    cross join (select count(*) as n from (
        select from ready r where r.queue = ($1).queue and r.priority < ($1).priority and ostinato_internal.sees_all()
        limit ostinato_internal.line_cap()) l) u
$$;

-- Returns the limits that keep a job of its queue, or of its key there, from starting: how many they allow, within how
-- many seconds, how many run, and when a rate lets the next one start.
create function ostinato_internal.reached_limits(job_id bigint) returns setof ostinato_data.reached_limit
language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    if not ostinato_internal.sees_all() then
        return query select * from ostinato_internal.own_limits(reached_limits.job_id);
        return;
    end if;
    return query
    select l.code, j.queue, l.limit_key, l.most, l.seconds, l.running, l.frees_at
    from job j join queue q on q.name = j.queue
    cross join lateral ostinato_internal.slot_key(j.tenant_id, j.limit_key, j.limit_scope) s (slot)
    cross join lateral (values
        (1, 'queue_concurrency', null, q.concurrency, null, ostinato_internal.queue_running(q.name)::bigint, null),
        (2, 'key_concurrency', j.limit_key, q.key_concurrency, null,
         (select count(*) from ostinato_internal.running_keys(q.name) k where k.limit_key = s.slot), null),
        (3, 'queue_rate', null, q.rate_count, q.rate_seconds, null,
         ostinato_internal.rate_frees_at(q.name, '', q.rate_count, q.rate_seconds)),
        (4, 'key_rate', j.limit_key, q.key_rate_count, q.key_rate_seconds, null,
         ostinato_internal.rate_frees_at(q.name, s.slot, q.key_rate_count, q.key_rate_seconds))
    ) l (n, code, limit_key, most, seconds, running, frees_at)
    where j.id = reached_limits.job_id and (l.most <= l.running or l.frees_at is not null)
    order by l.n;
end
$$;

-- Returns those that keep a job of the tenant. How many run is left out where they are counted over all tenants: all
-- but the keys that belong to the tenant.
create function ostinato_internal.own_limits(job_id bigint)
returns setof ostinato_data.reached_limit language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato_internal.check_job($1, ostinato_internal.own_tenant());
    select l.code, l.queue, l.limit_key, l.most, l.seconds,
           case when l.limit_key is not null and j.limit_scope is null then l.running end, l.frees_at
    from ostinato_internal.reached_limits($1) l join job j on j.id = $1
$$;

-- Returns the limits that a queue, or one key in it, has reached. A tenant learns which of its own jobs hold slots.
create function ostinato_internal.why_limited(job_id bigint) returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.code,
        format('Queue %L %s %s jobs%s %s', l.queue, case when l.seconds is null then 'runs' else 'starts' end, l.most,
               ' of the key ' || quote_literal(l.limit_key)
               || case when j.limit_scope is null then '' else ', which all tenants share,' end, case
            when l.seconds is not null then
                format('every %s at the most; the next may start at %s.',
                       ostinato_internal.say_span(make_interval(secs => l.seconds)),
                       ostinato_internal.say_time(l.frees_at))
            when l.running is null then
                format('at once at the most, and as many run. Slots of this tenant are held by %s.',
                       coalesce(h.who, 'none of its jobs'))
            else format('at once at the most, and %s run. The slots are held by %s.', l.running,
                        coalesce(h.who, 'nobody')) end),
        json_strip_nulls(json_build_object('queue', l.queue, 'limit_key', l.limit_key, 'limit', l.most,
            'seconds', l.seconds, 'frees_at', l.frees_at, 'running', l.running,
            'shared', case when l.limit_key is not null then j.limit_scope is not null end,
            'holders', case when l.seconds is null then h.holders end)),
        format('Wait, or raise the limit: ostinato queues limit %s --help. See: ostinato queues list', l.queue)
    from ostinato_internal.reached_limits($1) l join job j on j.id = $1
    cross join lateral ostinato_internal.slot_holders(
        l.queue, case when l.limit_key is not null
            then ostinato_internal.slot_key(j.tenant_id, j.limit_key, j.limit_scope) end) h
$$;

-- Returns who holds the slots of a queue, or of one slot key in it: the first few, oldest first, as a sentence and as
-- JSON.
create function ostinato_internal.slot_holders(
    queue text, slot_key text, few integer default 10, out who text, out holders json
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select string_agg(format('job %s (worker %s)', h.job_id, h.worker), ', ' order by h.n)
           || case when count(*) = $3 then ', …' else '' end,
           coalesce(json_agg(json_build_object('job_id', h.job_id, 'attempt', h.attempt, 'worker', h.worker,
                                               'since', h.claimed_at) order by h.n), '[]')
    from (
        select s.job_id, s.attempt, coalesce(w.name, s.worker_id::text) as worker, s.claimed_at,
               row_number() over (order by s.claimed_at, s.job_id) as n
        from ostinato_internal.held_jobs() s join job j on j.id = s.job_id left join worker w on w.id = s.worker_id
        where s.queue = $1
          and ($2 is null or ostinato_internal.slot_key(j.tenant_id, j.limit_key, j.limit_scope) = $2)
        order by n limit $3
    ) h
$$;

-- Returns when a rate limit lets the next job start; null when it does so now, or there is none.
create function ostinato_internal.rate_frees_at(queue text, limit_key text, most integer, seconds double precision)
returns timestamptz language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    -- The start that has to leave the window: from the newest back, the one that makes the count full.
    select max(s.started_at) + make_interval(secs => $4) from (
        select u.started_at, sum(u.started) over (order by u.started_at desc rows unbounded preceding) as newer
        from rate_use u
        where u.queue = $1 and u.limit_key = $2 and u.started_at > ostinato.now() - make_interval(secs => $4)
          and u.started_at <= ostinato.now() + make_interval(secs => $4)
    ) s where s.newer >= $3
$$;

-- Returns a unique key between jobs: the one that keeps this job from being run again, or those that this job keeps
-- out: the first few among the newest dead letters.
create function ostinato_internal.why_unique(job_id bigint, few integer default 10)
returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'unique_conflict',
        format('Its unique key %L is held by job %s (%s): job %s cannot be run again until that one leaves the states'
               ' %s.', u.unique_key, u.job_id, ostinato.job_state(u.job_id), j.id, array_to_string(u.states, ', ')),
        json_build_object('unique_key', u.unique_key, 'held_by', u.job_id, 'states', u.states),
        format('Wait for it, or end it with: ostinato jobs cancel %s', u.job_id)
    from job j join job_unique u on (u.tenant_id, u.unique_key) = (j.tenant_id, j.unique_key)
    where j.id = $1 and u.job_id <> j.id
    union all
    select 'holds_unique_key',
        format('It holds the unique key %L as long as it is %s: another job with that key is not added meanwhile.',
               u.unique_key, array_to_string(u.states, ', '))
        || case when cardinality(k.ids) > 0
                then format(' Kept from running again by it: job %s.', array_to_string(k.ids, ', ')) else '' end,
        json_build_object('unique_key', u.unique_key, 'states', u.states, 'keeps_out', k.ids),
        format('Nothing to do. To free the key: ostinato jobs cancel %s', u.job_id)
    from job_unique u cross join lateral (
        select array(
            select d.job_id from (
                select l.job_id from dead_letter l where l.tenant_id = u.tenant_id
                order by l.job_id desc limit ostinato_internal.line_cap()) d
            join job j on j.id = d.job_id where j.unique_key = u.unique_key and d.job_id <> u.job_id
            limit $2) as ids) k
    where u.job_id = $1
$$;
