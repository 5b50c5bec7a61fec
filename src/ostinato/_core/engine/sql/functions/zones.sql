-- Local time: what instant a wall clock means, and when a rule of recurrence comes round next.
--
-- All arithmetic with time zones is done here, with one source of rules, the server's own. A slot is a wall-clock time
-- that a rule names, and the instant it falls on. Where a clock is put forward some wall-clock times do not exist (a
-- gap), where it is put back some come twice (an overlap):
--   gap      shift  the slot is as much later as the clock was put forward (02:30 becomes 03:30), as java.time does
--            skip   the slot falls out
--   overlap  first, last, or both of the two instants
-- Slots that fall on the same instant are one slot. Nothing here is immutable: the rules of zones change.

-- Returns the instants of a wall-clock time, in order: none, one or two. The zone and the policies are those of a
-- checked rule.
create function ostinato_internal.local_instants(local timestamp, zone text, gap text, overlap text)
returns timestamptz[]
language plpgsql stable as $$
declare
    -- In a gap PostgreSQL counts with the offset from before it, which is the shift; of two instants it takes the
    -- later.
    v_at    constant timestamptz := local at time zone zone;
    v_first timestamptz;
    v_last  timestamptz;
begin
    if ((v_at + interval '6 hours') at time zone zone)
        - ((v_at - interval '6 hours') at time zone zone) = interval '12 hours' then
        return array[v_at];  -- the clock is not touched for hours
    end if;
    v_first := local at time zone 'UTC' - ostinato_internal.utc_offset(v_at - interval '6 hours', zone);
    v_last := local at time zone 'UTC' - ostinato_internal.utc_offset(v_at + interval '6 hours', zone);
    if v_first at time zone zone <> local then
        v_first := v_last;
    elsif v_last at time zone zone <> local then
        v_last := v_first;
    end if;
    if v_first at time zone zone <> local then
        return case when v_at at time zone zone = local or gap = 'shift' then array[v_at] else '{}' end;
    elsif v_first = v_last then
        return array[v_first];
    end if;
    return case overlap when 'first' then array[v_first] when 'last' then array[v_last] else array[v_first, v_last] end;
end
$$;

-- Returns how far the local time of a zone is ahead of UTC at an instant.
create function ostinato_internal.utc_offset(at timestamptz, zone text) returns interval language sql stable as $$
    select (at at time zone zone) - (at at time zone 'UTC')
$$;

-- Returns the instant of a wall-clock time; null for one that does not exist, with the gap policy `skip`. Of two, with
-- `both`, the first.
create function ostinato.local_instant(
    local timestamp, zone text, gap text default 'shift', overlap text default 'first'
) returns timestamptz language plpgsql stable as $$
begin
    perform ostinato_internal.check_zone(zone), ostinato_internal.check_policies(gap, overlap);
    if local is null or not isfinite(local) then
        raise exception using errcode = 'OS400',
            message = format('%s is no wall-clock time', coalesce(local::text, 'null')),
            detail = json_build_object('local', local), hint = 'Give a date and a time, such as 2026-03-29 02:30.';
    end if;
    return (ostinato_internal.local_instants(local, zone, gap, overlap))[1];
end
$$;

-- Refuses policies for gaps and overlaps that there are not.
create function ostinato_internal.check_policies(gap text, overlap text) returns void language plpgsql immutable as $$
begin
    if gap is null or gap not in ('shift', 'skip') or overlap is null or overlap not in ('first', 'last', 'both') then
        raise exception using errcode = 'OS400', message = format('unknown policy: gap %L or overlap %L', gap, overlap),
            detail = json_build_object('gap', gap, 'overlap', overlap),
            hint = 'gap is shift or skip; overlap is first, last or both.';
    end if;
end
$$;

-- Refuses what is not the name of a zone in the IANA database. PostgreSQL itself would take abbreviations (CET: an
-- offset without summer time) and made-up ones with an offset (Foo/Bar+3).
create function ostinato_internal.check_zone(zone text) returns void language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
begin
    if zone = 'UTC' then
        return;
    elsif zone ~ '^[A-Z][A-Za-z_]*(/[A-Z][A-Za-z_-]*)+$' or zone ~ '^Etc/GMT[+-]\d{1,2}$' then
        perform timestamp '2026-01-01' at time zone zone;
        return;
    -- Reads the whole database of zones, so only for the old names without a slash.
    elsif exists (select from pg_timezone_names z where z.name = zone)
          and not exists (select from pg_timezone_abbrevs a where a.abbrev = zone and zone <> 'GMT') then
        return;
    end if;
    raise invalid_parameter_value;
