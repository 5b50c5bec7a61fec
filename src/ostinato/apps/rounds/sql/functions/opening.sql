-- Creating, retiming, opening and closing rounds, in sets.
--
-- Each verb is two calls in one transaction: `begin_…` locks the groups and says what is to be decided, Python decides
-- (rules.py: instants and prompts), `apply_…` writes it. What a set finds to do is looked at again under the lock, so a
-- verb that is repeated, or run twice at once, finds nothing left to do.
--
-- Lock order: rows of groups by id, rows of daily_rounds by id, keys of events, and last the claim of the job. Changes
-- of settings take the same order. Without `wait`, groups that another transaction has locked are passed over, for
-- another look at the end of the run.
-- A set is a few hundred rows of a table that may have millions: they are looked up by their keys, whatever the
-- statistics of the moment say. Right after a hundred thousand rounds were made these are wrong, and a plan that reads
-- the whole table for each set would turn seconds into minutes; hence the settings of the functions.
-- What may go wrong: two runs at once (the second passes over, then finds it done); a crash (the transaction is gone
-- whole); settings that change in between (the trigger marks the round stale, and stale rounds are not opened); a lock
-- that is lost to a mistake (the unique constraint of group and day, and the machine, are still there).

-- Locks groups until the end of the transaction.
create function rounds.lock_groups(group_ids bigint[], wait boolean) returns bigint[] language plpgsql
set search_path = rounds, pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
begin
    if wait then
        return array(select g.id from groups g where g.id = any (group_ids) order by g.id for no key update);
    end if;
    return array(select g.id from groups g where g.id = any (group_ids) order by g.id for no key update skip locked);
end
$$;

-- Returns the groups of some rounds.
create function rounds.groups_of(round_ids bigint[]) returns bigint[] language sql stable
set search_path = rounds, pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
    select array(select distinct r.group_id from daily_rounds r where r.id = any ($1))
$$;

-- Returns the prompts that a round of a group should not have again: those of the `recent` rounds before its day, the
-- last one first, and then those of the rounds after it, which may still be given another.
create function rounds.recent_prompts(tenant_id text, group_id bigint, day date, recent integer)
returns bigint[] language sql stable
set search_path = rounds, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select array(select o.source_prompt_id from daily_rounds o
                 where o.tenant_id = $1 and o.group_id = $2 and o.source_prompt_id is not null
                   and o.scheduled_for_local_date < $3
                 order by o.scheduled_for_local_date desc limit $4)
        || array(select o.source_prompt_id from daily_rounds o
                 where o.tenant_id = $1 and o.group_id = $2 and o.source_prompt_id is not null
                   and o.scheduled_for_local_date > $3
                 order by o.scheduled_for_local_date)
$$;

-- Returns the rounds that some groups need, by day. `zones` and `dates` say which days these are in which zone; a day
-- is one for groups made before `known_before` whose drop time on it is after `walls`, on the wall clock: later than an
-- hour ago, because the exact instants are Python's to compute.
create function rounds.begin_creation(
    group_ids bigint[], zones text[], dates date[], known_before timestamptz[], walls timestamp[], default_zone text,
    default_time time, recent integer, wait boolean
) returns table (tenant_id text, group_id bigint, local_date date, drop_time time, zone text, prompts bigint[],
                 recently bigint[])
language plpgsql
set search_path = rounds, pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_groups constant bigint[] := rounds.lock_groups(group_ids, wait);
begin
    return query
    select g.tenant_id, g.id, d.day, coalesce(s.drop_time, default_time), d.zone,
           array(select p.id from group_prompts p where p.tenant_id = g.tenant_id and p.group_id = g.id and p.is_active
                 order by p.id),
           rounds.recent_prompts(g.tenant_id, g.id, d.day, recent)
    from groups g left join group_settings s on s.tenant_id = g.tenant_id and s.group_id = g.id
    join unnest(zones, dates, known_before, walls) d (zone, day, known_before, wall)
      on d.zone = coalesce(s.zone, default_zone) and g.created_at < d.known_before
        and d.day + coalesce(s.drop_time, default_time) > d.wall
    where g.id = any (v_groups) and g.is_active and not exists (
        select from daily_rounds r where r.tenant_id = g.tenant_id and r.group_id = g.id
          and r.scheduled_for_local_date = d.day)
    order by g.id, d.day;
end
$$;

-- Writes new rounds; those that are there already stay as they are. Returns the groups that got one.
create function rounds.apply_creation(
    tenant_ids text[], group_ids bigint[], dates date[], drop_times time[], zones text[], open_ats timestamptz[],
    close_ats timestamptz[], prompt_ids bigint[]
) returns setof bigint language sql
set search_path = rounds, pg_catalog, pg_temp as $$
    insert into daily_rounds (tenant_id, group_id, scheduled_for_local_date, drop_time, zone, open_at, close_at,
                              source_prompt_id)
    select * from unnest($1, $2, $3, $4, $5, $6, $7, $8)
    on conflict (tenant_id, group_id, scheduled_for_local_date) do nothing
    returning group_id
