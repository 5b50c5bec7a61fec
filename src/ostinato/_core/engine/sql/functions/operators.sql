-- Operators: what somebody who operates ONE tenant may see and do. For the role ostinato_tenant; the HTTP API is made of it.
--
-- A job is spread over tables that are closed to tenants (claims, workers, wishes to cancel), so these functions run with the
-- rights of the owner, who sees every tenant. What keeps tenants apart is written here and nowhere else: each function reads
-- the tenant from app.tenant_id and never from a parameter, and either filters by it, or checks that the job is its own before
-- it hands on to the verb of the engine. Without a tenant they find nothing and change nothing.
--
-- Another tenant's job is exactly like no job: the same look, the same error, the same words. What may be known of the
-- installation: its workers, the queues that are configured or belong to a kind, limits. Not: how many jobs others have, where,
-- and under which keys.
--
-- JSON that others wrote comes as text: whoever shows it decides how to read it.

-- The tenant of the transaction; '' when nobody said, which is no tenant's name: it finds nothing where null would mean all.
create function ostinato.own_tenant() returns text language sql stable as $$
    select coalesce(pg_catalog.current_setting('app.tenant_id', true), '')
$$;

-- Refuses a job of another tenant as if there were none.
create function ostinato.check_own(job_id bigint) returns void language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if not exists (select from job j where j.id = check_own.job_id and j.tenant_id = ostinato.own_tenant()) then
        raise exception using errcode = 'OS404', message = format('there is no job %s', check_own.job_id),
            detail = json_build_object('job_id', check_own.job_id),
            hint = 'Check the id; finished jobs leave the history after the retention time.';
    end if;
end
$$;

-- Refuses kinds whose jobs the engine makes itself, from events and webhooks: their args name rows of whatever tenant.
create function ostinato.check_open_kind(kind text) returns void language plpgsql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if check_open_kind.kind = 'webhooks.deliver' or exists (select from subscription s where s.kind = check_open_kind.kind) then
        raise exception using errcode = 'OS400', message = format('jobs of the kind %s are made by the engine', check_open_kind.kind),
            detail = json_build_object('kind', check_open_kind.kind), hint = 'Tell the event, or send the webhook, that such a job is for.';
    end if;
end
$$;

-- JSON as text, if it is short enough to be one of many: 16 KiB at the most.
create function ostinato.short_json(value json) returns text language sql immutable as $$
    select case when octet_length($1::text) <= 16384 then $1::text end
$$;

-- A page of jobs, newest first, that match a filter (null = any); `before` is the last id of the page before it.
create function ostinato.own_jobs(
    state text default null, queue text default null, kind text default null, correlation_id text default null,
    before bigint default null, most integer default 50
) returns table (
    id bigint, state text, kind text, queue text, correlation_id text, priority smallint, attempt integer, failures integer,
    created_at timestamptz, run_at timestamptz, finished_at timestamptz, error text
) language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.id, l.state, l.kind, l.queue, l.correlation_id, l.priority, l.attempt, l.failures, l.created_at, l.run_at, l.finished_at, l.error
    from ostinato.list_jobs($1, $2, $3, ostinato.own_tenant(), $4, $5, $6) l order by l.id desc
$$;

-- Everything about one job.
create function ostinato.own_job(job_id bigint) returns table (
    id bigint, kind text, queue text, correlation_id text, priority smallint, state text, reason text, attempt integer, failures integer,
    crashes integer, max_attempts smallint, created_at timestamptz, asked_run_at timestamptz, run_at timestamptz, finished_at timestamptz,
    duration_ms integer, args text, result text, error text, limit_key text, unique_key text, unique_states text[], worker_id uuid,
    worker_name text, claimed_at timestamptz, lease_until timestamptz, cancel_requested_at timestamptz, cancel_reason text,
    progress_done double precision, progress_total double precision, progress_note text, progress_at timestamptz
) language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato.check_own($1);
    select s.id, s.kind, s.queue, s.correlation_id, s.priority, s.state, s.reason, s.attempt, s.failures, s.crashes, s.max_attempts,
           s.created_at, s.asked_run_at, s.run_at, s.finished_at, s.duration_ms, s.args::text, s.result::text, s.error::text, s.limit_key,
           s.unique_key, s.unique_states, s.worker_id, s.worker_name, s.claimed_at, s.lease_until, s.cancel_requested_at, s.cancel_reason,
           s.progress_done, s.progress_total, s.progress_note, s.progress_at
    from ostinato.show_job($1) s
