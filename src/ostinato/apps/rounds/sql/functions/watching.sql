-- What is measured of the jobs: the sources of the alerts (label, value) and the figures of rounds.

-- How long each job has not come to its end, in seconds.
create function rounds.job_silence() returns table (label text, value double precision) language sql volatile
set search_path = rounds, pg_catalog, pg_temp as $$
    select j.job, extract(epoch from ostinato.now() - coalesce(j.last_ended_at, j.known_since))::double precision from job_state j order by 1
$$;

-- Which share of the groups that each job handled of late failed.
create function rounds.failure_rates(period interval default '1 hour') returns table (label text, value double precision)
language sql volatile
set search_path = rounds, pg_catalog, pg_temp as $$
    select r.job, sum(r.failed)::double precision / greatest(sum(r.groups + r.failed), 1)
    from runs r where r.ended_at > ostinato.now() - period group by r.job order by 1
$$;

-- How late, in seconds, the worst opening of late was, those included that are due and still not open.
create function rounds.opening_lateness(period interval default '30 minutes') returns table (label text, value double precision)
language sql volatile
set search_path = rounds, pg_catalog, pg_temp as $$
    select 'open', greatest(
        0,
        (select max(r.worst_lateness) from runs r where r.job = 'open' and r.ended_at > ostinato.now() - period),
        (select max(extract(epoch from ostinato.now() - greatest(d.open_at, d.timed_at))) from (
            select r.open_at, r.timed_at from daily_rounds r where r.status = 'scheduled' and not r.stale and r.open_at <= ostinato.now()
            order by r.open_at, r.id limit 1000) d)::double precision)
$$;

-- The figures of the last `period`, by job: runs, groups, failures, how long a run took, how late the worst was, groups a minute of work.
create function rounds.figures(period interval default '1 hour')
returns table (job text, runs bigint, groups bigint, failed bigint, seconds double precision, worst_seconds double precision,
               worst_lateness double precision, groups_per_minute double precision, last_ended_at timestamptz) language sql volatile
set search_path = rounds, pg_catalog, pg_temp as $$
    select j.job, count(r.id), coalesce(sum(r.groups), 0), coalesce(sum(r.failed), 0),
           coalesce(extract(epoch from avg(r.ended_at - r.started_at)), 0)::double precision,
           coalesce(extract(epoch from max(r.ended_at - r.started_at)), 0)::double precision,
           coalesce(max(r.worst_lateness), 0),
           coalesce(60 * sum(r.groups) / nullif(extract(epoch from sum(r.ended_at - r.started_at)), 0), 0)::double precision, j.last_ended_at
    from job_state j left join runs r on r.job = j.job and r.ended_at > ostinato.now() - period
    group by j.job, j.last_ended_at order by array_position(array['create', 'open', 'close'], j.job)
$$;

-- How often which error was met, by job.
create function rounds.failures_by_type(period interval default '1 hour') returns table (job text, error text, count bigint)
language sql volatile
set search_path = rounds, pg_catalog, pg_temp as $$
    select f.job, split_part(f.error, ':', 1), count(*) from failures f where f.at > ostinato.now() - period group by 1, 2 order by 3 desc, 1, 2 limit 100
$$;

-- Notes the end of a run, and forgets what is older than `keep`.
create function rounds.note_run(job text, started_at timestamptz, groups integer, failed integer, worst_lateness double precision, keep interval)
returns void language plpgsql
set search_path = rounds, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
begin
    insert into runs (job, started_at, ended_at, groups, failed, worst_lateness)
    values (note_run.job, note_run.started_at, v_now, note_run.groups, note_run.failed, note_run.worst_lateness);
    update job_state j set last_ended_at = greatest(j.last_ended_at, v_now) where j.job = note_run.job;
    delete from runs r where r.job = note_run.job and r.ended_at < v_now - keep;
    delete from failures f where f.at < v_now - keep;
end
$$;
