-- Alerts: values that are watched. An event is emitted when one is bad for a while, and another when it is good again.
--
--   declare_alerts(owners, alerts)     what applications want watched, as workers say when they start
--   due_alerts(every)                  which to evaluate now, in groups that belong into one call
--   evaluate_alerts(every, names)      measures, writes and emits: → what fired and what was resolved
--   fail_alerts(names, every, error)   notes that a source gave no answer in its time (evaluate_alerts was cancelled)
--   watch_due_alerts, watch_alerts, watch_failed_alerts      the same three for the API
--   measure_alert(name)                what its source says now, and what that would mean; changes nothing
--
-- States of a label of an alert. No row: good. Bad: a row in alert_firing is made, pending until it has been so for
-- for_seconds, then firing (alert.fired is emitted). Good again before that: the row goes. A firing one is resolved
-- (alert.resolved is emitted) when its value has been back at clears_at for clear_seconds; between threshold and
-- clears_at it stays as it is, so that a value that wavers fires once. A label that its source no longer returns, or
-- that has no value, is good.
--
-- One evaluation at a time, without a leader: every worker's janitor and every API process calls; the one that has the
-- row lock of an alert evaluates it, the others skip it, and a later one finds that it was evaluated just now. The
-- unique index on what is open is the last word: two evaluations could not both fire. Event and row are one
-- transaction, so the event of every row that was written was emitted.
--
-- Lock order: alert, alert_firing, then the locks of the events' keys. Nobody waits for the row lock of an alert but
-- declare_alerts, when a declaration changed.
-- What may go wrong: a source fails (its alert keeps what it had found, and ostinato.alert_source, which measures
-- alert_failures(), fires; others are evaluated all the same); a source hangs (the caller's statement_timeout ends the
-- call, and fail_alerts notes it; functions are called one by one, so no other alert goes down with it); nobody
-- evaluates for a while (what was bad before and is bad now counts as bad all the time).

-- Declares the alerts of some owners; what they no longer declare is resolved and forgotten. `alerts` is a JSON array
-- of rows.
create function ostinato.declare_alerts(owners text[], alerts anycompatible) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now  constant timestamptz := ostinato.now();
    v_gone text;
begin
    for v_gone in
        select a.name from alert a
        where a.owner = any (owners) and not exists (select from json_array_elements(alerts::json) g
                                                     where g ->> 'name' = a.name)
        order by a.name for update
    loop
        delete from alert_silence s where s.alert = v_gone;
        perform ostinato_internal.resolve_firing(f, v_now, f.value, '{"reason": "no longer declared"}')
            from alert_firing f
        where f.alert = v_gone and f.resolved_at is null;
        delete from alert a where a.name = v_gone;
    end loop;
    insert into alert (name, owner, severity, figure, function, parameters, labels, comparison, threshold, clears_at,
                       for_seconds, clear_seconds, tenant_id, message, message_one, remedy, declared_at)
    select g.name, g.owner, g.severity, g.figure, g.function, g.parameters, g.labels, g.comparison, g.threshold,
           g.clears_at, g.for_seconds, g.clear_seconds, g.tenant_id, g.message, g.message_one, g.remedy, v_now
    from json_populate_recordset(null::alert, alerts::json) g
    -- Most workers declare what is known already: they need not wait for an evaluation that has the rows locked.
    where not exists (
        select from alert a where a.name = g.name
          and (a.owner, a.severity, a.figure, a.function, a.parameters, a.labels, a.comparison, a.threshold,
               a.clears_at, a.for_seconds, a.clear_seconds, a.tenant_id, a.message, a.message_one, a.remedy)
              is not distinct from
              (g.owner, g.severity, g.figure, g.function, g.parameters, g.labels, g.comparison, g.threshold,
               g.clears_at, g.for_seconds, g.clear_seconds, g.tenant_id, g.message, g.message_one, g.remedy))
    order by g.name
    on conflict (name) do update set
        owner = excluded.owner, severity = excluded.severity, figure = excluded.figure, function = excluded.function,
        parameters = excluded.parameters, labels = excluded.labels, comparison = excluded.comparison,
        threshold = excluded.threshold, clears_at = excluded.clears_at, for_seconds = excluded.for_seconds,
        clear_seconds = excluded.clear_seconds, tenant_id = excluded.tenant_id, message = excluded.message,
        message_one = excluded.message_one, remedy = excluded.remedy, declared_at = excluded.declared_at,
        evaluated_at = null;  -- what is new is looked at soon
