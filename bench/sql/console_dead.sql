-- Dead letters of fifty causes, for jobs that there are.
insert into ostinato_data.dead_letter (job_id, attempt, died_at, kind, queue, tenant_id, reason, signature, error)
select j.id, 1, now(), j.kind, j.queue, j.tenant_id, 'permanent', 'builtins.ValueError: cause ' || j.id %% 50,
       json_build_object('type', 'builtins.ValueError', 'message', 'cause ' || j.id %% 50)
from ostinato_data.job j order by j.id limit %(count)s;
