select exists (select from absurd.t_bench where state not in ('completed', 'failed', 'cancelled'))