end
$$;

-- Returns whether an alert is to be evaluated: not evaluated within `every`, before or (a clock was set back) after
-- now.
create function ostinato_internal.is_alert_due(evaluated_at timestamptz, every interval, at timestamptz) returns boolean
language sql immutable as $$
    select evaluated_at is null or evaluated_at <= at - every or evaluated_at >= at + every
$$;

-- Returns the alerts to evaluate now, in groups for one call each: those on figures together, which cost one look at
-- the engine; each function by itself, and an application's (`is_foreign`) within a time; the alert on alerts that
-- failed last, so that it sees what the others met.
create function ostinato.due_alerts(every interval default '10 seconds')
returns table (names text[], is_foreign boolean) language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select array_agg(a.name order by a.name), bool_or(coalesce(split_part(a.function, '.', 1) <> 'ostinato', false))
    from alert a where ostinato_internal.is_alert_due(a.evaluated_at, every, ostinato.now())
    group by coalesce(a.function || e'\x1f' || a.name, '')
    order by bool_or(a.function is not distinct from 'ostinato.alert_failures'), min(a.name)
$$;

-- Evaluates those of some alerts (null: all) that were not evaluated within `every` and that nobody else has locked.
-- Returns what changed: fired, resolved, or failed.
create function ostinato.evaluate_alerts(every interval default '10 seconds', names text[] default null)
returns setof ostinato_data.alert_change language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now     constant timestamptz := ostinato.now();
    v_alert   alert;
    v_figures jsonb;
begin
    for v_alert in
        select a.* from alert a
        where (names is null or a.name = any (names)) and ostinato_internal.is_alert_due(a.evaluated_at, every, v_now)
        order by a.function is not distinct from 'ostinato.alert_failures', a.name
        for update skip locked
    loop
        begin
            if v_alert.figure is not null and v_figures is null then
                select coalesce(jsonb_agg(jsonb_build_object('name', o.name, 'label', o.label, 'value', o.value::text)),
                                '[]')
                into v_figures from ostinato.observe() o;
            end if;
            return query select *
                from ostinato_internal.note_readings(v_alert, ostinato_internal.alert_readings(v_alert, v_figures),
                                                     v_now);
            update alert a set evaluated_at = v_now, failures = 0, error = null where a.name = v_alert.name;
        exception when others then
            return query select *
                from ostinato.fail_alerts(array[v_alert.name], '0', format('%s (%s)', left(sqlerrm, 490), sqlstate));
        end;
    end loop;
end
$$;

-- Notes that the sources of some alerts could not be asked, and why; what was found before stays.
create function ostinato.fail_alerts(names text[], every interval, error text) returns setof ostinato_data.alert_change
language sql set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with failed as (
        update alert a set evaluated_at = ostinato.now(), failures = a.failures + 1,
            error = left($3, ostinato_internal.longest_error())
        where a.name in (
            select d.name from alert d
            where d.name = any ($1) and ostinato_internal.is_alert_due(d.evaluated_at, $2, ostinato.now())
            order by d.name for update skip locked)
        returning a.*)
    select f.name, '', 'failed', f.severity, f.tenant_id, null::double precision, f.error, null::bigint
    from failed f order by f.name
$$;