exception when invalid_parameter_value then
    raise exception using errcode = 'OS400', message = format('there is no time zone %L', zone),
        detail = json_build_object('zone', zone),
        hint = 'Use a name of the IANA database with its capitals, such as Europe/Paris or UTC; abbreviations such as '
               'CET have no summer time.';
end
$$;

-- Returns the numbers that one field of a cron text allows, in order; null for a plain star. `names` stand for the
-- numbers from `low` on.
create function ostinato_internal.parse_cron_field(
    cron text, field text, what text, low integer, high integer, names text[] default '{}'
) returns smallint[] language plpgsql immutable as $$
declare
    v_item  text;
    v_parts text[];
    v_ends  integer[];
    v_found integer[] := '{}';
begin
    if field = '*' then
        return null;
    end if;
    foreach v_item in array string_to_array(lower(field), ',') loop
        if v_item = 'l' and what = 'day of the month' then
            v_found := v_found || 32;
            continue;
        end if;
        v_parts := regexp_match(v_item, '^(?:(\*)|(\w+)(?:-(\w+))?)(?:/(\d{1,2}))?$');
        v_ends := array[
            case when v_parts[1] = '*' then low else ostinato_internal.cron_number(v_parts[2], low, names) end,
            case when v_parts[1] = '*' then high
                else ostinato_internal.cron_number(coalesce(v_parts[3], v_parts[2]), low, names) end];
        if v_parts is null or v_ends[1] is null or v_ends[2] is null or v_ends[1] < low or v_ends[2] > high
           or v_ends[1] > v_ends[2]
           or (v_parts[4] is not null
               and (v_parts[4]::integer not between 1 and high - low
                    or (v_parts[1] is null and v_parts[3] is null))) then
            raise exception using errcode = 'OS400',
                message = format('cron text %L: %L is no %s', cron, v_item, what),
                detail = json_build_object('cron', cron, 'field', what, 'part', v_item, 'low', low, 'high', high),
                hint = format('A %s is %s to %s%s, a range (a-b), a star or a range with a step of 1 to %s (*/5, '
                              'a-b/5)%s, or a list of them. '
                    'Seconds, ?, W, # and @daily are not supported.', what, low, high,
                    case when names = '{}' then ''
                        else format(' or %s to %s', upper(names[1]), upper(names[cardinality(names)])) end, high - low,
                    case when what = 'day of the month' then ', L for the last day' else '' end);
        end if;
        v_found := v_found || array(select generate_series(v_ends[1], v_ends[2], coalesce(v_parts[4]::integer, 1)));
    end loop;
    return array(select distinct f::smallint from unnest(v_found) f order by 1);
end
$$;

-- Returns a number of a cron text, written as such or as one of the names; null when it is neither.
create function ostinato_internal.cron_number(word text, low integer, names text[]) returns integer
language sql immutable as $$
    select case when word ~ '^\d{1,2}$' then word::integer else low + array_position(names, word) - 1 end
$$;

-- Returns a rule from a cron text of five fields: minute, hour, day of the month, month, day of the week. When neither
-- of the two days starts with a star, either of them will do, as in every cron.
create function ostinato_internal.parse_cron(cron text) returns ostinato_data.recurrence
language plpgsql immutable as $$
declare
    v_fields constant text[] := regexp_split_to_array(btrim(cron, e' \t\r\n'), '\s+');
    v_rule   ostinato_data.recurrence;
