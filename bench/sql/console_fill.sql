-- Jobs that ended, of 1,000 tenants, in the last two hours; one in a hundred failed once before.
-- %(first)s to %(last)s number them; ids count up, as those of the engine do.
with jobs as materialized (
    select ostinato_internal.first_id(now() - interval '2 hours' * (1 - n::double precision / %(all)s)) + n as id,
           now() - interval '2 hours' * (1 - n::double precision / %(all)s) as at, n
    from generate_series(%(first)s::bigint, %(last)s::bigint) n
), added as (
    insert into ostinato_data.job (id, created_at, priority, kind, queue, tenant_id, args, correlation_id)
    select id, at, 0, 'shop.kind' || n %% 20, 'queue' || n %% 5, 'tenant' || n %% 1000, json_build_object('order', n),
           case when n %% 10 = 0 then 'order-' || n / 10 end
    from jobs
)
insert into ostinato_data.outcome (job_id, finished_at, attempt, duration_ms, outcome, error)
select id, at + interval '1 second', 1, 12, 'failed',
       '{"type": "builtins.ConnectionError", "message": "no answer"}'::json
from jobs where n %% 100 = 0
union all
select id, at + interval '1 second', case when n %% 100 = 0 then 2 else 1 end, 12, 'done', null from jobs;
