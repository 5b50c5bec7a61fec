-- Acknowledged and silenced alerts: what people do about alerts that fire.
--
--   acknowledge_alert(name, label)                 somebody has seen it and works on it; it fires on
--   silence_alert(name, until, reason, label)      sends no events of it for a while
--   unsilence_alert(name, label)                   ends a silence before its time
--   list_silences(name)                            who silenced what, until when and why
--
-- A silenced alert is measured and shown as ever, but sends nothing. What it would have sent is owed: when the
-- silence ends, the next evaluation sends alert.fired for what still fires, and alert.resolved for what had been
-- sent before the silence and ended in it. What fired and ended within the silence is never sent.
--
-- They run as the owner, because a tenant reads no alerts; a tenant acts on alerts that are its own, and, of those
-- whose labels are tenants, on its own label. Lock order: alert_silence, then alert_firing, as evaluations do.

-- Returns the declaration of an alert that the caller may act on.
create function ostinato_internal.find_own_alert(name text) returns ostinato_data.alert language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_own   constant text := ostinato.acting_tenant();
    v_alert alert;
begin
    select a.* into v_alert from alert a
    where a.name = find_own_alert.name and (v_own is null or v_own <> '' and coalesce(a.tenant_id, v_own) = v_own);
    if not found then
        raise exception using errcode = 'OS404', message = format('there is no alert %s', find_own_alert.name),
            detail = json_build_object('alert', find_own_alert.name),
            hint = '`ostinato alerts list` has those that are declared.';
    end if;
    return v_alert;
end
$$;

-- Returns the label that the caller may act on: of an alert whose labels are tenants, a tenant has its own only.
create function ostinato_internal.own_label(declared ostinato_data.alert, label text) returns text language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select case when ($1).tenant_id is null then coalesce(ostinato.acting_tenant(), $2) else $2 end
$$;

-- Returns until when a label of an alert is silenced; null when it is not.
create function ostinato_internal.silenced_until(alert text, label text, at timestamptz) returns timestamptz
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select max(s.until) from alert_silence s
    where s.alert = $1 and (s.label is null or s.label = $2) and s.until > $3
$$;

-- Notes that somebody has seen what fires: of one label, or (null) of all. Returns how many were not acknowledged yet.
create function ostinato.acknowledge_alert(name text, label text default null) returns integer language plpgsql
security definer set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_alert constant alert := ostinato_internal.find_own_alert(acknowledge_alert.name);
    v_label constant text := ostinato_internal.own_label(v_alert, acknowledge_alert.label);
    v_count integer;
begin
    with seen as (
        select f.id from alert_firing f
        where f.alert = v_alert.name and f.resolved_at is null and f.fired_at is not null
          and f.acknowledged_at is null and (v_label is null or f.label = v_label)
        order by f.label for update)
    update alert_firing f set acknowledged_at = ostinato.now(), acknowledged_by = ostinato_internal.actor()
    from seen s where f.id = s.id;
    get diagnostics v_count = row_count;
    perform ostinato_internal.record('acknowledge', 'alert', v_alert.name, v_alert.tenant_id, count => v_count,
                                     detail => json_build_object('label', v_label));
    return v_count;
end
$$;

-- Sends nothing about an alert until a moment: of one label, or (null) of all. A silence that is there is replaced.
create function ostinato.silence_alert(name text, until timestamptz, reason text, label text default null)
returns timestamptz language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now   constant timestamptz := ostinato.now();
    v_alert constant alert := ostinato_internal.find_own_alert(silence_alert.name);
    v_label constant text := ostinato_internal.own_label(v_alert, silence_alert.label);
begin
    perform ostinato_internal.check_reason(coalesce(silence_alert.reason, ''));
    if not coalesce(silence_alert.until > v_now and silence_alert.until <= v_now + interval '90 days', false)
       or length(v_label) > 100 then
        raise exception using errcode = 'OS400',
            message = format('alert %s cannot be silenced until %s', v_alert.name, silence_alert.until),
            detail = json_build_object('alert', v_alert.name, 'until', silence_alert.until, 'label', v_label),
            hint = 'Choose a moment in the next 90 days, and a label of at most 100 characters.';
    end if;
    insert into alert_silence as s (id, alert, label, until, reason, silenced_by, silenced_at)
    values (ostinato.new_id(v_now), v_alert.name, v_label, silence_alert.until, silence_alert.reason,
            ostinato_internal.actor(), v_now)
    on conflict (alert, label) do update set
        until = excluded.until, reason = excluded.reason, silenced_by = excluded.silenced_by,
        silenced_at = excluded.silenced_at;
    perform ostinato_internal.record('silence', 'alert', v_alert.name, v_alert.tenant_id, why => silence_alert.reason,
                                     detail => json_build_object('label', v_label, 'until', silence_alert.until));
    return silence_alert.until;
end
$$;

-- Ends a silence of one label, or (null) the one of all labels. Returns whether there was one.
create function ostinato.unsilence_alert(name text, label text default null) returns boolean language plpgsql
security definer set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_alert constant alert := ostinato_internal.find_own_alert(unsilence_alert.name);
    v_label constant text := ostinato_internal.own_label(v_alert, unsilence_alert.label);
    v_count integer;
begin
    delete from alert_silence s where s.alert = v_alert.name and s.label is not distinct from v_label;
    get diagnostics v_count = row_count;
    perform ostinato_internal.record('unsilence', 'alert', v_alert.name, v_alert.tenant_id, count => v_count,
                                     detail => json_build_object('label', v_label));
    return v_count > 0;
end
$$;

-- Returns the silences that last, of one alert or (null) of all; those that end first come first. A tenant sees its
-- own.
create function ostinato.list_silences(name text default null)
returns table (
    alert text, label text, until timestamptz, reason text, silenced_by text, silenced_at timestamptz
) language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s.alert, s.label, s.until, s.reason, s.silenced_by, s.silenced_at
    from alert_silence s join alert a on a.name = s.alert cross join (select ostinato.acting_tenant() as own) o
    where s.until > ostinato.now() and ($1 is null or s.alert = $1)
      and (o.own is null or o.own <> '' and coalesce(a.tenant_id, s.label, o.own) = o.own)
    order by s.until, s.alert, s.label limit ostinato_internal.most_rows()
$$;

-- Sends what silences kept back, where they have ended: the caller holds the row lock of the alert.
create function ostinato_internal.tell_owed(name text, at timestamptz) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_firing alert_firing;
begin
    for v_firing in
        select f.* from alert_firing f where f.alert = tell_owed.name and f.owed is not null
        order by f.label, f.id for update
    loop
        continue when ostinato_internal.silenced_until(v_firing.alert, v_firing.label, at) is not null;
        update alert_firing f set owed = null where f.id = v_firing.id;
        perform ostinato_internal.emit_alert('alert.' || v_firing.owed, v_firing, at);
    end loop;
    delete from alert_silence s where s.alert = tell_owed.name and s.until <= at;
end
$$;