begin
    if cron is null or length(cron) > ostinato_internal.longest_name() or cardinality(v_fields) <> 5 then
        raise exception using errcode = 'OS400',
            message = format('cron text %L has %s fields, not 5', left(cron, ostinato_internal.longest_name()),
                             cardinality(v_fields)),
            detail = json_build_object('cron', left(cron, ostinato_internal.longest_name()),
                                       'fields', cardinality(v_fields)),
            hint = 'Write minute, hour, day of the month, month and day of the week: 30 8 * * MON-FRI. Seconds and '
                   '@daily are not supported.';
    end if;
    v_rule.minutes := coalesce(ostinato_internal.parse_cron_field(cron, v_fields[1], 'minute', 0, 59),
                               array(select generate_series(0, 59)::smallint));
    v_rule.hours := coalesce(ostinato_internal.parse_cron_field(cron, v_fields[2], 'hour', 0, 23),
                             array(select generate_series(0, 23)::smallint));
    v_rule.days := ostinato_internal.parse_cron_field(cron, v_fields[3], 'day of the month', 1, 31);
    v_rule.months := ostinato_internal.parse_cron_field(cron, v_fields[4], 'month', 1, 12,
                                                        '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}');
    v_rule.weekdays := ostinato_internal.parse_cron_field(cron, v_fields[5], 'day of the week', 0, 7,
                                                          '{sun,mon,tue,wed,thu,fri,sat}');
    v_rule.weekdays := array(select distinct case w when 0 then 7 else w end::smallint
                             from unnest(v_rule.weekdays) w order by 1);
    v_rule.weekdays := nullif(v_rule.weekdays, '{}');
    v_rule.either_day := left(v_fields[3], 1) <> '*' and left(v_fields[5], 1) <> '*';
    if ostinato_internal.next_date(v_rule, '2024-01-01') is null then
        raise exception using errcode = 'OS400', message = format('cron text %L names days that never come', cron),
            detail = json_build_object('cron', cron),
            hint = 'No month that it allows has such a day; L is the last day of every month.';
    end if;
    return v_rule;
end
$$;

-- Returns a rule in a zone that was checked, from what a caller gives: a cron text, or a time of the day and perhaps
-- weekdays, or a single local time. Without policies a rule that holds at every hour follows elapsed time (skip, both),
-- and any other the wall clock (shift, first).
create function ostinato_internal.make_rule(
    cron text default null, at_time text default null, weekdays text[] default null, at text default null,
    zone text default null, gap text default null, overlap text default null
) returns ostinato_data.recurrence language plpgsql stable as $$
declare
    v_rule   ostinato_data.recurrence;
    v_names  constant text[] := '{mon,tue,wed,thu,fri,sat,sun}';
    v_steady boolean;
begin
    if num_nonnulls(cron, at_time, at) <> 1 or (weekdays is not null and at_time is null) then
        raise exception using errcode = 'OS400',
            message = 'a schedule has a cron text, a time of the day or a single time, and only one of them',
            detail = json_build_object('cron', cron, 'at_time', at_time, 'at', at, 'weekdays', weekdays),
            hint = 'Give cron, or at_time (with weekdays, if need be), or at.';
    elsif cron is not null then
        v_rule := ostinato_internal.parse_cron(cron);
    elsif not lower(weekdays::text)::text[] <@ v_names or weekdays = '{}' then
        raise exception using errcode = 'OS400', message = format('unknown weekdays %s', weekdays),
            detail = json_build_object('weekdays', weekdays),
            hint = 'Weekdays are mon, tue, wed, thu, fri, sat and sun.';
    else
        -- A cast alone would drop a zone or an offset without a word.
        if not at_time ~ '^\d\d?:\d\d(:\d\d(\.\d+)?)?$'
           or not at ~ '^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?$' then
            raise datetime_field_overflow;
        end if;
        v_rule.at_time := at_time::time;
        v_rule.weekdays := array(select distinct array_position(v_names, lower(w))::smallint
                                 from unnest(weekdays) w order by 1);
        v_rule.weekdays := nullif(v_rule.weekdays, '{}');
        v_rule.at := at::timestamp;
        if v_rule.at_time = '24:00' then
            raise datetime_field_overflow;
        end if;
    end if;
    v_steady := cardinality(v_rule.hours) = 24;
    v_rule.zone := coalesce(zone, 'UTC');
    v_rule.gap := coalesce(gap, case when v_steady then 'skip' else 'shift' end);
    v_rule.overlap := coalesce(overlap, case when v_steady then 'both' else 'first' end);
    perform ostinato_internal.check_policies(v_rule.gap, v_rule.overlap);
    return v_rule;
exception when data_exception then
    raise exception using errcode = 'OS400', message = format('%L is no time', coalesce(at_time, at)),
        detail = json_build_object('at_time', at_time, 'at', at),
        hint = 'A time of the day is 00:00 to 23:59:59, a single time a date with it, without a zone: '
               '2026-03-29 02:30.';
end
$$;

-- Returns whether a rule holds on a day.
create function ostinato_internal.is_day(rule ostinato_data.recurrence, day date) returns boolean
language plpgsql immutable as $$
declare
    v_by_date boolean;
    v_by_week boolean;
