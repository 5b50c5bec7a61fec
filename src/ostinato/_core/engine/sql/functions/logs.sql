-- Logs: append-only tables with an id from ostinato.new_id, in weekly partitions by that id, as job and outcome are. A
-- log has no rows that outlive their week one by one: a week is dropped as a whole, once it is past retention and
-- nobody needs it.
--
-- A parent is made with `partition by range (<id>)` and a default partition `<parent>_default`. Never in the way of
-- work: a lock is waited for 300 ms at the most, once for each log, while those of other logs are held. So a query that
-- reads logs in another order waits for less than the second after which PostgreSQL calls it a deadlock. Lock order:
-- the parents by name, then their default partitions. Rows are moved only while the parent is closed to everybody, as
-- those of jobs (close_parent in upkeep.sql): a reader of events that missed some would go on behind them.

-- Returns the weeks of which a log has a partition.
create function ostinato_internal.log_weeks(parent text) returns setof integer language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select (to_date(right(c.relname, 8), 'YYYYMMDD') - date '2026-01-01') / 7
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where p.relnamespace = 'ostinato_data'::regnamespace and p.relname = $1 and c.relname ~ ('^' || $1 || '_\d{8}$')
    order by 1
$$;

-- Makes and drops the partitions of all logs; each concept that has one adds a line. The audit has a retention of its
-- own; null keeps it whole. Returns a row for each thing done or left.
create function ostinato.upkeep_logs(
    retention_days integer, weeks_ahead integer default 4, audit_days integer default null
)
returns table (action text, name text, reason text, rows bigint) language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare
    v_cutoff constant timestamptz := ostinato.now() - make_interval(days => retention_days);
begin
    if retention_days is null or least(retention_days, audit_days) < 1 or weeks_ahead is null
       or weeks_ahead not between 0 and 52 then
        raise exception using errcode = 'OS400',
            message = format('retention of %s days and %s weeks ahead', retention_days, weeks_ahead),
            detail = json_build_object('retention_days', retention_days, 'weeks_ahead', weeks_ahead),
            hint = 'Keep logs for a day or longer, and make 0 to 52 weeks ahead.';
    end if;
    if not pg_try_advisory_xact_lock(hashtextextended('ostinato.upkeep_logs', 0)) then
        return query select 'skipped', 'logs', 'another upkeep is at work', null::bigint;
        return;
    end if;
    return query select * from ostinato_internal.upkeep_log('metric_sample', 'id', v_cutoff, null, weeks_ahead);
    return query select * from ostinato_internal.upkeep_log('webhook_attempt', 'id', v_cutoff, null, weeks_ahead);
    return query select * from ostinato_internal.upkeep_events(v_cutoff, weeks_ahead);
    -- What became of an application's rows is asked for longer than what became of a job.
    return query select *
        from ostinato_internal.upkeep_log('transition', 'id', least(v_cutoff, ostinato.now() - interval '400 days'),
                                          null, weeks_ahead);
    return query select * from ostinato_internal.upkeep_log('schedule_fire', 'day_id', v_cutoff, null, weeks_ahead);
    return query select *
        from ostinato_internal.upkeep_log('audit_entry', 'id', coalesce(
            ostinato.now() - make_interval(days => audit_days), '2026-01-01 00:00:00+00'), null, weeks_ahead);
    perform ostinato_internal.prune_passes();
    perform ostinato_internal.prune_schedules(v_cutoff);
end
$$;

-- Makes the partitions of this week and the weeks ahead of a log, and drops those past retention whose ids are all
-- below `keep_from` (null: all may go). Returns a row for each thing done or left; what comes after a lock that was not
-- free is left to the next call.
create function ostinato_internal.upkeep_log(
    parent text, id text, cutoff timestamptz, keep_from bigint default null, weeks_ahead integer default 4
) returns table (action text, name text, reason text, rows bigint) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_this constant integer := ostinato.week_of(ostinato.now());
    v_week integer;
begin
    for v_week in
        select g from generate_series(v_this, v_this + weeks_ahead) g
        except select ostinato_internal.log_weeks(parent) order by 1
    loop
        return query select * from ostinato_internal.add_log_week(parent, id, v_week);
        if not v_week in (select ostinato_internal.log_weeks(parent)) then
            return;  -- its locks were not free, and somebody may wait for what we hold
        end if;
    end loop;
    for v_week in
        select w from ostinato_internal.log_weeks(parent) w
        where ostinato_internal.week_id(w + 1) <= ostinato_internal.first_id(cutoff) order by w
    loop
        if keep_from < ostinato_internal.week_id(v_week + 1) then
            return query select 'kept', ostinato_internal.week_name(parent, v_week), 'past retention, but still needed',
                null::bigint;
        else
            return query select * from ostinato_internal.drop_log_week(parent, v_week);
            if v_week in (select ostinato_internal.log_weeks(parent)) then
                return;
            end if;
        end if;
    end loop;
end
$$;

-- Makes the partition of a week of a log and moves what the default partition holds of it.
create function ostinato_internal.add_log_week(parent text, id text, week integer)
returns table (action text, name text, reason text, rows bigint)
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_name   constant text := ostinato_internal.week_name(parent, week);
    v_closed boolean;
    v_moved  bigint;
begin
    perform ostinato_internal.make_partition(parent, v_name);
    v_closed := ostinato_internal.close_parent(parent, id, week);
    execute format('lock table ostinato_data.%I in access exclusive mode', parent || '_default');
    perform set_config('ostinato.upkeep', 'on', true);  -- a log that lets nobody delete lets us move (0029_audit.sql)
    v_moved := ostinato_internal.fill_week(parent, id, week, v_closed);
    perform set_config('ostinato.upkeep', '', true);
    return query select 'created', v_name, case when v_moved > 0 then 'its rows were moved from the default partition'
        else 'new' end, v_moved;
exception when lock_not_available or deadlock_detected then
    return query select 'skipped', v_name, 'the locks were not free within 300 ms; the next call tries again',
        null::bigint;
end
$$;

-- Drops the partition of a week of a log.
create function ostinato_internal.drop_log_week(parent text, week integer)
returns table (action text, name text, reason text, rows bigint)
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_name constant text := ostinato_internal.week_name(parent, week);
begin
    if not ostinato_internal.is_archived(v_name) then
        return query select 'kept', v_name, 'past retention, but not archived as it is: ostinato archive run',
            null::bigint;
        return;
    end if;
    execute format('lock table only ostinato_data.%I in access exclusive mode', parent);
    execute format('alter table ostinato_data.%I detach partition ostinato_data.%I', parent, v_name);
    execute format('drop table ostinato_data.%I', v_name);
    return query select 'dropped', v_name, 'past retention', null::bigint;
exception when lock_not_available or deadlock_detected then
    return query select 'skipped', v_name, 'the locks were not free within 300 ms; the next call tries again',
        null::bigint;
end
$$;