$$;

-- The last runs of a job, first to last. Of a long result nothing is shown, of a long error its summary.
create function ostinato.own_attempts(job_id bigint, most integer default 100) returns table (
    attempt integer, outcome text, started_at timestamptz, finished_at timestamptz, duration_ms integer, worker_id uuid, worker_name text,
    result text, error text
) language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato.check_own($1);
    select l.attempt, l.outcome, l.started_at, l.finished_at, l.duration_ms, l.worker_id, l.worker_name, ostinato.short_json(l.result),
           case when l.error is not null
                then coalesce(ostinato.short_json(l.error), json_build_object('message', ostinato.error_summary(l.error))::text) end
    from (select * from ostinato.job_attempts($1) a order by a.attempt desc limit ostinato.page_size($2)) l
    order by l.attempt
$$;

-- The last steps of a job, first to last, with the wait that is on. Of a long result only its size is shown.
create function ostinato.own_steps(job_id bigint, most integer default 100) returns table (
    "position" integer, name text, type text, attempt integer, finished_at timestamptz, duration_ms bigint, bytes integer,
    until timestamptz, result text
) language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato.check_own($1);
    select l.position, l.name, l.type, l.attempt, l.finished_at, l.duration_ms, l.bytes, l.until, ostinato.short_json(l.result)
    from (select * from ostinato.job_steps($1) s order by s.position desc limit ostinato.page_size($2)) l
    order by l.position
$$;

-- Why a job is not running, or what became of it, without what others have to do with it.
create function ostinato.own_why(job_id bigint) returns table (code text, message text, detail text, hint text)
language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato.check_own($1);
    select w.code, o.message, o.detail::text, o.hint
    from ostinato.why($1) with ordinality w (code, message, detail, hint, n)
    cross join lateral ostinato.own_reason($1, w.code, w.message, w.detail, w.hint) o
    order by w.n
$$;

-- An answer of `why` as one tenant may read it. What speaks of the job itself or of the installation stays; what names or
-- counts jobs of others is said anew; an answer that is not known here is not told.
create function ostinato.own_reason(job_id bigint, code text, inout message text, inout detail json, inout hint text) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_holders json;
begin
    if code in ('done', 'cancelled', 'dead', 'running', 'worker_silent', 'cancel_requested', 'due', 'waiting', 'retrying', 'snoozed', 'sleeping',
                'later', 'queue_paused', 'no_worker_for_queue', 'no_worker_for_kind', 'queue_rate', 'key_rate', 'unique_conflict',
                'holds_unique_key', 'nowhere') then
        return;
    elsif code in ('queue_concurrency', 'key_concurrency') then
        v_holders := ostinato.own_holders(detail ->> 'queue', detail ->> 'limit_key');
        message := format('Queue %L runs %s jobs%s at once at the most, and as many run. Slots of this tenant are held by %s.', detail ->> 'queue',
            detail ->> 'limit', coalesce(' of the key ' || quote_literal(detail ->> 'limit_key'), ''), coalesce((
                select string_agg('job ' || (h ->> 'job_id'), ', ') from json_array_elements(v_holders) h), 'none of its jobs'));
        detail := json_strip_nulls(json_build_object('queue', detail ->> 'queue', 'limit_key', detail ->> 'limit_key',
                                                     'limit', (detail ->> 'limit')::integer, 'holders', v_holders));
    elsif code = 'suspect' then
        message := format('Job %s took %s worker processes with it: it waits for a worker that runs no other suspect.', job_id, detail ->> 'crashes');
        detail := json_build_object('crashes', (detail ->> 'crashes')::integer);
    elsif code = 'waiting_turn' then
        message := format('Job %s is ready, with %s jobs of this tenant ahead of it at its priority. It runs in its turn, when a worker has room.',
            job_id, (detail ->> 'ahead') || case when (detail ->> 'ahead')::integer = 1000 then ' or more' else '' end);
        detail := json_build_object('ahead', (detail ->> 'ahead')::integer, 'capped', (detail ->> 'ahead')::integer = 1000,
                                    'workers', (detail ->> 'workers')::integer);
    else
        message := format('Job %s waits.', job_id);
        detail := '{}';
        hint := 'Whoever operates the installation can tell more.';
    end if;