begin
    if rule.months is not null and not extract(month from day)::smallint = any (rule.months) then
        return false;
    elsif rule.days is null and rule.weekdays is null then
        return true;
    end if;
    v_by_date := rule.days is null or extract(day from day)::smallint = any (rule.days)
        or (32 = any (rule.days) and extract(day from day + 1) = 1);
    v_by_week := rule.weekdays is null or extract(isodow from day)::smallint = any (rule.weekdays);
    return case when rule.either_day then v_by_date or v_by_week else v_by_date and v_by_week end;
end
$$;

-- Returns the first day from a given one on that a rule holds; null when there is none in forty years.
create function ostinato_internal.next_date(rule ostinato_data.recurrence, first date) returns date
language plpgsql immutable as $$
declare
    v_day   date := first;
    v_found date;
begin
    for month in 0..480 loop
        if ostinato_internal.is_day(rule, v_day) then
            return v_day;
        elsif rule.months is null or extract(month from v_day)::smallint = any (rule.months) then
            select min(v_day + n) into v_found from generate_series(1, 30) n
            where extract(month from v_day + n) = extract(month from v_day)
              and ostinato_internal.is_day(rule, v_day + n);
            if v_found is not null then
                return v_found;
            end if;
        end if;
        v_day := date_trunc('month', v_day::timestamp) + interval '1 month';
    end loop;
    return null;
end
$$;

-- Returns the first wall-clock time after a given one that a rule names.
create function ostinato_internal.next_local(rule ostinato_data.recurrence, after timestamp) returns timestamp
language plpgsql immutable as $$
declare
    v_day  date := after;
    v_hour smallint;
    v_min  smallint;
begin
    if rule.at is not null then
        return case when rule.at > after then rule.at end;
    end if;
    if ostinato_internal.is_day(rule, v_day) then
        if rule.at_time is not null then
            if v_day + rule.at_time > after then
                return v_day + rule.at_time;
            end if;
        else
            v_hour := extract(hour from after);
            if v_hour = any (rule.hours) then
                v_min := (select min(m) from unnest(rule.minutes) m where m > extract(minute from after));
                if v_min is not null then
                    return v_day + make_time(v_hour, v_min, 0);
                end if;
            end if;
            v_hour := (select min(h) from unnest(rule.hours) h where h > v_hour);
            if v_hour is not null then
                return v_day + make_time(v_hour, rule.minutes[1], 0);
            end if;
        end if;
    end if;
    return ostinato_internal.next_date(rule, v_day + 1)
        + coalesce(rule.at_time, make_time(rule.hours[1], rule.minutes[1], 0));
end
$$;

-- Returns the first slot of a rule after an instant; null when there is none.
create function ostinato_internal.next_slot(
    rule ostinato_data.recurrence, after timestamptz, out local timestamp, out at timestamptz
) language plpgsql stable as $$
declare
    v_zone  constant text := rule.zone;
    v_local timestamp := after at time zone v_zone;
    v_past  constant timestamp := (after - interval '26 hours') at time zone v_zone;
    v_moved interval;
    v_all   timestamptz[];
    v_one   timestamptz;
begin
    -- As nearly always: the clock is not moved near here, and the next slot is not far.
    if ((after + interval '52 hours') at time zone v_zone) - v_past = interval '78 hours' then
        local := ostinato_internal.next_local(rule, v_local);
        if local <= v_local + interval '26 hours' then
            at := (after at time zone 'UTC' + (local - v_local)) at time zone 'UTC';
            return;
        end if;
        local := null;
    end if;
    -- Where the clock was or will be moved, wall-clock times that were passed already may still come: look back as far.
    v_moved := ((after + interval '26 hours') at time zone v_zone) - v_past - interval '52 hours';
    v_local := v_local - greatest(v_moved, -v_moved);
    loop
        v_local := ostinato_internal.next_local(rule, v_local);
        exit when v_local is null;
        v_all := ostinato_internal.local_instants(v_local, v_zone, rule.gap, rule.overlap);
        foreach v_one in array v_all loop
            if v_one > after and (at is null or v_one < at) then
                at := v_one;
                local := v_local;
            end if;
        end loop;
        -- No later wall-clock time comes before one that is there exactly once.
        exit when at is not null and v_all[1] > after and cardinality(v_all) = 1
            and v_all[1] at time zone v_zone = v_local and v_local at time zone v_zone = v_all[1];
    end loop;
end
$$;
