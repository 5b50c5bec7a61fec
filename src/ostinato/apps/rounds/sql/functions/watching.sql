-- What is measured of the jobs: the sources of the alerts (label, value) and the figures of rounds.

-- Returns how long each job has not come to its end, in seconds.
create function rounds.job_silence() returns table (label text, value double precision) language sql stable
set search_path = rounds, pg_catalog, pg_temp as $$
    select j.job, extract(epoch from ostinato.now() - coalesce(j.last_ended_at, j.known_since))::double precision
    from job_state j order by 1
$$;

-- Returns the share of its work that each job failed at: of the groups that came up within `period`, those that failed
-- and did not before; of the groups of a day, those that still fail; of its runs, those that failed as a whole. A group
-- that fails again and again counts once, and of less than ten it is as if they were ten: one alone is no mass.
create function rounds.failure_rates(period interval default '1 hour')
returns table (label text, value double precision)
language sql stable set search_path = rounds, pg_catalog, pg_temp as $$
    with failing as (
        select f.job, count(*) as still, count(*) filter (where not exists (
            select from failures e where e.job = f.job and e.group_id = f.group_id
              and e.round_id is not distinct from f.round_id
              and e.at > ostinato.now() - 2 * period and e.at <= ostinato.now() - period)) as newly
        from (select distinct f.job, f.group_id, f.round_id from failures f where f.at > ostinato.now() - period) f
        group by f.job
    ), worked as (
        select r.job, sum(r.groups) as a_day,
               coalesce(sum(r.groups) filter (where r.ended_at > ostinato.now() - period), 0) as groups,
               count(*) filter (where r.ended_at > ostinato.now() - period and not r.mended) as runs,
               count(r.error) filter (where r.ended_at > ostinato.now() - period) as broken
        from runs r where r.ended_at > ostinato.now() - greatest(period, interval '1 day') group by r.job
    )
    select j.job, greatest(
        coalesce(f.newly, 0)::double precision / greatest(coalesce(w.groups, 0) + coalesce(f.newly, 0), 10),
        coalesce(f.still, 0)::double precision / greatest(coalesce(w.a_day, 0) + coalesce(f.still, 0), 10),
        coalesce(w.broken, 0)::double precision / greatest(coalesce(w.runs, 0), 10))
    from job_state j left join failing f on f.job = j.job left join worked w on w.job = j.job order by 1
$$;

-- Returns how late, in seconds, the worst recent opening was, those included that are due and still not open, or not
-- even timed again.
create function rounds.opening_lateness(period interval default '30 minutes')
returns table (label text, value double precision)
language sql stable set search_path = rounds, pg_catalog, pg_temp as $$
    select 'open', greatest(
        0,
        (select max(r.worst_lateness) from runs r where r.job = 'open' and r.ended_at > ostinato.now() - period),
        (select max(extract(epoch from (select ostinato.now()) - greatest(d.open_at, d.timed_at))) from (
            select r.open_at, r.timed_at from daily_rounds r where r.status = 'scheduled' and not r.stale
              and r.open_at <= (select ostinato.now())
            order by r.open_at, r.id limit 1000) d)::double precision,
        (select max(extract(epoch from ostinato.now() - greatest(r.open_at, r.timed_at))) from daily_rounds r
         where r.status = 'scheduled' and r.stale and r.open_at <= (select ostinato.now()))::double precision)
$$;

-- Returns the figures of the last `period`, by job: runs, groups, failures, how long a run took, how late the worst
-- was, groups a minute of work. Of all tenants together, as the owner: the API sees no tenant's rows.
create function rounds.figures(period interval default '1 hour')
returns table (
    job text, runs bigint, groups bigint, failed bigint, seconds double precision, worst_seconds double precision,
    worst_lateness double precision, groups_per_minute double precision, last_ended_at timestamptz
) language sql volatile security definer
set search_path = rounds, pg_catalog, pg_temp set row_security = on as $$
    select j.job, count(r.id) filter (where not r.mended), coalesce(sum(r.groups), 0), coalesce(sum(r.failed), 0),
           coalesce(extract(epoch from avg(r.ended_at - r.started_at) filter (where not r.mended)),
                    0)::double precision,
           coalesce(extract(epoch from max(r.ended_at - r.started_at) filter (where not r.mended)),
                    0)::double precision,
           coalesce(max(r.worst_lateness), 0),
           coalesce(60 * sum(r.groups) / nullif(extract(epoch from sum(r.ended_at - r.started_at)), 0),
                    0)::double precision, j.last_ended_at
    from job_state j left join runs r on r.job = j.job and r.ended_at > ostinato.now() - period
    group by j.job, j.last_ended_at order by array_position(array['create', 'open', 'close'], j.job)
$$;

-- Counts the errors that each job met: in a group, or in a run as a whole.
create function rounds.failures_by_type(period interval default '1 hour')
returns table (job text, error text, count bigint)
language sql volatile security definer set search_path = rounds, pg_catalog, pg_temp set row_security = on as $$
    select f.job, split_part(f.error, ':', 1), count(*) from (
        select f.job, f.error from failures f where f.at > ostinato.now() - period
        union all select r.job, r.error from runs r
        where r.error is not null and r.ended_at > ostinato.now() - period) f
    group by 1, 2 order by 3 desc, 1, 2 limit 100
$$;

-- Notes what a run did, and with what it failed, if it did; one that came to its end forgets what is older than `keep`.
-- A repair (`mended`) is no run: a job that only repairs is silent all the same.
create function rounds.note_run(
    job text, started_at timestamptz, groups integer, failed integer, worst_lateness double precision, keep interval,
    error text default null, mended boolean default false
) returns void language plpgsql
set search_path = rounds, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
begin
    insert into runs (job, started_at, ended_at, groups, failed, worst_lateness, error, mended)
    values (note_run.job, note_run.started_at, v_now, note_run.groups, note_run.failed, note_run.worst_lateness,
            note_run.error, note_run.mended);
    if note_run.error is not null or note_run.mended then
        return;
    end if;
    update job_state j set last_ended_at = greatest(j.last_ended_at, v_now) where j.job = note_run.job;
    delete from runs r where r.job = note_run.job and r.ended_at < v_now - keep;
    delete from failures f where f.at < v_now - keep;
end
$$;
