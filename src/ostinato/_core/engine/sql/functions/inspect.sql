-- Inspect: what people and programs look at. Read only; every function sees one moment, and locks nothing.
--
-- A caller sees what row-level security shows: a worker every tenant, a tenant its own rows. Another tenant's job
-- is exactly like no job: the same look, the same error, the same words. Of the installation a tenant may know the
-- workers, the queues that are configured or belong to a kind, and limits; not how many jobs others have, where, and
-- under which keys. Its part of what policies cannot divide (claims, the lanes of `ready`, limits) comes from the
-- functions own_*: they run with the rights of the owner, and filter by app.tenant_id, never by a parameter.
--
-- A list is a page, newest id first; `before` is the last id of the page before it. The state of a job is its place, so
-- a list by state starts from that place and its index, never from all jobs; only the page itself is then described.
-- Ready jobs have no index by id: unless the newest jobs of all are enough, they are found lane by lane.
--
-- What may go wrong: tables get large. Counts stop at a cap, and the column `capped` names those that did: then the
-- number is a lower bound. A filter without an index (a rare kind among millions of finished jobs) steps over what it
-- leaves out.

-- Returns the queues that hold ready jobs: a loose index scan.
create function ostinato_internal.waiting_queues() returns setof text language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
    with recursive waiting as (
        (select r.queue from ready r order by r.queue limit 1)
        union all
        select n.queue from waiting w cross join lateral (
            select r.queue from ready r where r.queue > w.queue order by r.queue limit 1) n
    )
    select w.queue from waiting w
$$;

-- Returns the lanes that hold ready jobs, of one queue and one tenant or of all (null). With a tenant, a lane may be
-- empty.
create function ostinato_internal.waiting_lanes(for_queue text, for_tenant text)
returns table (queue text, priority smallint, tenant_id text) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
    with recursive level as (
        select f.queue, f.priority from (
            select r.queue, r.priority from ready r where r.queue >= coalesce($1, '')
            order by r.queue, r.priority limit 1) f
        where $2 is not null and ($1 is null or f.queue = $1)
        union all
        select n.queue, n.priority from level l cross join lateral (
            select r.queue, r.priority from ready r where (r.queue, r.priority) > (l.queue, l.priority)
            order by r.queue, r.priority limit 1) n
        where $1 is null or n.queue = $1
    ), lane as (
        select f.queue, f.priority, f.tenant_id from (
            select r.queue, r.priority, r.tenant_id from ready r where r.queue >= coalesce($1, '')
            order by r.queue, r.priority, r.tenant_id limit 1) f
        where $2 is null and ($1 is null or f.queue = $1)
        union all
        select n.queue, n.priority, n.tenant_id from lane l cross join lateral (
            select r.queue, r.priority, r.tenant_id from ready r
            where (r.queue, r.priority, r.tenant_id) > (l.queue, l.priority, l.tenant_id)
            order by r.queue, r.priority, r.tenant_id limit 1) n
        where $1 is null or n.queue = $1
    )
    select l.queue, l.priority, $2 from level l
    union all
    select l.queue, l.priority, l.tenant_id from lane l
$$;

-- Returns the lanes that hold ready jobs of the tenant. Under its policy a loose index scan would walk over the jobs of
-- others.
create function ostinato_internal.own_lanes() returns table (queue text, priority smallint, tenant_id text)
language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.queue, l.priority, l.tenant_id from ostinato_internal.waiting_lanes(null, ostinato_internal.own_tenant()) l
    cross join lateral (  -- the limit keeps it a probe of each lane, whatever the statistics say
        select from ready r where (r.queue, r.priority, r.tenant_id) = (l.queue, l.priority, l.tenant_id) limit 1) r
$$;

-- Returns the jobs that workers hold: some of them, or all (null).
create function ostinato_internal.held_jobs(ids bigint[] default null) returns setof ostinato_data.held_job
language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    if not ostinato_internal.sees_all() then
        return query select * from ostinato_internal.own_held_jobs(ids);
        return;
    end if;
    return query
    select h.job_id, h.attempt, h.failures, h.crashes, c.queue, c.worker_id, c.claimed_at
    from claim c cross join unnest(c.job_ids, c.attempts, c.failures, c.crashes) h (job_id, attempt, failures, crashes)
    where ids is null or (c.job_ids && ids and h.job_id = any (ids));
