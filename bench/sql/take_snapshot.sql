select count(*) from pg_class
