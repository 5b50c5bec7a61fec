-- Steps: what a job has done so far, so that no later attempt does it again. Waiting for an event is in waits.sql.
--
-- A step is one row, (job, position), written by the attempt that made it: 'call' keeps the result of a function,
-- 'sleep' the time to wake up, 'event' and 'timeout' how a wait ended. A row once committed is what every later attempt
-- gets instead of running the step; only restart_job deletes it.
--
-- Saving is fenced like finishing: (job, attempt) must stand in the arrays of its claim, under the claim's row lock. So
-- a step is committed before its job changes hands, or never; and the next holder, who loads after its claim, sees it.
-- Lock order: claim (ascending id), then the table step, then its rows; restart_job: job, then as retry_job, then
-- steps.
-- What may go wrong: the answer to a save is lost (saved again by the same attempt: the row is there, and counts as
-- saved); the worker lost the job (refused, nothing is written).

-- Keeps upkeep from moving steps to another partition until the end of the transaction. To be called before a statement
-- that must see every step there is: one that waits for upkeep by itself would look where they no longer are.
create function ostinato_internal.hold_steps() returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    lock table only ostinato_data.step, only ostinato_data.step_default in access share mode;
end
$$;

-- Saves steps of running jobs, those of many jobs in one statement; `results` as JSON text, null for none. Returns the
-- places in the arrays (from 1) of those that were refused as stale.
create function ostinato.save_steps(
    claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], names text[],
    results text[] default null, durations integer[] default null
) returns setof integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_nestloop = off as $$
#variable_conflict use_column
declare
    v_now    constant timestamptz := ostinato.now();
    v_held   bigint[];
    v_new    bigint;
begin
    perform ostinato_internal.check_name('step name', s.name) from unnest(names) s (name)
        where s.name is null or length(s.name) not between 1 and ostinato_internal.longest_name();
    perform ostinato_internal.refuse_large_step(names[s.n], s.result)
    from unnest(results) with ordinality s (result, n)
    where octet_length(s.result) > ostinato_internal.most_result_bytes();
    v_held := array(select h.n from ostinato_internal.share_claims(claim_ids, job_ids, attempts) h);
    with ours as materialized (
        select g.* from unnest(job_ids, attempts, positions, names, results, durations)
            with ordinality g (job_id, attempt, position, name, result, duration_ms, n)
        join unnest(v_held) h on h = g.n
    ), written as (
        insert into step (job_id, finished_at, position, attempt, duration_ms, type, name, result)
        select o.job_id, v_now, o.position, o.attempt, o.duration_ms, 'call', o.name, o.result::json from ours o
        on conflict (job_id, position) do nothing returning 1
    )
    select count(*) into v_new from written;
    -- Saved before by the same attempt, which never heard of it; anything else is refused.
    if v_new < cardinality(v_held) then
        perform ostinato_internal.hold_steps();
        v_held := array(
            select h from unnest(v_held) h join step s on s.job_id = job_ids[h] and s.position = positions[h]
            where s.attempt = attempts[h] and s.name = names[h] and s.type = 'call');
    end if;
    if coalesce(cardinality(v_held), 0) < cardinality(job_ids) then
        return query select n::integer from generate_series(1, cardinality(job_ids)) n
            where not n = any (coalesce(v_held, '{}'));
    end if;
end
$$;

-- Says that the result of a step is too large.
create function ostinato_internal.refuse_large_step(name text, result text) returns void language plpgsql as $$
begin
    raise exception using errcode = 'OS400',
        message = format('the result of step %L is %s bytes, the limit is %s', name, octet_length(result),
                         ostinato_internal.most_result_bytes()),
        detail = json_build_object('step', name, 'bytes', octet_length(result),
                                   'limit', ostinato_internal.most_result_bytes()),
        hint = 'Store the data in a table or a file and return its key.';
end
$$;