-- Runs the three verbs above for the role of the API, which evaluates too, because no worker can notice that no worker
-- is alive. They run as the owner, so they take only what cannot change anything with the owner's rights
-- (is_watchable); the rest is left to workers. And they return which alert changed, but not what belongs to a tenant:
-- no label, no message, and of an error only its code.
create function ostinato.watch_due_alerts(every interval default '10 seconds')
returns table (names text[], is_foreign boolean) language sql volatile security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select d.names, d.is_foreign from ostinato.due_alerts(every) d
    where (select bool_and(ostinato_internal.is_watchable(n)) from unnest(d.names) n)
$$;

-- Evaluates alerts that are due, for the API.
create function ostinato.watch_alerts(every interval, names text[]) returns setof ostinato_data.alert_change
language sql security definer set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select c.alert, '', c.change, c.severity, null::text, c.value,
           case when c.change = 'failed' then format('SQLSTATE %s; `ostinato alerts show %s` has the error',
                                                     left(right(c.message, 6), 5), c.alert) else '' end, null::bigint
    from ostinato.evaluate_alerts($1, array(select n from unnest($2) n where ostinato_internal.is_watchable(n))) c
$$;

-- Notes that the sources of alerts gave no answer in their time, for the API.
create function ostinato.watch_failed_alerts(names text[], every interval, seconds double precision)
returns setof ostinato_data.alert_change
language sql security definer set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select c.alert, '', c.change, c.severity, null::text, null::double precision, c.message, null::bigint
    from ostinato.fail_alerts(array(select n from unnest($1) n where ostinato_internal.is_watchable(n)), $2,
                              format('no answer within %s s', $3)) c
$$;

-- Returns whether an alert may be measured with the rights of the owner: it is on a figure, or on a function that a
-- migration made as the owner and that only reads (stable). Workers declare alerts: a function that they name must not
-- give them the owner's hands.
create function ostinato_internal.is_watchable(name text) returns boolean language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select a.function is null or coalesce((
        select bool_and(p.provolatile <> 'v' and p.proowner = 'ostinato_owner'::regrole) from pg_proc p
        where p.pronamespace = to_regnamespace(quote_ident(split_part(a.function, '.', 1)))
          and p.proname = split_part(a.function, '.', 2)), false)
    from alert a where a.name = $1
$$;

-- Returns the alerts whose sources fail, and how often in a row: what ostinato.alert_source measures.
create function ostinato.alert_failures() returns table (label text, value double precision) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select a.name, a.failures::double precision from alert a where a.failures > 0 order by a.name
    limit ostinato_internal.most_rows()
$$;

-- Returns what the source of an alert says now, as {label: value}; of a label that is returned more than once, the
-- worst. Values that are null or no number are none. `figures` is what observe() returned, for alerts on figures.
create function ostinato_internal.alert_readings(declared ostinato_data.alert, figures jsonb) returns jsonb
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_arguments text;
    v_found     jsonb;
begin
    if declared.figure is not null then
        select jsonb_agg(jsonb_build_array(f ->> 'label', f ->> 'value')) into v_found
        from jsonb_array_elements(figures) f where f ->> 'name' = declared.figure;
    else
        -- Arguments are literals without a type: they become what the function's parameters are.
        select string_agg(format('%I => %L', p.key, p.value), ', ' order by p.key) into v_arguments
        from jsonb_each_text(declared.parameters) p;
        execute format('select jsonb_agg(jsonb_build_array(left(r.label::text, 100), r.value::double precision::text))'
                       ' from (select * from %I.%I(%s) limit 1001) r (label, value)',
                       split_part(declared.function, '.', 1), split_part(declared.function, '.', 2), v_arguments)
                           into v_found;
        if jsonb_array_length(v_found) > ostinato_internal.most_rows() then
            raise exception using errcode = 'OS400',
                message = format('%s returned more than 1000 rows', declared.function),
                detail = json_build_object('function', declared.function, 'limit', ostinato_internal.most_rows()),
                hint = 'Return only what is worth a look.';
        end if;
    end if;
    return (
        select coalesce(jsonb_object_agg(r.label, r.value::text), '{}') from (
            select coalesce(v ->> 0, '') as label,
                   case declared.comparison when '>' then max((v ->> 1)::double precision)
                       else min((v ->> 1)::double precision) end as value
            from jsonb_array_elements(coalesce(v_found, '[]')) v
            where v ->> 1 is not null and v ->> 1 <> 'NaN'
              and (declared.labels = '{}' or coalesce(v ->> 0, '') = any (declared.labels))
            group by 1) r);
