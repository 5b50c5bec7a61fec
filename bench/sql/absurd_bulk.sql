select absurd.spawn_task(%s, %s, job) from unnest(%s::jsonb[]) as job