-- Saves one step in the caller's transaction: its writes and the step commit together. Raises OS410 when the attempt is
-- stale.
create function ostinato.save_step(
    job_id bigint, attempt integer, "position" integer, name text, result json default null,
    duration_ms integer default null, claim_id bigint default null
) returns void language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato.save_steps(
        array[coalesce(claim_id, ostinato_internal.claim_of(job_id, attempt))], array[job_id], array[attempt],
        array[save_step.position], array[name], array[result::text], array[duration_ms]);
    if found then
        perform ostinato_internal.refuse_stale(job_id, attempt);
    end if;
end
$$;

-- Returns the steps of jobs, in order. For the holder of a job at the start of a later attempt: a wait whose time is up
-- ends with this. `seconds_left` is for how long a sleep still lasts; not above zero when it is over.
create function ostinato.load_steps(job_ids bigint[])
returns table (job_id bigint, "position" integer, type text, name text, result text, seconds_left double precision)
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off as $$
#variable_conflict use_column
begin
    perform ostinato_internal.hold_steps();
    if exists (select from job_wait w where w.job_id = any (job_ids)) then
        perform ostinato_internal.expire_waits(job_ids);
    end if;
    return query
    select s.job_id, s.position, s.type, s.name, s.result::text,
           extract(epoch from s.until - ostinato.now())::double precision
    from step s where s.job_id = any (job_ids) order by s.job_id, s.position;
end
$$;

-- Lets jobs sleep: each leaves its worker and is ready again after some seconds, and the step says until when. A sleep
-- that was begun before ends when it was to end. Returns the ids of those that were refused as stale.
create function ostinato.sleep_jobs(
    claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], seconds double precision[]
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now    constant timestamptz := ostinato.now();
    v_claims bigint[];
    v_held   bigint[];
begin
    v_claims := ostinato_internal.lock_claims(claim_ids, job_ids);
    v_held := array(select h.n from ostinato_internal.held_among(v_claims, claim_ids, job_ids, attempts) h);
    perform ostinato_internal.hold_steps();
    insert into step (job_id, finished_at, until, position, attempt, type, name)
    select g.job_id, v_now, v_now + make_interval(secs => g.seconds), g.position, g.attempt, 'sleep', 'sleep'
    from unnest(job_ids, attempts, positions, sleep_jobs.seconds)
        with ordinality g (job_id, attempt, position, seconds, n)
    where g.n = any (v_held)
    on conflict (job_id, position) do nothing;
    return query select ostinato.snooze_jobs(claim_ids, job_ids, attempts, array(
        select coalesce(greatest(0, extract(epoch from s.until - v_now)), 0)::double precision
        from unnest(job_ids, positions) with ordinality g (job_id, position, n)
        left join step s on s.job_id = g.job_id and s.position = g.position order by g.n), 'sleep');
end
$$;

-- Returns the position of a stored step, by its name (the first of that name) or its number; null is the first of all.
create function ostinato_internal.step_position(job_id bigint, step text) returns integer language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_position integer;
begin
    if step is null then
        return 1;
    end if;
    select s.position into v_position from step s
    where s.job_id = step_position.job_id and (s.name = step_position.step or s.position::text = step_position.step)
    order by s.name <> step_position.step, s.position limit 1;
    if v_position is null then
        raise exception using errcode = 'OS404',
            message = format('job %s has no stored step %L', step_position.job_id, step),
            detail = json_build_object('job_id', step_position.job_id, 'step', step, 'stored', array(
                select format('%s %s', s.position, s.name) from step s
                where s.job_id = step_position.job_id order by s.position)),
            hint = format('See its steps with: ostinato jobs show %1$s. A step that is not stored runs anyway: '
                          'ostinato jobs retry %1$s', step_position.job_id);
    end if;
    return v_position;
end
$$;