end
$$;

-- Returns whether a value lies on the bad side of a limit.
create function ostinato_internal.is_beyond(value double precision, comparison text, threshold double precision)
returns boolean
language sql immutable as $$
    select case comparison when '>' then value > threshold else value < threshold end
$$;

-- Turns what was measured into pending, firing and resolved, and emits the events. The caller holds the row lock of
-- the alert.
create function ostinato_internal.note_readings(declared ostinato_data.alert, readings jsonb, at timestamptz)
returns setof ostinato_data.alert_change
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_firing alert_firing;
    v_value  double precision;
begin
    delete from alert_firing f where f.alert = declared.name and f.fired_at is null
       and coalesce(not ostinato_internal.is_beyond((readings ->> f.label)::double precision, declared.comparison,
                                                    declared.threshold), true);
    insert into alert_firing (id, alert, label, tenant_id, severity, since, value, worst, message, details)
    select ostinato.new_id(at), declared.name, r.key, coalesce(declared.tenant_id, r.key), declared.severity, at,
           r.value::double precision, r.value::double precision, '', '{}'
    from jsonb_each_text(readings) r
    where ostinato_internal.is_beyond(r.value::double precision, declared.comparison, declared.threshold)
    order by r.key
    on conflict (alert, label) where resolved_at is null do nothing;
    for v_firing in select f.* from alert_firing f where f.alert = declared.name and f.resolved_at is null
    order by f.label for update loop
        v_value := (readings ->> v_firing.label)::double precision;
        if v_firing.fired_at is null and at < v_firing.since + make_interval(secs => declared.for_seconds) then
            update alert_firing f
            set value = v_value, worst = ostinato_internal.worse(f.worst, v_value, declared.comparison)
            where f.id = v_firing.id;
        elsif v_firing.fired_at is null then
            return query select * from ostinato_internal.fire_alert(declared, v_firing, at, v_value);
        elsif ostinato_internal.is_beyond(v_value, declared.comparison, declared.clears_at) then
            update alert_firing f
            set value = v_value, worst = ostinato_internal.worse(f.worst, v_value, declared.comparison),
                good_since = null
            where f.id = v_firing.id;
        elsif at >= coalesce(v_firing.good_since, at) + make_interval(secs => declared.clear_seconds) then
            return query select *
                from ostinato_internal.resolve_firing(v_firing, at, coalesce(v_value, v_firing.value), '{}');
        else
            update alert_firing f set value = coalesce(v_value, f.value), good_since = coalesce(f.good_since, at)
            where f.id = v_firing.id;
        end if;
    end loop;
    perform ostinato_internal.tell_owed(declared.name, at);
end
$$;

-- Returns the worse of two values.
create function ostinato_internal.worse(one double precision, other double precision, comparison text)
returns double precision
language sql immutable as $$
    select case comparison when '>' then greatest(one, other) else least(one, other) end
$$;

-- Returns a number as people read it.
create function ostinato_internal.plain_number(value double precision) returns text language sql immutable as $$
    select case when value in ('infinity', '-infinity') then value::text
        else trim_scale(round(value::numeric, 3))::text end
$$;

-- Returns the message of an alert with everything filled in.
create function ostinato_internal.alert_message(declared ostinato_data.alert, label text, value double precision)
returns text
language plpgsql immutable set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_text  text := case when value = 1 then coalesce(declared.message_one, declared.message)
                         else declared.message end;
    v_place record;
