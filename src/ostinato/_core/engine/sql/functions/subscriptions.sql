-- Subscriptions: who gets which events, and what became of each. The head of outbox.sql says how delivery works and in which
-- order locks are taken; everything here that moves deliveries holds the row lock of their subscription.

-- Declares a subscription, or changes one; a new one starts `start`: 'now', 'beginning', or behind a position or a time given.
-- `types` null: all of them. Mode 'relay': whoever takes runs it; mode 'job': each event becomes a job of `kind`.
create function ostinato.subscribe(
    name text, types text[] default null, tenant_id text default null, mode text default 'relay', kind text default null,
    on_poison text default 'skip', start text default 'now', start_position bigint default null, start_time timestamptz default null
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_position bigint;
begin
    perform ostinato.check_name('subscription', subscribe.name);
    perform ostinato.check_name('type', t) from unnest(types) t where t is null or length(t) not between 1 and 200;
    if subscribe.mode is null or subscribe.mode not in ('relay', 'job') or (subscribe.mode = 'job') <> (subscribe.kind is not null)
       or subscribe.on_poison is null or subscribe.on_poison not in ('skip', 'block') or start is null or start not in ('now', 'beginning') then
        raise exception using errcode = 'OS400',
            message = format('subscription %L with mode %L, kind %L, on_poison %L, start %L', subscribe.name, subscribe.mode, subscribe.kind, subscribe.on_poison, start),
            detail = json_build_object('name', subscribe.name, 'mode', subscribe.mode, 'kind', subscribe.kind, 'on_poison', subscribe.on_poison, 'start', start),
            hint = 'Modes: relay, or job with a kind. on_poison: skip, block. start: now, beginning.';
    end if;
    v_position := coalesce(start_position, case when start_time is not null then ostinato.position_at(start_time) end, case start when 'beginning' then 0 else ostinato.last_position() end);
    insert into subscription as s (name, types, tenant_id, mode, kind, on_poison, position, created_at, registered_at)
    values (subscribe.name, subscribe.types, subscribe.tenant_id, subscribe.mode, subscribe.kind, subscribe.on_poison,
            least(greatest(v_position, 0), ostinato.last_position()), ostinato.now(), ostinato.now())
    on conflict (name) do update set types = excluded.types, tenant_id = excluded.tenant_id, mode = excluded.mode, kind = excluded.kind,
        on_poison = excluded.on_poison, registered_at = excluded.registered_at
    -- Every worker that starts declares it: no write, and no wait, when nothing is new.
    where (s.types, s.tenant_id, s.mode, s.kind, s.on_poison) is distinct from
          (excluded.types, excluded.tenant_id, excluded.mode, excluded.kind, excluded.on_poison);
end
$$;

-- Removes a subscription with everything it has not settled.
create function ostinato.drop_subscription(name text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato.lock_subscription(name);
    delete from delivery d where d.subscription = drop_subscription.name;
    delete from subscription s where s.name = drop_subscription.name;
end
$$;

-- Stops deliveries of a subscription; what is in somebody's hands goes on. Retention does not wait for a paused one.
create function ostinato.pause_subscription(name text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato.lock_subscription(name);
    update subscription s set paused = true where s.name = pause_subscription.name;
end
$$;

-- Lets deliveries of a subscription go on.
create function ostinato.resume_subscription(name text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato.lock_subscription(name);
    update subscription s set paused = false where s.name = resume_subscription.name;
end
$$;

-- Takes the row lock of a subscription and returns it as it is now; refuses one that is not there.
create function ostinato.lock_subscription(name text) returns ostinato_data.subscription language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_found subscription;
begin
    select * into v_found from subscription s where s.name = lock_subscription.name for update;
    if not found then
        raise exception using errcode = 'OS404', message = format('there is no subscription %L', name),
            detail = json_build_object('subscription', name), hint = 'See: ostinato events subscriptions';
    end if;
    return v_found;
end
$$;

-- Hands out events of a subscription to a live worker, at most `most`, in order: those of a lane together, and a lane to one
-- holder at a time. What was delivered before comes first.
create function ostinato.take_deliveries(subscription text, worker_id uuid, most integer)
returns table (
    "position" bigint, attempt integer, failures smallint, crashes smallint, event_id bigint, type text, version integer, tenant_id text,
    correlation_id text, occurred_at timestamptz, producer text, ordering_key text, payload text
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_sub   constant ostinato_data.subscription := ostinato.lock_subscription(take_deliveries.subscription);
    v_now   constant timestamptz := ostinato.now();
    v_taken bigint[] := '{}';
    v_sent  integer;
begin
    if v_sub.paused or v_sub.mode <> 'relay' or most < 1 then
        return;
    end if;
    if not exists (select from worker w where w.id = take_deliveries.worker_id) then
        raise exception using errcode = 'OS410', message = format('worker %s is not registered, or was declared dead', take_deliveries.worker_id),
            detail = json_build_object('worker_id', take_deliveries.worker_id), hint = 'Register anew, and forget what you held.';
    end if;
    v_taken := ostinato.due_deliveries(v_sub, most);
    if v_taken <> '{}' then
        update delivery d set state = 'held', attempt = d.attempt + 1, worker_id = take_deliveries.worker_id, held_at = v_now, due_at = v_now
        where d.subscription = v_sub.name and d.position = any (v_taken);
    end if;
    if cardinality(v_taken) < most then
        v_taken := v_taken || ostinato.read_log(v_sub, most - cardinality(v_taken), take_deliveries.worker_id);
    end if;
    return query
    select d.position, d.attempt, d.failures, d.crashes, e.id, e.type, e.version, e.tenant_id, e.correlation_id, e.occurred_at, e.producer,
           e.ordering_key, e.payload::text
    from unnest(v_taken) t (position) join delivery d on d.subscription = v_sub.name and d.position = t.position
    cross join lateral (select * from event v where v.id = d.event_id union all select * from event_kept k where k.id = d.event_id limit 1) e
    order by d.position;
    get diagnostics v_sent = row_count;
    if v_sent < cardinality(v_taken) then
        -- Paused for longer than retention: their events are gone.
        delete from delivery d where d.subscription = v_sub.name and d.position = any (v_taken)
          and not exists (select from event v where v.id = d.event_id) and not exists (select from event_kept k where k.id = d.event_id);
    end if;
end
$$;

-- What waits, is due, and may be handed out now: heads of lanes with what follows them, and events without a lane. One that may
-- have killed two processes goes alone.
create function ostinato.due_deliveries(subscription ostinato_data.subscription, most integer) returns bigint[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_sub     constant ostinato_data.subscription := due_deliveries.subscription;
    v_now     constant timestamptz := ostinato.now();
    v_heads   constant bigint[] := array(
        select d.position from delivery d
        where d.subscription = v_sub.name and d.state = 'waiting' and d.due_at < 'infinity' and d.due_at <= v_now
        order by d.due_at, d.position limit most);
    v_suspect bigint;
begin
    if v_heads = '{}' then
        return v_heads;
    end if;
    select d.position into v_suspect from delivery d where d.subscription = v_sub.name and d.position = any (v_heads) and d.crashes >= 2 limit 1;
    if found then
        return array[v_suspect];
    end if;
    return array(
        select r.position from (
            select h.n, h.position from unnest(v_heads) with ordinality h (position, n)
            union all
            select h.n, f.position from unnest(v_heads) with ordinality h (position, n)
            join delivery d on d.subscription = v_sub.name and d.position = h.position
            cross join lateral (
                select f.position from delivery f
                where f.subscription = v_sub.name and f.lane = d.lane and f.state <> 'buried' and f.state = 'waiting' and f.position > h.position
                order by f.position limit most - 1) f) r
        order by r.n, r.position limit most);
end
$$;

-- Reads on in the log and notes what the subscription is to get: held by a worker where its lane is free, else waiting. Without a
-- worker all of it waits. Returns the positions that are held now.
create function ostinato.read_log(subscription ostinato_data.subscription, most integer, worker_id uuid) returns bigint[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_sub    constant ostinato_data.subscription := read_log.subscription;
    v_now    constant timestamptz := ostinato.now();
    v_last   constant bigint := ostinato.last_position();
    -- A replay notes the same positions anew: attempts of before must not come again, or a late holder would pass for a new one.
    v_first  constant integer := v_sub.replays * 1000000;
    v_cursor bigint := v_sub.position;
    v_found  integer := 0;
    v_rounds integer := 0;
    v_held   bigint[] := '{}';
    v_read   record;
begin
    -- Most of the log may be for others: look through a bounded part of it.
    while v_cursor < v_last and v_found < most and v_rounds < 20 loop
        with looked as materialized (
            select l.* from event_log l where l.position > v_cursor order by l.position limit greatest(most, 500)
        ), matching as (
            select l.*, row_number() over (order by l.position) as n from looked l
            where (v_sub.types is null or l.type = any (v_sub.types)) and (v_sub.tenant_id is null or l.tenant_id = v_sub.tenant_id)
        ), chosen as materialized (
            select m.position, m.event_id, ostinato.lane(m.tenant_id, m.ordering_key) as lane from matching m where m.n <= most - v_found
        ), placed as (
            select c.*, row_number() over (partition by c.lane order by c.position) as turn, c.lane is null or not (
                exists (select from delivery o
                        where o.subscription = v_sub.name and o.lane = c.lane and o.position >= v_sub.low and o.state <> 'buried')
                or v_sub.on_poison = 'block'
                   and exists (select from delivery o where o.subscription = v_sub.name and o.lane = c.lane and o.state = 'buried')) as free
            from chosen c
        ), noted as (
            insert into delivery (subscription, position, event_id, due_at, held_at, worker_id, attempt, failures, crashes, state, lane)
            select v_sub.name, p.position, p.event_id,
                   case when p.free and (read_log.worker_id is not null or p.turn = 1 or p.lane is null) then v_now else 'infinity' end,
                   case when p.free and read_log.worker_id is not null then v_now end,
                   case when p.free then read_log.worker_id end,
                   v_first + case when p.free and read_log.worker_id is not null then 1 else 0 end, 0, 0,
                   case when p.free and read_log.worker_id is not null then 'held' else 'waiting' end, p.lane
            from placed p
            on conflict do nothing
            returning position, state
        )
        select (select count(*) from chosen) as chosen, (select array_agg(n.position) from noted n where n.state = 'held') as held,
               case when (select count(*) from matching) > most - v_found then (select max(c.position) from chosen c) else max(l.position) end as cursor
        into v_read from looked l;
        exit when v_read.cursor is null;  -- the rest of the log is gone
        v_cursor := v_read.cursor;
        v_found := v_found + v_read.chosen;
        v_held := v_held || coalesce(v_read.held, '{}');
        v_rounds := v_rounds + 1;
    end loop;
    if v_cursor > v_sub.position then
        update subscription s set position = v_cursor where s.name = v_sub.name;
    end if;
    return v_held;
end
$$;

-- Ends deliveries: 'done'; 'failed', to be delivered again after a delay in seconds, or buried (null); 'released', to be delivered
-- again at once without counting a failure. Returns the positions that were refused, because somebody else has them by now.
create function ostinato.settle_deliveries(
    subscription text, positions bigint[], attempts integer[], outcomes text[], delays double precision[] default null,
    errors text[] default null, signatures text[] default null, reasons text[] default null
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_sub    constant ostinato_data.subscription := ostinato.lock_subscription(settle_deliveries.subscription);
    v_now    constant timestamptz := ostinato.now();
    v_mine   bigint[];
    v_done   bigint[];
    v_again  bigint[];
    v_rest   bigint[];
    v_lanes  text[];
    v_buried bigint[];
begin
    if exists (select from unnest(outcomes) o where o is null or o not in ('done', 'failed', 'released')) then
        raise exception using errcode = 'OS400', message = format('outcomes of deliveries: %s', outcomes),
            detail = json_build_object('outcomes', outcomes), hint = 'An outcome is done, failed or released.';
    end if;
    with held as materialized (
        select d.position, d.attempt, d.state, d.lane, d.event_id, d.again from delivery d
        where d.subscription = v_sub.name and d.position = any (positions) and d.state in ('held', 'done') for update
    ), mine as (
        select h.position, h.lane, h.event_id,
               -- Where the cursor of a replay has not come by again, it will note the event anew.
               case when h.again and h.position <= v_sub.position then 'again' when h.again or h.state = 'done' then 'done'
                    when g.outcome = 'failed' and g.delay is null then 'buried' else g.outcome end as ends
        from unnest(positions, attempts, outcomes, delays) g (position, attempt, outcome, delay)
        join held h on h.position = g.position and h.attempt = g.attempt
    )
    select array_agg(m.position), array_agg(m.position) filter (where m.ends = 'done'), array_agg(m.position) filter (where m.ends = 'again'),
           array_agg(m.position) filter (where m.ends not in ('done', 'again')),
           array_agg(distinct m.lane) filter (where m.lane is not null), array_agg(m.event_id) filter (where m.ends = 'buried')
    into v_mine, v_done, v_again, v_rest, v_lanes, v_buried from mine m;
    delete from delivery d where d.subscription = v_sub.name and d.position = any (v_done);
    if v_again is not null then
        update delivery d set state = 'waiting', again = false, failures = 0, crashes = 0, worker_id = null, job_id = null, held_at = null,
            due_at = case when d.lane is null then v_now else 'infinity' end, reason = null, signature = null, error = null
        where d.subscription = v_sub.name and d.position = any (v_again);
    end if;
    if v_rest is not null then
        perform ostinato.put_back(v_sub.name, v_rest, positions, outcomes, delays, errors, signatures, reasons);
    end if;
    if v_buried is not null then  -- event_log is locked before event, by everybody: not event without need
        perform ostinato.keep_events(v_buried);
    end if;
    perform ostinato.open_lanes(v_sub, v_lanes);
    perform ostinato.raise_low(v_sub);
    return query select p from unnest(positions) p where not p = any (coalesce(v_mine, '{}'));
end
$$;

-- Lets deliveries wait again, or buries them: those of settle_deliveries that did not end well. The caller opens their lanes.
create function ostinato.put_back(
    subscription text, chosen bigint[], positions bigint[], outcomes text[], delays double precision[], errors text[], signatures text[], reasons text[]
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    update delivery d set
        state = case when g.outcome = 'failed' and g.delay is null then 'buried' else 'waiting' end,
        due_at = case when g.outcome = 'failed' and g.delay is not null then ostinato.now() + make_interval(secs => g.delay)
                      when g.outcome = 'released' and d.lane is null then ostinato.now() else 'infinity' end,
        failures = d.failures + (g.outcome = 'failed')::integer, worker_id = null, job_id = null, held_at = null,
        buried_at = case when g.outcome = 'failed' and g.delay is null then ostinato.now() end,
        reason = case when g.outcome = 'failed' then coalesce(g.reason, 'failed') else d.reason end,
        signature = case when g.outcome = 'failed' then g.signature else d.signature end,
        error = case when g.outcome = 'failed' then g.error::json else d.error end
    from unnest(positions, outcomes, delays, errors, signatures, reasons) g (position, outcome, delay, error, signature, reason)
    where d.subscription = put_back.subscription and d.position = any (chosen) and d.position = g.position;
end
$$;

-- Notes below which position a subscription has no delivery any more, now and then. Only to be fast: under an old snapshot
-- settled deliveries leave dead index entries, and every look into a busy lane would step over all of them.
create function ostinato.raise_low(subscription ostinato_data.subscription) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
declare
    v_sub constant ostinato_data.subscription := raise_low.subscription;
    v_low bigint;
begin
    if v_sub.position - v_sub.low < 1000 then
        return;
    end if;
    select d.position into v_low from delivery d
    where d.subscription = v_sub.name and d.position >= v_sub.low and d.state <> 'buried' order by d.position limit 1;
    v_low := coalesce(v_low, v_sub.position + 1);
    if v_low - v_sub.low >= 1000 then
        update subscription s set low = v_low where s.name = v_sub.name;
    end if;
end
$$;

-- Keeps copies of events that are buried, which may have to outlive their week.
create function ostinato.keep_events(event_ids bigint[]) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    insert into event_kept select e.* from event e where e.id = any ($1) on conflict do nothing
$$;

-- Lets the first event of each lane be delivered, unless the lane is in somebody's hands, has its turn already, or is blocked.
create function ostinato.open_lanes(subscription ostinato_data.subscription, lanes text[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
declare
    v_sub constant ostinato_data.subscription := open_lanes.subscription;
begin
    update delivery d set due_at = ostinato.now()
    from (
        select f.position from unnest(lanes) l (lane)
        cross join lateral (
            select w.position from delivery w
            where w.subscription = v_sub.name and w.lane = l.lane and w.position >= v_sub.low and w.state <> 'buried' order by w.position limit 1) f
        where not exists (select from delivery a
                          where a.subscription = v_sub.name and a.lane = l.lane and a.position >= v_sub.low and a.state <> 'buried' and a.due_at < 'infinity')
          and not (v_sub.on_poison = 'block' and exists (
              select from delivery b where b.subscription = v_sub.name and b.lane = l.lane and b.state = 'buried' and b.position < f.position))
    ) h
    where d.subscription = v_sub.name and d.position = h.position;
end
$$;

-- Ends one delivery in the caller's transaction: what it writes and the end of the delivery commit together. Refuses with OS410
-- when somebody else has the delivery by now. The holder still settles it as done, which clears it away.
create function ostinato.finish_delivery(subscription text, "position" bigint, attempt integer) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    update delivery d set state = 'done'
    where d.subscription = finish_delivery.subscription and d.position = finish_delivery.position and d.attempt = finish_delivery.attempt
      and d.state = 'held';
    if not found then
        perform ostinato.refuse_delivery(finish_delivery.subscription, finish_delivery.position, finish_delivery.attempt);
    end if;
end
$$;

-- Holds a delivery until the end of the caller's transaction, or refuses with OS410: guards writes that do not end it.
create function ostinato.fence_delivery(subscription text, "position" bigint, attempt integer) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform from delivery d
    where d.subscription = fence_delivery.subscription and d.position = fence_delivery.position and d.attempt = fence_delivery.attempt
      and d.state in ('held', 'done') for share;
    if not found then
        perform ostinato.refuse_delivery(fence_delivery.subscription, fence_delivery.position, fence_delivery.attempt);
    end if;
end
$$;

-- Says that a delivery is not the caller's any more.
create function ostinato.refuse_delivery(subscription text, "position" bigint, attempt integer) returns void language plpgsql as $$
begin
    raise exception using errcode = 'OS410',
        message = format('delivery %s of subscription %s, attempt %s, is not held any more', position, subscription, attempt),
        detail = json_build_object('subscription', subscription, 'position', position, 'attempt', attempt),
        hint = 'Stop working on it: it was given to somebody else, or is settled.';
end
$$;

-- For a subscription in mode 'job': reads on in the log and makes a job for the first event of each lane, and for each event
-- without one, that is due. The job holds the delivery. Returns how many jobs were made.
create function ostinato.dispatch_deliveries(subscription text, most integer default 500) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_sub  constant ostinato_data.subscription := ostinato.lock_subscription(dispatch_deliveries.subscription);
    v_now  timestamptz;
    v_due  record;
    v_jobs bigint[];
begin
    if v_sub.paused or v_sub.mode <> 'job' then
        return 0;
    end if;
    perform ostinato.read_log(v_sub, most, null);
    v_now := ostinato.now();  -- what was read just now is due
    select array_agg(d.position order by d.position) as positions, array_agg(e.tenant_id order by d.position) as tenants,
           array_agg(e.correlation_id order by d.position) as correlations,
           array_agg(json_build_object('subscription', v_sub.name, 'position', d.position, 'delivery', d.attempt + 1)::text order by d.position) as args
    into v_due
    from (select d.* from delivery d
          where d.subscription = v_sub.name and d.state = 'waiting' and d.due_at < 'infinity' and d.due_at <= v_now
          order by d.due_at, d.position limit most) d
    cross join lateral (select v.tenant_id, v.correlation_id from event v where v.id = d.event_id
                        union all select k.tenant_id, k.correlation_id from event_kept k where k.id = d.event_id limit 1) e;
    if v_due.positions is null then
        return 0;
    end if;
    v_jobs := array(select ostinato.enqueue_jobs(
        kinds => array[v_sub.kind], args => v_due.args, tenant_ids => v_due.tenants, correlation_ids => v_due.correlations));
    update delivery d set state = 'held', attempt = d.attempt + 1, held_at = v_now, job_id = j.job_id
    from unnest(v_due.positions, v_jobs) j (position, job_id)
    where d.subscription = v_sub.name and d.position = j.position;
    return cardinality(v_jobs);
end
$$;

-- Makes the jobs of all subscriptions in mode 'job' that have something due. Returns the queues that got jobs, to be rung after
-- the commit, and how many each.
create function ostinato.dispatch_events(most integer default 500) returns table (queue text, jobs bigint) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select coalesce(k.queue, 'default'), sum(d.made)
    from (select s.name, s.kind from subscription s where s.mode = 'job' and not s.paused and (
              s.position < ostinato.last_position() or exists (
                  select from delivery d where d.subscription = s.name and d.state = 'waiting' and d.due_at < 'infinity' and d.due_at <= ostinato.now()))
          order by s.name) s
    cross join lateral ostinato.dispatch_deliveries(s.name, most) d (made) left join kind k on k.name = s.kind
    where d.made > 0 group by 1;
end
$$;

-- The event of a delivery that is held. No row: it is settled, or somebody else's by now.
create function ostinato.load_delivery(subscription text, "position" bigint, attempt integer)
returns table (
    "position" bigint, attempt integer, failures smallint, crashes smallint, event_id bigint, type text, version integer, tenant_id text,
    correlation_id text, occurred_at timestamptz, producer text, ordering_key text, payload text
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select d.position, d.attempt, d.failures, d.crashes, e.id, e.type, e.version, e.tenant_id, e.correlation_id, e.occurred_at, e.producer,
           e.ordering_key, e.payload::text
    from delivery d
    cross join lateral (select * from event v where v.id = d.event_id union all select * from event_kept k where k.id = d.event_id limit 1) e
    where d.subscription = $1 and d.position = $2 and d.attempt = $3 and d.state = 'held'
$$;

-- The workers that hold deliveries and are gone: a loose index scan over the holders.
create function ostinato.lost_holders() returns setof uuid language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    with recursive holder as (
        (select d.worker_id from delivery d where d.state in ('held', 'done') and d.worker_id is not null order by d.worker_id limit 1)
        union all
        select n.worker_id from holder h cross join lateral (
            select d.worker_id from delivery d
            where d.state in ('held', 'done') and d.worker_id is not null and d.worker_id > h.worker_id order by d.worker_id limit 1) n
    )
    select h.worker_id from holder h where not exists (select from worker w where w.id = h.worker_id)
$$;

-- Gives back what dead workers held. An event that they had begun, the first of its lane, may have killed them: a crash is noted
-- for it, and with `max_crashes` it is buried. Returns how many deliveries were given back or ended.
create function ostinato.free_deliveries(max_crashes integer default 3, most integer default 1000) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_lost  constant uuid[] := array(select ostinato.lost_holders());
    v_name  text;
    v_count integer := 0;
begin
    if v_lost = '{}' then
        return 0;
    end if;
    for v_name in select distinct d.subscription from delivery d where d.state in ('held', 'done') and d.worker_id = any (v_lost) order by 1 loop
        v_count := v_count + ostinato.give_back(v_name, array(
            select d.position from delivery d
            where d.subscription = v_name and d.state in ('held', 'done') and d.worker_id = any (v_lost)
            order by d.position limit most), max_crashes);
    end loop;
    return v_count;
end
$$;

-- Gives back what a worker that stops holds, without counting anything. Returns how many.
create function ostinato.release_deliveries(worker_id uuid) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_name  text;
    v_count integer := 0;
begin
    for v_name in select distinct d.subscription from delivery d where d.state in ('held', 'done') and d.worker_id = release_deliveries.worker_id order by 1 loop
        v_count := v_count + ostinato.give_back(v_name, array(
            select d.position from delivery d
            where d.subscription = v_name and d.state in ('held', 'done') and d.worker_id = release_deliveries.worker_id));
    end loop;
    return v_count;
end
$$;

-- Gives back what a living worker was given and never heard of: the answer to take_deliveries may get lost on the way. `held` are
-- the positions that it knows; what was taken less than `seconds` ago may still be on its way. Returns how many.
create function ostinato.reconcile_deliveries(worker_id uuid, subscription text, held bigint[], seconds double precision) returns integer
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_lost constant bigint[] := array(
        select d.position from delivery d
        where d.state in ('held', 'done') and d.worker_id = reconcile_deliveries.worker_id and d.subscription = reconcile_deliveries.subscription
          and d.held_at < ostinato.now() - make_interval(secs => seconds) and not d.position = any (held));
begin
    return case when v_lost = '{}' then 0 else ostinato.give_back(reconcile_deliveries.subscription, v_lost) end;
end
$$;

-- Gives deliveries of a subscription back that are held; with `max_crashes`, because their holder died. Those that a transaction
-- ends just now are left to it. Returns how many were given back or ended.
create function ostinato.give_back(subscription text, positions bigint[], max_crashes integer default null) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_sub    constant ostinato_data.subscription := ostinato.lock_subscription(give_back.subscription);
    v_now    constant timestamptz := ostinato.now();
    v_error  constant json := json_build_object('type', 'worker_lost', 'message', 'the worker process died or was cut off while it held this event');
    v_count  integer;
    v_lanes  text[];
    v_buried bigint[];
begin
    with mine as materialized (
        select d.position, d.lane, d.event_id, d.state, d.crashes,
               case when d.again then d.position > v_sub.position else d.state = 'done' end as over from delivery d
        where d.subscription = v_sub.name and d.position = any (positions) and d.state in ('held', 'done')
        order by d.position for update skip locked
    ), begun as materialized (
        select m.*, max_crashes is not null and m.state = 'held' and not m.over
               and (m.lane is null or row_number() over (partition by m.lane, m.state order by m.position) = 1) as begun from mine m
    ), gone as (
        delete from delivery d using begun b where d.subscription = v_sub.name and d.position = b.position and b.over
    ), kept as (
        update delivery d set worker_id = null, held_at = null, again = false, crashes = d.crashes + b.begun::integer,
            state = case when b.begun and b.crashes + 1 >= max_crashes then 'buried' else 'waiting' end,
            due_at = case when b.lane is null then v_now else 'infinity' end,
            buried_at = case when b.begun and b.crashes + 1 >= max_crashes then v_now end,
            reason = case when b.begun then 'worker_lost' else d.reason end, signature = case when b.begun then 'worker_lost' else d.signature end,
            error = case when b.begun then v_error else d.error end
        from begun b where d.subscription = v_sub.name and d.position = b.position and not b.over
    )
    select count(*), array_agg(distinct b.lane) filter (where b.lane is not null),
           array_agg(b.event_id) filter (where b.begun and b.crashes + 1 >= max_crashes)
    into v_count, v_lanes, v_buried from begun b;
    if v_buried is not null then  -- event_log is locked before event, by everybody: not event without need
        perform ostinato.keep_events(v_buried);
    end if;
    perform ostinato.open_lanes(v_sub, v_lanes);
    return v_count;
end
$$;

-- Ends deliveries whose job ended without them: it was cancelled, or it killed its worker again and again, and the event is
-- buried. Returns how many. The janitor calls it.
create function ostinato.heal_deliveries(most integer default 100000) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_stray record;
    v_count integer := 0;
begin
    for v_stray in
        select h.subscription, array_agg(h.position order by h.position) as positions, array_agg(h.attempt order by h.position) as attempts,
               array_agg(case when h.ended = 'done' then 'done' else 'failed' end order by h.position) as outcomes,
               array_agg(h.error order by h.position) as errors, array_agg(h.reason order by h.position) as reasons
        from (
            select d.subscription, d.position, d.attempt, x.error::text as error, coalesce(x.reason, o.outcome, 'job_gone') as reason,
                   case when d.state = 'done' then 'done' else coalesce(o.outcome, 'gone') end as ended
            from (select * from delivery d where d.state in ('held', 'done') and d.job_id is not null order by d.job_id limit most) d
            left join dead_letter x on x.job_id = d.job_id
            left join lateral (select l.outcome from outcome l where l.job_id = d.job_id order by l.attempt desc limit 1) o on true
            left join job j on j.id = d.job_id
            where (x.job_id is not null or o.outcome in ('done', 'cancelled', 'dead') or j.id is null)
              and not exists (select from scheduled s where s.job_id = d.job_id) and not exists (select from ready r where r.job_id = d.job_id and r.position <> r.job_id)
              and not exists (select from claim c where d.job_id = any (c.job_ids))) h
        group by h.subscription order by h.subscription
    loop
        v_count := v_count + cardinality(v_stray.positions) - (select count(*) from ostinato.settle_deliveries(
            v_stray.subscription, v_stray.positions, v_stray.attempts, v_stray.outcomes, null, v_stray.errors, v_stray.reasons, v_stray.reasons));
    end loop;
    return v_count;
end
$$;

-- Delivers buried events again, those of some positions or all, at most `most`, oldest first. Returns how many; `preview` only counts.
create function ostinato.redeliver(subscription text, positions bigint[] default null, most integer default 1000, preview boolean default false)
returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_sub    ostinato_data.subscription := ostinato.lock_subscription(redeliver.subscription);
    v_chosen constant bigint[] := array(
        select d.position from delivery d
        where d.subscription = v_sub.name and d.state = 'buried' and (positions is null or d.position = any (positions))
        order by d.position limit most);
    v_lanes  text[];
begin
    if not preview then
        v_sub.low := least(v_sub.low, v_chosen[1]);
        update subscription s set low = v_sub.low where s.name = v_sub.name and s.low > v_sub.low;
        with again as (
            update delivery d set state = 'waiting', failures = 0, crashes = 0, buried_at = null,
                due_at = case when d.lane is null then ostinato.now() else 'infinity' end
            where d.subscription = v_sub.name and d.position = any (v_chosen)
            returning d.lane
        )
        select array_agg(distinct a.lane) filter (where a.lane is not null) into v_lanes from again a;
        perform ostinato.open_lanes(v_sub, v_lanes);
    end if;
    return cardinality(v_chosen);
end
$$;

-- Gives up buried events for good; a lane that they block goes on. Returns how many.
create function ostinato.discard(subscription text, positions bigint[]) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_sub   constant ostinato_data.subscription := ostinato.lock_subscription(discard.subscription);
    v_count integer;
    v_lanes text[];
begin
    with gone as (
        delete from delivery d where d.subscription = v_sub.name and d.state = 'buried' and d.position = any (positions) returning d.lane
    )
    select count(*), array_agg(distinct g.lane) filter (where g.lane is not null) into v_count, v_lanes from gone g;
    perform ostinato.open_lanes(v_sub, v_lanes);
    return v_count;
end
$$;

-- Delivers events again, and once more everything behind them: from a position on, or from what was told at a time on. Returns how
-- many events that is now; `preview` only counts. What waits comes in its new turn; what is in hands stays there, and then comes
-- once more in its turn.
create function ostinato.replay(subscription text, from_position bigint default null, from_time timestamptz default null, preview boolean default false)
returns bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_sub    ostinato_data.subscription := ostinato.lock_subscription(replay.subscription);
    v_cursor constant bigint := least(greatest(coalesce(from_position - 1, ostinato.position_at(from_time)), 0), v_sub.position);
    v_count  bigint;
    v_lanes  text[];
begin
    if (from_position is null) = (from_time is null) then
        raise exception using errcode = 'OS400', message = format('replay of %s from position %s and time %s', v_sub.name, from_position, from_time),
            detail = json_build_object('subscription', v_sub.name, 'from_position', from_position, 'from_time', from_time),
            hint = 'Give a position or a time, one of them.';
    end if;
    select count(*) into v_count from event_log l
    where l.position > v_cursor and (v_sub.types is null or l.type = any (v_sub.types)) and (v_sub.tenant_id is null or l.tenant_id = v_sub.tenant_id);
    if not preview then
        v_sub.low := least(v_sub.low, v_cursor + 1);
        update subscription s set position = v_cursor, low = v_sub.low, replays = s.replays + 1 where s.name = v_sub.name;
        update delivery d set again = true where d.subscription = v_sub.name and d.state in ('held', 'done') and d.position > v_cursor
          and exists (select from event_log l where l.position = d.position);
        with gone as (
            delete from delivery d where d.subscription = v_sub.name and d.state in ('buried', 'waiting') and d.position > v_cursor
              and exists (select from event_log l where l.position = d.position) returning d.lane
        )
        select array_agg(distinct g.lane) filter (where g.lane is not null) into v_lanes from gone g;
        perform ostinato.open_lanes(v_sub, v_lanes);
    end if;
    return v_count;
end
$$;

-- The subscriptions and how far they are. `behind` are positions not looked at yet; the other counts are of deliveries, up to
-- 10,000 each; `lag_seconds` is the age of the oldest event that is not settled.
create function ostinato.list_subscriptions() returns table (
    name text, types text[], tenant_id text, mode text, kind text, on_poison text, paused boolean, "position" bigint, behind bigint,
    waiting bigint, held bigint, buried bigint, lag_seconds double precision
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s.name, s.types, s.tenant_id, s.mode, s.kind, s.on_poison, s.paused, s.position, ostinato.last_position() - s.position,
           (select count(*) from (select from delivery d where d.subscription = s.name and d.state = 'waiting' limit 10000) c),
           (select count(*) from (select from delivery d where d.subscription = s.name and d.state in ('held', 'done') limit 10000) c),
           (select count(*) from (select from delivery d where d.subscription = s.name and d.state = 'buried' limit 10000) c),
           coalesce(extract(epoch from ostinato.now() - least(
               (select e.emitted_at from (select d.event_id from delivery d where d.subscription = s.name and d.position >= s.low and d.state <> 'buried'
                                          order by d.position limit 1) d join event e on e.id = d.event_id),
               (select e.emitted_at from (select l.event_id from (select * from event_log l where l.position > s.position order by l.position limit 10000) l
                                          where (s.types is null or l.type = any (s.types)) and (s.tenant_id is null or l.tenant_id = s.tenant_id)
                                          order by l.position limit 1) l join event e on e.id = l.event_id)))::double precision, 0)
    from subscription s order by s.name
$$;

-- Buried events of one subscription or all, newest first; `before` is the position of the last one seen.
create function ostinato.list_buried(subscription text default null, before bigint default null, most integer default 50)
returns table (
    subscription text, "position" bigint, event_id bigint, type text, tenant_id text, ordering_key text, attempt integer, failures smallint,
    crashes smallint, buried_at timestamptz, reason text, signature text, error json
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select d.subscription, d.position, d.event_id, k.type, k.tenant_id, k.ordering_key, d.attempt, d.failures, d.crashes, d.buried_at, d.reason,
           d.signature, d.error
    from delivery d join event_kept k on k.id = d.event_id
    where d.state = 'buried' and ($1 is null or d.subscription = $1) and ($2 is null or d.position < $2)
    order by d.position desc, d.subscription limit $3
$$;

-- What became of one event: a line for each subscription that has it and has not settled it.
create function ostinato.event_deliveries(event_id bigint) returns table (
    subscription text, state text, attempt integer, failures smallint, due_at timestamptz, job_id bigint, reason text, error json
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select d.subscription, d.state, d.attempt, d.failures, nullif(d.due_at, 'infinity'), d.job_id, d.reason, d.error
    from delivery d
    where d.position = coalesce((select l.position from event_log l where l.event_id = $1), (select x.position from delivery x where x.event_id = $1 limit 1))
    order by d.subscription
$$;

-- What the relay and the subscriptions have to do, and in how many seconds: the part of chores() that is theirs.
create function ostinato.event_chores() returns table (name text, due double precision) language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select 'relay', 0 where ostinato.has_unsequenced() or exists (select from ostinato.lost_holders())
    union all
    select case s.mode when 'job' then 'relay' else 'deliver:' || s.name end,
           case when s.position < ostinato.last_position() then 0 else extract(epoch from d.due_at - ostinato.now()) end
    from subscription s left join lateral (
        select d.due_at from delivery d
        where d.subscription = s.name and d.state = 'waiting' and d.due_at < 'infinity' order by d.due_at limit 1) d on true
    where not s.paused and (s.position < ostinato.last_position() or d.due_at is not null)
$$;
