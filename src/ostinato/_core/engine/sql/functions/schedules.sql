-- Schedules: rows that add jobs at their local times, each slot once however many tickers run.
--
-- A schedule that is neither paused nor over has a row in schedule_due with its next slot. Firing is one transaction
-- for a whole set: take due rows that nobody else has locked, add the jobs, write a fire per slot (its key is
-- schedule and slot, so that no slot is served twice whatever happens), move the rows on to their next slots. A ticker
-- that dies before the commit has done nothing.
--
-- After an outage, slots that are later than `grace_seconds` are missed, and `catch_up` says what becomes of them: all
-- (the newest `catch_up_most` fire), last (the newest fires, unless a timely one does), none. Slots older than
-- `catch_up_seconds` never fire. A pause is a decision and not an outage: what passes meanwhile does not fire, whatever
-- the policy.
--
-- A job gets its args and "scheduled_for": {"schedule", "key", "local", "zone", "at"}: the slot it serves.
--
-- Lock order: schedule, then schedule_due (ascending id), then what enqueue_jobs takes. Firing waits for no row of
-- ours.
-- What may go wrong: a rule that can no longer be computed (its zone is gone) pauses its schedule with an error, and
-- the others fire.

-- Returns how much later than its slot a schedule fires: the same for everybody who asks, spread evenly below
-- `seconds`.
create function ostinato_internal.jitter(schedule_id bigint, slot_at timestamptz, seconds double precision)
returns interval
language sql immutable as $$
    select make_interval(secs => $3
        * (hashint8extended((extract(epoch from $2) * 1000000)::bigint, $1) & 4294967295) / 4294967296.0)
$$;

-- Returns the first slot of a schedule after an instant, within its bounds, and when it is due; nulls when there is
-- none.
create function ostinato_internal.next_due(
    s ostinato_data.schedule, after timestamptz, out slot_local timestamp, out slot_at timestamptz,
    out next_at timestamptz
) language plpgsql stable as $$
declare
    -- Assigned, here and below, and not selected: this runs for every fire, and a query costs as much as the
    -- arithmetic.
    v_slot constant record := ostinato_internal.next_slot(s.recurrence,
                                                          greatest(after, s.starts_at - interval '1 microsecond'));
begin
    if v_slot.at >= s.ends_at then
        return;
    end if;
    slot_local := v_slot.local;
    slot_at := v_slot.at;
    next_at := case when s.jitter_seconds = 0 then slot_at
        else slot_at + ostinato_internal.jitter(s.id, slot_at, s.jitter_seconds) end;
end
$$;

-- Returns the slots of a schedule that are due, oldest first, from the one that waits on: all of them, or at least the
-- `most` newest.
create function ostinato_internal.due_slots(
    s ostinato_data.schedule, first_local timestamp, first_at timestamptz, now timestamptz, most integer
) returns table (slot_local timestamp, slot_at timestamptz, next_at timestamptz) language plpgsql stable as $$
declare
    v_window interval;
    v_from   timestamptz;
    v_due    record;
    v_locals timestamp[];
    v_ats    timestamptz[];
    v_nexts  timestamptz[];
begin
    -- Not from the first on: a rule that comes round every minute may have been waiting for a year.
    foreach v_window in array array['1 hour', '1 day', '31 days', '366 days', '100 years']::interval[] loop
        v_from := greatest(first_at, now - v_window);
        if v_from = first_at then
            v_locals := array[first_local];
            v_ats := array[first_at];
            v_nexts := array[first_at + ostinato_internal.jitter(s.id, first_at, s.jitter_seconds)];
        else
            v_locals := '{}';
            v_ats := '{}';
            v_nexts := '{}';
        end if;
        loop
            v_due := ostinato_internal.next_due(s, v_from);
            exit when v_due.next_at is null or v_due.next_at > now;
            v_locals := v_locals || v_due.slot_local;
            v_ats := v_ats || v_due.slot_at;
            v_nexts := v_nexts || v_due.next_at;
            v_from := v_due.slot_at;
        end loop;
        exit when cardinality(v_ats) >= most or v_ats[1] = first_at;
    end loop;
    return query select * from unnest(v_locals, v_ats, v_nexts);
end
$$;

-- Returns what is to be done about a schedule whose slot is due: the slots that fire, how many are missed, and the next
-- one.
create function ostinato_internal.plan_fires(
    s ostinato_data.schedule, first_local timestamp, first_at timestamptz, now timestamptz,
    out locals timestamp[], out ats timestamptz[], out missed integer,
    out next_local timestamp, out next_slot timestamptz, out next_at timestamptz
) language plpgsql stable as $$
declare
    v_timely constant timestamptz := now - make_interval(secs => s.grace_seconds);
    v_oldest constant timestamptz := coalesce(now - make_interval(secs => s.catch_up_seconds), '-infinity');
    v_last   timestamptz := first_at;
    v_next   record := ostinato_internal.next_due(s, first_at);
begin
    if v_next.next_at is null or v_next.next_at > now then  -- as nearly always: one slot is due
        if first_at >= v_timely or (s.catch_up <> 'none' and first_at >= v_oldest)
           or first_at + ostinato_internal.jitter(s.id, first_at, s.jitter_seconds) >= v_timely then
            locals := array[first_local];
            ats := array[first_at];
            missed := 0;
        else
            locals := '{}';
            ats := '{}';
            missed := 1;
        end if;
        next_local := v_next.slot_local;
        next_slot := v_next.slot_at;
        next_at := v_next.next_at;
        return;
    end if;
    with due as (
        select d.slot_local, d.slot_at, d.next_at >= v_timely as timely
        from ostinato_internal.due_slots(
            s, first_local, first_at, now, ostinato_internal.most_catch_up()) d  -- the newest, which are counted
    ), ranked as (
        select d.*, row_number() over (partition by d.timely order by d.slot_at desc) as place,
               bool_or(d.timely) over () as any_timely from due d
    ), chosen as (
        select r.*, r.timely or (r.slot_at >= v_oldest and case s.catch_up
            when 'all' then r.place <= s.catch_up_most
            when 'last' then r.place = 1 and not r.any_timely else false end) as fires
        from ranked r
    )
    select coalesce(array_agg(c.slot_local order by c.slot_at) filter (where c.fires), '{}'),
           coalesce(array_agg(c.slot_at order by c.slot_at) filter (where c.fires), '{}'),
           count(*) filter (where not c.fires), max(c.slot_at)
    into locals, ats, missed, v_last from chosen c;
    v_next := ostinato_internal.next_due(s, v_last);
    next_local := v_next.slot_local;
    next_slot := v_next.slot_at;
    next_at := v_next.next_at;