begin
    for v_place in
        select p.key, p.value from jsonb_each_text(declared.parameters) p
        union all values ('threshold', ostinato_internal.plain_number(declared.threshold)),
        ('value', ostinato_internal.plain_number(value)), ('label', label)
    loop
        v_text := replace(v_text, '{' || v_place.key || '}', v_place.value);
    end loop;
    return v_text;
end
$$;

-- Lets a pending label fire, and emits alert.fired; a silence keeps that back (see silences.sql).
create function ostinato_internal.fire_alert(
    declared ostinato_data.alert, firing ostinato_data.alert_firing, at timestamptz, value double precision
) returns setof ostinato_data.alert_change language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    update alert_firing f set
        fired_at = at, value = fire_alert.value,
        worst = ostinato_internal.worse(f.worst, fire_alert.value, declared.comparison), severity = declared.severity,
        tenant_id = coalesce(declared.tenant_id, f.label),
        message = ostinato_internal.alert_message(declared, f.label, fire_alert.value),
        details = json_build_object('source', coalesce(declared.figure, declared.function),
                                    'parameters', declared.parameters, 'comparison', declared.comparison, 'threshold',
                                    declared.threshold, 'clears_at', declared.clears_at, 'for_seconds',
                                    declared.for_seconds, 'clear_seconds', declared.clear_seconds, 'remedy',
                                    declared.remedy),
        owed = case when ostinato_internal.silenced_until(f.alert, f.label, at) is not null then 'fired' end
    where f.id = firing.id returning f.* into firing;
    if firing.owed is null then
        perform ostinato_internal.emit_alert('alert.fired', firing, at);
    end if;
    return query select firing.alert, firing.label, 'fired', firing.severity, firing.tenant_id, firing.value,
        firing.message, firing.id;
end
$$;

-- Resolves a firing one, and emits alert.resolved; one that is only pending is forgotten, and one whose firing a
-- silence kept back is not told of. `details` are added to its own.
create function ostinato_internal.resolve_firing(
    firing ostinato_data.alert_firing, at timestamptz, value double precision, details json
) returns setof ostinato_data.alert_change language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_untold constant boolean := firing.owed is not null;
begin
    if firing.fired_at is null then
        delete from alert_firing f where f.id = firing.id;
        return;
    end if;
    update alert_firing f set
        resolved_at = at, good_since = coalesce(f.good_since, at), value = resolve_firing.value,
        details = (f.details::jsonb || resolve_firing.details::jsonb)::json,
        owed = case when not v_untold and ostinato_internal.silenced_until(f.alert, f.label, at) is not null
                    then 'resolved' end
    where f.id = firing.id returning f.* into firing;
    if not v_untold and firing.owed is null then
        perform ostinato_internal.emit_alert('alert.resolved', firing, at);
    end if;
    return query select firing.alert, firing.label, 'resolved', firing.severity, firing.tenant_id, firing.value,
        firing.message, firing.id;
end
$$;

-- Emits an alert as an event of its tenant, in order for each label; both events of one firing have its correlation
-- id.
create function ostinato_internal.emit_alert(type text, firing ostinato_data.alert_firing, at timestamptz)
returns bigint
language sql set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato.emit_event(
        $1, json_build_object('id', $2.id, 'alert', $2.alert, 'label', $2.label, 'severity', $2.severity,
                              'message', $2.message, 'value', ostinato_internal.json_number($2.value), 'worst',
                              ostinato_internal.json_number($2.worst), 'since', $2.since, 'fired_at', $2.fired_at,
                              'resolved_at', $2.resolved_at, 'details', $2.details),
        'alert:' || $2.alert || ':' || $2.label, 1, $2.tenant_id, 'alert-' || $2.id, $3, 'ostinato')
$$;

-- Returns a number for JSON, which knows no infinity: null instead.
create function ostinato_internal.json_number(value double precision) returns double precision
language sql immutable as $$
    select case when value not in ('infinity', '-infinity', 'nan') then value end
