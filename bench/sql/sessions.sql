select count(*) from pg_stat_activity where datname = %s
