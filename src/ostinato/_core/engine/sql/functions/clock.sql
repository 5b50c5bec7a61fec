-- The one clock of the engine, the ids made from it, and the contract between code and schema.

-- The time. Always the database's, never a worker's; a session with ostinato.clock = 'table' (or a timestamp)
-- gets a time that tests can move.
create function ostinato.now() returns timestamptz language sql volatile parallel safe as $$
    select case coalesce(pg_catalog.current_setting('ostinato.clock', true), '')
        when '' then pg_catalog.clock_timestamp() else ostinato_internal.fake_now() end
$$;

-- The time of a session that asked for a fake one: 'table' reads test_clock, anything else is the time itself.
create function ostinato_internal.fake_now() returns timestamptz language plpgsql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_clock text := current_setting('ostinato.clock');
begin
    if v_clock <> 'table' then
        return v_clock::timestamptz;
    end if;
    return (select coalesce(c.frozen, clock_timestamp()) + c.shift from test_clock c);
end
$$;

-- The real time, for what must not be dated at will: the audit.
create function ostinato_internal.real_clock() returns timestamptz language sql volatile parallel safe as $$
    select pg_catalog.clock_timestamp()
$$;

-- The first id of a day: days since 2026-01-01 times 10^10. Ids stay below 2^53 (exact in JavaScript) for 2,400 years.
create function ostinato_internal.first_id(at timestamptz) returns bigint language sql immutable parallel safe as $$
    select greatest(0, (at at time zone 'UTC')::date - '2026-01-01'::date) * 10000000000
$$;

-- A new id that grows with time: its day, then a sequence of up to 10^10 a day.
create function ostinato.new_id(at timestamptz default null) returns bigint language sql volatile as $$
    select ostinato_internal.first_id(coalesce(at, ostinato.now())) + pg_catalog.nextval('ostinato_data.job_id_seq')
$$;

-- The contract this schema speaks, and the oldest that it still serves. A worker outside stops with exit code 78.
create function ostinato.contract(out current integer, out oldest integer) language sql immutable as $$
    select 2, 2
$$;

-- For tests: makes all new sessions of this database take their time from test_clock. Only for a superuser.
create function ostinato.use_test_clock() returns void language plpgsql as $$
begin
    execute pg_catalog.format('alter database %I set ostinato.clock = %L', pg_catalog.current_database(), 'table');
end
$$;

-- For tests: stops the clock at a time (null: lets it run), plus a shift.
create function ostinato.set_test_clock(frozen timestamptz, shift interval) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    update test_clock set frozen = $1, shift = $2
$$;

-- For tests: moves the clock.
create function ostinato.move_test_clock(by interval) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    update test_clock set shift = test_clock.shift + $1
$$;

-- The kinds of jobs that wait for their time; those that wait for an event, without a deadline, have none.
create function ostinato.waiting_kinds() returns setof text language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select distinct s.kind from scheduled s where ostinato_internal.real_time(s.run_at) is not null
$$;
