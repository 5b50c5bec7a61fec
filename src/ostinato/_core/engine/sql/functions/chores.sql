-- Chores: what the background services of a worker have to do. Polls ask for it, so that a service that has nothing to
-- do costs no query of its own.

-- Returns the services that have something to do, and in how many seconds: one line for each concept that has a
-- service. Every poll of every worker asks it, so a line is an index probe.
create function ostinato_internal.chores() returns table (name text, due double precision) language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'ticker', extract(epoch from min(d.next_at) - ostinato.now())::double precision from schedule_due d
    having min(d.next_at) is not null
    union all select * from ostinato_internal.event_chores()
$$;
