-- Deferrals: an attempt that ended because of the database's trouble uses up no attempt of its job.
--
-- A worker that loses its connection, gets none, or gets no answer does not know whether the job is at fault. So the
-- job is given back with a short back-off, and its failures stay as they are. A job whose own statements bring the
-- server down must not go on like that for ever: after deferral_cap() deferrals without deferral_peace() between them
-- the next one is a failed attempt, by the retry policy.
-- Lock order: the claims (settle), then the rows of deferral.

-- Limits how often a job is deferred, without a time of peace in between, before the database's trouble counts as its
-- own.
create function ostinato_internal.deferral_cap() returns integer language sql immutable parallel safe as 'select 20';

-- Deferrals that are older than this are forgotten.
create function ostinato_internal.deferral_peace() returns interval language sql immutable parallel safe as $$
    select interval '1 hour'
$$;

-- Returns how long a job waits after its n-th deferral: 0.5 to 1 s, doubled each time up to a minute, spread by the
-- job's id, because all jobs of an outage are deferred at once.
create function ostinato_internal.deferral_seconds(job_id bigint, times integer) returns double precision
language sql immutable parallel safe as $$
    select least(60, 2 ^ ($2 - 1)) * (0.5 + abs(hashint8extended($1, $2) % 1000) / 2000.0)
$$;

-- Ends attempts that the database failed: each runs again soon, without counting a failure, or fails as in fail_jobs
-- when it was deferred too often. Returns the ids of those that were refused as stale.
create function ostinato.defer_jobs(
    claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[],
    signatures text[], reasons text[] default null, durations integer[] default null
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now     constant timestamptz := ostinato.now();
    -- How often each was deferred lately. Nobody else writes that of a held job; a stale attempt is refused below.
    v_times   constant integer[] := array(
        select coalesce(d.times, 0) from unnest(job_ids) with ordinality g (job_id, n)
        left join deferral d on d.job_id = g.job_id and d.last_at > v_now - ostinato_internal.deferral_peace()
        order by g.n);
    v_spared  constant integer[] := array(
        select n from generate_subscripts(v_times, 1) n where v_times[n] < ostinato_internal.deferral_cap() order by n);
    v_used_up constant integer[] := array(
        select n from generate_subscripts(v_times, 1) n where v_times[n] >= ostinato_internal.deferral_cap()
        order by n);
    v_refused bigint[];
begin
    if cardinality(v_used_up) > 0 then
        return query select f from (
            select array_agg(claim_ids[n]) as claims, array_agg(job_ids[n]) as jobs, array_agg(attempts[n]) as attempts,
                   array_agg(delays[n]) as delays, array_agg(errors[n]) as errors,
                   array_agg(signatures[n]) as signatures, array_agg(reasons[n]) as reasons,
                   array_agg(durations[n]) as durations
            from unnest(v_used_up) n) u
        cross join lateral ostinato.fail_jobs(u.claims, u.jobs, u.attempts, u.delays, u.errors, u.signatures, u.reasons,
                                              u.durations) f;
    end if;
    if cardinality(v_spared) = 0 then
        return;
    end if;
    v_refused := array(select s from (
            select array_agg(claim_ids[n]) as claims, array_agg(job_ids[n]) as jobs, array_agg(attempts[n]) as attempts,
                   array_agg(ostinato_internal.deferral_seconds(job_ids[n], v_times[n] + 1)) as delays
            from unnest(v_spared) n) u
        cross join lateral ostinato.snooze_jobs(u.claims, u.jobs, u.attempts, u.delays, 'retry') s);
    -- A job with a cancel request was cancelled instead, and waits nowhere.
    insert into deferral as d (job_id, attempt, times, first_at, last_at, error)
    select job_ids[n], attempts[n], v_times[n] + 1, v_now, v_now, errors[n]::json from unnest(v_spared) n
    where not job_ids[n] = any (v_refused) and exists (select from scheduled s where s.job_id = job_ids[n])
    on conflict (job_id) do update set
        attempt = excluded.attempt, times = excluded.times, last_at = excluded.last_at, error = excluded.error,
        first_at = case when excluded.times = 1 then excluded.first_at else d.first_at end;
    return query select unnest(v_refused);
end
$$;

-- Returns why a job waits that the database's trouble gave back; no row when it waits for another reason.
create function ostinato_internal.why_deferred(job_id bigint) returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'deferred',
        format('Attempt %s of job %s ended because of the database''s trouble, %s of at most %s times since %s. It is'
               ' tried again at %s, and no attempt was used up. Last error: %s', d.attempt, $1, d.times,
               ostinato_internal.deferral_cap(), ostinato_internal.say_time(d.first_at),
               ostinato_internal.say_time(s.run_at), ostinato_internal.error_summary(d.error)),
        json_build_object('run_at', s.run_at, 'attempt', s.attempt, 'failures', s.failures, 'deferrals', d.times,
                          'most', ostinato_internal.deferral_cap(), 'since', d.first_at, 'error', d.error),
        format('Look after the database: ostinato doctor. To run the job now: ostinato jobs retry %s', $1)
    from deferral d join scheduled s on s.job_id = d.job_id and s.attempt = d.attempt + 1
    where d.job_id = $1
$$;
