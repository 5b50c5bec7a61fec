-- Claims all jobs for pgbench, each apart, as the worker does; jobs and claims get consecutive numbers.
with worker as materialized (
    select ostinato.register_worker('pgbench', '{default}', '{bench.write}', 3600) as id
)
select min(c.job_id), min(c.claim_id), max(c.job_id) - min(c.job_id) + 1, max(c.claim_id) - min(c.claim_id) + 1, count(*)
from worker w cross join lateral ostinato.claim_jobs(w.id, 'default', 1000000, apart => '{bench.write}') c
