-- The one clock of the engine, the ids made from it, and the contract between code and schema.

-- Returns the time. Always the database's, never a worker's. Only in a database that was made for tests
-- (use_test_clock) does a session with ostinato.clock = 'table' (or a timestamp) get a time that tests can move:
-- everywhere else the setting, which any role may set, changes nothing. A session without the setting pays for none of
-- it: this is inlined, and asks no table.
create function ostinato.now() returns timestamptz language sql volatile parallel safe as $$
    select case coalesce(pg_catalog.current_setting('ostinato.clock', true), '')
        when '' then pg_catalog.clock_timestamp() else ostinato_internal.fake_now() end
$$;

-- Returns the time of a session that asked for a fake one: 'table' reads test_clock, anything else is the time itself.
-- Without the row of test_clock the database was not made for tests, and the time is the real one. No worker and no
-- tenant may add that row.
create function ostinato_internal.fake_now() returns timestamptz language plpgsql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_clock text := current_setting('ostinato.clock');
    v_fake  timestamptz;
begin
    select case v_clock when 'table' then coalesce(c.frozen, clock_timestamp()) + c.shift else v_clock::timestamptz end
    into v_fake from test_clock c;
    return coalesce(v_fake, clock_timestamp());
end
$$;

-- Returns the real time, for what must not be dated at will: the audit.
create function ostinato_internal.real_clock() returns timestamptz language sql volatile parallel safe as $$
    select pg_catalog.clock_timestamp()
$$;

-- Returns the first id of a day: days since 2026-01-01 times 10^10. Ids stay below 2^53 (exact in JavaScript) for 2,400
-- years.
create function ostinato_internal.first_id(at timestamptz) returns bigint language sql immutable parallel safe as $$
    select greatest(0, (at at time zone 'UTC')::date - '2026-01-01'::date) * ostinato_internal.ids_of_a_day()
$$;

-- Returns a new id that grows with time: its day, then a sequence of up to 10^10 a day.
create function ostinato.new_id(at timestamptz default null) returns bigint language sql volatile as $$
    select ostinato_internal.first_id(coalesce(at, ostinato.now())) + pg_catalog.nextval('ostinato_data.job_id_seq')
$$;

-- Returns the contract this schema speaks, and the oldest that it still serves. A worker outside stops with exit code
-- 78.
create function ostinato.contract(out current integer, out oldest integer) language sql immutable as $$
    select 2, 2
$$;

-- Makes this a database for tests, as long as it is empty, and lets all new sessions take their time from
-- test_clock. Only for a superuser.
create function ostinato.use_test_clock() returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if not exists (select from test_clock) and exists (select from job) then
        raise exception using errcode = 'OS409',
            message = format('database %I holds jobs: it cannot become one for tests', current_database()),
            detail = json_build_object('database', current_database()),
            hint = 'Make a new one: ostinato.testing.engine() does.';
    end if;
    insert into test_clock (frozen) values (null) on conflict do nothing;
    execute format('alter database %I set ostinato.clock = %L', current_database(), 'table');
end
$$;

-- Stops the clock of a database for tests at a time (null: lets it run), plus a shift.
create function ostinato.set_test_clock(frozen timestamptz, shift interval) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    update test_clock set frozen = $1, shift = $2;
    perform ostinato_internal.refuse_real_clock() where not found;
end
$$;

-- Moves the clock of a database for tests.
create function ostinato.move_test_clock(by interval) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    update test_clock set shift = test_clock.shift + $1;
    perform ostinato_internal.refuse_real_clock() where not found;
end
$$;

-- Says that the clock of this database is the real one.
create function ostinato_internal.refuse_real_clock() returns void language plpgsql as $$
begin
    raise exception using errcode = 'OS409',
        message = format('database %I was not made for tests: its clock cannot be moved', current_database()),
        detail = json_build_object('database', current_database()),
        hint = 'Make one for tests: ostinato.testing.engine() does.';
end
$$;

-- Returns the seconds until the next job of these kinds runs that waits for its time; null when none does, and 0 while
-- polls still cancel children. The deadline of a wait, for an event or for children, counts only with `timeouts`.
create function ostinato.next_time(kinds text[], timeouts boolean default false) returns double precision
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select case when exists (select from job_group g where g.state = 'cancelling') then 0
                else extract(epoch from min(s.run_at) - ostinato.now()) end
    from scheduled s
    where s.kind = any ($1) and s.run_at < ostinato.never() and ($2 or s.reason <> 'event')
$$;

-- Returns the jobs of these kinds that wait for an event, or for their children.
create function ostinato.open_waits(kinds text[])
returns table (job_id bigint, kind text, event text, key text, deadline timestamptz) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s.job_id, s.kind, w.event, w.key, w.deadline from scheduled s join job_wait w on w.job_id = s.job_id
    where s.kind = any ($1) and s.reason = 'event' order by s.job_id
$$;