$$;

-- Returns those of some rounds that must be timed again, and by what.
create function rounds.begin_retiming(round_ids bigint[], default_zone text, default_time time, wait boolean)
returns table (round_id bigint, group_id bigint, local_date date, drop_time time, zone text) language plpgsql
set search_path = rounds, pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_groups constant bigint[] := rounds.lock_groups(rounds.groups_of(round_ids), wait);
begin
    return query
    select r.id, r.group_id, r.scheduled_for_local_date, coalesce(s.drop_time, default_time),
           coalesce(s.zone, default_zone)
    from daily_rounds r left join group_settings s on s.tenant_id = r.tenant_id and s.group_id = r.group_id
    where r.id = any (round_ids) and r.group_id = any (v_groups) and r.status = 'scheduled' and r.stale
    order by r.id for no key update of r;
end
$$;

-- Gives rounds their new times.
create function rounds.apply_retiming(
    round_ids bigint[], drop_times time[], zones text[], open_ats timestamptz[], close_ats timestamptz[]
) returns setof bigint language sql
set search_path = rounds, pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
    update daily_rounds r set drop_time = n.drop_time, zone = n.zone, open_at = n.open_at, close_at = n.close_at,
        stale = false, timed_at = case when (r.open_at, r.close_at) = (n.open_at, n.close_at) then r.timed_at
            else ostinato.now() end
    from unnest($1, $2, $3, $4, $5) n (id, drop_time, zone, open_at, close_at)
    where r.id = n.id and r.status = 'scheduled'
    returning r.id
$$;

-- Returns those of some rounds that are to be opened, or are open and still wait for a prompt. `prompt_id` is the one
-- of its creation, as long as it is active and not the one of the round before it, which may have got it in between;
-- without one, what there is to choose from, and what was used of late: the only prompt that there is is chosen again.
create function rounds.begin_opening(round_ids bigint[], recent integer, wait boolean)
returns table (round_id bigint, tenant_id text, close_at timestamptz, prompt_id bigint, prompts bigint[],
    recently bigint[])
language plpgsql
set search_path = rounds, pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_groups constant bigint[] := rounds.lock_groups(rounds.groups_of(round_ids), wait);
    v_now    constant timestamptz := ostinato.now();
begin
    return query
    select r.id, r.tenant_id, r.close_at, p.id,
           array(select a.id from group_prompts a
                 where p.id is null and a.tenant_id = r.tenant_id and a.group_id = r.group_id and a.is_active
                 order by a.id),
           case when p.id is null then
               rounds.recent_prompts(r.tenant_id, r.group_id, r.scheduled_for_local_date, recent)
           else '{}' end
    from daily_rounds r
    left join group_prompts p on p.tenant_id = r.tenant_id and p.group_id = r.group_id and p.id = r.source_prompt_id
      and p.is_active
      and p.id is distinct from (
          select o.source_prompt_id from daily_rounds o
          where o.tenant_id = r.tenant_id and o.group_id = r.group_id and o.source_prompt_id is not null
            and o.scheduled_for_local_date < r.scheduled_for_local_date
          order by o.scheduled_for_local_date desc limit 1)
    where r.id = any (round_ids) and r.group_id = any (v_groups)
      and (r.status = 'scheduled' and not r.stale and r.open_at <= v_now
           or r.status = 'open' and r.resolved_title is null and r.close_at > v_now)
    order by r.id for no key update of r;
end
$$;

-- Opens rounds with their prompts, frozen as they are now; gives open ones the prompt that they waited for; emits an
-- event for those that members can take part in. Missed ones are opened and closed at once, without an event. Returns
-- each with how late it was, in seconds.
create function rounds.apply_opening(
    round_ids bigint[], tenant_ids text[], prompt_ids bigint[], are_missed boolean[], by text, correlation_id text
) returns table (round_id bigint, missed boolean, told boolean, lateness double precision) language plpgsql
set search_path = rounds, pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_now    constant timestamptz := ostinato.now();
    v_missed constant bigint[] := array(select n.id from unnest(round_ids, are_missed) n (id, missed) where n.missed);
    v_pass   bigint;