$$;

-- Returns what the source of an alert says now, and whether that is bad. Changes nothing, and does not mind who
-- evaluates.
create function ostinato.measure_alert(name text)
returns table (label text, value double precision, bad boolean, message text) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_alert   constant alert := ostinato_internal.find_alert(name);
    v_figures jsonb;
begin
    if v_alert.figure is not null then
        select jsonb_agg(jsonb_build_object('name', o.name, 'label', o.label, 'value', o.value::text)) into v_figures
        from ostinato.observe() o;
    end if;
    return query
    select r.key, r.value::double precision,
           ostinato_internal.is_beyond(r.value::double precision, v_alert.comparison, v_alert.threshold),
           ostinato_internal.alert_message(v_alert, r.key, r.value::double precision)
    from jsonb_each_text(ostinato_internal.alert_readings(v_alert, coalesce(v_figures, '[]'))) r order by r.key;
end
$$;

-- Emits the events of an alert as if it fired and was resolved at once, to try who receives them: both have
-- details.test. Returns their ids.
create function ostinato.rehearse_alert(name text, label text default 'test') returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_alert  constant alert := ostinato_internal.find_alert(name);
    v_now    constant timestamptz := ostinato.now();
    v_firing alert_firing;
begin
    v_firing := row(ostinato.new_id(v_now), v_alert.name, rehearse_alert.label,
                    coalesce(v_alert.tenant_id, rehearse_alert.label), v_alert.severity, v_now, v_now, null, null,
                    v_alert.threshold, v_alert.threshold,
                    'TEST: ' || ostinato_internal.alert_message(v_alert, rehearse_alert.label, v_alert.threshold),
                    json_build_object('test', true, 'remedy', v_alert.remedy), null, null, null);
    return next ostinato_internal.emit_alert('alert.fired', v_firing, v_now);
    v_firing.resolved_at := v_now;
    return next ostinato_internal.emit_alert('alert.resolved', v_firing, v_now);
end
$$;

-- Returns the declaration of an alert.
create function ostinato_internal.find_alert(name text) returns ostinato_data.alert language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_alert alert;
begin
    select a.* into v_alert from alert a where a.name = find_alert.name;
    if not found then
        raise exception using errcode = 'OS404', message = format('there is no alert %s', find_alert.name),
            detail = json_build_object('alert', find_alert.name),
            hint = '`ostinato alerts list` has those that are declared; a worker declares those of its apps when it '
                   'starts.';
    end if;
    return v_alert;
end
$$;

-- Alerts with their state, the worst first: firing, failing (its source), pending, ok, or new (not evaluated yet). With
-- a tenant, those that are its own, and of those whose labels are tenants its own label.
create function ostinato.list_alerts(tenant_id text default null, name text default null)
returns setof ostinato_data.alert_line
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select a.name, a.owner, a.severity,
           case when f.firing > 0 then 'firing' when a.failures > 0 then 'failing' when f.pending > 0 then 'pending'
                when a.evaluated_at is null then 'new' else 'ok' end,
           f.firing::integer, f.since, coalesce(a.figure, a.function), a.parameters::text, a.labels, a.comparison,
           a.threshold, a.clears_at, a.for_seconds, a.clear_seconds, a.tenant_id, a.message, a.remedy, a.evaluated_at,
           a.failures, a.error, a.message_one,
           ostinato_internal.silenced_until(a.name, case when a.tenant_id is null then $1 end, ostinato.now())
    from alert a cross join lateral (
        select count(*) filter (where f.fired_at is not null) as firing,
               count(*) filter (where f.fired_at is null) as pending,
               min(f.since) as since
        from alert_firing f where f.alert = a.name and f.resolved_at is null and ($1 is null or f.tenant_id = $1)) f
    where ($1 is null or coalesce(a.tenant_id, $1) = $1) and ($2 is null or a.name = $2)
    order by f.firing = 0, array_position(array['critical', 'warning', 'info'], a.severity), a.failures = 0,
        f.pending = 0, a.name
