select exists (select from procrastinate_jobs where status in ('todo', 'doing'))