end
$$;

-- Returns an array as enqueue_jobs likes it: one value, when all are the same.
create function ostinato_internal.one_for_all(anyarray) returns anyarray language sql immutable as $$
    select case when $1 = array_fill($1[1], array[cardinality($1)]) then $1[:1] else $1 end
$$;

-- Returns the args of a schedule with the slot that the job serves.
create function ostinato_internal.with_slot(s ostinato_data.schedule, slot_local timestamp, slot_at timestamptz)
returns text
language sql stable as $$
    select case when s.args::text ~ '^\s*\{\s*\}\s*$' then '{' else left(rtrim(s.args::text, e' \t\r\n'), -1) || ',' end
        || '"scheduled_for":' || json_build_object('schedule', s.name, 'key', s.key, 'local', slot_local,
                                                   'zone', (s.recurrence).zone,
            'at', (to_json(slot_at at time zone 'UTC') #>> '{}') || 'Z') || '}'
$$;

-- Fires what is due, at most `most` schedules, oldest first: adds the jobs and moves the schedules on. `queues` are
-- those to ring after the commit, `lateness` is in seconds, one for each fire, and `next_due` in seconds from now.
-- After a long outage a schedule may have a thousand slots to go through: when a second is over, the rest is left to
-- the next call (`undone`).
create function ostinato.fire_schedules(
    most integer default 1000, out looked integer, out undone integer, out fired integer, out missed integer,
    out broken integer, out queues text[], out lateness double precision[], out next_due double precision
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off as $$
declare
    v_now  constant timestamptz := ostinato.now();
    v_part bigint[];
    v_late bigint[];
    v_set  record;
begin
    select coalesce(array_agg(d.schedule_id) filter (where d.slot_at > v_now - interval '1 hour'), '{}'),
           coalesce(array_agg(d.schedule_id) filter (where d.slot_at <= v_now - interval '1 hour'), '{}')
    into v_part, v_late
    from (select d.schedule_id, d.slot_at from schedule_due d where d.next_at <= v_now order by d.next_at limit most
          for update skip locked) d;
    looked := cardinality(v_part) + cardinality(v_late);
    fired := 0;
    missed := 0;
    broken := 0;
    queues := '{}';
    lateness := '{}';
    while v_part <> '{}' or v_late <> '{}' loop
        if v_part = '{}' then
            v_part := v_late[:20];
            v_late := v_late[21:];
        end if;
        v_set := ostinato_internal.fire_safely(v_part, v_now);
        v_part := '{}';
        fired := fired + v_set.fired;
        missed := missed + v_set.missed;
        broken := broken + v_set.broken;
        queues := array(select unnest(queues) union select unnest(v_set.queues));
        lateness := lateness || v_set.lateness;
        exit when ostinato.now() > v_now + interval '1 second';
    end loop;
    undone := cardinality(v_late);
    next_due := (select extract(epoch from min(d.next_at) - v_now) from schedule_due d where d.next_at > v_now);
end
$$;

-- Fires some schedules whose due rows the caller has locked; those that cannot be computed are paused and say why.
create function ostinato_internal.fire_safely(
    ids bigint[], now timestamptz, out fired integer, out missed integer, out broken integer, out queues text[],
    out lateness double precision[]
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_set record;
    v_id  bigint;
begin
    broken := 0;
    v_set := ostinato_internal.fire_set(ids, now);
    fired := v_set.fired;
    missed := v_set.missed;
    queues := v_set.queues;
    lateness := v_set.lateness;
exception when others then
    if left(sqlstate, 2) in ('08', '25', '40', '53', '55', '57', '58', 'XX') or sqlstate = '42501' then
        raise;  -- not the doing of a schedule, but of the server, or of a caller who may not fire
    end if;
    fired := 0;
    missed := 0;
    queues := '{}';
    lateness := '{}';
    if cardinality(ids) = 1 then
        -- Who writes a schedule locks it before its due row, and we have that: not to wait here, but to try again
        -- later.
        if exists (select from schedule s where s.id = ids[1] for update skip locked) then
            update schedule s set paused = true, error = sqlerrm where s.id = ids[1];
            delete from schedule_due d where d.schedule_id = ids[1];
            broken := 1;
        end if;
        return;
    end if;
    foreach v_id in array ids loop  -- slowly: all but those
        v_set := ostinato_internal.fire_safely(array[v_id], now);
        fired := fired + v_set.fired;
        missed := missed + v_set.missed;
        broken := broken + v_set.broken;
        queues := queues || v_set.queues;
        lateness := lateness || v_set.lateness;
    end loop;
end
$$;

-- Fires some schedules whose due rows the caller has locked, or fails as a whole.
create function ostinato_internal.fire_set(
    ids bigint[], now timestamptz, out fired integer, out missed integer, out queues text[],
    out lateness double precision[]
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_fires ostinato_data.schedule_fire[];
    v_dues  ostinato_data.schedule_due[];
    v_kinds text[];
    v_args  text[];
    v_want  text[];
    v_ranks integer[];
    v_jobs  bigint[];
    v_at    timestamptz;
begin
    with planned as materialized (
        select s as schedule, d.missed as before, p.*
        from unnest(ids) i join schedule_due d on d.schedule_id = i join schedule s on s.id = i
        cross join lateral ostinato_internal.plan_fires(s, d.slot_local, d.slot_at, fire_set.now) p
    ), slots as (
        select p.schedule as s, u.local, u.at, case when u.n = 1 then p.before + p.missed else 0 end as missed
        from planned p cross join lateral unnest(p.locals, p.ats) with ordinality u (local, at, n)
        where not exists (select from schedule_fire f where f.schedule_id = (p.schedule).id and f.slot_at = u.at
                            and f.day_id = ostinato_internal.first_id(u.at)) order by u.at
    )
    select coalesce(f.fires, '{}'), d.dues, d.missed, coalesce(f.kinds, '{}'), coalesce(f.args, '{}'),
           coalesce(f.queues, '{}'), coalesce(f.priorities, '{}')
    into v_fires, v_dues, missed, v_kinds, v_args, v_want, v_ranks
    from (
        select array_agg(row((p.schedule).id, p.next_at, p.next_slot, p.next_local,
                             case when p.ats = '{}' then p.before + p.missed else 0 end,
                             (p.schedule).tenant_id)::ostinato_data.schedule_due) as dues,
                             coalesce(sum(p.missed), 0) as missed
        from planned p
    ) d cross join (
        select array_agg(row(ostinato_internal.first_id(l.at), (l.s).id, l.at, l.local, null,
                             extract(epoch from l.at + ostinato_internal.jitter((l.s).id, l.at, (l.s).jitter_seconds)),
                             0, l.missed, (l.s).tenant_id,
                             ((l.s).recurrence).zone)::ostinato_data.schedule_fire) as fires,
               array_agg((l.s).kind) as kinds, array_agg(ostinato_internal.with_slot(l.s, l.local, l.at)) as args,
               array_agg(coalesce((l.s).queue, k.queue, 'default')) as queues,
               array_agg((l.s).priority::integer) as priorities
        from slots l left join kind k on k.name = (l.s).kind
    ) f;
    v_jobs := array(select e from ostinato_internal.enqueue_by_itself(
        ostinato_internal.one_for_all(v_kinds), v_args, ostinato_internal.one_for_all(v_want),
        ostinato_internal.one_for_all(v_ranks),
        tenant_ids => ostinato_internal.one_for_all(array(select f.tenant_id from unnest(v_fires) f)),
        correlation_ids => array(select format('schedule-%s-%s', f.schedule_id, extract(epoch from f.slot_at)::bigint)
                                 from unnest(v_fires) f)) e);
    v_at := ostinato.now();  -- as late as possible: the lateness includes the work of this set
    insert into schedule_fire (day_id, schedule_id, slot_at, slot_local, fired_at, lateness, job_id, missed, tenant_id,
                               zone)
    select f.day_id, f.schedule_id, f.slot_at, f.slot_local, v_at, extract(epoch from v_at) - f.lateness, j, f.missed,
           f.tenant_id, f.zone
    from unnest(v_fires, v_jobs) f (day_id, schedule_id, slot_at, slot_local, fired_at, lateness, job_id, missed,
                                    tenant_id, zone, j);
    update schedule_due d set next_at = n.next_at, slot_at = n.slot_at, slot_local = n.slot_local, missed = n.missed
    from unnest(v_dues) n where d.schedule_id = n.schedule_id and n.next_at is not null;
    delete from schedule_due d using unnest(v_dues) n where d.schedule_id = n.schedule_id and n.next_at is null;
    fired := cardinality(v_jobs);
    queues := array(select distinct w from unnest(v_want) w);
    lateness := array(select extract(epoch from v_at) - f.lateness from unnest(v_fires) f);
end
$$;

-- Writes schedules, found by tenant and name: a JSON array of objects with the parameters of upsert_schedule. What is
-- left out is set to its default. One whose times did not change keeps its next slot, a slot that is overdue included;
-- one whose rule, zone, policies, bounds or jitter changed goes on from now. A pause stays; one because of an error
-- ends.
create function ostinato.upsert_schedules(schedules anycompatible)
returns table (id bigint, tenant_id text, name text, next_at timestamptz, slot_local timestamp) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now     constant timestamptz := ostinato.now();
    v_written ostinato_data.schedule[];
    v_names   text[];
    v_tenants text[];
    v_timed   bigint[];
    v_count   bigint;
begin
    v_written := ostinato_internal.read_schedules(schedules::json, v_now);
    v_names := array(select w.name from unnest(v_written) w);
    v_tenants := array(select w.tenant_id from unnest(v_written) w);
    insert into schedule as s (created_at, timed_at, starts_at, ends_at, catch_up_seconds, grace_seconds,
                               jitter_seconds, catch_up_most, priority, catch_up, tenant_id, name, key, owner, kind,
                               queue, args, cron, recurrence)
    select w.created_at, w.timed_at, w.starts_at, w.ends_at, w.catch_up_seconds, w.grace_seconds, w.jitter_seconds,
           w.catch_up_most, w.priority, w.catch_up, w.tenant_id, w.name, w.key, w.owner, w.kind, w.queue, w.args,
           w.cron, w.recurrence
    from unnest(v_written) w order by w.tenant_id, w.name
    on conflict (tenant_id, name) do update set
        timed_at = case when s.error is not null or (s.recurrence, s.starts_at, s.ends_at, s.jitter_seconds)
            is distinct from (excluded.recurrence, excluded.starts_at, excluded.ends_at,
                              excluded.jitter_seconds) then excluded.timed_at else s.timed_at end,
        starts_at = excluded.starts_at, ends_at = excluded.ends_at, catch_up_seconds = excluded.catch_up_seconds,
        grace_seconds = excluded.grace_seconds, jitter_seconds = excluded.jitter_seconds,
        catch_up_most = excluded.catch_up_most, priority = excluded.priority, catch_up = excluded.catch_up,
        key = excluded.key, owner = excluded.owner, kind = excluded.kind, queue = excluded.queue, args = excluded.args,
        cron = excluded.cron, recurrence = excluded.recurrence, paused = s.paused and s.error is null, error = null
    where s.error is not null
       or (s.recurrence, s.starts_at, s.ends_at, s.catch_up_seconds, s.grace_seconds, s.jitter_seconds, s.catch_up_most,
           s.priority, s.catch_up, s.key, s.owner, s.kind, s.queue, s.args::text, s.cron) is distinct from
          (excluded.recurrence, excluded.starts_at, excluded.ends_at, excluded.catch_up_seconds, excluded.grace_seconds,
           excluded.jitter_seconds, excluded.catch_up_most, excluded.priority, excluded.catch_up, excluded.key,
           excluded.owner, excluded.kind, excluded.queue, excluded.args::text, excluded.cron);
    get diagnostics v_count = row_count;
    v_timed := array(
        select s.id from unnest(v_tenants, v_names) w (tenant_id, name) join schedule s using (tenant_id, name)
        where s.timed_at = v_now);
    perform ostinato_internal.retime_schedules(v_timed, v_now);
    perform ostinato_internal.check_timed(v_timed);
    if v_count > 0 then
        perform ostinato_internal.record(
            'set', 'schedule', case when cardinality(v_names) = 1 then v_names[1] end,
            case when v_tenants[1] = all (v_tenants) then v_tenants[1] end, count => v_count,
            detail => json_build_object('names', v_names[1:100], 'kinds', array(
                select distinct w.kind from unnest(v_written) w)));
    end if;
    return query
    select s.id, s.tenant_id, s.name, d.next_at, d.slot_local
    from unnest(v_tenants, v_names) with ordinality w (tenant_id, name, n) join schedule s using (tenant_id, name)
    left join schedule_due d on d.schedule_id = s.id order by w.n;
end
$$;

-- Returns the rows that upsert_schedules writes, checked.
create function ostinato_internal.read_schedules(schedules json, now timestamptz) returns ostinato_data.schedule[]
language plpgsql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_read ostinato_data.schedule[];
    v_odd  text;
begin
    select min(k) into v_odd from json_array_elements(schedules) o cross join lateral json_object_keys(o) k
    where not k = any ('{name,kind,args,cron,at_time,weekdays,at,zone,gap,overlap,key,owner,queue,priority,catch_up,'
                       'catch_up_most,catch_up_seconds,grace_seconds,jitter_seconds,starts_at,ends_at,tenant_id}');
    if v_odd is not null then
        raise exception using errcode = 'OS400', message = format('a schedule has no %L', v_odd),
            detail = json_build_object('field', v_odd),
            hint = 'The fields of a schedule are the parameters of ostinato.upsert_schedule.';
    end if;
    perform ostinato_internal.check_zone(z.zone)
        from (select distinct coalesce(o ->> 'zone', 'UTC') as zone from json_array_elements(schedules) o) z;
    select array_agg(ostinato_internal.check_schedule(row(
        null, read_schedules.now, read_schedules.now, g.starts_at, g.ends_at, g.catch_up_seconds,
        coalesce(g.grace_seconds, 60), coalesce(g.jitter_seconds, 0), coalesce(g.catch_up_most, 100), g.priority, false,
        coalesce(g.catch_up, 'last'), ostinato.tenant(g.tenant_id), g.name, g.key, g.owner, g.kind, g.queue,
        coalesce(g.args, '{}'), g.cron,
        ostinato_internal.make_rule(g.cron, g.at_time, g.weekdays, g.at, g.zone, g.gap, g.overlap),
        null)::ostinato_data.schedule))
    into v_read
    from json_to_recordset(schedules) g (
        name text, kind text, args json, cron text, at_time text, weekdays text[], at text, zone text, gap text,
        overlap text, key text, owner text, queue text, priority smallint, catch_up text, catch_up_most integer,
        catch_up_seconds double precision, grace_seconds double precision, jitter_seconds double precision,
        starts_at timestamptz, ends_at timestamptz, tenant_id text);
    select min(w.name) into v_odd from (select w.name from unnest(v_read) w group by w.tenant_id, w.name
                                        having count(*) > 1) w;
    if v_odd is not null then
        raise exception using errcode = 'OS400', message = format('schedule %L is given twice', v_odd),
            detail = json_build_object('name', v_odd), hint = 'A name belongs to one schedule of a tenant.';
    end if;
    return coalesce(v_read, '{}');
exception when data_exception then
    raise exception using errcode = 'OS400', message = format('a schedule cannot be read: %s', sqlerrm),
        detail = json_build_object('error', sqlerrm),
        hint = 'Give a JSON array of objects with the parameters of ostinato.upsert_schedule.';
end
$$;

-- Refuses a schedule that cannot be kept or could not be fired; returns it.
create function ostinato_internal.check_schedule(s ostinato_data.schedule) returns ostinato_data.schedule
language plpgsql stable as $$
begin
    perform ostinato_internal.check_name('schedule', s.name), ostinato_internal.check_name('kind', s.kind),
            ostinato_internal.check_name('tenant_id', s.tenant_id),
            ostinato_internal.check_name('queue', coalesce(s.queue, 'default')),
            ostinato_internal.check_name('key', coalesce(s.key, '-')),
            ostinato_internal.check_name('owner', coalesce(s.owner, '-')),
            ostinato_internal.check_args(s.kind, s.args::text);
    if s.catch_up not in ('all', 'last', 'none') or s.catch_up_most not between 1 and ostinato_internal.most_catch_up()
       or not (s.catch_up_seconds is null or s.catch_up_seconds between 0.001 and 1e9)
       or not s.grace_seconds between 0.001 and 1e9 or not s.jitter_seconds between 0 and 86400 then
        raise exception using errcode = 'OS400', message = format(
                'schedule %L: catch_up %L, catch_up_most %s, catch_up_seconds %s, grace_seconds %s or jitter_seconds '
                '%s is out of range', s.name, s.catch_up, s.catch_up_most, s.catch_up_seconds, s.grace_seconds,
                s.jitter_seconds),
            detail = json_build_object('schedule', s.name, 'catch_up', s.catch_up, 'catch_up_most', s.catch_up_most,
                'catch_up_seconds', s.catch_up_seconds, 'grace_seconds', s.grace_seconds, 'jitter_seconds',
                s.jitter_seconds),
            hint = 'catch_up is all, last or none; catch_up_most 1 to 1000; seconds are positive; jitter is a day at '
                   'the most.';
    elsif s.starts_at >= s.ends_at or not isfinite(s.starts_at) or not isfinite(s.ends_at) then
        raise exception using errcode = 'OS400',
            message = format('schedule %L starts at %s and ends at %s', s.name, s.starts_at, s.ends_at),
            detail = json_build_object('schedule', s.name, 'starts_at', s.starts_at, 'ends_at', s.ends_at),
            hint = 'It starts before it ends; leave a bound out for none.';
    elsif s.args::jsonb ? 'scheduled_for' or octet_length(s.args::text) > ostinato_internal.most_schedule_bytes() then
        raise exception using errcode = 'OS400',
            message = format('schedule %L: its args have a scheduled_for or are longer than 260,000 bytes', s.name),
            detail = json_build_object('schedule', s.name, 'bytes', octet_length(s.args::text)),
            hint = 'Firing adds scheduled_for, and needs room for it.';
    elsif exists (select from ostinato_data.kind k join json_each_text(s.args) a on a.key = any (k.secret_args)
                  where k.name = s.kind and a.value is not null) then
        raise exception using errcode = 'OS400',
            message = format('schedule %L: %s has secret arguments, and a schedule keeps no secrets', s.name, s.kind),
            detail = json_build_object('schedule', s.name, 'kind', s.kind),
            hint = 'Let the handler read the secret from its settings or from a sealed column.';
    end if;
    return s;
end
$$;

-- Sets the next slots of schedules to those after an instant. Returns how many schedules have another next slot now.
create function ostinato_internal.retime_schedules(ids bigint[], after timestamptz) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_changed integer;
begin
    with timed as (
        select s.id, s.tenant_id, n.* from unnest(ids) i join schedule s on s.id = i
        cross join lateral ostinato_internal.next_due(s, after) n
        where not s.paused
    ), gone as (
        delete from schedule_due d using timed t where d.schedule_id = t.id and t.next_at is null
    )
    insert into schedule_due as d (schedule_id, next_at, slot_at, slot_local, tenant_id)
    select t.id, t.next_at, t.slot_at, t.slot_local, t.tenant_id from timed t where t.next_at is not null order by t.id
    on conflict (schedule_id) do update set
        next_at = excluded.next_at, slot_at = excluded.slot_at, slot_local = excluded.slot_local, missed = 0
    where (d.slot_at, d.next_at, d.slot_local) is distinct from (excluded.slot_at, excluded.next_at,
                                                                 excluded.slot_local);
    get diagnostics v_changed = row_count;
    return v_changed;
end
$$;

-- Refuses schedules that are to run but have no slot to come.
create function ostinato_internal.check_timed(ids bigint[]) returns void language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_never constant text := (
        select min(s.name) from unnest(ids) i join schedule s on s.id = i
        where not s.paused and not exists (select from schedule_due d where d.schedule_id = s.id));
begin
    if v_never is not null then
        raise exception using errcode = 'OS400', message = format('schedule %L would never fire', v_never),
            detail = json_build_object('schedule', v_never),
            hint = 'Its time is past, falls into a gap that it skips, or lies outside its bounds.';
    end if;
end
$$;

-- Writes one schedule, found by tenant and name, and returns its id: a cron text, or a time of the day (on all days or
-- some weekdays, such as {mon,fri}), or a single local time, in a zone.
create function ostinato.upsert_schedule(
    name text, kind text, args json default '{}', cron text default null, at_time time default null,
    weekdays text[] default null, at timestamp default null, zone text default 'UTC', gap text default null,
    overlap text default null, key text default null, owner text default null, queue text default null,
    priority integer default null, catch_up text default 'last', catch_up_most integer default 100,
    catch_up_seconds double precision default null, grace_seconds double precision default 60,
    jitter_seconds double precision default 0, starts_at timestamptz default null, ends_at timestamptz default null,
    tenant_id text default null
) returns bigint language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select u.id from ostinato.upsert_schedules(json_build_array(json_build_object(
        'name', $1, 'kind', $2, 'args', $3, 'cron', $4, 'at_time', $5, 'weekdays', $6, 'at', $7, 'zone', $8, 'gap', $9,
        'overlap', $10, 'key', $11, 'owner', $12, 'queue', $13, 'priority', $14, 'catch_up', $15, 'catch_up_most', $16,
        'catch_up_seconds', $17, 'grace_seconds', $18, 'jitter_seconds', $19, 'starts_at', $20, 'ends_at', $21,
        'tenant_id', $22))) u
$$;

-- Returns the id of a schedule, by its name; an error when there is none.
create function ostinato_internal.find_schedule(name text, tenant_id text default null) returns bigint
language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_tenant constant text := ostinato.tenant(find_schedule.tenant_id);
    v_id constant bigint := (select s.id from schedule s where s.tenant_id = v_tenant and s.name = find_schedule.name);
begin
    if v_id is null then
        raise exception using errcode = 'OS404',
            message = format('tenant %L has no schedule %L', v_tenant, find_schedule.name),
            detail = json_build_object('tenant_id', v_tenant, 'schedule', find_schedule.name),
            hint = 'See `ostinato schedules list`.';
    end if;
    return v_id;
end
$$;

-- Stops a schedule until it is resumed. What it added already goes on.
create function ostinato.pause_schedule(name text, tenant_id text default null) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_id constant bigint := ostinato_internal.find_schedule(pause_schedule.name, pause_schedule.tenant_id);
begin
    update schedule s set paused = true where s.id = v_id;
    delete from schedule_due d where d.schedule_id = v_id;
    perform ostinato_internal.record('pause', 'schedule', name, ostinato.tenant(tenant_id));
end
$$;

-- Lets a schedule go on, from its first slot after now: what passed meanwhile does not fire. Returns when it is due.
create function ostinato.resume_schedule(name text, tenant_id text default null) returns timestamptz language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_id constant bigint := ostinato_internal.find_schedule(resume_schedule.name, resume_schedule.tenant_id);
begin
    update schedule s set paused = false, error = null where s.id = v_id and s.paused;
    if found then
        perform ostinato_internal.retime_schedules(array[v_id], ostinato.now());
        perform ostinato_internal.check_timed(array[v_id]);
    end if;
    perform ostinato_internal.record('resume', 'schedule', name, ostinato.tenant(tenant_id));
    return (select d.next_at from schedule_due d where d.schedule_id = v_id);
end
$$;

-- Gives a schedule another rule, and leaves all else as it is. Returns when it is due next; null: paused, or over.
create function ostinato.move_schedule(
    name text, cron text, zone text default 'UTC', gap text default null, overlap text default null,
    tenant_id text default null
) returns timestamptz language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_id constant bigint := ostinato_internal.find_schedule(move_schedule.name, move_schedule.tenant_id);
begin
    return (
        select u.next_at from schedule s cross join lateral ostinato.upsert_schedules(json_build_array(
            json_build_object(
                'name', s.name, 'kind', s.kind, 'args', s.args, 'cron', move_schedule.cron, 'zone', move_schedule.zone,
                'gap', gap, 'overlap', overlap, 'key', s.key, 'owner', s.owner, 'queue', s.queue,
                'priority', s.priority, 'catch_up', s.catch_up, 'catch_up_most', s.catch_up_most,
                'catch_up_seconds', s.catch_up_seconds, 'grace_seconds', s.grace_seconds,
                'jitter_seconds', s.jitter_seconds, 'starts_at', s.starts_at, 'ends_at', s.ends_at,
                'tenant_id', s.tenant_id))) u
        where s.id = v_id);
end
$$;

-- Fires a schedule now, beside its slots, paused or not. Returns the job.
create function ostinato.run_schedule(name text, tenant_id text default null) returns bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_id  constant bigint := ostinato_internal.find_schedule(run_schedule.name, run_schedule.tenant_id);
    v_now constant timestamptz := ostinato.now();
    v_job bigint;
begin
    v_job := (ostinato_internal.fire_slots_of(v_id, array[v_now]))[1];
    perform ostinato_internal.record('run', 'schedule', name, ostinato.tenant(tenant_id), job_ids => array[v_job]);
    return v_job;
end
$$;

-- Fires the slots after `since`, up to `until` (null: now), that have not fired, oldest first: at most `most`, and none
-- from before its times were set. With `preview` it only lists them. Also while it is paused: that is a decision.
create function ostinato.catch_up_schedule(
    name text, since timestamptz, until timestamptz default null, tenant_id text default null,
    most integer default 100, preview boolean default false
) returns table (slot_local timestamp, slot_at timestamptz, job_id bigint) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_id    constant bigint := ostinato_internal.find_schedule(catch_up_schedule.name, catch_up_schedule.tenant_id);
    v_until constant timestamptz := least(coalesce(until, ostinato.now()), ostinato.now());
    v_rule  ostinato_data.schedule;
    v_slot  record;
    v_at    timestamptz;
    v_ats   timestamptz[] := '{}';
    v_jobs  bigint[];
begin
    perform ostinato_internal.page_size(most);
    select s.* into v_rule from schedule s where s.id = v_id;
    v_at := greatest(since, v_rule.timed_at, ostinato.now() - interval '366 days');
    for i in 1..ostinato_internal.most_slots() loop
        v_slot := ostinato_internal.next_due(v_rule, v_at);
        exit when v_slot.slot_at is null or v_slot.slot_at > v_until or cardinality(v_ats) >= most;
        v_at := v_slot.slot_at;
        continue when exists (select from schedule_fire f where f.schedule_id = v_id and f.slot_at = v_at
                                and f.day_id = ostinato_internal.first_id(v_at));
        v_ats := v_ats || v_at;
    end loop;
    if not preview then
        v_jobs := ostinato_internal.fire_slots_of(v_id, v_ats);
        perform ostinato_internal.record(
            'catch up', 'schedule', name, ostinato.tenant(tenant_id), job_ids => v_jobs, count => cardinality(v_ats),
            detail => json_build_object('since', since, 'until', v_until));
    end if;
    return query select a.at at time zone (v_rule.recurrence).zone, a.at, a.job
    from unnest(v_ats, v_jobs) a (at, job) order by a.at;
end
$$;

-- Fires slots of a schedule, with the rights of the caller, or for a tenant with those of the owner.
create function ostinato_internal.fire_slots_of(schedule_id bigint, ats timestamptz[]) returns bigint[]
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    return case when ostinato_internal.sees_all() then ostinato_internal.fire_slots(schedule_id, ats, null)
        else ostinato_internal.own_fire_slots(schedule_id, ats) end;
end
$$;

-- Fires slots of a schedule of the tenant. Its kind was checked when the schedule was written.
create function ostinato_internal.own_fire_slots(schedule_id bigint, ats timestamptz[]) returns bigint[]
language sql security definer set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato_internal.fire_slots($1, $2, ostinato_internal.own_tenant())
$$;

-- Adds a job and a fire for each slot, of a schedule of a tenant or of any (null). Returns the jobs.
create function ostinato_internal.fire_slots(schedule_id bigint, ats timestamptz[], of_tenant text) returns bigint[]
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    s      ostinato_data.schedule;
    v_now  constant timestamptz := ostinato.now();
    v_at   timestamptz;
    v_here timestamp;
    v_jobs bigint[] := '{}';
begin
    select c.* into s from schedule c
    where c.id = fire_slots.schedule_id and (of_tenant is null or c.tenant_id = of_tenant) for update;
    foreach v_at in array ats loop
        continue when s.id is null;
        v_here := v_at at time zone (s.recurrence).zone;
        v_jobs := v_jobs || ostinato.enqueue_job(
            s.kind, ostinato_internal.with_slot(s, v_here, v_at)::json, s.queue, s.priority, tenant_id => s.tenant_id,
            correlation_id => format('schedule-%s-%s', s.id, extract(epoch from v_at)::bigint));
        insert into schedule_fire (day_id, schedule_id, slot_at, slot_local, fired_at, lateness, job_id, missed,
                                   tenant_id, zone)
        values (ostinato_internal.first_id(v_at), s.id, v_at, v_here, v_now, extract(epoch from v_now - v_at),
                v_jobs[cardinality(v_jobs)], 0, s.tenant_id, (s.recurrence).zone)
        on conflict do nothing;
    end loop;
    return v_jobs;
end
$$;

-- Removes a schedule. Its jobs and fires stay.
create function ostinato.delete_schedule(name text, tenant_id text default null) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_id constant bigint := ostinato_internal.find_schedule(delete_schedule.name, delete_schedule.tenant_id);
begin
    delete from schedule s where s.id = v_id;
    delete from schedule_due d where d.schedule_id = v_id;
    perform ostinato_internal.record('delete', 'schedule', name, ostinato.tenant(tenant_id));
end
$$;

-- Computes the next slots again, of all schedules or those in some zones, and returns how many changed: after the rules
-- of zones changed (every session must have seen them: restart the server first), or after the clock had been wrong.
-- Slots that are due already stay, and so do schedules whose zone is gone: they say so when they fire.
create function ostinato.recompute_schedules(zones text[] default null) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_now     constant timestamptz := ostinato.now();
    v_changed integer := 0;
    v_zone    text;
begin
    for v_zone in select distinct (s.recurrence).zone from schedule s
    where zones is null or (s.recurrence).zone = any (zones) loop
        begin
            v_changed := v_changed + ostinato_internal.retime_schedules(array(
                select s.id from schedule s join schedule_due d on d.schedule_id = s.id
                where d.slot_at > v_now and (s.recurrence).zone = v_zone order by s.id), v_now);
        exception when invalid_parameter_value then
            continue;
        end;
    end loop;
    perform ostinato_internal.record('recompute', 'schedule', count => v_changed,
                                     filter => json_build_object('zones', zones));
    return v_changed;
end
$$;

-- Returns the next fires of a rule after an instant, in local time and in UTC. `note` says what is special about a day
-- on which the clock is moved.
create function ostinato_internal.next_slots(
    rule ostinato_data.recurrence, n integer default 5, after timestamptz default null
)
returns table (slot_local timestamp, slot_at timestamptz, utc_offset text, note text) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_slot record;
    v_at   timestamptz := coalesce(after, ostinato.now());
begin
    for i in 1..least(n, ostinato_internal.most_slots()) loop
        v_slot := ostinato_internal.next_slot(rule, v_at);
        exit when v_slot.at is null;
        v_at := v_slot.at;
        return query select v_slot.local, v_slot.at, ostinato_internal.offset_text(v_at, rule.zone),
            ostinato_internal.slot_note(v_slot.local, v_at, rule.zone);
    end loop;
end
$$;

-- Returns the next fires of a schedule that is not written yet; the parameters are those of upsert_schedule.
create function ostinato.preview_fires(
    cron text default null, at_time text default null, weekdays text[] default null, at text default null,
    zone text default 'UTC', gap text default null, overlap text default null, n integer default 5,
    after timestamptz default null
) returns table (slot_local timestamp, slot_at timestamptz, utc_offset text, note text) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_zone(zone);
    return query select *
        from ostinato_internal.next_slots(ostinato_internal.make_rule(cron, at_time, weekdays, at, zone, gap, overlap),
                                          n, after);
end
$$;

-- Returns the next fires of a schedule, with its bounds and jitter; none while it is paused.
create function ostinato.next_fires(
    name text, n integer default 5, after timestamptz default null, tenant_id text default null
) returns table (slot_local timestamp, slot_at timestamptz, due_at timestamptz, zone text, utc_offset text, note text)
language plpgsql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_id   constant bigint := ostinato_internal.find_schedule(next_fires.name, next_fires.tenant_id);
    v_rule ostinato_data.schedule;
    v_slot record;
    v_at   timestamptz := coalesce(after, ostinato.now());
begin
    select * into v_rule from schedule s where s.id = v_id and not s.paused;
    if v_rule.id is null then
        return;
    end if;
    for i in 1..least(n, ostinato_internal.most_slots()) loop
        v_slot := ostinato_internal.next_due(v_rule, v_at);
        exit when v_slot.slot_at is null;
        v_at := v_slot.slot_at;
        return query select v_slot.slot_local, v_slot.slot_at, v_slot.next_at, (v_rule.recurrence).zone,
            ostinato_internal.offset_text(v_at, (v_rule.recurrence).zone),
            ostinato_internal.slot_note(v_slot.slot_local, v_at, (v_rule.recurrence).zone);
    end loop;
end
$$;

-- Returns how far local time is ahead of UTC, as +01:00.
create function ostinato_internal.offset_text(at timestamptz, zone text) returns text language sql stable as $$
    select case when o < interval '0' then '-' else '+' end || to_char(greatest(o, -o), 'HH24:MI')
    from ostinato_internal.utc_offset($1, $2) o
$$;

-- Returns what is special about a slot when the clock is moved on its day; null on any other day.
create function ostinato_internal.slot_note(local timestamp, at timestamptz, zone text) returns text
language sql stable as $$
    select case
        when (at at time zone zone) <> local then format('gap: %s does not exist, %s instead',
                                                         to_char(local, 'HH24:MI'),
                                                         to_char(at at time zone zone, 'HH24:MI'))
        when cardinality(both_at) = 2 and at = both_at[1] then 'overlap: the first of two'
        when cardinality(both_at) = 2 then 'overlap: the second of two'
        when length <> interval '24 hours' then format('a day of %s h', trim_scale(extract(epoch from length) / 3600))
    end
    from ostinato_internal.local_instants(local, zone, 'shift', 'both') both_at,
         lateral (select ((local::date + 1)::timestamp at time zone zone)
                  - (local::date::timestamp at time zone zone)) d (length)
$$;

-- Lists schedules by tenant and name, those after (`after_tenant`, `after_name`): whose, for which entity, of which
-- owner.
create function ostinato.list_schedules(
    tenant_id text default null, key text default null, owner text default null, kind text default null,
    after_tenant text default '', after_name text default '', most integer default 50
) returns table (
    id bigint, tenant_id text, name text, key text, owner text, kind text, queue text, rule text, zone text,
    paused boolean, error text, next_at timestamptz, slot_local timestamp, missed integer
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s.id, s.tenant_id, s.name, s.key, s.owner, s.kind, s.queue, ostinato_internal.rule_text(s),
           (s.recurrence).zone, s.paused, s.error, d.next_at, d.slot_local, d.missed
    from schedule s left join schedule_due d on d.schedule_id = s.id
    where ($1 is null or s.tenant_id = $1) and ($2 is null or s.key = $2) and ($3 is null or s.owner = $3)
      and ($4 is null or s.kind = $4) and (s.tenant_id, s.name) > ($5, $6)
    order by s.tenant_id, s.name limit $7
$$;

-- Returns a rule in words.
create function ostinato_internal.rule_text(s ostinato_data.schedule) returns text language sql immutable as $$
    select case
        when s.cron is not null then s.cron
        when (s.recurrence).at is not null then 'once at ' || to_char((s.recurrence).at, 'YYYY-MM-DD HH24:MI:SS')
        else 'daily at ' || (s.recurrence).at_time || coalesce(' on ' || (
            select string_agg(('{mon,tue,wed,thu,fri,sat,sun}'::text[])[w], ', ' order by w)
            from unnest((s.recurrence).weekdays) w), '')
    end
$$;

-- Returns everything about one schedule.
create function ostinato.show_schedule(name text, tenant_id text default null)
returns table (
    id bigint, tenant_id text, name text, key text, owner text, kind text, queue text, priority integer, args json,
    rule text, zone text, gap text, overlap text, starts_at timestamptz, ends_at timestamptz, catch_up text,
    catch_up_most integer, catch_up_seconds double precision, grace_seconds double precision,
    jitter_seconds double precision, created_at timestamptz, timed_at timestamptz, paused boolean, error text,
    next_at timestamptz, slot_local timestamp, missed integer
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s.id, s.tenant_id, s.name, s.key, s.owner, s.kind, s.queue, s.priority,
           ostinato_internal.masked(ostinato_internal.masked_args(s.kind, s.args)), ostinato_internal.rule_text(s),
           (s.recurrence).zone, (s.recurrence).gap, (s.recurrence).overlap, s.starts_at,
           s.ends_at, s.catch_up, s.catch_up_most, s.catch_up_seconds, s.grace_seconds, s.jitter_seconds, s.created_at,
           s.timed_at, s.paused, s.error, d.next_at, d.slot_local, d.missed
    from schedule s left join schedule_due d on d.schedule_id = s.id
    where s.id = ostinato_internal.find_schedule($1, $2)
$$;

-- Returns the last fires of a schedule, newest first.
create function ostinato.list_fires(name text, tenant_id text default null, most integer default 20)
returns table (slot_local timestamp, slot_at timestamptz, zone text, fired_at timestamptz, lateness double precision,
    job_id bigint, missed integer)
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select f.slot_local, f.slot_at, f.zone, f.fired_at, f.lateness, f.job_id, f.missed
    from schedule_fire f where f.schedule_id = ostinato_internal.find_schedule($1, $2) order by f.slot_at desc limit $3
$$;

-- Returns the last fire of each of some schedules that have fired.
create function ostinato.last_fires(schedule_ids bigint[])
returns table (schedule_id bigint, slot_at timestamptz, fired_at timestamptz, lateness double precision, job_id bigint)
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s.id, f.slot_at, f.fired_at, f.lateness, f.job_id
    from unnest($1) s (id) cross join lateral (
        select f.slot_at, f.fired_at, f.lateness, f.job_id from schedule_fire f
        where f.schedule_id = s.id order by f.slot_at desc limit 1) f
$$;

-- Forgets what is past retention and no partition takes along: fires of slots that were old already when they were
-- served, and single times that are over. Returns how many rows.
create function ostinato_internal.prune_schedules(cutoff timestamptz) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_fires integer;
    v_rules integer;
begin
    delete from schedule_fire_default f where f.slot_at < cutoff;
    get diagnostics v_fires = row_count;
    delete from schedule s where (s.recurrence).at < cutoff at time zone 'UTC' - interval '1 day'
      and s.timed_at < cutoff
        and not s.paused and not exists (select from schedule_due d where d.schedule_id = s.id);
    get diagnostics v_rules = row_count;
    return v_fires + v_rules;
end
$$;

-- Returns the schedules whose next slots come first, of the tenant that asks or of all (null). They are found by their
-- time, so it costs as much with a million of them; those of a tenant by an index of its own.
create function ostinato.upcoming_schedules(tenant_id text default null, most integer default 10)
returns table (tenant_id text, name text, kind text, zone text, next_at timestamptz, slot_local timestamp)
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s.tenant_id, s.name, s.kind, (s.recurrence).zone, d.next_at, d.slot_local
    from schedule_due d join schedule s on s.id = d.schedule_id
    where $1 is null or d.tenant_id = $1
    order by d.next_at limit ostinato_internal.page_size($2)
$$;