begin
    v_pass := ostinato.open_pass('round', 'rounds.daily_rounds', 'open', by, null, correlation_id, null, null);
    -- One update for state and prompt, because each costs an entry in every index. The rows are found by their ids:
    -- as a case, the condition on their state offers no index that has every scheduled round, which a server without
    -- statistics would read for each set.
    update daily_rounds r set status = 'open', opened_at = coalesce(r.opened_at, v_now),
        missed = case when r.status = 'open' then r.missed else n.missed end,
        source_prompt_id = coalesce(p.id, r.source_prompt_id), prompted_at = case when p.id is not null then v_now end,
        resolved_type = p.type, resolved_title = p.title, resolved_body = p.body, resolved_metadata = p.metadata,
        resolved_tags = p.tags
    from unnest(round_ids, tenant_ids, prompt_ids, are_missed) n (id, tenant_id, prompt_id, missed)
    left join group_prompts p on p.tenant_id = n.tenant_id and p.id = n.prompt_id
    where r.id = n.id and r.tenant_id = n.tenant_id
      and case r.status when 'scheduled' then not r.stale
                        when 'open' then r.resolved_title is null and p.id is not null else false end;
    perform ostinato.close_pass(v_pass);
    if v_missed <> '{}' then
        v_pass := ostinato.open_pass('round', 'rounds.daily_rounds', 'close', by, 'missed', correlation_id, null, null);
        update daily_rounds r set status = 'closed', closed_at = v_now
        where r.id = any (v_missed) and r.status = 'open';
        perform ostinato.close_pass(v_pass);
    end if;
    return query
    with changed as materialized (
        select r.id, r.missed, r.prompted_at = v_now and not r.missed as told, r.opened_at = v_now as opened,
               greatest(r.open_at, r.timed_at) as due_at
        from daily_rounds r where r.id = any (round_ids) and (r.opened_at = v_now or r.prompted_at = v_now)
    ), heard as materialized (
        select rounds.emit_opened(array(select c.id from changed c where c.told order by c.id)) as nothing
    )
    select c.id, c.missed, coalesce(c.told, false), case when c.opened then extract(epoch from v_now - c.due_at)
        else 0 end::double precision
    from changed c, heard order by c.id;
end
$$;

-- Emits that rounds are open, one event each, in the order of each group. The recipients are the members who want to
-- be notified, of groups that are active and want that too. Each round has a trail of its own, `round-<id>`:
-- what comes of one is not lost among thousands.
create function rounds.emit_opened(round_ids bigint[]) returns void language plpgsql
set search_path = rounds, pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
    v_events record;
begin
    select array_agg(json_build_object(
               'round_id', r.id, 'group_id', r.group_id, 'group', g.name, 'local_date', r.scheduled_for_local_date,
               'zone', r.zone, 'open_at', to_char(r.open_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
               'close_at', to_char(r.close_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
               'type', r.resolved_type, 'title', r.resolved_title, 'body', r.resolved_body,
               'recipients', array(
                   select m.user_id from members m
                   where m.tenant_id = r.tenant_id and m.group_id = r.group_id and m.push and not m.mute
                     and g.is_active and coalesce(s.notifications_enabled, true)
                   order by m.user_id))::text order by r.id) as payloads,
           array_agg('group-' || r.group_id order by r.id) as keys, array_agg(r.tenant_id order by r.id) as tenants,
           array_agg('round-' || r.id order by r.id) as trails
    into v_events
    from daily_rounds r join groups g on g.tenant_id = r.tenant_id and g.id = r.group_id
    left join group_settings s on s.tenant_id = r.tenant_id and s.group_id = r.group_id
    where r.id = any (round_ids);
    perform rounds.emit('rounds.opened', v_events.payloads, v_events.keys, v_events.tenants, v_events.trails);
end
$$;

-- Emits events of one type.
create function rounds.emit(type text, payloads text[], keys text[], tenant_ids text[], trails text[]) returns void
language plpgsql set search_path = rounds, pg_catalog, pg_temp as $$
begin
    if payloads is not null then
        perform ostinato.emit_events(
            types => array[type], payloads => payloads, ordering_keys => keys, tenant_ids => tenant_ids,
            correlation_ids => trails, producers => array['rounds'], as_of_now => true);
    end if;
end
$$;

-- Closes those of some rounds whose time is over, and emits that. Returns each with how late that was, in seconds.
create function rounds.close_rounds(round_ids bigint[], wait boolean, by text, correlation_id text)
returns table (round_id bigint, lateness double precision) language plpgsql
set search_path = rounds, pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_groups constant bigint[] := rounds.lock_groups(rounds.groups_of(round_ids), wait);
    v_now    constant timestamptz := ostinato.now();
    v_due    constant bigint[] := array(
        select r.id from daily_rounds r
        where r.id = any (round_ids) and r.group_id = any (v_groups) and r.status = 'open' and r.close_at <= v_now
        order by r.id for no key update);
    v_pass   bigint;
    v_events   record;
begin
    if v_due = '{}' then
        return;
    end if;
    v_pass := ostinato.open_pass('round', 'rounds.daily_rounds', 'close', by, null, correlation_id, null, null);
    update daily_rounds r set status = 'closed', closed_at = v_now where r.id = any (v_due);
    perform ostinato.close_pass(v_pass);
    select array_agg(json_build_object('round_id', r.id, 'group_id', r.group_id,
                                       'local_date', r.scheduled_for_local_date)::text order by r.id) as payloads,
           array_agg('group-' || r.group_id order by r.id) as keys, array_agg(r.tenant_id order by r.id) as tenants,
           array_agg('round-' || r.id order by r.id) as trails
    into v_events from daily_rounds r where r.id = any (v_due);
    perform rounds.emit('rounds.closed', v_events.payloads, v_events.keys, v_events.tenants, v_events.trails);
    return query
    select r.id, extract(epoch from v_now - r.close_at)::double precision from daily_rounds r
    where r.id = any (v_due) order by r.id;
end
$$;