-- Runs a job again from one of its steps (null: from the start): forgets that step and all after it, and makes the job
-- ready. For jobs that are scheduled, dead, cancelled or done. Returns the state it was in.
create function ostinato.restart_job(job_id bigint, from_step text default null) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_state constant text := case when ostinato_internal.sees_all()
        then ostinato_internal.restart_job(job_id, from_step) else ostinato_internal.own_restart_job(job_id, from_step)
        end;
begin
    perform ostinato_internal.record('restart', 'job', job_id::text, job_ids => array[job_id],
                                     detail => json_build_object('was', v_state, 'from_step', from_step));
    return v_state;
end
$$;

-- Restarts a job for a verb.
create function ostinato_internal.restart_job(job_id bigint, from_step text) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_state text;
    v_from  integer;
begin
    -- As retry_job: of two at once the second sees the first.
    perform from job j where j.id = restart_job.job_id for update;
    if not found then
        perform ostinato_internal.refuse_unknown(restart_job.job_id);
    end if;
    perform ostinato_internal.hold_steps(), ostinato_internal.check_not_erased(restart_job.job_id);
    v_state := ostinato.job_state(restart_job.job_id);
    v_from := ostinato_internal.step_position(restart_job.job_id, from_step);
    if v_state = 'done' then
        perform ostinato_internal.rehold_unique_key(restart_job.job_id),
                ostinato_internal.count_children(array[restart_job.job_id], 'done', -1),
                ostinato_internal.make_ready(restart_job.job_id, ostinato.new_id(), max(o.attempt) + 1, 0, 0),
                ostinato_internal.forget_run(array[restart_job.job_id], array[restart_job.job_id])
        from outcome o where o.job_id = restart_job.job_id;
    elsif v_state in ('scheduled', 'dead', 'cancelled') then
        perform ostinato_internal.retry_job(restart_job.job_id);
    else
        raise exception using errcode = 'OS412',
            message = format('job %s is %s; only scheduled, dead, cancelled and done jobs can be restarted',
                             restart_job.job_id, v_state),
            detail = json_build_object('job_id', restart_job.job_id, 'state', v_state),
            hint = format('Cancel it first: ostinato jobs cancel %s', restart_job.job_id);
    end if;
    -- Nobody runs it before this transaction commits, so the steps cannot change hands meanwhile.
    delete from step s where s.job_id = restart_job.job_id and s.position >= v_from;
    delete from job_wait w where w.job_id = restart_job.job_id and w.position >= v_from;
    perform ostinato_internal.forget_groups(restart_job.job_id, v_from);
    return v_state;
end
$$;

-- Restarts a job of the tenant.
create function ostinato_internal.own_restart_job(job_id bigint, from_step text) returns text
language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_job(job_id, ostinato_internal.own_tenant());
    return ostinato_internal.restart_job(job_id, from_step);
end
$$;

-- Returns the last `most` steps of a job (null = all), first to last, with the wait that is on: its type is 'waiting',
-- and it has no end. Of a result longer than `longest` bytes only its size is shown.
create function ostinato.job_steps(job_id bigint, most integer default null, longest integer default null)
returns table (
    "position" integer, name text, type text, attempt integer, finished_at timestamptz, duration_ms bigint,
    bytes integer, until timestamptz, result json
) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform ostinato_internal.check_job(job_steps.job_id);
    return query
    select * from (
        select s.position, s.name, s.type, s.attempt, s.finished_at,
               case when s.type = 'sleep' then (extract(epoch from s.until - s.finished_at) * 1000)::bigint
                   else s.duration_ms end,
               coalesce(octet_length(s.result::text), 0), s.until, ostinato_internal.short_json(s.result, longest)
        from step s where s.job_id = job_steps.job_id
        union all
        select w.position, ostinato_internal.wait_name(w.event, w.key), 'waiting', w.attempt, null, null, 0, w.deadline,
               null
        from job_wait w where w.job_id = job_steps.job_id
          and not exists (select from step s where s.job_id = w.job_id and s.position = w.position)
        order by 1 desc limit most) l
    order by 1;
end
$$;
