select exists (select from graphile_worker._private_jobs)