end
$$;

-- The jobs of the tenant that hold slots of a queue, or of one key in it: up to ten, oldest first.
create function ostinato.own_holders(queue text, limit_key text) returns json language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select coalesce(json_agg(json_build_object('job_id', h.id, 'attempt', h.attempt, 'since', h.claimed_at) order by h.claimed_at, h.id), '[]')
    from (
        select j.id, s.attempt, c.claimed_at from claim c cross join unnest(c.job_ids, c.attempts) s (job_id, attempt) join job j on j.id = s.job_id
        where c.queue = $1 and j.tenant_id = ostinato.own_tenant() and ($2 is null or j.limit_key = $2)
        order by c.claimed_at, j.id limit 10
    ) h
$$;

-- A page of dead letters, newest job first, that match a filter (null = any).
create function ostinato.own_dead_letters(
    queue text default null, kind text default null, signature text default null, before bigint default null, most integer default 50
) returns table (job_id bigint, kind text, queue text, signature text, attempt integer, died_at timestamptz, reason text, error text)
language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.job_id, l.kind, l.queue, l.signature, l.attempt, l.died_at, l.reason, l.error
    from ostinato.list_dead_letters($1, $2, ostinato.own_tenant(), $3, $4, $5) l order by l.job_id desc
$$;

-- Dead letters by what killed them, the largest group first.
create function ostinato.own_dead_letter_groups(most integer default 50) returns table (
    signature text, kind text, reason text, count bigint, first timestamptz, last timestamptz, example_job_id bigint, example_error text
) language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select g.signature, g.kind, g.reason, g.count, g.first, g.last, g.example, ostinato.error_summary(d.error)
    from (
        select d.signature, d.kind, d.reason, count(*) as count, min(d.died_at) as first, max(d.died_at) as last, max(d.job_id) as example
        from dead_letter d where d.tenant_id = ostinato.own_tenant() group by d.signature, d.kind, d.reason
    ) g join dead_letter d on d.job_id = g.example
    order by g.count desc, g.last desc, g.example desc limit ostinato.page_size($1)
$$;

-- Runs a job again now, as retry_job does. Returns the state it was in, and its queue, to be rung.
create function ostinato.own_retry_job(job_id bigint, out was text, out queue text) language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato.check_own(own_retry_job.job_id);
    was := ostinato.retry_job(own_retry_job.job_id);
    queue := (select j.queue from job j where j.id = own_retry_job.job_id);
end
$$;

-- Cancels a job, as cancel_job does. Returns the state it was in.
create function ostinato.own_cancel_job(job_id bigint, reason text default 'cancelled by request') returns text
language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato.check_own(own_cancel_job.job_id), ostinato.check_name('reason', own_cancel_job.reason);
    return ostinato.cancel_job(own_cancel_job.job_id, own_cancel_job.reason);
end
$$;

-- Runs dead letters again, as redrive_jobs does, at most `most` of them, oldest first. With `preview` it only counts.
create function ostinato.own_redrive(
    queue text default null, kind text default null, signature text default null, most integer default 1000, preview boolean default true,
    out matching bigint, out redriven bigint, out conflicts bigint
) language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if own_redrive.most is null or own_redrive.most not between 1 and 10000 then
        raise exception using errcode = 'OS400', message = format('a redrive takes 1 to 10000 jobs, asked for %s', coalesce(own_redrive.most::text, 'null')),
            detail = json_build_object('most', own_redrive.most), hint = 'Redrive again for the rest.';
    end if;
    select r.matching, r.redriven, r.conflicts into matching, redriven, conflicts
    from ostinato.redrive_jobs(queue => own_redrive.queue, kind => own_redrive.kind, tenant_id => ostinato.own_tenant(),
                               signature => own_redrive.signature, most => own_redrive.most, preview => coalesce(own_redrive.preview, true)) r;
end
$$;