$$;

-- Returns a page of what fired (with `open`, only what is bad now, pending included), newest first; `before` is the
-- last id of the page before.
create function ostinato.list_firings(
    name text default null, tenant text default null, open boolean default false, before bigint default null,
    most integer default 50
) returns table (
    id bigint, alert text, label text, tenant_id text, severity text, state text, since timestamptz,
    fired_at timestamptz, resolved_at timestamptz, value double precision, worst double precision, message text,
    details text, acknowledged_at timestamptz, acknowledged_by text, silenced_until timestamptz, template text,
    template_one text, places text
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select f.id, f.alert, f.label, f.tenant_id, f.severity,
           case when f.resolved_at is not null then 'resolved' when f.fired_at is null then 'pending' else 'firing' end,
           f.since, f.fired_at, f.resolved_at, f.value, f.worst, f.message, f.details::text, f.acknowledged_at,
           f.acknowledged_by, case when f.resolved_at is null
               then ostinato_internal.silenced_until(f.alert, f.label, ostinato.now()) end,
           a.message, a.message_one, (a.parameters || jsonb_build_object('threshold', a.threshold))::text
    from alert_firing f left join alert a on a.name = f.alert
    where ($1 is null or f.alert = $1) and ($2 is null or f.tenant_id = $2) and (not $3 or f.resolved_at is null)
      and ($3 or f.fired_at is not null) and ($4 is null or f.id < $4)
    order by f.id desc limit least(greatest($5, 1), ostinato_internal.most_rows())
$$;

-- Returns the alerts of the tenant of the transaction. For the role ostinato_tenant (see inspect.sql); errors of
-- sources are for those who run the installation.
create function ostinato.own_alerts() returns setof ostinato_data.alert_line language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.name, l.owner, l.severity, l.state, l.firing, l.since, l.source, l.parameters, l.labels, l.comparison,
           l.threshold, l.clears_at, l.for_seconds, l.clear_seconds, l.tenant_id, l.message, l.remedy, l.evaluated_at,
           l.failures, null::text, l.message_one, l.silenced_until
    from ostinato.list_alerts(ostinato_internal.own_tenant()) l where ostinato_internal.own_tenant() <> ''
    limit ostinato_internal.most_rows()
$$;

-- Returns what fired for the tenant of the transaction.
create function ostinato.own_firings(
    name text default null, open boolean default false, before bigint default null, most integer default 50
) returns table (
    id bigint, alert text, label text, tenant_id text, severity text, state text, since timestamptz,
    fired_at timestamptz, resolved_at timestamptz, value double precision, worst double precision, message text,
    details text, acknowledged_at timestamptz, acknowledged_by text, silenced_until timestamptz, template text,
    template_one text, places text
) language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.* from ostinato.list_firings($1, ostinato_internal.own_tenant(), $2, $3, $4) l order by l.id desc
$$;

-- Returns how many labels of each alert fire: a figure of observe().
create function ostinato_internal.count_firing() returns table (alert text, firing bigint) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select a.name, count(f.id) from alert a
    left join alert_firing f on f.alert = a.name and f.resolved_at is null and f.fired_at is not null
    group by a.name order by a.name
$$;

-- Forgets what was resolved before the retention time, 1,000 at a time. Returns how many.
create function ostinato.prune_alerts(retention_days integer) returns integer language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with gone as (
        delete from alert_firing f where f.id in (
            select o.id from alert_firing o where o.resolved_at < ostinato.now() - make_interval(days => $1)
            order by o.resolved_at limit ostinato_internal.most_rows() for update skip locked)
        returning 1)
    select count(*)::integer from gone
$$;

-- Ends every further statement of the transaction that takes longer, so that a source that hangs is known as one.
create function ostinato.limit_statements(seconds double precision) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform set_config('statement_timeout', ceil(seconds * 1000)::integer::text, true);
end
$$;
