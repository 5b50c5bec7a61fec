-- Outcomes of jobs that ended, spread evenly over %(days)s days, of 1,000 tenants; ids count up, as the engine's do.
with jobs as materialized (
    select ostinato_internal.first_id(now() - make_interval(days => %(days)s) * (1 - n::double precision / %(all)s)) + n as id,
           now() - make_interval(days => %(days)s) * (1 - n::double precision / %(all)s) as at, n
    from generate_series(%(first)s::bigint, %(last)s::bigint) n
), added as (
    insert into ostinato_data.job (id, created_at, priority, kind, queue, tenant_id, args)
    select id, at, 0, 'bench.noop', 'default', 'tenant' || n %% 1000, json_build_object('n', n) from jobs
)
insert into ostinato_data.outcome (job_id, finished_at, attempt, duration_ms, outcome)
select id, at, 1, 12, 'done' from jobs;