-- Every queue that is configured, belongs to a kind, or holds jobs of the tenant, with the counts of its own jobs. `capped` names
-- those that are lower bounds: 10,000 ready for each priority of a queue, 100,000 scheduled and dead in all.
create function ostinato.own_queues(most integer default 1000) returns table (
    name text, paused boolean, concurrency integer, rate_count integer, rate_seconds double precision, key_concurrency integer,
    key_rate_count integer, key_rate_seconds double precision, ready bigint, scheduled bigint, running bigint, dead bigint, capped text[],
    oldest_wait double precision, workers bigint
) language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with lane as materialized (
        -- A lane of the tenant may be empty, and then its queue is somebody else's.
        select l.queue, r.n, r.first from ostinato.waiting_lanes(null, ostinato.own_tenant()) l
        cross join lateral (
            select count(*) as n, (array_agg(c.job_id order by c.position))[1] as first from (
                select r.job_id, r.position from ready r where r.queue = l.queue and r.priority = l.priority and r.tenant_id = l.tenant_id
                order by r.position limit 10001) c) r
        where r.n > 0
    ), waiting as materialized (
        select l.queue, sum(least(l.n, 10000))::bigint as n, bool_or(l.n > 10000) as capped,
               max(greatest(0, extract(epoch from ostinato.now() - ostinato.ready_since(l.first))))::double precision as oldest
        from lane l group by l.queue
    ), later as materialized (
        select s.queue, count(*) as n from (select s.queue from scheduled s where s.tenant_id = ostinato.own_tenant() limit 100000) s group by s.queue
    ), held as materialized (
        select c.queue, count(*) as n from claim c cross join unnest(c.job_ids) h (job_id) join job j on j.id = h.job_id
        where j.tenant_id = ostinato.own_tenant() group by c.queue
    ), buried as materialized (
        select d.queue, count(*) as n from (select d.queue from dead_letter d where d.tenant_id = ostinato.own_tenant() limit 100000) d group by d.queue
    ), full_to as materialized (
        select (select sum(l.n) from later l) >= 100000 as later, (select sum(b.n) from buried b) >= 100000 as buried
    ), known as (
        select q.name from queue q union select k.queue from kind k union select w.queue from waiting w
        union select l.queue from later l union select h.queue from held h union select b.queue from buried b
    )
    select k.name, coalesce(q.paused, false), q.concurrency, q.rate_count, q.rate_seconds, q.key_concurrency, q.key_rate_count,
           q.key_rate_seconds, coalesce(w.n, 0), coalesce(l.n, 0), coalesce(h.n, 0), coalesce(b.n, 0),
           array_remove(array[case when w.capped then 'ready' end, case when f.later then 'scheduled' end, case when f.buried then 'dead' end], null),
           w.oldest, ostinato.able_workers(k.name, null)
    from known k cross join full_to f
    left join queue q on q.name = k.name left join waiting w on w.queue = k.name left join later l on l.queue = k.name
    left join held h on h.queue = k.name left join buried b on b.queue = k.name
    where ostinato.own_tenant() <> ''
    order by k.name limit ostinato.page_size($1)
$$;

-- Every worker that is registered, the longest silent first; `held` and `oldest_claim` are of the tenant's own jobs.
create function ostinato.own_workers(most integer default 1000) returns table (
    id uuid, name text, started_at timestamptz, beat_at timestamptz, beat_age double precision, expiry_seconds double precision,
    expired boolean, draining boolean, held bigint, oldest_claim timestamptz, contract integer, queues text[], kinds text[]
) language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select w.id, w.name, w.started_at, w.beat_at, extract(epoch from ostinato.now() - w.beat_at)::double precision, w.expiry_seconds,
           ostinato.is_expired(w.beat_at, w.expiry_seconds, ostinato.now()), w.draining, coalesce(h.held, 0), h.oldest, w.contract,
           w.queues, w.kinds
    from worker w
    left join (
        select c.worker_id, count(*) as held, min(c.claimed_at) as oldest
        from claim c cross join unnest(c.job_ids) u (job_id) join job j on j.id = u.job_id where j.tenant_id = ostinato.own_tenant() group by 1
    ) h on h.worker_id = w.id
    where ostinato.own_tenant() <> ''
    order by w.beat_at, w.id limit ostinato.page_size($1)
$$;