end
$$;

-- Returns those that belong to the tenant: one claim holds jobs of many.
create function ostinato_internal.own_held_jobs(ids bigint[]) returns setof ostinato_data.held_job
language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select h.* from ostinato_internal.held_jobs($1) h join job j on j.id = h.job_id
    where j.tenant_id = ostinato_internal.own_tenant()
$$;

-- Returns one line about an error, from whatever JSON was stored.
create function ostinato_internal.error_summary(error json, longest integer default 200) returns text
language sql immutable parallel safe as $$
    select left(coalesce(
        nullif(concat_ws(': ', $1 ->> 'type', $1 ->> 'message'), ''), $1 ->> 'reason', $1 #>> '{}'), $2)
$$;

-- Returns JSON that is at most `longest` bytes long (null = any), else null.
create function ostinato_internal.short_json(value json, longest integer) returns json
language sql immutable parallel safe as $$
    select case when $2 is null or octet_length($1::text) <= $2 then $1 end
$$;

-- Returns how jobs stand: one row for each id that exists, in any order. `attempt` is the run that is on or comes next,
-- of a finished job the last one; `run_at` is when a scheduled job runs next.
create function ostinato_internal.job_summaries(ids bigint[]) returns table (
    id bigint, kind text, queue text, tenant_id text, correlation_id text, priority smallint, state text,
    attempt integer, failures integer, crashes integer, created_at timestamptz, run_at timestamptz,
    finished_at timestamptz, error text, reason text
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
    with held as materialized (select h.* from ostinato_internal.held_jobs($1) h)
    select j.id, j.kind, j.queue, j.tenant_id, j.correlation_id, j.priority, coalesce(p.state, o.outcome),
           coalesce(p.attempt, o.attempt), coalesce(p.failures, o.failures), coalesce(p.crashes, o.crashes),
           j.created_at, ostinato_internal.real_time(p.run_at),
           case when p.state is null or p.state = 'dead' then o.finished_at end,
           case when o.outcome <> 'done' then ostinato_internal.error_summary(o.error) end,
           coalesce(p.reason, case when o.outcome = 'cancelled' then o.error ->> 'reason' end)
    from job j
    left join lateral (
        select 'ready' as state, r.attempt, r.failures::integer, r.crashes::integer, null::timestamptz as run_at,
               null as reason
        from ready r where r.job_id = j.id and r.position <> r.job_id
        union all
        select 'ready', r.attempt, r.failures, r.crashes, null, null from ready r
        where (r.queue, r.priority, r.tenant_id, r.position) = (j.queue, j.priority, j.tenant_id, j.id)
          and r.job_id = j.id
        union all
        select 'scheduled', s.attempt, s.failures, s.crashes, s.run_at, s.reason from scheduled s where s.job_id = j.id
        union all
        select 'running', h.attempt, h.failures, h.crashes, null, null from held h where h.job_id = j.id
        union all
        select 'dead', d.attempt, null, null, null, d.reason from dead_letter d where d.job_id = j.id
    ) p on true
    left join lateral (
        select (array_agg(h.outcome order by h.attempt desc))[1] as outcome, max(h.attempt) as attempt,
               max(h.finished_at) as finished_at, (array_agg(h.error order by h.attempt desc))[1] as error,
               count(*) filter (where h.outcome in ('failed', 'dead')
                                  and h.error ->> 'type' is distinct from 'worker_lost')::integer as failures,
               count(*) filter (where h.outcome = 'lost' or h.error ->> 'type' = 'worker_lost')::integer as crashes
        from outcome h where h.job_id = j.id
    ) o on true
    where j.id = any ($1)
$$;

-- Returns the ids of a page of ready jobs. They have no index by id: first the newest jobs of all are probed, then the
-- lanes.
create function ostinato_internal.find_ready(in_queue text, of_kind text, of_tenant text, before bigint, most integer)
returns setof bigint language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    v_probed constant integer := 1000;
    v_ids    bigint[];
begin
    if of_tenant is null then  -- a tenant has few lanes
        v_ids := array(
            select j.id from (
                select n.id, n.queue, n.priority, n.tenant_id, n.kind from job n where n.id < before
                order by n.id desc limit v_probed) j
            where (in_queue is null or j.queue = in_queue) and (of_kind is null or j.kind = of_kind)
              and (exists (select from ready r
                           where r.job_id = j.id and (r.queue, r.priority, r.tenant_id, r.position)
                                                     = (j.queue, j.priority, j.tenant_id, j.id))
                   or exists (select from ready r where r.job_id = j.id and r.position <> r.job_id))
            limit most);
    end if;
    if cardinality(v_ids) = most then
        return query select unnest(v_ids);
        return;
    end if;
    return query
    select f.job_id from (
        select r.job_id from ostinato_internal.waiting_lanes(in_queue, of_tenant) l cross join lateral (
            select r.job_id from ready r
            where r.queue = l.queue and r.priority = l.priority and r.tenant_id = l.tenant_id
              and r.position < before and r.position = r.job_id and (of_kind is null or r.kind = of_kind)
            order by r.position desc limit most) r
        union all
        (select r.job_id from ready r
         where r.position <> r.job_id and r.job_id < before and (in_queue is null or r.queue = in_queue)
           and (of_tenant is null or r.tenant_id = of_tenant) and (of_kind is null or r.kind = of_kind)
         order by r.job_id desc limit most)) f
    order by f.job_id desc limit most;
end
$$;

-- Returns the ids of a page of jobs that are done or cancelled. With a filter the newest outcomes are tried first; if
-- these are not enough the filter is rare, and then the jobs are searched: to step over one there is cheaper. The jobs
-- of a tenant have an index of their own, so these are searched at once: the newest outcomes may all be those of
-- others.
create function ostinato_internal.find_ended(
    in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer
) returns setof bigint language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    v_any   constant boolean := coalesce(in_queue, of_kind, of_tenant) is null;
    v_tried constant integer := case when not v_any then 20000 end;
    v_ids   bigint[];
begin
    if of_tenant is null or of_tenant = 'default' then  -- job_tenant has no entries of that tenant
        v_ids := array(
            select o.job_id from (
                select l.job_id, l.attempt from outcome l where l.outcome = in_state and l.job_id < before
                order by l.job_id desc limit v_tried) o
            -- Subqueries that cannot become joins: the outcomes must lead, from `before` backwards.
            where case when v_any or (
                           select (in_queue is null or j.queue = in_queue) and (of_kind is null or j.kind = of_kind)
                                  and (of_tenant is null or j.tenant_id = of_tenant) from job j where j.id = o.job_id)
                       then ostinato_internal.was_last(o.job_id, o.attempt, in_state) end
            limit most);
    end if;
    if v_any or cardinality(v_ids) = most then
        return query select unnest(v_ids);
        return;
    end if;
    return query select j.id from job j
    where j.id < before and (in_queue is null or j.queue = in_queue) and (of_kind is null or j.kind = of_kind)
      and (of_tenant is null or j.tenant_id = of_tenant)
      and (select bool_or(ostinato_internal.was_last(o.job_id, o.attempt, in_state)) from outcome o
           where o.job_id = j.id and o.outcome = in_state)
    order by j.id desc limit most;
end
$$;

-- Returns whether a job ended with this attempt: a cancelled one may have been retried since, and one that is done
-- restarted.
create function ostinato_internal.was_last(job_id bigint, attempt integer, state text default 'cancelled')
returns boolean
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select not exists (select from outcome o where o.job_id = $1 and o.attempt > $2) and ostinato.job_state($1) = $3
$$;

-- Returns the ids of a page of jobs in one place. Each branch reads the index of that place backwards.
create function ostinato_internal.find_jobs(
    in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer
) returns setof bigint language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
    case in_state
    when 'ready' then
        return query select ostinato_internal.find_ready(in_queue, of_kind, of_tenant, before, most);
    when 'scheduled' then
        return query select s.job_id from scheduled s
        where s.job_id < before and (in_queue is null or s.queue = in_queue)
          and (of_tenant is null or s.tenant_id = of_tenant) and (of_kind is null or s.kind = of_kind)
        order by s.job_id desc limit most;
    when 'running' then
        return query select j.id from claim c cross join unnest(c.job_ids) h join job j on j.id = h
        where h < before and (in_queue is null or c.queue = in_queue)
          and (of_tenant is null or j.tenant_id = of_tenant) and (of_kind is null or j.kind = of_kind)
        order by h desc limit most;
    when 'dead' then
        return query select d.job_id from dead_letter d
        where d.job_id < before and (in_queue is null or d.queue = in_queue)
          and (of_tenant is null or d.tenant_id = of_tenant) and (of_kind is null or d.kind = of_kind)
        order by d.job_id desc limit most;
    else
        return query select ostinato_internal.find_ended(in_state, in_queue, of_kind, of_tenant, before, most);
    end case;
end
$$;

-- Returns the ids of a page of the tenant's jobs in one place. Under its policies most of the indexes could not lead.
create function ostinato_internal.own_found_jobs(
    in_state text, in_queue text, of_kind text, before bigint, most integer
)
returns setof bigint language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato_internal.find_jobs($1, $2, $3, ostinato_internal.own_tenant(), $4, $5)
$$;

-- Returns a page of jobs, newest first, that match a filter (null = any); or those of `ids`, which search_jobs found.
create function ostinato.list_jobs(
    inout state text default null, inout queue text default null, inout kind text default null,
    inout tenant_id text default null, inout correlation_id text default null,
    before bigint default null, most integer default 50, ids bigint[] default null,
    out id bigint, out priority smallint, out attempt integer, out failures integer, out created_at timestamptz,
    out run_at timestamptz, out finished_at timestamptz, out error text, out reason text
) returns setof record language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_last   constant bigint := ostinato_internal.last_id();
    v_before constant bigint := coalesce(before, v_last);
    v_most   constant integer := ostinato_internal.page_size(most);
    v_tenant constant text := ostinato_internal.tenant_filter(list_jobs.tenant_id);
    v_ids    bigint[];
begin
    if list_jobs.state not in ('ready', 'scheduled', 'running', 'dead', 'done', 'cancelled') then
        raise exception using errcode = 'OS400', message = format('there is no state %L', list_jobs.state),
            detail = json_build_object('state', list_jobs.state),
            hint = 'States: scheduled, ready, running, dead, done, cancelled.';
    end if;
    if list_jobs.ids is not null then
        v_ids := list_jobs.ids;
    elsif list_jobs.state is null or list_jobs.correlation_id is not null then
        v_ids := array(
            select j.id from job j
            where j.id < v_before
              and (list_jobs.correlation_id is null or j.correlation_id = list_jobs.correlation_id)
              and (list_jobs.queue is null or j.queue = list_jobs.queue)
              and (list_jobs.kind is null or j.kind = list_jobs.kind) and (v_tenant is null or j.tenant_id = v_tenant)
              and (list_jobs.state is null or ostinato.job_state(j.id) = list_jobs.state)
            order by j.id desc limit v_most);
    elsif ostinato_internal.sees_all() then
        v_ids := array(select ostinato_internal.find_jobs(
            list_jobs.state, list_jobs.queue, list_jobs.kind, v_tenant, v_before, v_most));
    else
        v_ids := array(select ostinato_internal.own_found_jobs(
            list_jobs.state, list_jobs.queue, list_jobs.kind, v_before, v_most));
    end if;
    return query
    select s.state, s.queue, s.kind, s.tenant_id, s.correlation_id, s.id, s.priority, s.attempt, s.failures,
           s.created_at, s.run_at, s.finished_at, s.error, s.reason
    from ostinato_internal.job_summaries(v_ids) s where v_tenant is null or s.tenant_id = v_tenant order by s.id desc;
end
$$;

-- Returns the size of a page: 1 to 1,000.
create function ostinato_internal.page_size(most integer, largest integer default 1000) returns integer
language plpgsql immutable as $$
begin
    if most is null or most not between 1 and largest then
        raise exception using errcode = 'OS400',
            message = format('a page holds 1 to %s rows, asked for %s', largest, coalesce(most::text, 'null')),
            detail = json_build_object('most', most),
            hint = 'Ask for the next page with `before` = the last id of this one.';
    end if;
    return most;
end
$$;

-- Raises the error of a job that is not there. It looks with the snapshot of its caller.
create function ostinato_internal.refuse_unknown(job_id bigint) returns void language plpgsql stable as $$
begin
    perform ostinato_internal.refuse_overlooked(job_id);
    raise exception using errcode = 'OS404', message = format('there is no job %s', job_id),
        detail = json_build_object('job_id', job_id),
        hint = 'Check the id; finished jobs leave the history after the retention time.';
end
$$;

-- Refuses a job that is not there, or not of this tenant (null = any).
create function ostinato_internal.check_job(job_id bigint, tenant_id text default null) returns void
language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    if not exists (select from job j
                   where j.id = check_job.job_id and j.tenant_id = coalesce(check_job.tenant_id, j.tenant_id)) then
        perform ostinato_internal.refuse_unknown(check_job.job_id);
    end if;
end
$$;

-- Returns everything about one job.
create function ostinato.show_job(
    job_id bigint,
    out id bigint, out kind text, out queue text, out tenant_id text, out correlation_id text, out priority smallint,
    out state text, out reason text, out attempt integer, out failures integer, out crashes integer,
    out max_attempts smallint, out created_at timestamptz, out asked_run_at timestamptz, out run_at timestamptz,
    out finished_at timestamptz, out duration_ms integer, out args json, out result json, out error json,
    out limit_key text, out unique_key text, out unique_states text[], out worker_id uuid, out worker_name text,
    out claimed_at timestamptz, out lease_until timestamptz, out cancel_requested_at timestamptz,
    out cancel_reason text, out progress_done double precision, out progress_total double precision,
    out progress_note text, out progress_at timestamptz, out parent_id bigint
) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    select s.id, s.kind, s.queue, s.tenant_id, s.correlation_id, s.priority, s.state, s.reason, s.attempt, s.failures,
           s.crashes, s.run_at, s.finished_at, s.created_at
    into id, kind, queue, tenant_id, correlation_id, priority, state, reason, attempt, failures,
         crashes, run_at, finished_at, created_at
    from ostinato_internal.job_summaries(array[show_job.job_id]) s;
    if not found then
        perform ostinato_internal.refuse_unknown(show_job.job_id);
    end if;
    select j.max_attempts, j.run_at, j.args, j.limit_key, j.unique_key, j.parent_id
    into max_attempts, asked_run_at, args, limit_key, unique_key, parent_id from job j where j.id = show_job.job_id;
    args := ostinato_internal.masked(ostinato_internal.masked_args(show_job.kind, args));
    select u.states into unique_states from job_unique u where u.job_id = show_job.job_id;
    select o.duration_ms, o.result, o.error, o.worker_id into duration_ms, result, error, worker_id
    from outcome o where o.job_id = show_job.job_id order by o.attempt desc limit 1;
    if show_job.state = 'running' then
        select h.worker_id, h.claimed_at, w.beat_at + make_interval(secs => w.expiry_seconds)
        into worker_id, claimed_at, lease_until
        from ostinato_internal.held_jobs(array[show_job.job_id]) h left join worker w on w.id = h.worker_id;
    end if;
    select w.name into worker_name from worker w where w.id = show_job.worker_id;
    select r.requested_at, r.reason into cancel_requested_at, cancel_reason
    from cancel_request r where r.job_id = show_job.job_id;
    select p.done, p.total, p.note, p.updated_at into progress_done, progress_total, progress_note, progress_at
    from job_progress p where p.job_id = show_job.job_id;
end
$$;

-- Returns the last `most` runs of a job (null = all), first to last; the one that is on has the outcome 'running' and
-- no end. Of a result longer than `longest` bytes nothing is shown, of such an error its summary.
create function ostinato.job_attempts(job_id bigint, most integer default null, longest integer default null)
returns table (
    attempt integer, outcome text, started_at timestamptz, finished_at timestamptz, duration_ms integer, worker_id uuid,
    worker_name text, result json, error json
) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform ostinato_internal.check_job(job_attempts.job_id);
    return query
    select a.attempt, a.outcome, a.started_at, a.finished_at, a.duration_ms, a.worker_id, w.name,
           ostinato_internal.short_json(a.result, longest),
           case when a.error is not null
                then coalesce(ostinato_internal.short_json(a.error, longest),
                              json_build_object('message', ostinato_internal.error_summary(a.error))) end
    from (
        select o.attempt, o.outcome, o.finished_at - make_interval(secs => o.duration_ms / 1000.0) as started_at,
               o.finished_at, o.duration_ms, o.worker_id, o.result, o.error
        from outcome o where o.job_id = job_attempts.job_id
        union all
        select h.attempt, 'running', h.claimed_at, null, null, h.worker_id, null, null
        from ostinato_internal.held_jobs(array[job_attempts.job_id]) h
        order by attempt desc limit most
    ) a left join worker w on w.id = a.worker_id
    order by a.attempt;
end
$$;

-- Returns since when a ready job can run: since it was added, its time came, or its last run ended.
create function ostinato_internal.ready_since(job_id bigint) returns timestamptz language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select greatest(j.created_at, j.run_at, (select max(o.finished_at) from outcome o where o.job_id = j.id))
    from job j where j.id = $1
$$;

-- Returns the seconds that a ready job has waited.
create function ostinato_internal.waited(job_id bigint) returns double precision language sql stable as $$
    select greatest(0, extract(epoch from ostinato.now() - ostinato_internal.ready_since($1)))::double precision
$$;

-- Returns the seconds that the head of a queue has waited; null when nothing is ready. Looks at the first lanes only.
create function ostinato_internal.oldest_wait(queue text) returns double precision language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select ostinato_internal.waited(h.job_id)
    from (select r.job_id from ostinato_internal.ready_lanes($1) l
          join ready r on (r.queue, r.priority, r.tenant_id, r.position) = ($1, l.priority, l.tenant_id, l.first)
          order by r.position limit 1) h
$$;

-- Returns the queues that hold ready jobs, with how many these are, up to one more than the cap (for a tenant, of each
-- lane), and for how many seconds the oldest has waited.
create function ostinato_internal.ready_lines() returns table (queue text, n bigint, oldest double precision)
language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
begin
    if ostinato_internal.sees_all() then
        return query
        select q.name, c.n, ostinato_internal.oldest_wait(q.name) from ostinato_internal.waiting_queues() q (name)
        cross join lateral (
            select count(*) as n
            from (select from ready r where r.queue = q.name limit ostinato_internal.ready_cap() + 1) r) c;
        return;
    end if;
    return query
    select l.queue, sum(c.n)::bigint, max(ostinato_internal.waited(c.first)) from ostinato_internal.own_lanes() l
    cross join lateral (
        select count(*) as n, (array_agg(r.job_id order by r.position))[1] as first from (
            select r.job_id, r.position from ready r
            where r.queue = l.queue and r.priority = l.priority and r.tenant_id = l.tenant_id
            order by r.position limit ostinato_internal.ready_cap() + 1) r) c
    group by l.queue;
end
$$;

-- Returns every queue that is configured, holds jobs, or belongs to a kind, by name: at most `most` (null = all).
-- `capped` names the counts that are lower bounds, see ready_cap and place_cap.
create function ostinato.list_queues(most integer default null) returns table (
    name text, paused boolean, concurrency integer, rate_count integer, rate_seconds double precision,
    key_concurrency integer, key_rate_count integer, key_rate_seconds double precision, ready bigint, scheduled bigint,
    running bigint, dead bigint, capped text[], oldest_wait double precision, workers bigint
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off as $$
    with waiting as materialized (
        select r.queue, r.n, r.oldest from ostinato_internal.ready_lines() r
    ), later as materialized (
        select l.queue, count(*) as n from (select s.queue from scheduled s limit ostinato_internal.place_cap()) l
        group by l.queue
    ), held as materialized (
        select h.queue, count(*) as n from ostinato_internal.held_jobs() h group by h.queue
    ), buried as materialized (
        select d.queue, count(*) as n from (select d.queue from dead_letter d limit ostinato_internal.place_cap()) d
        group by d.queue
    ), full_to as materialized (
        select (select sum(l.n) from later l) >= ostinato_internal.place_cap() as later,
               (select sum(b.n) from buried b) >= ostinato_internal.place_cap() as buried
    ), known as (
        select q.name from queue q
        union select k.queue from kind k where ostinato_internal.sees_all() or ostinato_internal.own_tenant() <> ''
        union select w.queue from waiting w union select l.queue from later l union select h.queue from held h
        union select b.queue from buried b
    )
    select k.name, coalesce(q.paused, false), q.concurrency, q.rate_count, q.rate_seconds, q.key_concurrency,
           q.key_rate_count, q.key_rate_seconds, least(coalesce(w.n, 0), ostinato_internal.ready_cap()),
           coalesce(l.n, 0), coalesce(h.n, 0), coalesce(b.n, 0),
           array_remove(array[case when w.n > ostinato_internal.ready_cap() then 'ready' end,
                              case when f.later then 'scheduled' end, case when f.buried then 'dead' end], null),
           w.oldest, ostinato_internal.able_workers(k.name, null)
    from known k cross join full_to f
    left join queue q on q.name = k.name left join waiting w on w.queue = k.name left join later l on l.queue = k.name
    left join held h on h.queue = k.name left join buried b on b.queue = k.name
    order by k.name limit $1
$$;

-- Returns every worker that is registered, the longest silent first: at most `most` (null = all).
create function ostinato.list_workers(most integer default null) returns table (
    id uuid, name text, started_at timestamptz, beat_at timestamptz, beat_age double precision,
    expiry_seconds double precision, expired boolean, draining boolean, held bigint, oldest_claim timestamptz,
    contract integer, queues text[], kinds text[], release text, places integer
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select w.id, w.name, w.started_at, w.beat_at, extract(epoch from ostinato.now() - w.beat_at)::double precision,
           w.expiry_seconds, ostinato_internal.is_expired(w.beat_at, w.expiry_seconds, ostinato.now()), w.draining,
           coalesce(h.held, 0), h.oldest, w.contract, w.queues, w.kinds, w.release, w.places
    from worker w
    left join (
        select c.worker_id, count(*) as held, min(c.claimed_at) as oldest from ostinato_internal.held_jobs() c
        group by 1) h
      on h.worker_id = w.id
    order by w.beat_at, w.id limit $1
$$;

-- Returns what a worker holds that the caller may see, the longest held first: what it runs, and what waits in it for a
-- place.
create function ostinato.worker_jobs(worker_id uuid, most integer default 100)
returns table (
    job_id bigint, kind text, queue text, tenant_id text, attempt integer, claimed_at timestamptz,
    progress_done double precision, progress_total double precision, progress_note text
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select h.job_id, j.kind, h.queue, j.tenant_id, h.attempt, h.claimed_at, p.done, p.total, p.note
    from ostinato_internal.held_jobs() h join job j on j.id = h.job_id left join job_progress p on p.job_id = h.job_id
    where h.worker_id = $1 order by h.claimed_at, h.job_id limit $2
$$;

-- Returns a page of dead letters, newest job first, that match a filter (null = any).
create function ostinato.list_dead_letters(
    inout queue text default null, inout kind text default null, inout tenant_id text default null,
    inout signature text default null, before bigint default null, most integer default 50,
    out job_id bigint, out attempt integer, out died_at timestamptz, out reason text, out error text
) returns setof record language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    v_tenant constant text := ostinato_internal.tenant_filter(list_dead_letters.tenant_id);
begin
    return query
    select d.queue, d.kind, d.tenant_id, d.signature, d.job_id, d.attempt, d.died_at, d.reason,
           ostinato_internal.error_summary(d.error)
    from dead_letter d
    where (before is null or d.job_id < before) and (v_tenant is null or d.tenant_id = v_tenant)
      and (list_dead_letters.queue is null or d.queue = list_dead_letters.queue)
      and (list_dead_letters.kind is null or d.kind = list_dead_letters.kind)
      and (list_dead_letters.signature is null or d.signature = list_dead_letters.signature)
    order by d.job_id desc limit ostinato_internal.page_size(most);
end
$$;

-- Groups dead letters by what killed them, the largest group first.
create function ostinato.dead_letter_groups(most integer default 1000) returns table (
    signature text, kind text, reason text, count bigint, first timestamptz, last timestamptz, example_job_id bigint,
    example_error text, capped boolean
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select g.signature, g.kind, g.reason, g.count, g.first, g.last, g.example, ostinato_internal.error_summary(d.error),
           sum(g.count) over () >= ostinato_internal.place_cap()
    from (
        select d.signature, d.kind, d.reason, count(*) as count, min(d.died_at) as first, max(d.died_at) as last,
               max(d.job_id) as example
        from (select n.signature, n.kind, n.reason, n.died_at, n.job_id from dead_letter n
              order by n.job_id desc limit ostinato_internal.place_cap()) d
        group by d.signature, d.kind, d.reason
    ) g join dead_letter d on d.job_id = g.example
    order by g.count desc, g.last desc, g.example desc limit ostinato_internal.page_size($1)
$$;

-- Returns how many rows a table holds, by its size and what vacuum found last.
create function ostinato_internal.estimate_rows(name regclass) returns bigint language sql stable as $$
    select greatest(0, c.reltuples / greatest(c.relpages, 1)
                       * (pg_relation_size(c.oid) / current_setting('block_size')::integer))::bigint
    from pg_catalog.pg_class c where c.oid = $1
$$;

-- Returns the engine in numbers, for metrics: one row. Counts above place_cap are estimates, and `estimated` names
-- them.
create function ostinato.engine_stats(
    out ready bigint, out scheduled bigint, out due bigint, out running bigint, out dead bigint, out estimated text[],
    out workers bigint, out expired_workers bigint, out oldest_ready double precision, out xmin_age bigint,
    out ready_dead_tuples bigint, out default_bytes bigint
) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
    v_cap constant integer := ostinato_internal.place_cap();
begin
    select count(*) into ready from (select from ready limit v_cap + 1) r;
    select count(*) into scheduled from (select from scheduled limit v_cap + 1) s;
    select count(*) into dead from (select from dead_letter limit v_cap + 1) d;
    estimated := array_remove(array[case when engine_stats.ready > v_cap then 'ready' end,
        case when engine_stats.scheduled > v_cap then 'scheduled' end,
        case when engine_stats.dead > v_cap then 'dead' end], null);
    ready := case
        when engine_stats.ready > v_cap then greatest(engine_stats.ready, ostinato_internal.estimate_rows('ready'))
             else engine_stats.ready end;
    scheduled := case when engine_stats.scheduled > v_cap
                      then greatest(engine_stats.scheduled, ostinato_internal.estimate_rows('scheduled'))
                 else engine_stats.scheduled end;
    dead := case
        when engine_stats.dead > v_cap then greatest(engine_stats.dead, ostinato_internal.estimate_rows('dead_letter'))
            else engine_stats.dead end;
    select count(*) into due from (select from scheduled s where s.run_at <= v_now limit v_cap) d;
    select coalesce(sum(cardinality(c.job_ids)), 0) into running from claim c;
    select count(*) filter (where not e.expired), count(*) filter (where e.expired) into workers, expired_workers
    from (select ostinato_internal.is_expired(w.beat_at, w.expiry_seconds, v_now) as expired from worker w) e;
    select max(ostinato_internal.oldest_wait(q)) into oldest_ready from ostinato_internal.waiting_queues() q;
    -- What keeps dead rows from being removed: the oldest snapshot, slot or prepared transaction.
    select greatest((select max(age(a.backend_xmin)) from pg_stat_activity a),
                    (select max(age(s.xmin)) from pg_replication_slots s),
                    (select max(age(x.transaction)) from pg_prepared_xacts x), 0) into xmin_age;
    ready_dead_tuples := pg_stat_get_dead_tuples('ready'::regclass);
    default_bytes := pg_total_relation_size('job_default') + pg_total_relation_size('outcome_default')
                     + pg_total_relation_size('step_default');
end
$$;

-- Returns how far jobs are, for those who follow them: the state, and what the handler reported last. One row for each
-- job that the caller may see.
create function ostinato.follow_jobs(job_ids bigint[]) returns table (
    job_id bigint, state text, done double precision, total double precision, note text, updated_at timestamptz
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select j.id, ostinato.job_state(j.id), p.done, p.total, p.note, p.updated_at
    from job j left join job_progress p on p.job_id = j.id where j.id = any ($1)
$$;
