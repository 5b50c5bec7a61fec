select exists (select from pgqueuer where status in ('queued', 'picked'))
